"""Pages in formats that the service lists but nothing here renders.  Pure.

Textile, Creole, MediaWiki and POD can only get into a wiki through git; their
source is shown, with a word on why.
"""

from __future__ import annotations

from wikisync.markup import plain
from wikisync.markup.context import ParseContext

NOTICE = "This page is written in a format that is not rendered; this is its source."


def to_html(source: str, context: ParseContext) -> str:
    """The notice and the source, escaped."""
    return f"<p><em>{NOTICE}</em></p>\n{plain.to_html(source, context)}"
