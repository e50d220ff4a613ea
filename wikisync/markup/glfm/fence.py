"""Fenced code whose fence is indented by a tab, of which the item takes a part.

From the lines of the code the service's parser then takes as many columns as the
fence has characters in front of it, and not as many as it has columns.
"""

from __future__ import annotations

from markdown_it.rules_block import StateBlock, fence


def fenced(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A block of code; the library takes its indentation from that of its fence."""
    if silent or state.is_code_block(start_line):
        return fence(state, start_line, end_line, silent)
    columns = state.sCount[start_line]
    state.sCount[start_line] = state.blkIndent + indent_characters(state, start_line)
    found = fence(state, start_line, end_line, silent)
    state.sCount[start_line] = columns
    return found


def indent_characters(state: StateBlock, line: int) -> int:
    """How many characters of a line's indentation are not its container's."""
    start, count = state.bMarks[line], state.tShift[line]
    if "\t" not in state.src[start : start + count]:
        return state.sCount[line] - state.blkIndent
    column = 0
    for position in range(count):
        if column >= state.blkIndent:
            return count - position
        is_tab = state.src[start + position] == "\t"
        column += 4 - (column + state.bsCount[line]) % 4 if is_tab else 1
    return int(column > state.blkIndent)
