"""A page's source before any parser sees it, and as it is shown unparsed.  Pure."""

import re

from wikisync.core.model import Page, Problem
from wikisync.errors import Breach
from wikisync.markup.context import ParseContext
from wikisync.markup.record import ParsedPage, Section
from wikisync.markup.tokens import escape

TOO_MUCH_MEMORY = "it needs too much memory to parse"
SPLIT_HINT = "split the page; --retry of build and export tries it again at once"
TEXT_CHARS_OF_SOURCE_MAX = 100_000
"""How much of an unrendered page the search may see."""
SURROGATE = re.compile("[\ud800-\udfff]")


def clean_source(content: str) -> str:
    """Text without byte order mark, NUL and lone surrogates; lines end in LF."""
    text = content.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = SURROGATE.sub("\ufffd", text)
    return text.replace("\0", "\ufffd")


def shown_as_source(
    page: Page,
    source: str,
    reason: str,
    hint: str | None = None,
    *,
    breach: Breach | None = None,
) -> ParsedPage:
    """A page that cannot be rendered, as source with a notice and its size."""
    if breach is not None:
        hint = SPLIT_HINT
        size = len(source.encode("utf-8", "surrogatepass"))
        reason += f" (it has {size:,} bytes)"
    hint = hint or "fix the page's text, or see it on the service"
    text = " ".join(source[:TEXT_CHARS_OF_SOURCE_MAX].split())
    html = (
        '<div class="markup-notice" role="note">'
        f"<p>This page is shown as source: {escape(reason)}.</p></div>"
        f'<pre class="code" tabindex="0"><code>{escape(source)}</code></pre>'
    )
    return ParsedPage(
        slug=page.slug,
        format=page.format,
        title=title_of(page),
        parts=(html,),
        sections=(Section("", "", text),),
        problems=(Problem("page-not-rendered", page.slug, reason, hint),),
        is_source=True,
        breach=breach,
    )


def title_of(page: Page) -> str:
    """The service's title: the slug's last part with hyphens as spaces."""
    return page.title or page.slug.rpartition("/")[2].replace("-", " ")


def to_html(source: str, _context: ParseContext) -> str:
    """The text, escaped, with its own line ends."""
    return f"<pre>{escape(source)}</pre>\n"
