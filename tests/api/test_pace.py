"""How fast a token may ask: limits that are found out, told, or nonsense.

The limits are real ones (``limiting``), time is virtual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.api.faketime import budget_at
from tests.support.limiting import FixedWindow, TokenBucket
from tests.sync.virtual import VirtualLoop, run_virtually
from wikisync.api.answers import Purpose
from wikisync.api.budget import Budget, TransientFailure
from wikisync.api.pace import Pace, Window, window_of
from wikisync.api.request import Request
from wikisync.errors import RateLimited

READ = Request("GET", "/", Purpose("read page home", "page", "project", "docs/a"))
WRITE = Request(
    "PUT", "/", Purpose("edit home", "page", "project", "docs/a", is_write=True)
)
FILE = Request("GET", "/", Purpose("read attachment", "attachment"))
NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
NOON_S = int(NOON.timestamp())

Limit = TokenBucket | FixedWindow


@dataclass
class Caller:
    """Makes requests of a limited service."""

    budget: Budget
    limit: Limit
    asked_s: float | None = None
    """``Retry-After``."""
    tells: bool = False
    """Whether answers have the headers of the limit."""
    round_trip_s: float = 0.02
    waited: list[float] = field(default_factory=list)

    async def ask(self, request: Request) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await self._is_answered(request):
            pass
        self.waited.append(loop.time() - began)

    async def _is_answered(self, request: Request) -> bool:
        try:
            async with self.budget.turn(request):
                await asyncio.sleep(self.round_trip_s)
                is_refused = self.limit.refuses()
                if self.tells and isinstance(self.limit, FixedWindow):
                    self.budget.heard(request, self.limit.headers())
                self._refuse(is_refused=is_refused)
        except TransientFailure:
            return False
        return True

    def _refuse(self, *, is_refused: bool) -> None:
        if is_refused:
            raise TransientFailure(RateLimited("no"), after_s=self.asked_s)

    async def many(self, request: Request, count: int, at_once: int = 8) -> None:
        left = iter(range(count))

        async def some() -> None:
            for _ in left:
                await self.ask(request)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(some())


def run(
    limit: Callable[[Callable[[], float]], Limit],
    work: Callable[[Caller], object],
    *,
    asked_s: float | None = None,
    tells: bool = False,
) -> Caller:
    """Let a caller work in virtual time."""

    async def whole(loop: VirtualLoop) -> Caller:
        caller = Caller(budget_at(loop.time), limit(loop.time), asked_s, tells)
        await work(caller)  # type: ignore[misc]
        return caller

    return run_virtually(whole)


@pytest.mark.parametrize("asked_s", [1.0, 0.0, None])
def test_under_two_in_a_hundred_are_refused_at_two_a_second(
    asked_s: float | None,
) -> None:
    caller = run(
        lambda clock: TokenBucket(2.0, 4.0, clock),
        lambda caller: caller.many(FILE, 200),
        asked_s=asked_s,
    )

    assert caller.limit.accepted == 200
    assert caller.limit.refused / 200 < 0.02


@pytest.mark.parametrize(("idle_s", "most"), [(0.0, 1.3), (9.0, 1.5)])
def test_long_work_is_not_much_slower_than_the_limit(
    idle_s: float, most: float
) -> None:
    """What was asked in a time that was mostly idle is no measure of the limit."""

    async def timed(caller: Caller) -> None:
        await caller.many(READ, 4)
        await asyncio.sleep(idle_s)
        began = asyncio.get_running_loop().time()
        await caller.many(FILE, 200)
        caller.waited = [asyncio.get_running_loop().time() - began]

    caller = run(lambda clock: TokenBucket(2.0, 4.0, clock), timed, asked_s=1.0)

    assert 96.0 <= caller.waited[0] < most * 98.0


@pytest.mark.parametrize(
    ("limit", "tells"),
    [
        (lambda clock: TokenBucket(2.0, 4.0, clock), False),
        (lambda clock: FixedWindow(200, clock), True),
    ],
)
def test_command_beside_a_push_waits_no_three_seconds(
    limit: Callable[[Callable[[], float]], Limit], tells: bool
) -> None:
    waited: list[float] = []

    async def beside(caller: Caller) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(caller.many(WRITE, 300, at_once=1))
            for _ in range(20):
                await asyncio.sleep(5.0)
                # a process of its own: it shares the pace and nothing else
                other = budget_at(asyncio.get_running_loop().time)
                other._pace = caller.budget._pace
                command = Caller(other, caller.limit, 1.0, tells)
                await command.ask(READ)
                waited.extend(command.waited)

    caller = run(limit, beside, asked_s=1.0, tells=tells)

    assert max(waited) < 3.0
    assert caller.limit.refused <= 4


def test_command_beside_three_pushes_waits_no_three_seconds() -> None:
    """After a refusal all of them wait for the same moment."""
    waited: list[float] = []

    async def beside(caller: Caller) -> None:
        loop = asyncio.get_running_loop()

        def process() -> Caller:
            budget = budget_at(loop.time)
            budget._pace = caller.budget._pace
            return Caller(budget, caller.limit, 1.0)

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(process().many(WRITE, 80, at_once=3))
            for _ in range(100):
                await asyncio.sleep(1.0)
                command = process()
                await command.ask(READ)
                waited.extend(command.waited)

    run(lambda clock: TokenBucket(2.0, 4.0, clock), beside)

    assert max(waited) < 3.0


def test_turn_of_a_command_comes_before_long_work_that_waits_already() -> None:
    pace = limited_pace()
    assert pace.take("api", 0.5, is_long=True, slots_max=8) == 0.5

    assert pace.take("api", 0.6, is_long=False, slots_max=8) == pytest.approx(0.4)

    assert pace.take("api", 1.0, is_long=True, slots_max=8) == pytest.approx(0.5)


def test_long_work_makes_the_pause_of_a_command_that_was_refused() -> None:
    pace = limited_pace()

    pace.refused("api", 1.0, 4.0, 1.0, is_long=False)

    assert pace.take("api", 1.0, is_long=True, slots_max=8) == 4.0


def test_command_does_not_wait_for_what_long_work_leaves_alone() -> None:
    """Its one request for a minute is spread over that minute."""
    pace = Pace.unknown(0.0)
    pace.windows["api"] = Window(200, 21, 60.0, 60.0)

    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 0.0
    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 60.0
    assert pace.take("api", 0.0, is_long=False, slots_max=8) == 0.0
    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 60.0


def limited_pace() -> Pace:
    """Two requests a second, as just measured by a refusal."""
    pace = Pace.unknown(0.0)
    refused(pace, 0.0)
    pace.rate, pace.is_measured = 2.0, True
    return pace


def test_limit_that_is_told_is_never_met() -> None:
    caller = run(
        lambda clock: FixedWindow(600, clock),
        lambda caller: caller.many(READ, 1500),
        tells=True,
    )

    assert (caller.limit.accepted, caller.limit.refused) == (1500, 0)


def test_limit_by_the_minute_is_found_out_once() -> None:
    """After it every window has a tenth left."""
    caller = run(
        lambda clock: FixedWindow(600, clock),
        lambda caller: caller.many(WRITE, 1800, at_once=1),
        asked_s=40.0,
    )

    assert caller.limit.refused <= 2


def test_limit_by_the_minute_is_found_out_in_the_middle_of_one() -> None:
    """20 s of the first minute have passed when the count begins."""
    caller = run(
        lambda clock: FixedWindow(200, clock),
        lambda caller: caller.many(WRITE, 800, at_once=1),
        asked_s=36.0,
    )

    assert caller.limit.refused == 1


def test_rate_is_not_far_too_high_when_it_is_refused_again() -> None:
    """All that are in flight are refused, and far away that are more."""

    async def far_away(caller: Caller) -> None:
        caller.round_trip_s = 0.15
        await caller.many(FILE, 200)

    caller = run(lambda clock: TokenBucket(20.0, 20.0, clock), far_away, asked_s=1.0)

    assert caller.limit.refused <= 6


def test_requests_with_pauses_between_do_not_show_that_many_are_accepted() -> None:
    """A limiter saves up in each pause, and refuses all that are in flight after it."""

    async def after_pauses(caller: Caller) -> None:
        caller.round_trip_s = 0.15
        for _ in range(14):
            await caller.ask(READ)
            await asyncio.sleep(2.0)
        await caller.many(FILE, 180)

    caller = run(lambda clock: TokenBucket(2.0, 4.0, clock), after_pauses)

    assert caller.limit.refused / 194 < 0.02


def test_without_a_limit_nothing_waits() -> None:
    async def timed(caller: Caller) -> None:
        await caller.many(READ, 200)
        caller.waited = [asyncio.get_running_loop().time()]

    started = run(lambda clock: TokenBucket(1e9, 1e9, clock), timed)

    assert started.waited[0] - 1_700_000_000.0 < 200 / 8 * started.round_trip_s * 1.4


def refused(pace: Pace, now: float, sent_at: float | None = None) -> None:
    sent_at = now if sent_at is None else sent_at
    pace.refused("api", sent_at, 1.0, now, is_long=True)


def test_slots_are_halved_by_one_event_and_grow_back_slowly() -> None:
    pace = Pace.unknown(0.0)
    pace.slots = 8.0

    refused(pace, 5.0)
    refused(pace, 5.1, sent_at=4.9)

    assert pace.slots == 4.0
    for number in range(16):
        pace.take("api", 100.0 + 10 * number, is_long=True, slots_max=8)
    assert pace.slots == 5.0


def test_rate_is_the_count_between_two_refusals() -> None:
    pace = Pace.unknown(0.0)
    pace.taken = 30.0
    refused(pace, 1.0)
    pace.taken, pace.rate = 61.0, 8.0

    refused(pace, 21.0)

    assert pace.rate == pytest.approx(0.98 * 4.0)


@pytest.mark.parametrize(
    ("now", "is_known"), [(1000.0, True), (995.0, True), (-9e9, False), (9e9, False)]
)
def test_state_of_another_time_is_forgotten(now: float, is_known: bool) -> None:
    pace = Pace(at=1000.0, rate=2.0, due_at=1e12, since=900.0)

    settled = pace.settled(now)

    assert (settled.rate == 2.0) is is_known
    assert settled.take("api", now, is_long=True, slots_max=8) <= 60.0


def test_window_of_a_clock_that_went_back_ends_all_the_same() -> None:
    pace = Pace.unknown(0.0)
    pace.windows["api"] = Window(100, 0, 1e9, 60.0)

    assert pace.closed_until("api", 0.0, is_long=False) == 60.0


def test_tenth_of_a_window_is_left_to_commands() -> None:
    pace = Pace.unknown(0.0)
    pace.windows["api"] = Window(200, 20, 30.0, 60.0)

    assert pace.closed_until("api", 0.0, is_long=True) == 30.0
    assert pace.closed_until("api", 0.0, is_long=False) is None
    assert pace.closed_until("files", 0.0, is_long=True) is None


RESET = str(NOON_S + 30)


@pytest.mark.parametrize(
    ("limit", "remaining", "reset", "window"),
    [
        ("600", "599", RESET, (600, 599, 130.0, 60.0)),
        ("600", "599", "30", (600, 599, 130.0, 60.0)),
        ("600, 600;w=60", "599", RESET, (600, 599, 130.0, 60.0)),
        # 7,200 an hour
        ("120", "7100", str(NOON_S + 3000), (7100, 7100, 3100.0, 3550.0)),
        ("600", "0", str(NOON_S - 5), None),
        ("600", "0", str(NOON_S + 10**6), None),
        ("0", "0", RESET, None),
        ("600", "-1", RESET, None),
        ("600", "1e9", RESET, None),
        ("600", "5", "soon", None),
        ("600", "5", "9" * 40, None),
        ("\u0662", "5", RESET, None),
        ("600", "5", None, None),
    ],
)
def test_headers_and_nonsense_in_them(
    limit: str,
    remaining: str,
    reset: str | None,
    window: tuple[int, int, float, float] | None,
) -> None:
    headers: dict[str, str] = {"date": "Thu, 01 Jan 2026 12:00:00 GMT"}
    headers |= {"ratelimit-limit": limit, "ratelimit-remaining": remaining}
    headers |= {} if reset is None else {"ratelimit-reset": reset}
    told: Mapping[str, str] = headers

    found = window_of(told, 100.0, date=datetime(2030, 1, 1, tzinfo=UTC))

    assert found == (None if window is None else Window(*window))
