"""Description lists: a paragraph, then ``: text`` or ``~ text``, at most three in."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from wikisync.markup.glfm.list import hide_paragraphs
from wikisync.markup.glfm.state import GlfmState

MARKER = re.compile(r"[:~][ \t]+")


def description(
    state: StateBlock, start_line: int, end_line: int, silent: bool
) -> bool:
    """One description; its term is the paragraph just read, its list may be open."""
    if state.is_code_block(start_line):
        return False
    count = state.sCount[start_line]
    if count < state.blkIndent and not (silent and 0 <= state.ddIndent <= count):
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    marker = MARKER.match(state.src, position, state.eMarks[start_line])
    if marker is None:
        return False
    if silent:
        return state.parentType == "paragraph"
    is_tight = reopen_list(state, start_line)
    if is_tight is None:
        return False
    push_description(state, start_line, end_line, marker.end(), is_tight=is_tight)
    return True


def reopen_list(state: StateBlock, line: int) -> bool | None:
    """Make the paragraph above a term, or go on with the list above.

    Returns:
        Whether the description is tight; None where nothing above can be described.
    """
    last = state.tokens[-1] if state.tokens else None
    if last is None or last.level != state.level:
        return None
    if last.type == "dl_close":
        opening = state.tokens.pop().meta["opening"]
        state.tokens.append(Token("dl_mark", "", 0, meta={"opening": opening}))
        return bool(opening.meta["is_tight"])
    if last.type != "paragraph_close":
        return None
    paragraph = state.tokens[-3]
    assert paragraph.map is not None
    is_tight = line == paragraph.map[1]
    if paragraph.hidden:
        return None
    _, text, _ = state.tokens[-3:]
    del state.tokens[-3:]
    opening = open_list(state)
    opening.meta["is_tight"] = is_tight
    push_term(state, text)
    state.tokens.append(Token("dl_mark", "", 0, meta={"opening": opening}))
    return is_tight


def open_list(state: StateBlock) -> Token:
    """The list that ends right before the term, or a new one."""
    last = state.tokens[-1] if state.tokens else None
    if last is not None and last.type == "dl_close" and last.level == state.level:
        opening: Token = state.tokens.pop().meta["opening"]
        return opening
    opening = Token("dl_open", "dl", 1, level=state.level, block=True)
    state.tokens.append(opening)
    return opening


def push_term(state: StateBlock, text: Token) -> None:
    """Add a term with the text of the paragraph that it was."""
    text.level = state.level + 2
    opening = Token("dt_open", "dt", 1, level=state.level + 1, block=True)
    closing = Token("dt_close", "dt", -1, level=state.level + 1, block=True)
    state.tokens += [opening, text, closing]


def push_description(
    state: StateBlock, line: int, end_line: int, content: int, *, is_tight: bool
) -> None:
    """Parse one description like a list item, then close the list again."""
    list_opening = state.tokens.pop().meta["opening"]
    state.level += 1
    first = len(state.tokens)
    state.push("dd_open", "dd", 1)
    parse_content(state, line, end_line, content)
    state.push("dd_close", "dd", -1)
    state.level -= 1
    if is_tight:
        hide_paragraphs(state.tokens, first, state.tokens[first].level + 1)
    closing = Token("dl_close", "dl", -1, level=state.level, block=True)
    closing.meta = {"opening": list_opening}
    state.tokens.append(closing)


def parse_content(state: StateBlock, line: int, end_line: int, content: int) -> None:
    """Parse the blocks behind the marker and those indented as far."""
    assert isinstance(state, GlfmState)
    position = state.bMarks[line] + state.tShift[line]
    width = content - position
    old = (
        state.ddIndent,
        state.blkIndent,
        state.tShift[line],
        state.sCount[line],
        state.tight,
        state.parentType,
    )
    state.ddIndent = state.blkIndent
    state.enclosing.append(state.blkIndent)
    state.blkIndent = state.sCount[line] + width
    state.tShift[line] = content - state.bMarks[line]
    state.sCount[line] = state.blkIndent
    state.tight = True
    state.parentType = "description"
    state.md.block.tokenize(state, line, end_line)
    state.enclosing.pop()
    (
        state.ddIndent,
        state.blkIndent,
        state.tShift[line],
        state.sCount[line],
        state.tight,
        state.parentType,
    ) = old
