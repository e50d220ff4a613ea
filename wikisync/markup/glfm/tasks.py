"""Task lists: ``- [ ]``, ``- [x]`` (any other sign ticks it, too), boxes in cells.

What else a sign means is for the filter of tasks.
"""

import re
from collections.abc import Sequence
from html import unescape

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType

from wikisync.markup.context import SIGN
from wikisync.markup.tokens import escape

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
