"""Plain text pages: the text as it stands.  Pure."""

from wikisync.markup.context import ParseContext
from wikisync.markup.tokens import escape


def to_html(source: str, _context: ParseContext) -> str:
    """The text, escaped, with its own line ends."""
    return f"<pre>{escape(source)}</pre>\n"
