"""Tables of Org pages to HTML."""

import re
from collections.abc import Callable, Sequence

SEPARATOR = re.compile(r"^\s*\|-")
COOKIE = re.compile(r"^<(?:[lrcLRC]?[0-9]+|[lrcLRC])>$")
GROUP = frozenset({"/", "<", ">", "<>"})
ALIGNMENTS = {"l": "left", "r": "right", "c": "center"}


def table_html(lines: Sequence[str], render: Callable[[str], str]) -> str:
    """HTML of a table.

    The row above the first rule is the header, as in the service; it opens the table
    or stands in it.  Rows that hold only column widths or column groups are for the
    editor and not shown, as in Org's own export; the service shows them as text.
    """
    rows: list[list[str]] = []
    header: int | None = None
    alignments: dict[int, str] = {}
    for line in lines:
        if SEPARATOR.match(line):
            if header is None and rows:
                header = len(rows) - 1
            continue
        cells = split_cells(line)
        if is_for_editor(cells):
            alignments.update(read_alignments(cells))
        else:
            rows.append(cells)
    if not rows:
        return ""
    html = [
        row_html(row, "th" if number == header else "td", alignments, render)
        for number, row in enumerate(rows)
    ]
    head = f"<thead>\n{html.pop(0)}\n</thead>\n" if header == 0 else ""
    body = "\n".join(html)
    return f"<table>\n{head}<tbody>\n{body}\n</tbody>\n</table>"


def split_cells(line: str) -> list[str]:
    """The cells of a row; the last bar may be missing."""
    return [
        cell.strip()
        for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
    ]


def is_for_editor(cells: Sequence[str]) -> bool:
    """Whether a row sets widths, alignment or groups instead of text."""
    filled = [cell for cell in cells if cell]
    if not filled:
        return False
    if cells[0] == "/":
        return all(cell in GROUP for cell in filled)
    return all(COOKIE.match(cell) for cell in filled)


def read_alignments(cells: Sequence[str]) -> dict[int, str]:
    """Column to alignment, from cookies like ``<r>``."""
    return {
        column: ALIGNMENTS[cell[1].lower()]
        for column, cell in enumerate(cells)
        if COOKIE.match(cell) and cell[1].lower() in ALIGNMENTS
    }


def row_html(
    cells: Sequence[str],
    tag: str,
    alignments: dict[int, str],
    render: Callable[[str], str],
) -> str:
    """One row."""
    pieces = []
    for column, cell in enumerate(cells):
        align = alignments.get(column)
        attribute = f' align="{align}"' if align else ""
        pieces.append(f"<{tag}{attribute}>{render(cell)}</{tag}>")
    return f"<tr>{''.join(pieces)}</tr>"
