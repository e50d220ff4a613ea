"""Blocks that hold no other ones: code, raw HTML, tables, definitions of links."""

import re

from markdown_it.rules_block import StateBlock, fence, lheading, paragraph, reference
from markdown_it.rules_block.html_block import HTML_SEQUENCES, html_block
from markdown_it.rules_block.table import table
from markdown_it.rules_inline import StateInline, html_inline

from wikisync.markup.glfm.block import CODE_INDENT, GlfmState
from wikisync.markup.glfm.lists import description

# From the lines of the code the service's parser then takes as many columns as the
# fence has characters in front of it, and not as many as it has columns.


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


# Raw HTML, where the service's parser is not of CommonMark's mind.
#
#     - a
#     <img src="b.png">
#
# A tag alone on its line is part of the paragraph above it.  Where that paragraph is
# in a container and the line is not, the tag begins a block of its own after it; later
# versions of CommonMark take it for a lazy line.  And a raw link is no link to the
# parser: addresses inside it become links of their own.

CUT_OFF = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*")
"""The name of a tag, which begins no block where the page ends with it."""
LONE_TAG = HTML_SEQUENCES[-1][0]


def html(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A block of HTML, or whether one ends what is above it."""
    position = state.bMarks[start_line] + state.tShift[start_line]
    is_below = state.sCount[start_line] < state.blkIndent
    # the line is in what is above only if it goes on a paragraph
    is_outside = is_below or state.parentType in {"blockquote", "table"}
    if silent and is_outside and not state.is_code_block(start_line):
        text = state.src[position : state.eMarks[start_line]]
        if LONE_TAG.search(text):
            return True
    if CUT_OFF.fullmatch(state.src, position):
        return False
    return html_block(state, start_line, end_line, silent)


def tag(state: StateInline, silent: bool) -> bool:
    """A tag in running text."""
    level = state.linkLevel
    is_tag = html_inline(state, silent)
    state.linkLevel = level
    return is_tag


UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
CELL = r"[ \t]*:?-+:?[ \t]*"
HEAD = 4
"""Place of the first heading's text among the tokens of a table."""
DASHES = re.compile(rf"\|?{CELL}(?:\|{CELL})*(?:\|[ \t]*)?")


def pipe_table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A table, unless the line of dashes underlines a heading.

    A paragraph with dashes that do not fit its row is asked no more.
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
    first, end = len(state.tokens), state.eMarks[start_line]
    head = state.src[state.bMarks[start_line] + state.tShift[start_line] : end]
    pipe = state.src.find("|", position, state.eMarks[below])
    if "|" not in head and pipe >= 0:
        # the library asks for a pipe there, where the service's parser needs none
        state.eMarks[start_line] = pipe + 1
    is_table = table(state, start_line, end_line, silent)
    if is_table and state.eMarks[start_line] != end and not silent:
        state.tokens[first + HEAD].content = head.strip()
    state.eMarks[start_line] = end
    if is_table:
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
    """Whether a line makes the paragraph above it, if some is left, a heading."""
    if state.is_code_block(line) or state.sCount[line] < state.blkIndent:
        return False
    position = state.bMarks[line] + state.tShift[line]
    return UNDERLINE.fullmatch(state.src, position, state.eMarks[line]) is not None


# -- definitions of links at the beginning of a paragraph ------------------------


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
