"""``~~struck~~`` and ``~struck~``; three tildes are text."""

from __future__ import annotations

from markdown_it import MarkdownIt


def strike_rule(md: MarkdownIt) -> None:
    """Enable struck text."""
    md.options["strikethrough_single_tilde"] = True
    md.enable("strikethrough")
