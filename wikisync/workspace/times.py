"""Times as people read and write them, on this machine's clock and in its zone."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from wikisync.errors import UsageError

_STEPS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_FORMS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M")
_OF_TODAY = ("%H:%M:%S", "%H:%M")
_AGE = re.compile(
    r"(?ai)(?P<count>\d{1,6})\s*(?P<unit>s|m|h|d|w)"
    r"(?:(?<=s)ec(?:ond)?s?|(?<=m)in(?:ute)?s?|(?<=h)(?:ou)?rs?|(?<=d)ays?|(?<=w)eeks?)?"
    r"(?:\s+ago)?"
)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def local_time(at: float) -> str:
    """``2026-11-21 14:30:12``."""
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M:%S}"


def ago(seconds: float) -> str:
    """``3 minutes ago``, in the largest unit that fits."""
    for length, name in _STEPS:
        count = int(seconds // length)
        if count:
            return f"{count} {name}{'s' * (count != 1)} ago"
    return "just now"


def parse_time(text: str, *, now: float | None = None) -> float:
    """Seconds since the epoch for a local time that a person wrote.

    A date alone is its midnight, an hour alone is today's; ``2h`` and ``3 days ago``
    are ages.  A time with ``Z`` or an offset is not local.

    Raises:
        UsageError: it is none.
    """
    clean = text.strip()
    now = time.time() if now is None else now
    if age := _AGE.fullmatch(clean):
        return now - int(age["count"]) * _UNITS_S[age["unit"].lower()]
    today = datetime.fromtimestamp(now).astimezone()
    for form in (*_FORMS, "%Y-%m-%d"):
        found = _parsed(clean, form)
        if found is not None:
            return found.astimezone().timestamp()
    for form in _OF_TODAY:
        found = _parsed(clean, form)
        if found is not None:
            day = today.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
            since = timedelta(
                hours=found.hour, minutes=found.minute, seconds=found.second
            )
            return (day + since).astimezone().timestamp()
    try:
        return datetime.fromisoformat(clean).astimezone().timestamp()
    except (ValueError, OverflowError, OSError) as exc:
        raise UsageError(
            f"{text!r} is not a time",
            hint="write it like 2026-11-21 14:30, 2026-11-21, 14:30, 2h or 3d",
        ) from exc


def _parsed(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - local time is meant
    except ValueError:
        return None
