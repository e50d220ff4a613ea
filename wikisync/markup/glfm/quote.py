"""Fenced quotes: lines between two lines of three or more ``>``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from markdown_it.rules_block import StateBlock

from wikisync.markup.glfm.alert import ALERT, mark_alert

FENCE = re.compile(r">{3,}")
ONLY_FENCE = re.compile(r"(>{3,})[ \t]*")


def fenced_quote(
    state: StateBlock, start_line: int, end_line: int, silent: bool
) -> bool:
    """A fenced quote or alert; without a closing fence it ends with its container."""
    if state.is_code_block(start_line):
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    fence = FENCE.match(state.src, position, state.eMarks[start_line])
    if fence is None:
        return False
    rest = state.src[fence.end() : state.eMarks[start_line]]
    kind = ALERT.fullmatch(rest)
    if rest.strip() and kind is None:
        return False
    if silent:
        return True
    close_line, has_close = find_close(state, start_line + 1, end_line, len(fence[0]))
    first = len(state.tokens)
    with outdented(state, start_line, close_line):
        push_content(state, start_line, close_line)
    if kind is not None:
        mark_alert(state, first, kind[1].lower(), kind[2].strip())
    state.line = close_line + has_close
    return True


def find_close(
    state: StateBlock, line: int, end_line: int, width: int
) -> tuple[int, bool]:
    """Line of the closing fence, and whether it is one or the container's end."""
    while line < end_line:
        position = state.bMarks[line] + state.tShift[line]
        if position < state.eMarks[line] and state.sCount[line] < state.blkIndent:
            return line, False
        match = ONLY_FENCE.fullmatch(state.src, position, state.eMarks[line])
        if match and len(match[1]) >= width and not state.is_code_block(line):
            return line, True
        line += 1
    return line, False


@contextlib.contextmanager
def outdented(state: StateBlock, start_line: int, close_line: int) -> Iterator[None]:
    """Take the indentation of the opening fence from the lines inside."""
    indent = state.sCount[start_line] - state.blkIndent
    taken: list[tuple[int, int]] = []
    for line in range(start_line + 1, close_line if indent > 0 else 0):
        spaces = min(indent, state.tShift[line], state.sCount[line] - state.blkIndent)
        if spaces > 0:
            move_start(state, line, spaces)
            taken.append((line, spaces))
    yield
    for line, spaces in taken:
        move_start(state, line, -spaces)


def move_start(state: StateBlock, line: int, spaces: int) -> None:
    """Let a line begin so many spaces later."""
    state.bMarks[line] += spaces
    state.tShift[line] -= spaces
    state.sCount[line] -= spaces


def push_content(state: StateBlock, start_line: int, close_line: int) -> None:
    """Parse the lines between the fences as blocks of a quote."""
    token = state.push("blockquote_open", "blockquote", 1)
    token.map = [start_line, close_line]
    token.markup = ">>>"
    old_line_max, old_parent = state.lineMax, state.parentType
    state.lineMax = close_line
    state.parentType = "blockquote"
    state.md.block.tokenize(state, start_line + 1, close_line)
    state.lineMax, state.parentType = old_line_max, old_parent
    state.push("blockquote_close", "blockquote", -1)
