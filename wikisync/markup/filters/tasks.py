"""Task boxes: a name for readers of the page's sound, and the third state."""

from __future__ import annotations

from wikisync.markup.draft import Draft
from wikisync.markup.tokens import escape

LABEL_CHARS_MAX = 120
STATES = {"checked": "Done", "inapplicable": "Not applicable", "open": "To do"}


def filter_tasks(draft: Draft) -> None:
    """Give every box a label: its state and its item's text."""
    document = draft.document
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


def item_text(draft: Draft, place: int) -> str:
    """Text that follows the box, up to the next list or the end of the item."""
    document = draft.document
    end = document.close[document.parents[place]]
    for inside in range(place + 2, end, 2):
        if document.names[inside] in {"ul", "ol", "input"}:
            end = inside
            break
    return document.text_between(place + 1, end - 1)
