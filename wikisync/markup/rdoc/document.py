"""RDoc pages to HTML, as the service shows them.

Rules: RDoc's own markup reference and the output of rdoc 6.6 to 6.17.  Where the
service's page would only show a fault of that output we differ: headings carry
no arrows, badges (``{<img src=..>}[url]``) are image links, marks nest properly,
no link stands inside a link, and relative links mean pages of the wiki.
"""

from __future__ import annotations

from wikisync.markup.context import ParseContext
from wikisync.markup.rdoc.blocks import blocks_html


def to_html(source: str, _context: ParseContext) -> str:
    """HTML of an RDoc page, not yet safe; linear in the length of ``source``."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    return blocks_html(text)
