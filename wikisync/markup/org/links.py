"""Links of Org pages: targets of all kinds to what the shared filter resolves."""

import re
from collections.abc import Callable, Mapping

from wikisync.markup.org.settings import Settings, expand_abbreviation
from wikisync.markup.tokens import escape_marks as escape

IMAGE = re.compile(
    r"\.(?:gif|jpe?g|png|svgz?|webp|bmp|tiff?)(?:[?#].*)?$", re.IGNORECASE
)
SPACES = re.compile(r"\s+")
SEARCH = re.compile(r"::.*$", re.DOTALL)
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


def link_html(
    target: str,
    label: str | None,
    settings: Settings,
    *,
    render: Callable[[str], str],
    is_in_link: bool,
) -> str:
    """HTML of ``[[target][label]]``.

    A picture without a label is shown, and a picture as label links.  What names a
    heading, ``*Heading``, stays as it is: the shared filter knows the headings' ids.
    """
    abbreviations = settings.links
    href = settings.anchors.get(SPACES.sub(" ", target.strip()).lower())
    href = (
        f"#{href}" if href else href_of(SPACES.sub(" ", target.strip()), abbreviations)
    )
    if label is None and IMAGE.search(href):
        return f'<img src="{escape(href)}" alt="{escape(href)}">'
    if label is None:
        content = escape(shown_target(target, abbreviations))
    else:
        picture = SPACES.sub(" ", label.strip())
        is_picture = IMAGE.search(picture) and " " not in picture
        if is_picture:
            source = escape(href_of(picture, abbreviations))
            content = f'<img src="{source}" alt="{source}">'
        else:
            content = render(label)
    return content if is_in_link else f'<a href="{escape(href)}">{content}</a>'


def href_of(target: str, abbreviations: Mapping[str, str]) -> str:
    """What a target means as a URL; a relative one is a page or attachment."""
    target = expand_abbreviation(abbreviations, target)
    if target.startswith("*"):
        # What stands before a colon would be the name of a scheme.
        return target.replace(":", "%3A")
    if target.startswith("file+"):
        target = "file:" + target.partition(":")[2]
    if target.startswith("file:"):
        target = SEARCH.sub("", target.removeprefix("file:"))
    elif not SCHEME.match(target):
        target = SEARCH.sub("", target) if "/" in target or "." in target else target
    return target


def shown_target(target: str, abbreviations: Mapping[str, str]) -> str:
    """The text of a link without a label."""
    shown = SPACES.sub(" ", target.strip())
    expanded = expand_abbreviation(abbreviations, shown)
    if expanded.startswith("file:"):
        return SEARCH.sub("", expanded.removeprefix("file:"))
    return expanded
