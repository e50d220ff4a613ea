r"""``\#1``: an escaped character keeps a mark, so that it is no reference later."""

from __future__ import annotations

from markdown_it.rules_inline import StateInline

ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def escaped(state: StateInline, silent: bool) -> bool:
    """A backslash before ASCII punctuation; before others it is text.

    At the end of a line the library's rule makes a break of it.
    """
    position = state.pos + 1
    if state.src[state.pos] != "\\" or position >= state.posMax:
        return False
    if state.src[position] == "\n":
        return False
    if state.src[position] not in ESCAPABLE:
        if not silent:
            # text, not a token: an address may begin behind it
            state.pending += "\\"
        state.pos = position
        return True
    if not silent:
        token = state.push("escaped", "", 0)
        token.content = state.src[position]
        token.markup = "\\" + token.content
    state.pos = position + 1
    return True
