"""``[[page]]`` and ``[[text|page]]``; the link index resolves them."""

from __future__ import annotations

import re

from markdown_it.common.utils import unescapeAll
from markdown_it.rules_inline import StateInline

WIKILINK = re.compile(
    r"\[\[((?:[^\[\]|\\]|\\.)*+)(?:\|((?:[^\[\]|\\]|\\.)*+))?\]\]", re.DOTALL
)
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def wikilink(state: StateInline, silent: bool) -> bool:
    """A wiki link outside of other links; its text is no markdown."""
    if not state.src.startswith("[[", state.pos) or state.linkLevel > 0:
        return False
    if is_in_opening(state.src, state.pos):
        return False
    if is_in_brackets(state.src, state.pos):
        return False
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        text = unescapeAll(match[1]).strip()
        target = text if match[2] is None else unescapeAll(match[2]).strip()
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": state.md.normalizeLink(target), "data-wikilink": "true"}
        push_text(state, match[1].strip())
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def push_text(state: StateInline, raw: str) -> None:
    """Add a link's text, its escaped characters marked as everywhere."""
    for number, piece in enumerate(ESCAPED.split(raw)):
        if piece:
            content = piece if number % 2 else unescapeAll(piece)
            state.push("escaped" if number % 2 else "text", "", 0).content = content


def is_in_opening(source: str, position: int) -> bool:
    """Whether the sign before a position makes one opening with the bracket there."""
    if not position or source[position - 1] not in "![":
        return False
    sign = first = position - 1
    while first and source[first - 1] == "\\":
        first -= 1
    return (sign - first) % 2 == 0


def is_in_brackets(source: str, position: int) -> bool:
    """Whether the last bracket before a position is an open one.

    The service's parser knows no wiki link there, be it the text of a link or not.
    """
    last = source.rfind("[", 0, position)
    if last < 0 or source.find("]", last, position) >= 0:
        return False
    return source[last - 1 : last] != "\\"
