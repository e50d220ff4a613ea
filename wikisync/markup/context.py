"""What a format's parser may know besides the text.  Pure.

Each format is one function ``to_html(source, context) -> str`` that gives HTML
which is not yet safe: headings without ids, code as
``<pre data-canonical-lang="x"><code>``, math as an element with
``data-math-style="inline"`` or ``"display"``, wiki links with ``data-wikilink``.
Boxes bear their signs, which the filter of tasks reads.
``markup.page`` sanitises it and runs the filters, the same for all formats.
"""

from collections.abc import Callable
from contextvars import ContextVar

from msgspec import Struct

from wikisync.core.model import Slug
from wikisync.markup.record import AsciidocEngine, MarkdownEngine

PAGE_SECONDS_MAX = 10.0
"""Processor time of the process that parses a page, and of an engine's."""
page_seconds: ContextVar[float] = ContextVar("page_seconds", default=PAGE_SECONDS_MAX)
"""What the page that is being parsed may take in an engine's process."""

MARKED_ESCAPES = frozenset("$%#&@!~^:")
r"""Characters that keep a mark where a backslash escapes them, so that ``\#1`` is no
reference; any other, as in ``@john\_doe``, is text like the one around it."""

SIGN = "data-sign"
ID_PREFIX = "user-content-"
"""Ids that begin so are those that the sanitiser lets through; filters take it off."""

Include = Callable[[str], str | None]
"""A target as the page names it to the text of that page or text attachment of
the same wiki; None where there is no such thing.  Never a file or a URL."""


def include_nothing(_target: str) -> str | None:
    """The include of a page that stands alone."""
    return None


class ParseContext(Struct, frozen=True):
    """The page that is being parsed, and what it may include."""

    slug: Slug
    include: Include = include_nothing
    engine: MarkdownEngine = "auto"
    asciidoc_engine: AsciidocEngine = "auto"
    """What renders asciidoc; the other formats have one parser each."""
