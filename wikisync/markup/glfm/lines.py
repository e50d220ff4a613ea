"""The line of each link and picture, where the engine's tokens have it."""

from __future__ import annotations

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from wikisync.markup.lines import ATTRIBUTE, LineMap

LINES = "lines"
"""Key of the environment under which the ``LineMap`` lies."""
BREAKS = frozenset({"softbreak", "hardbreak"})
LINKS = frozenset({"link_open", "image"})


def number_links(state: StateCore) -> None:
    """Write lines into the links of each text that shows where its lines end."""
    lines = state.env.get(LINES)
    if lines is None:
        return
    line = 0
    for token in state.tokens:
        if token.map:
            line = token.map[0] + 1
        if token.type == "inline":
            number_text(token, line, lines)


def number_text(text: Token, line: int, lines: LineMap) -> None:
    """The links of one text; line ends inside of code or a title are not seen."""
    children = text.children or ()
    types = [child.type for child in children]
    if LINKS.isdisjoint(types):
        return
    seen = sum(types.count(kind) for kind in BREAKS)
    if seen != text.content.count("\n"):
        return
    for child in children:
        if child.type in BREAKS:
            line += 1
        elif child.type in LINKS:
            child.attrs[ATTRIBUTE] = lines.line_of(line)
