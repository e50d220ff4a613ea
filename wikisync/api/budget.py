"""The request budget of a client: which request is made now, and which one waits.

Every request takes a turn.  It waits

- for the end of a pause, where the service refused requests of its area.  A limit that
  one address met says nothing of others: files, git, and the changes of one wiki have
  limits of their own.  What two wikis met when they were read is the token's limit, and
  all of the API waits.  After the pause one request is made alone; the others of its
  area wait for what becomes of it;
- for one of the slots, which are halved by a refusal and grow back slowly;
- for the window that the service announces, which long work does not use up.

However long the service asks to wait, one request is made after a while, which shows
whether that still is so.

A request that changes nothing is made again after failures that may pass.  One that
writes is made again only after a 429, which says that it was not carried out; that is
no attempt, for its pause is the budget's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from random import random
from typing import Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.exchange import Request
from wikisync.api.refusals import LIMIT_HINT
from wikisync.api.settings import ClientSettings
from wikisync.errors import NoAnswerInTime, RateLimited, RefusedInFront, RemoteError

log = logging.getLogger(__name__)

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]
Random = Callable[[], float]
Clock = Callable[[], float]
NotifyPause = Callable[[float, str], None]
"""Called with the length of a pause in seconds, and why it is made."""

DAY_S = 86_400.0
SHORT_WORK_MAX = 10
"""So many requests of a client are those of a person's command; more are long work,
which leaves a part of the budget to others."""
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


class Area(Struct, frozen=True):
    """Requests that share a limit."""

    sort: Literal["git", "files", "changes", "reads"]
    owner: str = ""
    """The project or group; empty for all, and for what is of none."""

    @classmethod
    def of(cls, request: Request) -> Area:
        """The one that a request belongs to."""
        purpose = request.purpose
        owner = f"{purpose.owner_kind} {purpose.owner}" if purpose.owner_kind else ""
        if request.is_git:
            return cls("git")
        if purpose.about == "attachment" and not request.is_write:
            return cls("files")
        return cls("changes" if request.is_write else "reads", owner)

    @property
    def window(self) -> str:
        """The requests that the service counts together, where it gives a count."""
        return self.sort if self.sort in {"git", "files"} else "api"

    def __str__(self) -> str:
        return f"{self.sort} of {self.owner}" if self.owner else self.sort


class Wait(Struct, frozen=True):
    """What waits, and how long."""

    what: str
    asked_s: float
    """The pause that the service asked for when it limited them first."""
    asked_until: float
    """Its end, in seconds of the client's clock."""
    ends_at: float
    """The same in seconds since the epoch, for people."""
    until: float
    """When the next request is made, in seconds of the client's clock."""
    refusals: int = 0
    """How many pauses followed each other without an answer in between."""

    def __str__(self) -> str:
        return f"the service accepts no {self.what} until {shown_time(self.ends_at)}"


class SharedBudget(Protocol):
    """Requests that clients of several machines share, as those of a fleet."""

    async def take(self) -> float:
        """Seconds to wait before it is asked again; 0: one request may be made now."""

    async def refused(self, pause_s: float) -> None:
        """The service made this client pause; the others had better pause, too."""


