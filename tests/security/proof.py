"""The rows of the table that ``make prove-security`` prints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

HEAD = ("family", "tried", "got through", "worst s", "limit s", "")
SHOWN_OF_EACH = 10


@dataclass(slots=True)
class Row:
    """What came of one family of attacks."""

    family: str
    limit_s: float | None = None
    """What one attack may take; None where time is not what is attacked."""
    tried: int = 0
    through: list[str] = field(default_factory=list)
    """What ran, leaked or changed, and for whom."""
    worst_s: float = 0.0

    def note(self, what: str, seconds: float, *, is_held: bool) -> None:
        """Count an attack."""
        self.tried += 1
        self.worst_s = max(self.worst_s, seconds)
        if not is_held:
            self.through.append(what)

    @property
    def is_slow(self) -> bool:
        return self.limit_s is not None and self.worst_s > self.limit_s

    @property
    def is_held(self) -> bool:
        """Whether something was tried and nothing came of it."""
        return self.tried > 0 and not self.through and not self.is_slow


def table(rows: Iterable[Row]) -> str:
    """The rows in columns, and below them what got through."""
    rows = list(rows)
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEAD))]
    lines = [_line(line, widths) for line in cells]
    total = sum(row.tried for row in rows)
    through = sum(len(row.through) for row in rows)
    lines.append(f"{total:,} attacks, {through:,} got through")
    for row in rows:
        shown = row.through[:SHOWN_OF_EACH]
        lines += [f"{row.family}: {what}" for what in shown]
    return "\n".join(lines)


def _cells(row: Row) -> Sequence[str]:
    limit = "-" if row.limit_s is None else f"{row.limit_s:g}"
    verdict = "held" if row.is_held else "SLOW" if not row.through else "BROKEN"
    if not row.tried:
        verdict = "NOT TRIED"
    through = f"{len(row.through):,}"
    return (row.family, f"{row.tried:,}", through, f"{row.worst_s:.2f}", limit, verdict)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = cells
    wide = (
        f"{text:>{width}}" for text, width in zip(numbers, widths[1:], strict=False)
    )
    return "  ".join([f"{first:<{widths[0]}}", *wide, last]).rstrip()
