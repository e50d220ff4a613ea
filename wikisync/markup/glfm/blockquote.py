"""Quotes; markdown-it's own rule takes more for a mark, and less for lazy text.

To the service's parser a ``>`` that is indented by four is none, a line of text that a
quote around this one has taken is text here too, and tabs are counted from the
margin however deep the quotes.
"""

from __future__ import annotations

from markdown_it.rules_block import StateBlock

from wikisync.markup.glfm.state import GlfmState

Marks = tuple[int, int, int, int]


def blockquote(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Lines behind ``>``, and lines of text that go on with their last paragraph."""
    assert isinstance(state, GlfmState)
    if not is_quoted(state, start_line):
        return False
    if silent:
        return True
    saved: list[Marks] = []
    old = state.lineMax, state.parentType, state.blkIndent, state.enclosing
    state.parentType = "blockquote"
    line = take_lines(state, start_line, end_line, saved)
    state.blkIndent, state.enclosing = 0, []
    opening = state.push("blockquote_open", "blockquote", 1)
    state.md.block.tokenize(state, start_line, line)
    state.push("blockquote_close", "blockquote", -1)
    opening.map = [start_line, state.line]
    state.lineMax, state.parentType, state.blkIndent, state.enclosing = old
    for number, marks in enumerate(saved, start_line):
        state.bMarks[number], state.tShift[number] = marks[:2]
        state.sCount[number], state.bsCount[number] = marks[2:]
    return True


def is_quoted(state: GlfmState, line: int) -> bool:
    """Whether a line bears the mark of a quote in the container that is open."""
    position = state.bMarks[line] + state.tShift[line]
    is_mark = (
        state.src[position : position + 1] == ">" and position < state.eMarks[line]
    )
    return is_mark and not state.is_code_block(line)


def take_lines(
    state: GlfmState, start_line: int, end_line: int, saved: list[Marks]
) -> int:
    """Move the starts of the quote's lines behind their marks; the line behind it."""
    rules = state.md.block.ruler.getRules("blockquote")
    is_empty = take_mark(state, start_line, saved)
    line = start_line + 1
    while line < end_line and not state.isEmpty(line):
        is_inside = state.sCount[line] >= state.blkIndent
        if is_inside and is_quoted(state, line):
            is_empty = take_mark(state, line, saved)
        elif is_empty:
            break
        elif state.sCount[line] >= 0 and any(
            rule(state, line, end_line, True) for rule in rules
        ):
            # no paragraph of the quote may take this line
            state.lineMax = line
            saved.append(marks_of(state, line))
            state.sCount[line] -= state.blkIndent
            break
        else:
            saved.append(marks_of(state, line))
            if state.sCount[line] >= 0:
                # text, whatever it begins with
                state.sCount[line] = -1 - state.base(state.sCount[line])
        line += 1
    return line


def take_mark(state: GlfmState, line: int, saved: list[Marks]) -> bool:
    """Let a line begin behind its mark and one space; whether nothing is left of it."""
    saved.append(marks_of(state, line))
    source, end, column = state.src, state.eMarks[line], state.bsCount[line]
    position = state.bMarks[line] + state.tShift[line] + 1
    offset = state.sCount[line] + 1
    is_spaced = position < end and source[position] in " \t"
    # of a wider tab one column is taken, and the others are the content's
    is_wide = is_spaced and source[position] == "\t" and (column + offset) % 4 != 3
    if is_spaced and not is_wide:
        position, offset = position + 1, offset + 1
    state.bMarks[line] = position
    state.bsCount[line] = column + state.sCount[line] + 1 + is_spaced
    begin = offset
    while position < end and source[position] in " \t":
        is_tab = source[position] == "\t"
        offset += 4 - (offset + column + is_wide) % 4 if is_tab else 1
        position += 1
    state.sCount[line] = offset - begin
    state.tShift[line] = position - state.bMarks[line]
    return position >= end


def marks_of(state: GlfmState, line: int) -> Marks:
    """Where a line begins, as it is given back behind the quote."""
    return (
        state.bMarks[line],
        state.tShift[line],
        state.sCount[line],
        state.bsCount[line],
    )
