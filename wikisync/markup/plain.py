"""Plain text pages: the text as it stands.  Pure."""

from __future__ import annotations

from wikisync.markup.context import PageContext
from wikisync.markup.tokens import escape


def to_html(source: str, _context: PageContext) -> str:
    """The text, escaped, with its own line ends."""
    return f"<pre>{escape(source)}</pre>\n"
