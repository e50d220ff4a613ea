"""Limits that the service announces, in headers that may be wrong.  Time is virtual."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.api.faketime import budget_at
from tests.support.limiting import FixedWindow, TokenBucket
from tests.sync.virtual import VirtualLoop, run_virtually
from wikisync.api.budget import Budget, Pace, TransientFailure, Window, window_of
from wikisync.api.exchange import Purpose, Request
from wikisync.errors import RateLimited

READ = Request("GET", "/", Purpose("read page home", "page", "project", "docs/a"))
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


def test_command_does_not_wait_for_what_long_work_leaves_alone() -> None:
    """Its one request for a minute is spread over that minute."""
    pace = Pace()
    pace.windows["api"] = Window(200, 21, 60.0, 60.0)

    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 0.0
    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 60.0
    assert pace.take("api", 0.0, is_long=False, slots_max=8) == 0.0
    assert pace.take("api", 0.0, is_long=True, slots_max=8) == 60.0


def test_limit_that_is_told_is_never_met() -> None:
    caller = run(
        lambda clock: FixedWindow(600, clock),
        lambda caller: caller.many(READ, 1500),
        tells=True,
    )

    assert (caller.limit.accepted, caller.limit.refused) == (1500, 0)


def test_without_a_limit_nothing_waits() -> None:
    async def timed(caller: Caller) -> None:
        await caller.many(READ, 200)
        caller.waited = [asyncio.get_running_loop().time()]

    started = run(lambda clock: TokenBucket(1e9, 1e9, clock), timed)

    assert started.waited[0] - 1_700_000_000.0 < 200 / 8 * started.round_trip_s * 1.4


def test_slots_are_halved_by_one_event_and_grow_back_slowly() -> None:
    pace = Pace()
    pace.slots = 8.0

    pace.refused(5.0, 5.0)
    pace.refused(4.9, 5.1)

    assert pace.slots == 4.0
    for number in range(16):
        pace.take("api", 100.0 + 10 * number, is_long=True, slots_max=8)
    assert pace.slots == 5.0


def test_tenth_of_a_window_is_left_to_commands() -> None:
    pace = Pace()
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
