"""Tables: a limit on their cells, and a frame that scrolls on narrow screens."""

from __future__ import annotations

from wikisync.errors import RenderError
from wikisync.markup.draft import Draft

FRAME = '<div class="table-wrap" role="group" aria-label="Table" tabindex="0">'
"""A group, since regions with equal names are landmarks that confuse."""


def filter_tables(draft: Draft) -> None:
    """Frame every outer table.

    Raises:
        RenderError: the page has more cells than the options allow.
    """
    document = draft.document
    cells = len(document.starts.get("td", ())) + len(document.starts.get("th", ()))
    if cells > draft.options.table_cells_max:
        raise RenderError(
            f"the page has {cells} table cells,"
            f" more than {draft.options.table_cells_max}"
        )
    for place in document.starts.get("table", ()):
        draft.features.add("table")
        if not document.is_within(place, frozenset({"table"})):
            document.html[place] = FRAME + document.html[place]
            document.html[document.close[place]] = "</table></div>"
