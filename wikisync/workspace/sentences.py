"""Counts, times, problems and batches, as people and as programs read them."""

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from wikisync.core.model import Problem
from wikisync.errors import UsageError
from wikisync.sync.decide.safety import Batch

OTHER_FOLDER = (
    "its folder is not the folder of the last sync; the next sync accepts it as it is,"
    " deletes nothing, and holds pages that differ"
)
"""Said of a wiki by what changes nothing."""


def counted(number: int, what: str) -> str:
    """``1 page``, ``2 pages``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def with_hint(sentence: object, hint: str | None) -> str:
    """A sentence with its hint in brackets, where there is one."""
    return f"{sentence} ({hint})" if hint else str(sentence)


def fields(record: object, names: str) -> dict[str, object]:
    """Some fields of a record, for programs."""
    return {name: getattr(record, name) for name in names.split()}


def problems_as_json(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """Problems for programs."""
    return [fields(one, "code subject message hint") for one in problems]


def batch_as_json(batch: Batch) -> dict[str, object]:
    """What a safety stop holds, for programs."""
    return {
        "id": batch.id or None,
        "kind": batch.kind,
        "pages": [member.slug for member in batch.members],
        "sentence": str(batch),
    }


_STEPS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_AGE = re.compile(
    r"(?ai)(?P<count>\d{1,6})\s*(?P<unit>s|m|h|d|w)"
    r"(?:(?<=s)ec(?:ond)?s?|(?<=m)in(?:ute)?s?|(?<=h)(?:ou)?rs?|(?<=d)ays?|(?<=w)eeks?)?"
    r"(?:\s+ago)?"
)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def local_time(at: float) -> str:
    """``2026-11-21 14:30:12``."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def ago(seconds: float) -> str:
    """``3 minutes ago``, in the largest unit that fits."""
    for length, name in _STEPS:
        count = int(seconds // length)
        if count:
            return f"{count} {name}{'s' * (count != 1)} ago"
    return "just now"


def parse_time(text: str, *, now: float | None = None) -> float:
    """Seconds since the epoch for a local time that a person wrote; else UsageError.

    ``2026-05-01``, ``14:30`` of today, ``2h``, ``3 days ago``; with ``Z`` not local.
    """
    clean = text.strip()
    now = time.time() if now is None else now
    if age := _AGE.fullmatch(clean):
        return now - int(age["count"]) * _UNITS_S[age["unit"].lower()]
    today = time.strftime("%Y-%m-%d", time.localtime(now))
    for prefix in ("", f"{today} "):  # an hour alone is today's
        with suppress(ValueError, OverflowError, OSError):
            return datetime.fromisoformat(prefix + clean).timestamp()
    raise UsageError(
        f"{text!r} is not a time",
        hint="write it like 2026-11-21 14:30, 2026-11-21, 14:30, 2h or 3d",
    )
