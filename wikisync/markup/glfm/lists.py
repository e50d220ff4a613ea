"""Lists and boxes of tasks; markdown-it reads empty items and blank lines otherwise.

To the service's parser a list goes on behind an empty item and any number of blank
lines, and a blank line that is indented as far as an item's content belongs to it.
"""

import re
from collections.abc import Sequence
from html import unescape

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType

from wikisync.markup.context import SIGN
from wikisync.markup.glfm.block import GlfmState
from wikisync.markup.tokens import escape

MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)")
"""A number that the page ends with is none; at any other end of a line it is one."""
WIDEST_GAP = 4
"""Columns between marker and content; wider gaps are one column and code."""


def list_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A list with all its items."""
    assert isinstance(state, GlfmState)
    marker = marker_at(state, start_line)
    if marker is None or state.is_code_block(start_line):
        return False
    if silent:
        is_text = state.parentType in {"paragraph", "reference"}
        if not is_text or state.sCount[start_line] < state.blkIndent:
            return True
        # below a paragraph a list begins with text, and counts from 1
        is_blank = state.skipSpaces(marker.end()) >= state.eMarks[start_line]
        return not is_blank and (marker[1] is None or int(marker[1]) == 1)
    tag = "ul" if marker[1] is None else "ol"
    name = "bullet_list" if marker[1] is None else "ordered_list"
    opening = state.push(f"{name}_open", tag, 1)
    if marker[1] is not None and int(marker[1]) != 1:
        opening.attrs = {"start": int(marker[1])}
    first = len(state.tokens)
    is_tight = push_items(state, start_line, end_line, marker)
    state.push(f"{name}_close", tag, -1)
    opening.map = [start_line, state.line]
    if is_tight:
        hide_paragraphs(state.tokens, first, opening.level + 2)
    return True


def marker_at(state: GlfmState, line: int) -> re.Match[str] | None:
    """The marker that a line begins with; its first group is the item's number."""
    position = state.bMarks[line] + state.tShift[line]
    marker = MARKER.match(state.src, position, state.eMarks[line])
    if marker and marker[1] is not None and marker.end() == len(state.src):
        return None
    return marker


def push_items(
    state: GlfmState, line: int, end_line: int, marker: re.Match[str] | None
) -> bool:
    """Parse the items from a line on; whether the list is tight."""
    sign = marker[0][-1] if marker else ""
    rules = state.md.block.ruler.getRules("list")
    parent, state.parentType = state.parentType, "list"
    is_tight, ended_blank = True, False
    while marker is not None and marker[0][-1] == sign:
        item = state.push("list_item_open", "li", 1)
        is_tight &= push_content(state, line, end_line, marker) and not ended_blank
        state.push("list_item_close", "li", -1)
        item.map = [line, state.line]
        ended_blank = state.is_parted
        line, marker = state.line, None
        if line >= end_line or not state.blkIndent <= state.sCount[line]:
            break
        if state.is_code_block(line) or any(
            rule(state, line, end_line, True) for rule in rules
        ):
            break
        marker = marker_at(state, line)
    state.parentType = parent
    return is_tight


def push_content(
    state: GlfmState, line: int, end_line: int, marker: re.Match[str]
) -> bool:
    """Parse the blocks of one item; whether no blank line parts them."""
    start, content = state.bMarks[line], marker.end()
    behind = offset = state.sCount[line] + content - start - state.tShift[line]
    while content < state.eMarks[line] and state.src[content] in " \t":
        is_tab = state.src[content] == "\t"
        offset += 4 - (offset + state.bsCount[line]) % 4 if is_tab else 1
        content += 1
    is_blank = content >= state.eMarks[line]
    gap = 1 if is_blank or offset - behind > WIDEST_GAP else offset - behind
    old = state.tight, state.tShift[line], state.sCount[line], state.blkIndent
    state.enclosing.append(state.blkIndent)
    state.tight, state.is_parted, state.blkIndent = True, False, behind + gap
    state.tShift[line], state.sCount[line] = content - start, offset
    next_line = state.skipEmptyLines(line + 1)
    if is_blank and any(
        state.sCount[blank] < state.blkIndent for blank in range(line + 1, next_line)
    ):
        state.line = min(next_line, end_line)
        state.is_parted = state.line - line > 1
    else:
        state.md.block.tokenize(state, line, end_line)
    is_tight = state.tight
    state.enclosing.pop()
    state.tight, state.tShift[line], state.sCount[line], state.blkIndent = old
    return is_tight


def hide_paragraphs(tokens: list[Token], first: int, level: int) -> None:
    """Show the paragraphs of tight items without their tags."""
    for token in tokens[first:]:
        if token.level == level and token.type in {"paragraph_open", "paragraph_close"}:
            token.hidden = True


