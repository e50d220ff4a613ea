"""What answers say of a service's limits, and how many requests are in flight.  Pure.

A service may announce a window: so many requests are left until a moment
(``RateLimit-*``).  Long work spreads the second half of it over its time, and leaves a
tenth to the commands of a person.  Times are seconds of any clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct, field

RESERVE = 0.1
"""Part of a window that long work leaves alone."""
SLOTS_FIRST = 2
"""Requests in flight where nothing is known of a service: all in flight are refused at
once where it limits them."""
SLOTS_TAKEN = 8
"""After so many requests without a refusal more may be in flight,"""
SLOT_TAKES_FREE = 2
"""one more after each so many requests ..."""
SLOT_TAKES_LIMITED = 16
"""... or so many, where requests were refused."""
WINDOW_S_MAX = 86_400.0
"""A window that ends later is nonsense."""
_EPOCH_MIN = 10_000_000
"""A smaller ``RateLimit-Reset`` is a number of seconds from now."""
_DIGITS_MAX = 12


class Window(Struct):
    """What the service said is left."""

    quota: int
    """All requests of a window."""
    remaining: int
    ends_at: float
    period_s: float

    @property
    def reserve(self) -> int:
        """What long work leaves."""
        return max(1, int(self.quota * RESERVE))

    def at(self, now: float) -> Window:
        """This window, or the one that is open now."""
        if now < self.ends_at:
            return self
        return Window(self.quota, self.quota, now + self.period_s, self.period_s)


class Pace(Struct):
    """What is known of a token's limits; changed by each request."""

    taken: int = 0
    due_at: float = 0.0
    """When the next request of long work may be made."""
    refused_at: float | None = None
    slots: float = SLOTS_FIRST
    """Requests in flight at once."""
    windows: dict[str, Window] = field(default_factory=dict)
    """By sort of request."""

    def take(self, sort: str, now: float, *, is_long: bool, slots_max: int) -> float:
        """Take the turn of one request; the seconds to wait where it is none yet."""
        if is_long and now < self.due_at:
            return self.due_at - now
        self.due_at = max(self.due_at, now)
        if sort in self.windows:
            window = self.windows[sort] = self.windows[sort].at(now)
            window.remaining -= 1
            spare = window.remaining - window.reserve
            if is_long and spare < window.quota / 2:
                # what is left is spread over the rest of the window
                self.due_at += (window.ends_at - now) / max(spare, 1)
        self.taken += 1
        if self.refused_at is not None or self.taken > SLOTS_TAKEN:
            takes = SLOT_TAKES_FREE if self.refused_at is None else SLOT_TAKES_LIMITED
            self.slots = min(self.slots + 1 / takes, slots_max)
        return 0.0

    def closed_until(self, sort: str, now: float, *, is_long: bool) -> float | None:
        """The end of a window in which nothing is left for a request."""
        window = self.windows.get(sort)
        if window is None or now >= window.ends_at:
            return None
        is_used = window.remaining <= (window.reserve if is_long else 0)
        return window.ends_at if is_used else None

    def refused(self, sent_at: float, now: float) -> None:
        """A request was refused that was sent at a time."""
        if self.refused_at is None or sent_at > self.refused_at:
            # one event refuses all that are in flight
            self.slots, self.refused_at = max(1.0, self.slots // 2), now

    def heard(
        self, sort: str, window: Window, *, in_flight: int, slots_max: int
    ) -> None:
        """An answer announced its window; others in flight are not counted yet."""
        window.remaining -= in_flight
        self.windows[sort] = window
        if self.refused_at is None and window.remaining - slots_max > window.reserve:
            self.slots = slots_max


def window_of(
    headers: Mapping[str, str], now: float, *, date: datetime
) -> Window | None:
    """What an answer says of the service's window; None where that makes no sense.

    The end is measured from the answer's own ``Date``.  Some services give it in
    seconds from now.  ``RateLimit-Limit`` is for a minute where the window is an hour,
    so that more than that may be left.
    """
    limit = _number(headers.get("ratelimit-limit"))
    remaining = _number(headers.get("ratelimit-remaining"))
    reset = _number(headers.get("ratelimit-reset"))
    if not limit or remaining is None or reset is None:
        return None
    left_s = float(reset)
    if reset >= _EPOCH_MIN:
        answered = parse_date(headers.get("date", "")) or date
        left_s -= answered.timestamp()
    if not 0 < left_s <= WINDOW_S_MAX:
        return None
    observed = _number(headers.get("ratelimit-observed")) or 0
    quota = max(limit, remaining, observed + remaining if remaining else 0)
    period_s = max(60.0 * quota / limit, 1.0)
    return Window(quota, remaining, now + left_s, min(period_s, WINDOW_S_MAX))


def parse_retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds the service asks to wait (RFC 9110 10.2.3), or None; never negative.

    A date is measured from the answer's own ``Date``, so that a wrong clock on either
    side does no harm; ``now`` serves where that is absent.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = parse_date(text)
    if moment is None:
        return None
    answered = parse_date(headers.get("date", "")) or now
    return max(0.0, (moment - answered).total_seconds())


def parse_date(text: str) -> datetime | None:
    """A date of a header; None where it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(text: str | None) -> int | None:
    """A whole number of a header; of several, as some proxies join them, the first."""
    first = (text or "").partition(",")[0].partition(";")[0].strip()
    is_number = first.isascii() and first.isdigit() and len(first) <= _DIGITS_MAX
    return int(first) if is_number else None
