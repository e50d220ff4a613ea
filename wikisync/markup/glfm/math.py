r"""Formulas: ``$x$``, ``$$x$$`` and ``$`x`$``; the fourth form is a code block.

A single dollar opens only before something that is no space, and closes only
behind something that is no space and before no digit, so prices stay prices.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from wikisync.markup.tokens import escape

DOLLARS = re.compile(r"\$+")
CODE_OPEN, CODE_CLOSE = "$`", "`$"
SPACES = frozenset(" \t\n")
DIGITS = frozenset(string.digits)


def math_inline(state: StateInline, silent: bool) -> bool:
    """A formula, or dollars as text."""
    if state.src[state.pos] != "$":
        return False
    if state.src.startswith(CODE_OPEN, state.pos):
        return math_code(state, silent)
    opening = DOLLARS.match(state.src, state.pos, state.posMax)
    assert opening is not None
    width = len(opening[0])
    end = find_end(state, opening.end(), width) if width <= 2 else -1
    if not silent:
        if end < 0:
            state.append_pending(opening[0])
        else:
            content = state.src[opening.end() : end]
            push_math(state, content, "display" if width == 2 else "inline", "span")
    state.pos = opening.end() if end < 0 else end + width
    return True


def find_end(state: StateInline, start: int, width: int) -> int:
    """Position of the closing dollars, or -1."""
    source, is_single = state.src, width == 1
    if is_single and (start >= state.posMax or source[start] in SPACES):
        return -1
    position = source.find("$", start, state.posMax)
    while position >= 0:
        before, end = source[position - 1], position + 1
        if is_single and before in SPACES:
            return -1
        if is_single and before != "\\":
            return -1 if source[end : end + 1] in DIGITS else position
        if not is_single and source.startswith("$$", position, state.posMax):
            return position
        position = source.find("$", end, state.posMax)
    return -1


def math_code(state: StateInline, silent: bool) -> bool:
    """The form with a backtick inside each dollar."""
    start = state.pos + len(CODE_OPEN)
    if last_close(state) < start:
        return False
    # the opening one is half of a closing one to the parser, which then gives up
    end = state.src.find(CODE_CLOSE, start - 1, state.posMax)
    if end <= start:
        return False
    if not silent:
        push_math(state, state.src[start:end], "inline", "code")
    state.pos = end + len(CODE_CLOSE)
    return True


def last_close(state: StateInline) -> int:
    """Position of the last closing sign of the whole text, or -1; searched for once.

    It is kept beside what ``skipToken`` remembers, whose keys are positions, and beside
    the last brackets, whose keys are negative and not so low.
    """
    key = -2 - len(state.src)
    known = state.cache.get(key)
    if known is None:
        known = state.cache[key] = state.src.rfind(CODE_CLOSE)
    return known


def push_math(state: StateInline, content: str, style: str, tag: str) -> None:
    """Add the token; line ends in an inline formula are spaces."""
    token = state.push("math_inline", tag, 0)
    token.content = content.replace("\n", " ") if style == "inline" else content
    token.info = style


def render_math(tokens: Sequence[Token], idx: int) -> str:
    """The element that the filter for formulas rewrites."""
    token = tokens[idx]
    return (
        f'<{token.tag} data-math-style="{token.info}">'
        f"{escape(token.content)}</{token.tag}>"
    )