class Budget:
    """What may be asked of a service now."""

    shared: SharedBudget | None = None

    def __init__(
        self,
        address: ServiceAddress,
        settings: ClientSettings,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        notify_pause: NotifyPause = lambda _seconds, _why: None,
        random: Random = random,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._address = address
        self._settings = settings
        self._clock, self._wall, self._sleep = clock, wall, sleep
        self._notify_pause, self._random = notify_pause, random
        self._waits: dict[Area, Wait] = {}
        self._trials: dict[Area, asyncio.Event] = {}
        """Areas in which one request is made alone after a pause."""
        self._queue = asyncio.Lock()
        """Requests take their turn in the order in which they came."""
        self._in_flight = 0
        self._answered = asyncio.Event()
        self.made = 0
        """Requests so far."""
        self._due_at = 0.0
        """When the next request of long work may be made."""
        self._refused_at: float | None = None
        self.slots: float = SLOTS_FIRST
        """Requests in flight at once."""
        self.windows: dict[str, Window] = {}
        """By sort of request, as ``Area.window`` names it."""

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait until the request may be made; the block makes it.

        RateLimited where it would wait longer than it should.
        """
        area, trial = Area.of(request), None
        try:
            while True:
                # where it is made alone after a pause, what the others wait for
                trial = await self._after_pause(request, area)
                async with self._queue:
                    await self._paced(area)
                    if trial is not None or self.wait_of(area) is None:
                        self._in_flight += 1
                        break
        except BaseException:
            self._end_trial(area, trial)
            raise
        sent_at = self._clock()
        try:
            yield
        except RemoteError as error:
            if not error.may_pass:
                self.note_answer(area)
            elif isinstance(error, RateLimited):
                error.after_s = self.note_refusal(area, error.after_s, sent_at)
                error.is_everywhere = self.is_everywhere(area)
                if self.shared:
                    most_s = self._settings.limit_wait_max_s
                    await self.shared.refused(min(error.after_s, most_s))
            raise
        else:
            self.note_answer(area)
        finally:
            self._in_flight -= 1
            self._answered.set()
            self._end_trial(area, trial)

    async def repeated(
        self, request: Request, attempt: Callable[[], Awaitable[T]]
    ) -> T:
        """Make attempts until one succeeds, or fails with what does not pass."""
        settings, started, refusals = self._settings, self._clock(), 0
        for number in count(1):
            try:
                return await attempt()
            except RemoteError as error:
                is_limit = isinstance(error, RateLimited)
                refusals += is_limit
                made = number - refusals
                pause = pause_s(error, made, settings, self._random)
                wish_max_s = settings.rate_limit_pause_max_s if request.waits else 0.0
                is_last = made >= self._attempts_max(request, error)
                if (
                    not error.may_pass
                    or (not is_limit and (request.is_write or is_last))
                    or (error.after_s or 0.0) > wish_max_s
                    or self._clock() - started + pause > settings.deadline_s
                ):
                    raise
                reason = error.message
            log.debug(
                "attempt %d failed, asking again in %.1f s: %s", number, pause, reason
            )
            self._notify_pause(pause, reason)
            if not is_limit:
                await self._sleep(pause)
        raise AssertionError("the count has no end")

    def _attempts_max(self, request: Request, error: RemoteError) -> int:
        settings, most = self._settings, self._settings.attempts_max
        if isinstance(error, NoAnswerInTime):
            late_max = request.late_attempts_max
            return min(
                settings.late_attempts_max if late_max is None else late_max, most
            )
        if isinstance(error, RefusedInFront):
            return min(settings.refused_attempts_max, most)
        return most

    def heard(self, request: Request, headers: Mapping[str, str]) -> None:
        """Note what the headers of an answer say of the budget."""
        if "ratelimit-remaining" not in headers:
            return
        window = window_of(headers, self._clock(), date=datetime.now(UTC))
        if window is None:
            return
        # the others in flight are not counted yet
        window.remaining -= self._in_flight - 1
        self.windows[Area.of(request).window] = window
        slots_max = self._settings.reads_max
        if self._refused_at is None and window.remaining - slots_max > window.reserve:
            self.slots = slots_max

    def forget(self) -> None:
        """Let every request be made now: a person knows better."""
        self._waits.clear()
        self.windows.clear()
        self.slots, self._due_at, self._refused_at = SLOTS_FIRST, 0.0, None

    def is_everywhere(self, area: Area) -> bool:
        """Whether this area waits for what all wikis of the service wait for."""
        return area.window == "api" and len(self._of_reads()) > 1

    def waits(self) -> list[Wait]:
        """What is limited now, each with the first time that was asked for."""
        now = self._clock()
        return [
            wait
            for wait in self._waits.values()
            if max(wait.until, wait.asked_until) > now
        ]

    # -- before a request ------------------------------------------------------------

    async def _after_pause(self, request: Request, area: Area) -> asyncio.Event | None:
        while True:
            if area in self._trials:
                await self._trials[area].wait()
                continue
            wait = self.wait_of(area)
            if wait is None:
                break
            pause_s = wait.until - self._clock()
            if not request.waits or pause_s > self._settings.rate_limit_pause_max_s:
                error = RateLimited(
                    f"cannot {request.purpose.action}: {wait}",
                    url=self._address.url(request.path),
                    retry_after_s=pause_s,
                    hint=LIMIT_HINT,
                    is_write=request.is_write,
                )
                error.is_everywhere = self.is_everywhere(area)
                raise error
            self._notify_pause(pause_s, str(wait))
            await self._sleep(pause_s)
        if area not in self._waits:
            return None
        trial = self._trials[area] = asyncio.Event()
        return trial

    async def _paced(self, area: Area) -> None:
        while self._in_flight >= min(int(self.slots), self._settings.reads_max):
            self._answered.clear()
            await self._answered.wait()
        while self.shared and (wait_s := await self.shared.take()):
            await self._sleep(wait_s)
        while (wait_s := self._due_at - self._clock()) > 0:
            await self._sleep(wait_s)
        now = self._clock()
        self._due_at = max(self._due_at, now)
        if area.window in self.windows:
            window = self.windows[area.window] = self.windows[area.window].at(now)
            window.remaining -= 1
            spare = window.remaining - window.reserve
            if self._is_long and spare < window.quota / 2:
                # what is left is spread over the rest of the window
                self._due_at += (window.ends_at - now) / max(spare, 1)
        self.made += 1
        is_limited = self._refused_at is not None
        if is_limited or self.made > SLOTS_TAKEN:
            takes = SLOT_TAKES_LIMITED if is_limited else SLOT_TAKES_FREE
            self.slots = min(self.slots + 1 / takes, self._settings.reads_max)

    @property
    def _is_long(self) -> bool:
        return self.made >= SHORT_WORK_MAX

    def wait_of(self, area: Area) -> Wait | None:
        """What a request of this area waits for now."""
        now = self._clock()
        waits = [self._waits[area]] if area in self._waits else []
        if self.is_everywhere(area):
            waits += [replace(wait, what="requests") for wait in self._of_reads()]
        window = self.windows.get(area.window)
        if window and window.remaining <= (window.reserve if self._is_long else 0):
            # nothing is left of it for this request
            until, ends_at = window.ends_at, self._wall() + window.ends_at - now
            waits.append(Wait("requests", until - now, until, ends_at, until))
        waits = [wait for wait in waits if wait.until > now]
        return max(waits, key=lambda wait: wait.until, default=None)

    def _of_reads(self) -> list[Wait]:
        now = self._clock()
        return [
            wait
            for area, wait in self._waits.items()
            if area.sort == "reads" and wait.until > now
        ]

    # -- after a request -------------------------------------------------------------

    def note_refusal(self, area: Area, asked_s: float | None, sent_at: float) -> float:
        """Note a refusal; returns the pause to make."""
        now = self._clock()
        before = self._waits.get(area)
        is_new = before is None or sent_at >= before.until
        refusals = (before.refusals if before else 0) + is_new
        # what the service asks for; longer ones where that is nothing or no help
        settings = self._settings
        doublings = refusals - (2 if asked_s else 1)
        doubled = settings.rate_limit_delay_s * 2.0 ** min(doublings, 20)
        usual_s = min(doubled, settings.rate_limit_pause_s) if doublings >= 0 else 0.0
        pause_s = max(asked_s or 0.0, usual_s)
        if self._refused_at is None or sent_at > self._refused_at:
            # one event refuses all that are in flight
            self.slots, self._refused_at = max(1.0, self.slots // 2), now
        if before is None or before.asked_until <= now:
            before = Wait(str(area), pause_s, now + pause_s, self._wall() + pause_s, 0)
        until = now + min(pause_s, settings.limit_wait_max_s)
        # one that says "wait a day" each time says nothing new
        self._waits[area] = replace(before, until=until, refusals=refusals)
        return pause_s

    def note_answer(self, area: Area) -> None:
        """A request was answered: its limit is over, unless it was sent before that."""
        wait = self._waits.get(area)
        if wait is not None and wait.until <= self._clock():
            del self._waits[area]

    def _end_trial(self, area: Area, trial: asyncio.Event | None) -> None:
        if trial is not None:
            self._trials.pop(area, None)
            trial.set()


def shown_time(at: float) -> str:
    """A time of the epoch as a clock on this machine shows it, with its day if far."""
    moment = datetime.fromtimestamp(at)  # noqa: DTZ006 - a person's own time
    is_near = abs(at - time.time()) < DAY_S / 2
    return f"{moment:%H:%M}" if is_near else f"{moment:%Y-%m-%d %H:%M}"


def pause_s(
    error: RemoteError, attempt: int, settings: ClientSettings, random: Random
) -> float:
    """Seconds to wait after the attempt with this number, counted from 1.

    What the service asks for is the least, with a random part on top; else exponential
    back-off with full jitter.
    """
    wish_s = error.after_s or 0.0
    if isinstance(error, RateLimited):
        return wish_s  # the budget spreads what waits for it
    limit = min(
        settings.retry_delay_max_s, settings.retry_delay_s * 2.0 ** (attempt - 1)
    )
    return wish_s + limit * random()


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


def window_of(
    headers: Mapping[str, str], now: float, *, date: datetime
) -> Window | None:
    """What an answer says of the service's window; None where that makes no sense.

    The end is measured from the answer's own ``Date``; some services give it in seconds
    from now, and ``RateLimit-Limit`` for a minute of a window of an hour.
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

    A date is measured from the answer's own ``Date``, else from ``now``.
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
