"""Tables: a limit on their cells, and a frame that scrolls on narrow screens."""

from __future__ import annotations

from wikisync.errors import RenderError
from wikisync.markup.draft import Draft
from wikisync.model import Format

FRAME = '<div class="table-wrap" role="group" aria-label="Table" tabindex="0">'
"""A group, since regions with equal names are landmarks that confuse."""


def filter_tables(draft: Draft) -> None:
    """Frame every outer table that holds data.

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
    framed_until = -1
    for index in document.starts.get("table", ()):
        # Asciidoctor sets admonitions, callouts and some lists as bare tables.
        if draft.page.format is Format.ASCIIDOC and document.html[index] == "<table>":
            document.html[index] = '<table role="presentation">'
            continue
        draft.features.add("table")
        if index > framed_until:
            framed_until = document.close[index]
            document.html[index] = FRAME + document.html[index]
            document.html[document.close[index]] = "</table></div>"
