"""Definitions of links, as ``[a]: b`` is one, at the beginning of a paragraph.

To the service's parser they are text of that paragraph, whose end decides: they are
taken away from it when it ends or becomes a heading, and stay where it becomes a
term of a description list or a table ends it.  So the line below one goes on with the
paragraph, unless it is one that ends a paragraph: it is no code, no item that counts
from three, and three dashes are text.
"""

from markdown_it.rules_block import StateBlock, lheading, paragraph, reference

from wikisync.markup.glfm.leaves import is_underline, pipe_table
from wikisync.markup.glfm.lists import description
from wikisync.markup.glfm.state import CODE_INDENT, GlfmState


def definitions(
    state: StateBlock, start_line: int, end_line: int, silent: bool
) -> bool:
    """All definitions that a paragraph begins with, and what is left of it."""
    assert isinstance(state, GlfmState)
    position = state.bMarks[start_line] + state.tShift[start_line]
    if state.src[position : position + 1] != "[" or state.is_code_block(start_line):
        return False
    state.has_odd_dashes = False
    stop = paragraph_end(state, start_line, end_line)
    if stop < end_line and is_taken(state, stop, end_line):
        return False
    line, line_max = start_line, state.lineMax
    state.lineMax = stop  # the library's rule reads no further than this
    while line < stop and reference(state, line, stop, silent):
        if silent:
            break
        line = state.line
        if line < stop and state.spaces_before(line):
            break  # white space is text
    state.lineMax = line_max
    if line == start_line or silent:
        return line > start_line
    if line < stop or (line < end_line and is_underline(state, line)):
        count = state.sCount[line]
        state.sCount[line] = state.blkIndent  # it is no code, however far it stands
        if not lheading(state, line, end_line, False):
            paragraph(state, line, end_line, False)
        state.sCount[line] = count
    return True


def paragraph_end(state: StateBlock, start_line: int, end_line: int) -> int:
    """The line behind a paragraph, which is its underline if it has one."""
    parent, state.parentType = state.parentType, "paragraph"
    rules = state.md.block.ruler.getRules("paragraph")
    line = start_line + 1
    while line < end_line and not state.isEmpty(line):
        is_lazy = (
            state.sCount[line] < 0
            or state.sCount[line] - state.blkIndent >= CODE_INDENT
        )
        if not is_lazy and (
            is_underline(state, line)
            or any(rule(state, line, end_line, True) for rule in rules)
        ):
            break
        line += 1
    state.parentType = parent
    return line


def is_taken(state: StateBlock, line: int, end_line: int) -> bool:
    """Whether a line makes the paragraph right above it a term, or begins a table."""
    parent, state.parentType = state.parentType, "paragraph"
    found = description(state, line, end_line, True)
    found = found or pipe_table(state, line, end_line, True)
    state.parentType = parent
    return found
