"""Tables: drawn for a terminal, lines with tabs for everything else."""

import io
from collections.abc import Sequence

from wikisync.core.terminal import one_line


def table_text(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, width: int | None
) -> str:
    """The rows as text; what the service said is made printable."""
    shown = [
        ["" if value is None else one_line(str(value), None) for value in row]
        for row in rows
    ]
    if width is None:
        return "".join("\t".join(row) + "\n" for row in [list(columns), *shown])
    return _drawn(columns, shown, width)


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # as text: square brackets in a description are no markup
        table.add_row(*(Text(value) for value in row))
    buffer = io.StringIO()
    Console(file=buffer, width=width, force_terminal=False).print(table)
    return buffer.getvalue()
