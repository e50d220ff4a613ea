"""How fast a token may ask its service, as learned from answers and refusals.  Pure.

Two things are learned.  A window is announced: so many requests are left until a
moment (``RateLimit-*``).  A rate is found out where no window is: from one refusal to
the next the service accepted what its limit allows, so that the count between them
divided by the time is the limit.  Long work keeps below both by a tenth, which is left
for the commands of a person.

Times are seconds of any clock, the same in all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Protocol

from msgspec import Meta, Struct, field

RESERVE = 0.1
"""Part of every limit that long work leaves alone."""
RATE_MIN = 1.0
"""Requests a second; no service is known to allow fewer for long."""
RATE_MAX = 200.0
"""A limit that grew beyond this is none."""
FIRST_GUESS = 0.5
"""Of the rate until the first refusal: it has the burst in it that a limiter allows,"""
LONG_GUESS = 0.9
"""which is little where the time was long."""
LONG_S = 10.0
BELOW_MEASURED = 0.98
GROWTH = 1.01
"""By this the rate grows with each request, until a second refusal measures it ..."""
HOLD_S = 600.0
"""... and again after this time without a refusal."""
COUNT_S = 60.0
"""While no limit is known, requests are counted over about this time."""
CREDIT_S = 1.0
"""Time without requests that may be made up for."""
DEBT_S = 2.0
"""How far commands of a person may run ahead of the rate, at the cost of long work."""
EMPTY_S = 5.0
"""So long after a refusal nobody runs ahead."""
DUE_MAX_S = 60.0
"""A longer wait for the next request is none that this module planned."""
IDLE_S = 3600.0
"""After this time without a request nothing is known any more."""

SLOTS_FIRST = 2
"""Requests in flight where nothing is known of a service: all in flight are refused at
once where it limits them."""
SLOTS_TAKEN = 8
"""After so many requests without a refusal or a pause more may be in flight,"""
SLOT_TAKES_FREE = 2
"""one more after each so many requests ..."""
SLOT_TAKES_LIMITED = 16
"""... or so many, where requests were refused."""

WINDOW_S = 60.0
"""The window of a service that does not announce it."""
WINDOW_S_MAX = 86_400.0
"""A window that ends later is nonsense."""
_EPOCH_MIN = 10_000_000
"""A smaller ``RateLimit-Reset`` is a number of seconds from now."""
_DIGITS_MAX = 12

Count = Annotated[float, Meta(ge=0.0, le=1e12)]


class Window(Struct):
    """What the service said is left."""

    quota: Annotated[int, Meta(ge=1, le=10**_DIGITS_MAX)]
    """All requests of a window."""
    remaining: Annotated[int, Meta(ge=-(10**6), le=10**_DIGITS_MAX)]
    ends_at: float
    period_s: Annotated[float, Meta(ge=1.0, le=WINDOW_S_MAX)]

    @property
    def reserve(self) -> int:
        """What long work leaves."""
        return max(1, int(self.quota * RESERVE))

    def at(self, now: float) -> Window:
        """This window, or the one that is open now."""
        if now < self.ends_at:
            # a clock that went back makes no window longer
            ends_at = min(self.ends_at, now + max(self.period_s, 60.0))
            return Window(self.quota, self.remaining, ends_at, self.period_s)
        return Window(self.quota, self.quota, now + self.period_s, self.period_s)


class Pace(Struct):
    """What is known of a token's limits; changed by each request."""

    at: float = 0.0
    """The last request."""
    rate: Annotated[float, Meta(ge=0.0, le=RATE_MAX)] = 0.0
    """Requests a second; 0 while no limit was met."""
    is_measured: bool = False
    """Whether the rate was counted over a while; else it is a guess."""
    due_at: float = 0.0
    """When the next request of long work may be made."""
    free_at: float = 0.0
    """When the rate alone allows the next request."""
    since: float = 0.0
    """Begin of the count: the last refusal."""
    taken: Count = 0.0
    """Requests since then."""
    in_row: Count = 0.0
    """Those of the last time without a pause."""
    refused_at: float | None = None
    counted: Count = 0.0
    """Requests until the last refusal ..."""
    counted_s: Count = 0.0
    """... in so many seconds."""
    slots: Annotated[float, Meta(ge=1.0, le=1000.0)] = SLOTS_FIRST
    """Requests in flight at once."""
    windows: dict[str, Window] = field(default_factory=dict)
    """By sort of request."""

    @classmethod
    def unknown(cls, now: float) -> Pace:
        """Nothing is known."""
        return cls(now, due_at=now, free_at=now, since=now)

    def begin_anew(self, now: float) -> None:
        """Nothing is known any more: a person knows better."""
        fresh = self.unknown(now)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(fresh, name))

    def settled(self, now: float) -> Pace:
        """The state, put right where a clock jumped or a long time has gone by."""
        if not -COUNT_S <= now - self.at <= IDLE_S:
            return self.unknown(now)
        self.due_at = min(self.due_at, now + DUE_MAX_S)
        self.free_at = min(self.free_at, now + DUE_MAX_S)
        self.since = min(self.since, now)
        self.refused_at = self.refused_at and min(self.refused_at, now)
        if not self.rate and now - self.since > COUNT_S:
            self.taken, self.since = self.taken / 2, now - COUNT_S / 2
        return self

    def take(self, sort: str, now: float, *, is_long: bool, slots_max: int) -> float:
        """Take the turn of one request.

        Returns:
            The seconds until then.  Long work that has to wait takes nothing, and asks
            again.  A command has its turn for certain, so that long work of another
            process, which waits already, does not come first each time.
        """
        is_empty = self.refused_at is not None and now - self.refused_at < EMPTY_S
        free_at = self.free_at - (0.0 if is_empty else DEBT_S)
        wait_s = max(0.0, (self.due_at if is_long else free_at) - now)
        if wait_s and is_long:
            return wait_s
        turn_at = now + wait_s
        spacing_s = self._spacing_s(sort, now, is_long=is_long)
        self.due_at = _after(self.due_at, turn_at, spacing_s)
        self.free_at = _after(self.free_at, turn_at, 1 / self.rate if self.rate else 0)
        window = self.windows.get(sort)
        if window is not None:
            window.remaining -= 1
        self.in_row = self.in_row + 1 if now - self.at <= CREDIT_S else 1.0
        self.at = now
        self.taken += 1
        self._grow(now, slots_max)
        return wait_s

    def closed_until(self, sort: str, now: float, *, is_long: bool) -> float | None:
        """The end of a window in which nothing is left for a request."""
        window = self.windows.get(sort)
        if window is None or now >= window.ends_at:
            return None
        window = self.windows[sort] = window.at(now)
        is_used = window.remaining <= (window.reserve if is_long else 0)
        return window.ends_at if is_used else None

    def refused(
        self, sort: str, sent_at: float, pause_s: float, now: float, *, is_long: bool
    ) -> None:
        """A request was refused that was sent at a time, with this pause to make."""
        self.taken = max(0.0, self.taken - 1)
        if self.refused_at is not None and sent_at <= self.refused_at:
            return  # one event refuses all that are in flight
        self.slots = max(1.0, self.slots // 2)
        window = self.windows.get(sort)
        if window is None or window.remaining > 0:
            self._learn(pause_s, now)
            # what a limiter saves up during the pause is no credit, and what it saves
            # up for a command is not for long work
            rest_s = max(pause_s, 1 / self.rate)
            self.free_at = now + min(rest_s, CREDIT_S)
            self.due_at = now + min(rest_s, CREDIT_S if is_long else EMPTY_S)
        if self.taken:
            self.counted, self.counted_s = self.taken, now - self.since
        self.since, self.taken, self.refused_at = now, 0.0, now

    def heard(
        self, sort: str, window: Window, *, in_flight: int, slots_max: int
    ) -> None:
        """An answer announced its window; others in flight are not counted yet."""
        window.remaining -= in_flight
        self.windows[sort] = window
        if self.refused_at is None and window.remaining - slots_max > window.reserve:
            self.slots = slots_max

    def _spacing_s(self, sort: str, now: float, *, is_long: bool) -> float:
        spacing_s = 0.0
        if self.rate:
            spacing_s = 1 / (self.rate * (1 - RESERVE if is_long else 1.0))
        if sort in self.windows:
            window = self.windows[sort] = self.windows[sort].at(now)
            spare = window.remaining - window.reserve
            if is_long and spare < window.quota / 2:
                # what is left is spread over the rest of the window
                spacing_s = max(spacing_s, (window.ends_at - now) / max(spare, 1))
        return spacing_s

    def _learn(self, pause_s: float, now: float) -> None:
        elapsed_s = now - self.since
        if self.rate and not self.taken:
            # the pause was too short: the count before it was for a longer time
            self.counted_s += elapsed_s
            if not self.is_measured:
                self.rate = self._guess(self.counted, self.counted_s + pause_s)
        elif self.rate:
            measured = self.taken / max(elapsed_s, 1.0)
            self.is_measured = self.is_measured or elapsed_s >= 1.0
            rate = max(min(measured, self.rate), self.rate / 2) * BELOW_MEASURED
            self.rate = max(rate, RATE_MIN)
        else:
            # a pause that long is the end of a window, which began before the count
            self.is_measured = pause_s > LONG_S
            window_s = WINDOW_S if self.is_measured else 0.0
            self.rate = self._guess(self.taken, max(elapsed_s + pause_s, window_s))

    def _guess(self, taken: float, seconds: float) -> float:
        part = LONG_GUESS if seconds >= LONG_S else FIRST_GUESS
        return max(part * taken / max(seconds, 1.0), RATE_MIN)

    def _grow(self, now: float, slots_max: int) -> None:
        lately = self.refused_at is not None and now - self.refused_at < HOLD_S
        if self.rate and not (self.is_measured and lately):
            self.rate *= GROWTH
            if self.rate > RATE_MAX:
                self.rate = 0.0
        if self.refused_at is not None or self.in_row > SLOTS_TAKEN:
            takes = SLOT_TAKES_FREE if self.refused_at is None else SLOT_TAKES_LIMITED
            self.slots = min(self.slots + 1 / takes, slots_max)


class PaceStore(Protocol):
    """Where the pace of a token is kept."""

    def held(self) -> AbstractContextManager[Pace]:
        """The state, which nobody else changes while the block lasts."""

    @property
    def known(self) -> Pace:
        """The state as it was last seen."""


class ProcessPace:
    """The pace of a token as this process knows it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.known = Pace.unknown(clock())

    @contextmanager
    def held(self) -> Iterator[Pace]:
        """The state, put right for now."""
        self.known = self.known.settled(self._clock())
        yield self.known


def _after(due_at: float, turn_at: float, spacing_s: float) -> float:
    """When the next request is due after one that has its turn at a time."""
    return max(due_at, turn_at - CREDIT_S if spacing_s else turn_at) + spacing_s


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
    """Seconds the service asks to wait: RFC 9110 10.2.3, both syntaxes.

    A date is measured from the answer's own ``Date``, so that a wrong clock on
    either side does no harm; ``now`` serves where that is absent.

    Returns:
        None where the header is absent or makes no sense; never negative.
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