DESCRIPTION_MARKER = re.compile(r"[:~][ \t]+")


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
    marker = DESCRIPTION_MARKER.match(state.src, position, state.eMarks[start_line])
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

    Whether the description is tight; None where nothing can be described.
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
    last = state.tokens[-1] if state.tokens else None
    if last is not None and last.type == "dl_close" and last.level == state.level:
        # the list that ends right before the term
        opening = state.tokens.pop().meta["opening"]
    else:
        opening = Token("dl_open", "dl", 1, level=state.level, block=True)
        state.tokens.append(opening)
    opening.meta["is_tight"] = is_tight
    text.level = state.level + 2
    state.tokens += [
        Token("dt_open", "dt", 1, level=state.level + 1, block=True),
        text,
        Token("dt_close", "dt", -1, level=state.level + 1, block=True),
        Token("dl_mark", "", 0, meta={"opening": opening}),
    ]
    return is_tight


def push_description(
    state: StateBlock, line: int, end_line: int, content: int, *, is_tight: bool
) -> None:
    """Parse one description like a list item, then close the list again."""
    assert isinstance(state, GlfmState)
    list_opening = state.tokens.pop().meta["opening"]
    state.level += 1
    first = len(state.tokens)
    state.push("dd_open", "dd", 1)
    old = state.ddIndent, state.blkIndent, state.tight, state.parentType
    indents = state.tShift[line], state.sCount[line]
    width = content - state.bMarks[line] - state.tShift[line]
    # the blocks behind the marker and those indented as far
    state.ddIndent = state.blkIndent
    state.enclosing.append(state.blkIndent)
    state.blkIndent = state.sCount[line] + width
    state.tShift[line] = content - state.bMarks[line]
    state.sCount[line] = state.blkIndent
    state.tight, state.parentType = True, "description"
    state.md.block.tokenize(state, line, end_line)
    state.enclosing.pop()
    state.tShift[line], state.sCount[line] = indents
    state.ddIndent, state.blkIndent, state.tight, state.parentType = old
    state.push("dd_close", "dd", -1)
    state.level -= 1
    if is_tight:
        hide_paragraphs(state.tokens, first, state.tokens[first].level + 1)
    closing = Token("dl_close", "dl", -1, level=state.level, block=True)
    closing.meta = {"opening": list_opening}
    state.tokens.append(closing)


# -- boxes of tasks --------------------------------------------------------------
#
# ``- [ ]`` and ``- [x]``, and boxes in cells.  Any other sign ticks one, too; what else
# it means is for the filter of tasks.

SIGN_FORM = r"(&(?:[A-Za-z][A-Za-z0-9]*|#[0-9A-Fa-fXx]+);|[^\]\\\n])"
BOX = re.compile(rf"\[{SIGN_FORM}\](?:\s|\Z)")
CELL_BOX = re.compile(rf"\[{SIGN_FORM}\]")
LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
BOX_CLASS = "task-list-item-checkbox"


def find_tasks(state: StateCore) -> None:
    """Mark the items and lists that hold tasks; take the boxes out of the texts."""
    if "]" not in state.src:
        return
    out: list[Token] = []
    lists: list[Token] = []
    tokens = state.tokens
    emptied = 0
    for number, token in enumerate(tokens):
        if emptied:
            emptied -= 1
            continue
        out.append(token)
        if token.type in LISTS:
            lists.append(token)
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            lists.pop()
        elif token.type == "list_item_open":
            # the box is at the start of an item's first paragraph
            first, text = tokens[number + 1 : number + 3]
            box = None
            if first.type == "paragraph_open":
                box = take_box(text, BOX, state.env)
            if box is not None:
                box.hidden = first.hidden
                token.attrs = {**token.attrs, "class": "task-list-item"}
                lists[-1].attrs = {**lists[-1].attrs, "class": "contains-task-list"}
                out.append(box)
                # a box takes its whole paragraph where it is alone in it
                emptied = 0 if text.content else 3
        elif token.type in {"td_open", "th_open"}:
            box = take_box(tokens[number + 1], CELL_BOX, state.env)
            if box is not None and not tokens[number + 1].content:
                box.meta = {"is_cell": True}
                out.append(box)
    state.tokens = out


def take_box(inline: Token, pattern: re.Pattern[str], env: EnvType) -> Token | None:
    """Cut a box from the start of a text; none that is a link by its definition."""
    match = pattern.match(inline.content)
    if match is None:
        return None
    if pattern is CELL_BOX and match.end() != len(inline.content):
        return None
    sign = unescape(match[1])
    if len(sign) != 1 or normalizeReference(match[1]) in env.get("references", ()):
        return None
    inline.content = inline.content[match.end() :]
    return Token("task_box", "input", 0, info=sign)


def render_box(tokens: Sequence[Token], idx: int) -> str:
    """The box, with a line end where the service's parser has one."""
    token = tokens[idx]
    checked = ' checked=""' if token.info != " " else ""
    sign = f' {SIGN}="{escape(token.info)}"' if token.info not in " xX" else ""
    box = f'<input type="checkbox"{sign} class="{BOX_CLASS}"{checked} disabled="" /> '
    if token.meta.get("is_cell"):
        return "\n" + box
    return box if token.hidden else box + "\n"
