r"""``\#1``: an escaped character keeps a mark, so that it is no reference later."""

from __future__ import annotations

from markdown_it.rules_inline import StateInline

ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def escaped(state: StateInline, silent: bool) -> bool:
    """A backslash before ASCII punctuation."""
    position = state.pos + 1
    if state.src[state.pos] != "\\" or position >= state.posMax:
        return False
    if state.src[position] not in ESCAPABLE:
        return False
    if not silent:
        token = state.push("escaped", "", 0)
        token.content = state.src[position]
        token.markup = "\\" + token.content
    state.pos = position + 1
    return True
