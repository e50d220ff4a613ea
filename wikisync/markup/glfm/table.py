"""Tables with pipes; markdown-it's own rule, which limits the cells it adds."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table

from wikisync.markup.glfm.state import GlfmState

UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
CELL = r"[ \t]*:?-+:?[ \t]*"
DASHES = re.compile(rf"\|?{CELL}(?:\|{CELL})*(?:\|[ \t]*)?")


def pipe_table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A table, unless the line of dashes underlines a heading.

    A paragraph that holds dashes for more or fewer cells than the row above them has
    is asked no more.
    """
    assert isinstance(state, GlfmState)
    if not silent:
        state.has_odd_dashes = False
    below = start_line + 1
    if state.has_odd_dashes or below >= end_line:
        return False
    position = state.bMarks[below] + state.tShift[below]
    if not state.src.startswith(("|", "-", ":"), position) or is_underline(
        state, below
    ):
        return False
    if table(state, start_line, end_line, silent):
        return True
    is_inside = state.sCount[below] >= state.blkIndent
    state.has_odd_dashes = (
        is_inside
        and not state.is_code_block(below)
        and DASHES.fullmatch(state.src, position, state.eMarks[below]) is not None
    )
    return False


def lone_pipe(state: StateBlock, start_line: int, _end_line: int, silent: bool) -> bool:
    """Whether a row has no cell at all; the service's parser takes none there."""
    if not silent or state.parentType != "table":
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    return state.src[position : state.eMarks[start_line]].strip() == "|"


def is_underline(state: StateBlock, line: int) -> bool:
    """Whether a line makes the paragraph above it in its container a heading.

    It is text where nothing is left of that paragraph.
    """
    if state.is_code_block(line) or state.sCount[line] < state.blkIndent:
        return False
    position = state.bMarks[line] + state.tShift[line]
    return UNDERLINE.fullmatch(state.src, position, state.eMarks[line]) is not None
