"""Task lists: ``- [ ]``, ``- [x]`` (any character), ``- [~]``, and boxes in cells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

BOX = re.compile(r"\[(.)\](?:\s|\Z)")
CELL_BOX = re.compile(r"\[(.)\]")
LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
BOX_CLASS = "task-list-item-checkbox"


def tasks_rule(md: MarkdownIt) -> None:
    """Find boxes before the texts are parsed, so that ``[x]`` is no link."""
    md.core.ruler.before("inline", "tasks", find_tasks)
    md.core.ruler.after("inline", "strike_tasks", strike_tasks)
    md.add_render_rule("task_box", render_box)


def find_tasks(state: StateCore) -> None:
    """Mark the items and lists that hold tasks; take the boxes out of the texts."""
    if "]" not in state.src:
        return
    out: list[Token] = []
    lists: list[Token] = []
    tokens = state.tokens
    for number, token in enumerate(tokens):
        out.append(token)
        if token.type in LISTS:
            lists.append(token)
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            lists.pop()
        elif token.type == "list_item_open":
            box = take_item_box(tokens[number + 1 : number + 3])
            if box is not None:
                mark_task(token, lists[-1], box)
                out.append(box)
        elif token.type in {"td_open", "th_open"}:
            box = take_box(tokens[number + 1], CELL_BOX)
            if box is not None and not tokens[number + 1].content:
                box.meta = {"is_cell": True}
                out.append(box)
    state.tokens = out


def take_item_box(following: Sequence[Token]) -> Token | None:
    """The box at the start of an item's first paragraph."""
    if len(following) < 2 or following[0].type != "paragraph_open":
        return None
    box = take_box(following[1], BOX)
    if box is not None:
        box.hidden = following[0].hidden
        box.meta = {"text": following[1]}
    return box


def take_box(inline: Token, pattern: re.Pattern[str]) -> Token | None:
    """Cut a box from the start of a text."""
    match = pattern.match(inline.content)
    if match is None or match[1] == "\n":
        return None
    if pattern is CELL_BOX and match.end() != len(inline.content):
        return None
    inline.content = inline.content[match.end() :]
    return Token("task_box", "input", 0, info=match[1])


def mark_task(item: Token, task_list: Token, box: Token) -> None:
    """Write the classes of a task into its item and its list."""
    is_inapplicable = box.info == "~"
    names = "inapplicable task-list-item" if is_inapplicable else "task-list-item"
    item.attrs = {**item.attrs, "class": names}
    task_list.attrs = {**task_list.attrs, "class": "contains-task-list"}
    if is_inapplicable:
        box.meta["text"].meta = {"is_inapplicable": True}


def strike_tasks(state: StateCore) -> None:
    """Strike the text of each task that does not apply."""
    for token in state.tokens:
        if token.type == "inline" and token.meta.get("is_inapplicable"):
            children = token.children or []
            opening, closing = Token("html_inline", "", 0), Token("html_inline", "", 0)
            opening.content, closing.content = "<s>", "</s>"
            token.children = [opening, *children, closing]


def render_box(
    self: RendererProtocol,  # noqa: ARG001 - the renderer's signature
    tokens: Sequence[Token],
    idx: int,
    options: OptionsDict,  # noqa: ARG001
    env: EnvType,  # noqa: ARG001
) -> str:
    """The box, with a line end where the service's parser has one."""
    token = tokens[idx]
    checked = ' checked=""' if token.info not in " ~\t" else ""
    third = ' data-inapplicable=""' if token.info == "~" else ""
    box = f'<input type="checkbox" class="{BOX_CLASS}"{checked}{third} disabled="" /> '
    if token.meta.get("is_cell"):
        return "\n" + box
    return box if token.hidden else box + "\n"
