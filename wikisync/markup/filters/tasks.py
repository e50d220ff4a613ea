"""Task boxes: a name for readers of the page's sound, and the third state.

An Org page writes them as text in front of an item, which its parser leaves; here
they become boxes like those of the other formats.
"""

from __future__ import annotations

import re

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import escape
from wikisync.model import Format

ORG_BOX = re.compile(r"\s*\[([ xX-])\](?=\s|$)")
LABEL_CHARS_MAX = 120
STATES = {"checked": "Done", "inapplicable": "Not applicable", "open": "To do"}


def filter_tasks(draft: Draft) -> None:
    """Give every box a label: its state and its item's text."""
    document = draft.document
    if draft.page.format is Format.ORG:
        read_org_boxes(draft)
    for place in document.starts.get("input", ()):
        if not document.html[place]:
            continue
        draft.features.add("task")
        attributes = document.attributes(place)
        is_inapplicable = "data-inapplicable" in attributes
        is_checked = "checked" in attributes and not is_inapplicable
        state = "checked" if is_checked else "open"
        state = "inapplicable" if is_inapplicable else state
        text = " ".join(item_text(draft, place).split())[:LABEL_CHARS_MAX]
        label = f"{STATES[state]}: {text}" if text else STATES[state]
        document.html[place] = (
            '<input type="checkbox" class="task-list-item-checkbox" disabled'
            f"{' checked' if is_checked else ''}"
            f"{' data-inapplicable' if is_inapplicable else ''}"
            f' aria-label="{escape(label)}">'
        )


def read_org_boxes(draft: Draft) -> None:
    """Turn ``[ ]``, ``[X]`` and ``[-]`` at the start of list items into boxes.

    A partly done task is an open one.
    """
    document = draft.document
    for place in document.starts.get("li", ()):
        found = ORG_BOX.match(document.html[place + 1])
        if found is None:
            continue
        draft.features.add("task")
        document.html[place + 1] = document.html[place + 1][found.end() :]
        is_checked = found[1] in "xX"
        text = " ".join(item_text(draft, place).split())[:LABEL_CHARS_MAX]
        state = STATES["checked" if is_checked else "open"]
        document.html[place] = (
            '<li class="task-list-item">'
            '<input type="checkbox" class="task-list-item-checkbox" disabled'
            f"{' checked' if is_checked else ''}"
            f' aria-label="{escape(f"{state}: {text}" if text else state)}">'
        )
        parent = document.parents[place]
        if document.html[parent] in {"<ul>", "<ol>"}:
            document.html[parent] = document.html[parent][:-1] + ' class="task-list">'


def item_text(draft: Draft, place: int) -> str:
    """Text that follows a box, or of an item, up to the next list or the end."""
    document = draft.document
    is_item = document.names[place] == "li"
    end = document.close[place if is_item else document.parents[place]]
    for inside in range(place + 2, end, 2):
        if document.names[inside] in {"ul", "ol", "input"}:
            end = inside
            break
    return document.text_between(place + 1, end - 1)
