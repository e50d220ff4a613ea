"""Which requests wait after a limit or a failure, and how long."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.api.faketime import FakeTime, budget_at
from tests.support.limiting import FixedWindow, TokenBucket
from tests.sync.virtual import VirtualLoop, run_virtually
from wikisync.api.budget import (
    SHORT_WORK_MAX,
    Area,
    Budget,
    Window,
    parse_retry_after,
    pause_s,
    shown_time,
    window_of,
)
from wikisync.api.exchange import Purpose, Request
from wikisync.api.refusals import in_words
from wikisync.api.settings import ClientSettings
from wikisync.errors import RateLimited, RemoteError, Unavailable

READ = Purpose("read page home", "page", "project", "docs/a")
WRITE = Purpose("edit page home", "page", "project", "docs/a", is_write=True)
FILE = Purpose("read attachment", "attachment", "project", "docs/a")
UPLOAD = Purpose("upload", "attachment", "project", "docs/a", is_write=True)
READS_A = Area("reads", "project docs/a")
CHANGES_A, GIT, FILES = Area("changes", "project docs/a"), Area("git"), Area("files")
DAY_S = 86_400.0


@pytest.fixture
def budget(time: FakeTime) -> Budget:
    return budget_at(time.clock)


@pytest.mark.parametrize(
    ("request_", "area"),
    [
        (Request("GET", "/", READ), READS_A),
        (Request("PUT", "/", WRITE), CHANGES_A),
        (Request("POST", "/", UPLOAD), CHANGES_A),
        (Request("GET", "/", FILE), FILES),
        (Request("GET", "/", FILE, is_git=True), GIT),
        (Request("GET", "/", Purpose("read the version")), Area("reads")),
    ],
)
def test_requests_that_share_a_limit(request_: Request, area: Area) -> None:
    assert Area.of(request_) == area


def test_answer_to_a_request_of_before_ends_no_limit(budget: Budget) -> None:
    budget.note_refusal(GIT, 60.0, 0.0)
    budget.note_answer(GIT)
    assert budget.wait_of(GIT) is not None


@pytest.mark.parametrize(("error", "times"), [(Unavailable("late"), 2), (None, 1)])
async def test_only_an_answer_ends_a_limit(
    budget: Budget, time: FakeTime, error: RemoteError | None, times: int
) -> None:
    first = budget.note_refusal(GIT, None, time.now)
    time.now += first
    with suppress(Unavailable):
        async with budget.turn(Request("GET", "/", FILE, is_git=True)):
            if error is not None:
                raise failed(error)
    assert budget.note_refusal(GIT, None, time.now) == times * first


async def test_a_cancelled_request_leaves_the_others_of_its_limit_a_turn(
    time: FakeTime,
) -> None:
    """They waited for the one that was to be made alone after the pause."""
    settings = ClientSettings(reads_max=1)
    budget = budget_at(time.clock, sleep=time.sleep, settings=settings)
    budget.note_refusal(READS_A, 5.0, time.now)

    async def ask() -> None:
        async with budget.turn(Request("GET", "/", READ)):
            pass

    held = Request("GET", "/", FILE, is_git=True)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group, budget.turn(held):
        first = group.create_task(ask())
        await asyncio.sleep(0)
        assert time.slept == [5.0]
        first.cancel()
        group.create_task(ask())
    assert first.cancelled()
    assert budget.wait_of(READS_A) is None
    assert budget.made == 2


def test_end_that_was_asked_for_first_is_told_until_it_is_over(
    budget: Budget, time: FakeTime
) -> None:
    budget.note_refusal(GIT, DAY_S, 0.0)
    (first,) = budget.waits()
    time.now += 900.0
    budget.note_refusal(GIT, DAY_S, 0.0)
    (second,) = budget.waits()

    assert (second.ends_at, second.asked_s) == (first.ends_at, first.asked_s)
    assert second.until == time.now + 900.0
    time.now += DAY_S
    budget.note_refusal(GIT, 60.0, 0.0)
    assert budget.waits()[0].ends_at == time.now + 60.0


def test_time_of_another_day_is_shown_with_it() -> None:
    now = time.time()
    assert len(shown_time(now + 60)) == len("14:05")
    assert len(shown_time(now + 2 * DAY_S)) == len("2026-11-21 14:05")


NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def failed(error: RemoteError, after_s: float | None = None) -> RemoteError:
    error.may_pass, error.after_s = True, after_s
    return error


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 12:01:30", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("Thu, 99 Jan 2026 12:01:30 GMT", None),
    ],
)
def test_both_syntaxes_of_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": text}, now=NOON) == seconds


def test_a_date_is_measured_from_the_clock_of_the_service() -> None:
    headers = {
        "retry-after": "Thu, 01 Jan 2026 03:00:30 GMT",
        "date": "Thu, 01 Jan 2026 03:00:00 GMT",
    }
    assert parse_retry_after(headers, now=NOON) == 30.0


@pytest.mark.parametrize(
    ("attempt", "limit_s"), [(1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (500, 30.0)]
)
def test_back_off_doubles_up_to_its_limit_with_full_jitter(
    attempt: int, limit_s: float
) -> None:
    failure, settings = failed(Unavailable("late")), ClientSettings()
    assert pause_s(failure, attempt, settings, lambda: 0.0) == 0.0
    assert pause_s(failure, attempt, settings, lambda: 1.0) == limit_s


@pytest.mark.parametrize(
    ("failure", "least_s", "most_s"),
    [
        (failed(Unavailable("late"), 3.0), 3.0, 3.5),
        (failed(Unavailable("late"), 0.0), 0.0, 0.5),
        # the budget spreads what waits for a limit
        (failed(RateLimited("too many"), 3.0), 3.0, 3.0),
    ],
)
def test_the_wish_of_the_service_is_the_least_pause(
    failure: RemoteError, least_s: float, most_s: float
) -> None:
    settings = ClientSettings()
    assert pause_s(failure, 1, settings, lambda: 0.0) == least_s
    assert pause_s(failure, 1, settings, lambda: 1.0) == most_s


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (7.4, "7 s"),
        (119, "119 s"),
        (120, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (100_000, "28 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_time_to_wait_is_told_in_a_unit_that_fits(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


# -- limits that the service announces, in headers that may be wrong; time is virtual --

READ_A = Request("GET", "/", READ)
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
        except RateLimited:
            return False
        return True

    def _refuse(self, *, is_refused: bool) -> None:
        if is_refused:
            raise failed(RateLimited("no"), self.asked_s)

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


def left(remaining: int, seconds: int) -> Mapping[str, str]:
    """What the service says of its window of 200 requests."""
    told = {"limit": 200, "remaining": remaining, "reset": seconds}
    return {f"ratelimit-{name}": str(value) for name, value in told.items()}


async def heard(budget: Budget, headers: Mapping[str, str], before: int) -> Budget:
    """After some requests one is answered with these headers."""
    for _ in range(before):
        async with budget.turn(READ_A):
            pass
    async with budget.turn(READ_A):
        budget.heard(READ_A, headers)
    return budget


@pytest.mark.parametrize(
    ("before", "waits_s"), [(0, [0.02, 0.02]), (SHORT_WORK_MAX, [0.02, 30.0])]
)
def test_command_does_not_wait_for_what_long_work_leaves_alone(
    before: int, waits_s: list[float]
) -> None:
    """The requests that are left to long work are spread over the minute."""

    async def two_more(caller: Caller) -> None:
        await heard(caller.budget, left(23, 60), before)
        await caller.ask(READ_A)
        await caller.ask(READ_A)

    caller = run(lambda clock: TokenBucket(1e9, 1e9, clock), two_more)

    assert caller.waited == pytest.approx(waits_s)


def test_limit_that_is_told_is_never_met() -> None:
    caller = run(
        lambda clock: FixedWindow(600, clock),
        lambda caller: caller.many(READ_A, 1500),
        tells=True,
    )

    assert (caller.limit.accepted, caller.limit.refused) == (1500, 0)


def test_without_a_limit_nothing_waits() -> None:
    async def timed(caller: Caller) -> None:
        await caller.many(READ_A, 200)
        caller.waited = [asyncio.get_running_loop().time()]

    started = run(lambda clock: TokenBucket(1e9, 1e9, clock), timed)

    assert started.waited[0] - 1_700_000_000.0 < 200 / 8 * started.round_trip_s * 1.4


async def test_slots_are_halved_by_one_event_and_grow_back_slowly(
    budget: Budget, time: FakeTime
) -> None:
    budget.slots = 8.0

    budget.note_refusal(GIT, None, time.now)
    time.now += 0.1
    budget.note_refusal(GIT, None, time.now - 0.2)

    assert budget.slots == 4.0
    await heard(budget, {}, before=15)
    assert budget.slots == 5.0


async def test_tenth_of_a_window_is_left_to_commands(
    budget: Budget, time: FakeTime
) -> None:
    command = await heard(budget_at(time.clock), left(20, 30), before=0)
    assert command.wait_of(READS_A) is None
    await heard(budget, left(20, 30), before=SHORT_WORK_MAX)
    wait = budget.wait_of(READS_A)
    assert wait is not None
    assert wait.until == time.now + 30.0
    assert budget.wait_of(FILES) is None


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
