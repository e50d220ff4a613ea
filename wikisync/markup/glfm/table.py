"""Tables with pipes; markdown-it's own rule, which limits the cells it adds."""

from __future__ import annotations

from markdown_it import MarkdownIt


def table_rule(md: MarkdownIt) -> None:
    """Enable tables."""
    md.enable("table")
