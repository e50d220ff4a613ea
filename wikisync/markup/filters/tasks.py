"""Task boxes: a name for readers of the page's sound, and what their signs mean.

The parser ticks a box for any sign.  As in the service, ``[~]`` is a third state, and
no other sign but ``x`` makes a box.  Of Org, whose parser leaves them, texts in front
of items become boxes.
"""

import re

from wikisync.core.model import Format
from wikisync.markup.context import SIGN
from wikisync.markup.tokens import BLOCKS, Document, Draft, escape

ORG_BOX = re.compile(r"\s*\[([ xX-])\](?=\s|$)")
LABEL_CHARS_MAX = 120
TASK = 'class="task-list-item"'
THIRD_STATE = 'class="inapplicable task-list-item"'
ENDS_RUN = BLOCKS - {"br"}
DONE = (" checked", "Done")
OPEN = ("", "To do")
INAPPLICABLE = (" data-inapplicable", "Not applicable")
"""The attribute and the name of a box's state."""


def filter_tasks(draft: Draft) -> None:
    """Give every box a label: its state and its item's text."""
    document = draft.document
    if draft.page.format is Format.ORG:
        read_org_boxes(draft)
    for index in document.starts.get("input", ()):
        if not document.html[index]:
            continue
        attributes = document.attributes(index)
        sign = attributes.get(SIGN, "~" if "data-inapplicable" in attributes else "x")
        if sign not in {"~", "x", "X"}:
            document.html[index] = escape(f"[{sign}]")
            continue
        draft.features.add("task")
        if sign == "~":
            document.html[index] = box_html(draft, index, INAPPLICABLE)
            draft.struck.extend(struck_run(document, index))
        else:
            state = DONE if "checked" in attributes else OPEN
            document.html[index] = box_html(draft, index, state)


def box_html(draft: Draft, index: int, state: tuple[str, str]) -> str:
    """A box and its label: the state, and the text behind the box or of the item.

    The text goes up to the next list or the end.
    """
    document = draft.document
    is_item = document.names[index] == "li"
    end = document.close[index if is_item else document.parents[index]]
    for inside in range(index + 2, end, 2):
        if document.names[inside] in {"ul", "ol", "input"}:
            end = inside
            break
    attribute, name = state
    words = document.text_between(index + 1, end - 1).split()
    text = " ".join(words)[:LABEL_CHARS_MAX]
    return (
        f'<input type="checkbox" class="task-list-item-checkbox" disabled{attribute}'
        f' aria-label="{escape(f"{name}: {text}" if text else name)}">'
    )


def struck_run(document: Document, index: int) -> list[tuple[int, int]]:
    """The indices of the tags around what is struck of an item: its text to a block."""
    html, names, close = document.html, document.names, document.close
    item = document.parents[index]
    if names[item] != "li":
        return []
    html[item] = html[item].replace(TASK, THIRD_STATE, 1)
    start, end = index, index + 2
    # to the first tag that begins a block or ends the item
    while names[end][0] != "/" and ENDS_RUN.isdisjoint(names[end : close[end] + 1 : 2]):
        end = close[end] + 2
    if names[end] == "p" and not "".join(html[start + 1 : end]).strip():
        start, end = end, close[end]
    if not "".join(html[start + 1 : end]).strip():
        return []
    html[start + 1] = html[start + 1].lstrip()
    html[end - 1] = html[end - 1].rstrip()
    return [(start, end)]


def strike_tasks(draft: Draft) -> None:
    """Strike the texts of items that do not apply, when nothing else changes them."""
    document = draft.document
    html, names = document.html, document.names
    for start, end in draft.struck:
        html[start] += " <s>" if names[start] == "input" else "<s>"
        html[end] = ("</s>" if names[end][0] == "/" else "</s>\n") + html[end]


def read_org_boxes(draft: Draft) -> None:
    """Make boxes of ``[ ]``, ``[X]`` and, partly done, ``[-]`` that begin items."""
    document = draft.document
    for index in document.starts.get("li", ()):
        found = ORG_BOX.match(document.html[index + 1])
        if found is None:
            continue
        draft.features.add("task")
        document.html[index + 1] = document.html[index + 1][found.end() :]
        box = box_html(draft, index, DONE if found[1] in "xX" else OPEN)
        document.html[index] = f'<li class="task-list-item">{box}'
        parent = document.parents[index]
        if document.html[parent] in {"<ul>", "<ol>"}:
            document.html[parent] = document.html[parent][:-1] + ' class="task-list">'
