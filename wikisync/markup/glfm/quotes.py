"""Quotes, fenced quotes and alerts, where markdown-it reads them otherwise."""

import re
from itertools import islice

from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from wikisync.markup.glfm.block import GlfmState

# To the service's parser a ``>`` that is indented by four is none, a line of text that
# a quote around this one has taken is text here too, and tabs are counted from the
# margin however deep the quotes.

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
    # blank lines behind an empty one are not its own
    state.line = min(state.line, line)
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
    line, is_empty = start_line, False
    while line < end_line and not state.isEmpty(line):
        marks = state.bMarks[line], state.tShift[line]
        saved.append((*marks, state.sCount[line], state.bsCount[line]))
        if state.sCount[line] >= state.blkIndent and is_quoted(state, line):
            is_empty = take_mark(state, line)
        elif is_empty:
            break
        elif state.begins_block(line, end_line):
            # no paragraph of the quote may take this line
            state.lineMax = line
            state.sCount[line] -= state.blkIndent
            break
        elif state.sCount[line] >= 0:
            # text, whatever it begins with
            state.sCount[line] = -1 - state.base(state.sCount[line])
        line += 1
    return line


def take_mark(state: GlfmState, line: int) -> bool:
    """Let a line begin behind its mark and one space; whether nothing is left of it."""
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


ALERT = re.compile(
    r"[ \t]+\[!(note|tip|important|caution|warning)\][ \t]*([^\n]*)", re.IGNORECASE
)


def alert(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A quote whose first line, which is no paragraph, names a kind."""
    assert isinstance(state, GlfmState)
    if not is_quoted(state, start_line):
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    match = ALERT.fullmatch(state.src, position + 1, state.eMarks[start_line])
    if match is None:
        return False
    if silent:
        return True
    first = len(state.tokens)
    next_line = start_line + 1
    is_inside = state.sCount[next_line] >= state.blkIndent
    if next_line < end_line and is_inside and is_quoted(state, next_line):
        blockquote(state, next_line, end_line, silent=False)
    else:
        state.push("blockquote_open", "blockquote", 1)
        state.push("blockquote_close", "blockquote", -1)
        state.line = next_line
    mark_alert(state, first, match[1].lower(), match[2].strip())
    state.tokens[first].map = [start_line, state.line]
    return True


def mark_alert(state: StateBlock, first: int, kind: str, title: str) -> None:
    """Turn the quote that begins at token ``first`` into an alert."""
    opening, closing = state.tokens[first], state.tokens[-1]
    for token in (opening, closing):
        token.tag = "div"
        token.type = token.type.replace("blockquote", "alert")
    opening.attrs = {"class": f"markdown-alert markdown-alert-{kind}"}
    paragraph = Token("alert_title_open", "p", 1, level=opening.level + 1, block=True)
    paragraph.attrs = {"class": "markdown-alert-title"}
    text = Token("inline", "", 0, level=opening.level + 2, block=True)
    text.children = [
        Token("text", "", 0, content=unescapeAll(title) or kind.capitalize())
    ]
    end = Token("alert_title_close", "p", -1, level=opening.level + 1, block=True)
    state.tokens[first + 1 : first + 1] = [paragraph, text, end]


FENCE_MARK = ">>>"
FENCE = re.compile(r">{3,}")
ONLY_FENCE = re.compile(r"(>{3,})[ \t]*")


def fenced_quote(
    state: StateBlock, start_line: int, end_line: int, silent: bool
) -> bool:
    """A fenced quote or alert; without a closing fence it ends with its container."""
    assert isinstance(state, GlfmState)
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
    # the lines inside begin where the fence does
    indent = state.sCount[start_line] - state.blkIndent
    taken: list[tuple[int, int]] = []
    for line in range(start_line + 1, close_line if indent > 0 else 0):
        spaces = min(indent, state.tShift[line], state.sCount[line] - state.blkIndent)
        if spaces > 0:
            move_start(state, line, spaces)
            taken.append((line, spaces))
    first = len(state.tokens)
    push_content(state, start_line, close_line)
    has_close &= state.line >= close_line
    if has_close:
        loosen_lists(state.tokens)
    for line, spaces in taken:
        move_start(state, line, -spaces)
    if kind is not None:
        mark_alert(state, first, kind[1].lower(), kind[2].strip())
    state.line += has_close
    return True


def loosen_lists(tokens: list[Token]) -> None:
    """Make the lists loose that the closing fence ends, but for the outermost.

    The service's parser leaves those inside of others unfinished there.
    """
    levels = []
    for token in islice(reversed(tokens), 1, None):
        if token.nesting >= 0 or token.markup == FENCE_MARK:
            break
        if token.type.endswith("list_close"):
            levels.append(token.level + 2)
    del levels[:1]
    for token in reversed(tokens if levels else ()):
        if token.level in levels:
            token.hidden = False
        if token.type.endswith("list_open") and token.level + 2 in levels:
            levels.remove(token.level + 2)
            if not levels:
                break


def find_close(
    state: GlfmState, line: int, end_line: int, width: int
) -> tuple[int, bool]:
    """Line of the closing fence, and whether it is one or the container's end."""
    while line < end_line:
        is_outside = not state.isEmpty(line) and state.sCount[line] < state.blkIndent
        if is_outside and (
            state.isEmpty(line - 1) or state.begins_block(line, end_line)
        ):
            return line, False
        position = state.bMarks[line] + state.tShift[line]
        match = ONLY_FENCE.fullmatch(state.src, position, state.eMarks[line])
        is_fence = match is not None and len(match[1]) >= width and not is_outside
        if is_fence and not state.is_code_block(line):
            return line, True
        line += 1
    return line, False


def move_start(state: StateBlock, line: int, spaces: int) -> None:
    """Let a line begin so many spaces later."""
    state.bMarks[line] += spaces
    state.tShift[line] -= spaces
    state.sCount[line] -= spaces


def push_content(state: StateBlock, start_line: int, close_line: int) -> None:
    """Parse the lines between the fences as blocks of a quote."""
    token = state.push("blockquote_open", "blockquote", 1)
    token.map = [start_line, close_line]
    old_line_max, old_parent = state.lineMax, state.parentType
    state.lineMax = close_line
    state.parentType = "blockquote"
    state.line = start_line + 1
    state.md.block.tokenize(state, state.line, close_line)
    state.lineMax, state.parentType = old_line_max, old_parent
    state.push("blockquote_close", "blockquote", -1).markup = FENCE_MARK
