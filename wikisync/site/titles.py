"""How long titles and the like may be in a site.  Pure.

A title stands on its own page once and on hundreds of others: in their navigation,
breadcrumbs and lists.  It may be as long as an author likes there and nowhere else, or
a megabyte of titles would become hundreds of megabytes of site.
"""

from wikisync.core.model import Slug
from wikisync.markup.links import HOME

TITLE_CHARS_MAX = 120
"""Of a page's title on other pages, of the wiki's, and of headings in lists."""
PAGE_TITLE_CHARS_MAX = 1000
"""Of a page's title on the page itself."""
SUMMARY_CHARS_MAX = 160
DESCRIPTION_CHARS_MAX = 2000
"""Of a wiki's description; the service takes no longer one."""
LINK_CHARS_MAX = 300
"""Of a link as the page has it, in lists of such links."""


def shortened(text: str, limit: int) -> str:
    """A text, or its beginning and an ellipsis where it is too long."""
    if len(text) <= limit:
        return text
    room = limit - 2
    cut = text[:room].rpartition(" ")[0] or text[:room]
    return f"{cut} …"


def display_title(title: str, slug: Slug) -> str:
    """The page's title; the home's plain slug is written as the service shows it."""
    title = " ".join(title.split()) or slug
    return shortened("Home" if title == slug == HOME else title, PAGE_TITLE_CHARS_MAX)


def folder_title(path: str) -> str:
    """Title of a folder without a page, and of a page that has no other one."""
    return path.rpartition("/")[2].replace("-", " ").strip() or path
