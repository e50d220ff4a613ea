from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from tests.sync.virtual import START_S, VirtualLoop, run_virtually
from wikisync.errors import (
    AuthenticationFailed,
    FolderError,
    Halted,
    PermissionDenied,
    RateLimited,
    StateError,
    Unavailable,
)
from wikisync.sync import daemon as module
from wikisync.sync import standings
from wikisync.sync.daemon import Daemon
from wikisync.sync.standing import Condition, CycleOutcome, Hint, Trouble, Why
from wikisync.sync.work import CYCLE

QUIET = CycleOutcome(is_quiet=True)
AWAY = Unavailable("the service does not answer", url="https://gitlab.example.com")
HOUR_S = 3600.0


@dataclass
class Work:
    """A wiki whose cycles, scans and hints are as the test says."""

    name: str
    loop: VirtualLoop
    takes_s: float = 0.1
    is_paused: bool = False
    outcomes: list[CycleOutcome | Exception] = field(default_factory=list)
    """Of the next cycles; quiet ones afterwards."""
    failure: Exception | None = None
    """Of every cycle and hint, while it is set."""
    mark: str | None = "1"
    is_costly: bool = False
    """Of the hints."""
    differs: bool = False
    scan_failure: Exception | None = None
    cycles: list[tuple[float, Why]] = field(default_factory=list)
    """When each began, in seconds from the start, and why."""
    hints: list[float] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.loop.time() - START_S

    async def cycle(self, why: Why) -> CycleOutcome:
        self.cycles.append((self.now, why))
        self.ids.append(CYCLE.get())
        await asyncio.sleep(self.takes_s)
        if self.failure is not None:
            raise self.failure
        outcome = self.outcomes.pop(0) if self.outcomes else QUIET
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def scan(self) -> bool:
        if self.scan_failure is not None:
            raise self.scan_failure
        return self.differs

    async def hint(self) -> Hint | None:
        self.hints.append(self.now)
        if self.failure is not None:
            raise self.failure
        return None if self.mark is None else Hint(self.mark, self.is_costly)


@dataclass
class Watch:
    """A daemon that runs on virtual time."""

    loop: VirtualLoop
    works: list[Work]
    daemon: Daemon
    told: list[tuple[str, Condition, str]]
    told_service: list[str]
    wall_ahead_s: float = 0.0

    async def at(self, seconds: float) -> None:
        """Let time pass until so many seconds after the start."""
        await asyncio.sleep(seconds - (self.loop.time() - START_S))


def watched(
    test: Callable[[Watch], Awaitable[None]],
    *names: str,
    after_cycle: module.AfterCycle | None = None,
) -> None:
    """Run a test beside a daemon of these wikis."""

    async def run(loop: VirtualLoop) -> None:
        works = [Work(name, loop) for name in names or ("docs",)]
        told: list[tuple[str, Condition, str]] = []
        told_service: list[str] = []

        def note(trouble: Trouble | None) -> None:
            told_service.append(trouble.condition.value if trouble else "back")

        daemon = Daemon(
            works,
            clock=loop.time,
            wall=lambda: loop.time() + watch.wall_ahead_s,
            chance=random.Random(7),
            told=lambda one: told.append((one.name, one.condition, one.problem)),
            told_service=note,
            after_cycle=after_cycle,
        )
        watch = Watch(loop, works, daemon, told, told_service)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(daemon.run())
            await test(watch)
            running.cancel()

    run_virtually(run)


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def test_first_cycle_looks_at_everything_at_once() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(1)
        assert watch.works[0].cycles == [(0.0, Why.EVERYTHING)]
        assert watch.told == [("docs", Condition.IN_STEP, "")]

    watched(test)


def test_asked_ten_times_while_a_cycle_runs_there_is_one_more() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.takes_s = 2.0
        await watch.at(1)
        for _ in range(10):
            watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(4.9)
        assert [why for _, why in work.cycles] == [Why.EVERYTHING, Why.FOLDER]

    watched(test)


def test_save_is_carried_over_at_once_whatever_else_is_waited_for() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(5)
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(5.01)
        assert watch.works[0].cycles[-1] == (5.0, Why.FOLDER)

    watched(test)


def test_several_reasons_are_one_cycle_for_the_widest() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].takes_s = 2.0
        await watch.at(1)
        watch.daemon.ask("docs", Why.WIKI)
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(6)
        assert [why for _, why in watch.works[0].cycles][1:] == [Why.WIKI]

    watched(test)


def test_every_wiki_is_looked_at_whole_every_ten_minutes() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(HOUR_S)
        whole = [at for at, why in watch.works[0].cycles if why is Why.EVERYTHING]
        assert 5 <= len(whole) <= 7
        assert max(gaps(whole)) < standings.FULL_LOOK_S + 60

    watched(test)


def test_saves_without_end_do_not_put_off_the_whole_look() -> None:
    async def test(watch: Watch) -> None:
        while watch.loop.time() < START_S + 1300:
            watch.daemon.ask("docs", Why.FOLDER)
            await asyncio.sleep(1)
        whole = [at for at, why in watch.works[0].cycles if why is Why.EVERYTHING]
        assert len(whole) >= 2

    watched(test)


def test_hints_grow_rarer_while_nothing_happens_and_frequent_again_with_a_save() -> (
    None
):
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        await watch.at(HOUR_S)
        assert 5 <= work.hints[0] <= 15
        assert all(15 <= gap <= 18 for gap in gaps(work.hints)[-200:])
        assert len(set(gaps(work.hints)[-5:])) == 5, "without jitter all come together"
        watch.daemon.ask("docs", Why.FOLDER)
        seen = len(work.hints)
        await watch.at(HOUR_S + 6)
        assert len(work.hints) == seen + 1

    watched(test)


@pytest.mark.parametrize("idle_s", [1.0, 30.0, 90.0, HOUR_S, 8 * HOUR_S])
def test_edit_on_the_wiki_is_taken_within_twenty_seconds_at_any_time(
    idle_s: float,
) -> None:
    """Also after hours in which nothing happened, with what a look takes."""

    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.takes_s = 1.0
        await watch.at(idle_s)
        for number in range(40):
            began = watch.loop.time() - START_S
            for work in watch.works:
                work.mark = f"edit {number}"
            await watch.at(began + 20)
            for work in watch.works:
                looks = [at for at, why in work.cycles if why is not Why.FOLDER]
                assert any(began < at <= began + 20 - work.takes_s for at in looks)

    watched(test, "a", "b", "c")


def test_large_wiki_is_not_looked_at_all_the_time_while_it_is_edited() -> None:
    """Each of its own pushes moves the wiki, and the next hint makes it look."""

    async def test(watch: Watch) -> None:
        _small, large = watch.works
        large.takes_s = 0.25
        await watch.at(60)
        for second in range(600):
            for work in watch.works:
                work.mark = str(second)
                watch.daemon.ask(work.name, Why.FOLDER)
            await watch.at(60 + second)
        busy = [len([at for at in one.hints if at > 60]) for one in watch.works]
        assert busy[0] > 600 / 7
        assert 600 / 15 < busy[1] < 600 / 12

    watched(test, "small", "large")


def test_costly_hints_are_asked_for_less_often_at_rest() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.is_costly = True
        await watch.at(HOUR_S)
        assert all(60 <= gap <= 72 for gap in gaps(work.hints)[-20:])
        work.is_costly = False
        await watch.at(HOUR_S + 72)
        assert gaps(work.hints)[-1] <= 18

    watched(test)


def test_wiki_that_moved_gets_a_look_at_the_wiki() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(200)
        cycles = len(watch.works[0].cycles)
        watch.works[0].mark = "2"
        await watch.at(200 + 18)
        assert [why for _, why in watch.works[0].cycles[cycles:]] == [Why.WIKI]

    watched(test)


def test_wiki_that_moved_before_the_first_hint_is_looked_at_again() -> None:
    """Otherwise its edits would wait for the next whole look."""

    async def test(watch: Watch) -> None:
        await watch.at(20)
        assert [why for _, why in watch.works[0].cycles] == [Why.EVERYTHING, Why.WIKI]

    watched(test)


def test_wiki_without_hints_is_looked_at_rarer_and_rarer() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.mark = None
        await watch.at(HOUR_S)
        looks = gaps([at for at, _ in work.cycles][2:])
        assert 60 * 0.8 <= looks[0] <= 120 * 1.2
        assert max(looks[-3:]) >= 300
        assert max(looks) <= standings.FULL_LOOK_S + 30

    watched(test)


def test_wiki_that_had_no_hints_for_a_time_has_them_again() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.mark = None
        await watch.at(HOUR_S)
        work.mark = "1"
        await watch.at(2 * HOUR_S)
        assert len(gaps(work.hints)) > 20
        assert gaps(work.hints)[-1] <= 18

    watched(test)


def test_scan_finds_what_events_lost() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(20)
        watch.works[0].differs = True
        cycles = len(watch.works[0].cycles)
        await watch.at(20 + 36)
        assert Why.FOLDER in [why for _, why in watch.works[0].cycles[cycles:]]

    watched(test)


@pytest.mark.parametrize("failure", [FolderError("gone"), ValueError("ours")])
def test_scan_that_fails_leads_to_a_cycle_that_says_so(failure: Exception) -> None:
    async def test(watch: Watch) -> None:
        await watch.at(20)
        watch.works[0].scan_failure = failure
        cycles = len(watch.works[0].cycles)
        await watch.at(60)
        assert len(watch.works[0].cycles) > cycles

    watched(test)


def test_lost_service_is_told_once_and_tried_by_one_wiki_alone() -> None:
    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.failure = AWAY
        await watch.at(HOUR_S)
        assert watch.told_service == ["offline"]
        assert watch.told == []
        tries = sorted(at for work in watch.works for at, _ in work.cycles)
        assert len(tries) < 80, "an hour of at most five minutes between two tries"
        assert max(gaps(tries)) <= standings.BACK_OFF_MAX_S + 1
        assert {one.condition for one in watch.daemon.standings.values()} == {
            Condition.OFFLINE
        }

    watched(test, *(f"wiki-{number}" for number in range(10)))


def test_service_that_is_back_after_an_hour_is_told_once_and_all_wikis_go_on() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(10)
        for work in watch.works:
            work.failure = AWAY
        watch.daemon.ask()
        await watch.at(HOUR_S)
        for work in watch.works:
            work.failure = None
            work.cycles.clear()
        await watch.at(HOUR_S + standings.BACK_OFF_MAX_S + 60)
        assert watch.told_service == ["offline", "back"]
        assert all(work.cycles for work in watch.works)
        assert {one.condition for one in watch.daemon.standings.values()} == {
            Condition.IN_STEP
        }

    watched(test, "a", "b", "c")


def test_save_while_the_service_is_away_is_carried_over_when_it_is_back() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(10)
        watch.works[0].failure = AWAY
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(12)
        assert watch.daemon.trouble is not None
        watch.works[0].failure = None
        watch.works[0].cycles.clear()
        await watch.at(30)
        assert watch.works[0].cycles[0][1] is Why.WIKI, "it has to ask the service"

    watched(test)


def test_hint_that_fails_tells_that_the_service_is_away() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(10)
        watch.works[0].failure = AWAY
        await watch.at(20)
        assert watch.told_service == ["offline"]
        watch.works[0].failure = None
        await watch.at(60)
        assert watch.told_service == ["offline", "back"], "nobody asked, but it did"

    watched(test)


def test_too_many_requests_makes_all_wikis_wait_as_long_as_the_service_says() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].outcomes = [
            RateLimited("too many", url="https://x.example", retry_after_s=200)
        ]
        await watch.at(199)
        assert sum(len(work.cycles) for work in watch.works) <= 2
        await watch.at(240)
        assert all(len(work.cycles) >= 2 for work in watch.works)

    watched(test, "a", "b")


def test_wiki_whose_requests_alone_fail_does_not_keep_the_others_waiting() -> None:
    async def test(watch: Watch) -> None:
        ill, well = watch.works
        ill.failure = AWAY
        for second in range(1200):
            watch.daemon.ask("well", Why.FOLDER)
            await watch.at(second)
        late = [at for at, _ in well.cycles if at > 600]
        assert len(late) > 400
        assert max(gaps(late)) <= 10

    watched(test, "ill", "well")


def test_refused_token_is_told_once_and_tried_again_after_a_quarter_of_an_hour() -> (
    None
):
    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.failure = AuthenticationFailed("no", url="https://x.example")
        await watch.at(standings.REFUSED_RETRY_S - 1)
        assert watch.told_service == ["refused"]
        assert sum(len(work.cycles) for work in watch.works) == 3
        for work in watch.works:
            work.failure = None
        await watch.at(standings.REFUSED_RETRY_S + 10)
        assert watch.told_service == ["refused", "back"]

    watched(test, "a", "b", "c")


@pytest.mark.parametrize(
    ("error", "condition", "wait_s"),
    [
        (
            PermissionDenied("no", url="https://x.example"),
            Condition.REFUSED,
            standings.REFUSED_RETRY_S,
        ),
        (Halted("emptied"), Condition.NEEDS_PERSON, standings.BACK_OFF_MAX_S),
        (FolderError("gone"), Condition.FAILING, standings.BACK_OFF_MIN_S),
        (StateError("damaged"), Condition.FAILING, standings.BACK_OFF_MIN_S),
        (ZeroDivisionError("ours"), Condition.FAILING, standings.BACK_OFF_MIN_S),
    ],
)
def test_wiki_in_trouble_waits_alone(
    error: Exception, condition: Condition, wait_s: float
) -> None:
    async def test(watch: Watch) -> None:
        ill, well = watch.works
        ill.outcomes = [error] * 50
        await watch.at(1)
        assert ("ill", condition) in [told[:2] for told in watch.told]
        ill.cycles.clear()
        watch.daemon.ask("well", Why.FOLDER)
        await watch.at(wait_s - 0.1)
        assert ill.cycles == []
        assert len(well.cycles) >= 2
        await watch.at(wait_s + 2 * standings.BACK_OFF_MIN_S + 1)
        assert ill.cycles

    watched(_calm(test), "ill", "well")


def _calm(test: Callable[[Watch], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The same without the traceback of a fault in the log."""

    async def run(watch: Watch) -> None:
        logging.getLogger("wikisync.sync").setLevel(logging.CRITICAL)
        with contextlib.suppress(KeyError):
            await test(watch)
        logging.getLogger("wikisync.sync").setLevel(logging.NOTSET)

    return run


def test_failures_in_a_row_wait_longer_and_longer_and_a_success_forgets_them() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.outcomes = [FolderError("gone")] * 12
        await watch.at(HOUR_S)
        waits = gaps([at for at, _ in work.cycles[:13]])
        assert max(waits[:2]) < 10
        assert max(waits) > 60
        assert max(waits) <= standings.BACK_OFF_MAX_S + 1
        assert watch.daemon.standings["docs"].failures == 0

    watched(test)


def test_retry_forgets_all_waiting() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].failure = AuthenticationFailed("no", url="https://x.example")
        await watch.at(10)
        watch.works[0].failure = None
        watch.daemon.retry()
        await watch.at(11)
        assert watch.told_service == ["refused", "back"]

    watched(test)


def test_retry_forgets_what_one_wiki_waits_for() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].outcomes = [Halted("emptied")]
        await watch.at(10)
        watch.daemon.retry()
        await watch.at(11)
        assert watch.told[-1][1] is Condition.IN_STEP

    watched(test)


def test_wikis_that_fail_together_are_one_failure_of_the_service() -> None:
    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.failure = AWAY
        await watch.at(1)
        assert watch.daemon.trouble is not None
        assert watch.daemon.trouble.failures == 1

    watched(test, "a", "b", "c", "d")


def test_machine_that_slept_looks_at_everything_when_it_wakes() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].failure = AuthenticationFailed("no", url="https://x.example")
        await watch.at(10)
        watch.works[0].failure = None
        watch.works[0].cycles.clear()
        watch.wall_ahead_s = 8 * HOUR_S
        await watch.at(10 + module.WAKE_LOOK_S + 1)
        assert watch.works[0].cycles[0][1] is Why.EVERYTHING
        await watch.at(60)
        whole = [why for _, why in watch.works[0].cycles if why is Why.EVERYTHING]
        assert len(whole) == 1, "one look is enough"

    watched(test)


@pytest.mark.parametrize("step_s", [-8 * HOUR_S, 3.0, -3.0])
def test_clock_that_was_set_back_or_a_little_is_nothing_to_look_for(
    step_s: float,
) -> None:
    async def test(watch: Watch) -> None:
        await watch.at(40)
        cycles = len(watch.works[0].cycles)
        watch.wall_ahead_s = step_s
        await watch.at(50)
        assert len(watch.works[0].cycles) == cycles

    watched(test)


def test_paused_wiki_is_left_alone_without_a_busy_wait() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        asked = 0

        def is_paused(_work: Work) -> bool:
            nonlocal asked
            asked += 1
            return True

        type(work).is_paused = property(is_paused)  # type: ignore[assignment]
        try:
            watch.daemon.ask("docs", Why.FOLDER)
            await watch.at(HOUR_S)
        finally:
            type(work).is_paused = False
        assert work.cycles == []
        assert work.hints == []
        assert asked < 2000
        assert watch.told == [("docs", Condition.PAUSED, "")]

    watched(test)


def test_resumed_wiki_is_looked_at_within_seconds() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        await watch.at(10)
        work.is_paused = True
        await watch.at(100)
        assert watch.daemon.standings["docs"].condition is Condition.PAUSED
        work.cycles.clear()
        work.is_paused = False
        await watch.at(100 + module.PAUSE_LOOK_S + 1)
        assert [why for _, why in work.cycles] == [Why.EVERYTHING]

    watched(test)


def test_slow_wiki_keeps_no_other_waiting() -> None:
    async def test(watch: Watch) -> None:
        slow, quick = watch.works
        slow.takes_s = 1800.0
        await watch.at(10)
        watch.daemon.ask("quick", Why.FOLDER)
        await watch.at(11)
        assert (10.0, Why.FOLDER) in quick.cycles
        assert len(slow.cycles) == 1

    watched(test, "slow", "quick")


def test_busy_wikis_and_quiet_ones_take_turns() -> None:
    """Whoever waits longest is next, however often the others are asked."""

    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.takes_s = 1.0
        await watch.at(20)
        *busy, quiet = watch.works
        quiet.cycles.clear()
        watch.daemon.ask("quiet", Why.FOLDER)
        for second in range(20):
            for work in busy:
                watch.daemon.ask(work.name, Why.FOLDER)
            watch.daemon.ask("quiet", Why.FOLDER)
            await watch.at(20 + second * 0.5)
        assert quiet.cycles
        assert quiet.cycles[0][0] < 24

    watched(test, *(f"busy-{number}" for number in range(8)), "quiet")


def test_at_most_a_few_wikis_are_worked_on_at_once() -> None:
    async def test(watch: Watch) -> None:
        for work in watch.works:
            work.takes_s = 100.0
        await watch.at(1)
        working = [one for one in watch.daemon.standings.values() if one.is_working]
        assert len(working) == module.CYCLES_AT_ONCE

    watched(test, *(f"wiki-{number}" for number in range(20)))


def test_wiki_never_has_two_cycles_at_once() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        work.takes_s = 50.0
        for second in range(200):
            watch.daemon.ask("docs", Why.FOLDER)
            await watch.at(second)
        assert min(gaps([at for at, _ in work.cycles])) >= 50.0

    watched(test)


def test_what_is_left_to_do_is_done_at_once_but_not_for_ever() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        await watch.at(25)
        work.cycles.clear()
        work.outcomes = [CycleOutcome(is_quiet=False, has_more=True)] * 20
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(26)
        assert len(work.cycles) == module.ROUNDS_MAX
        assert {why for _, why in work.cycles[1:]} == {Why.EVERYTHING}
        await watch.at(26 + standings.RESTLESS_S)
        assert len(work.cycles) > module.ROUNDS_MAX

    watched(test)


def test_page_that_could_not_be_carried_over_is_tried_again_ever_more_rarely() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        await watch.at(30)
        work.cycles.clear()
        work.outcomes = [CycleOutcome(is_quiet=True, problem="503")] * 8
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(HOUR_S)
        tries = gaps([at for at, _ in work.cycles[:9]])
        assert tries[0] <= standings.BACK_OFF_MIN_S * 2 + 1
        assert max(tries) > 20
        assert ("docs", Condition.PARTLY, "503") in watch.told
        assert watch.told[-1] == ("docs", Condition.IN_STEP, "")

    watched(test)


def test_absence_that_must_be_seen_again_is_looked_for_when_it_is_due() -> None:
    async def test(watch: Watch) -> None:
        work = watch.works[0]
        await watch.at(25)
        work.cycles.clear()
        work.outcomes = [CycleOutcome(is_quiet=True, next_look_s=3.0)]
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(25 + 5)
        assert [why for _, why in work.cycles] == [Why.FOLDER, Why.EVERYTHING]

    watched(test)


def test_cycle_that_hangs_is_ended_and_is_no_trouble_of_the_service() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].takes_s = 10 * HOUR_S
        await watch.at(module.CYCLE_TIMEOUT_S + 1)
        assert watch.told == [
            (
                "docs",
                Condition.FAILING,
                "a cycle of docs took longer than 60 minutes",
            )
        ]
        assert watch.told_service == []

    watched(test)


def test_trouble_in_telling_leaves_the_wiki_in_step() -> None:
    async def after_cycle(_work: object, _outcome: CycleOutcome) -> None:
        raise FolderError("cannot write WIKISYNC-ATTENTION.md")

    async def test(watch: Watch) -> None:
        await watch.at(1)
        assert watch.told == [("docs", Condition.IN_STEP, "")]

    watched(test, after_cycle=after_cycle)


def test_another_problem_of_the_same_wiki_is_told() -> None:
    async def test(watch: Watch) -> None:
        watch.works[0].outcomes = [FolderError("gone"), FolderError("read-only")]
        await watch.at(20)
        problems = [problem for _, _, problem in watch.told]
        assert problems == ["gone", "read-only", ""]

    watched(test)


def test_wiki_that_needs_a_person_still_does_after_the_service_was_away() -> None:
    async def test(watch: Watch) -> None:
        held = CycleOutcome(is_quiet=True, needs_person=True)
        watch.works[0].outcomes = [held, AWAY, held, held, held]
        await watch.at(1)
        watch.daemon.ask("docs")
        await watch.at(1.2)
        assert watch.daemon.standings["docs"].condition is Condition.OFFLINE
        await watch.at(30)
        assert watch.told == [("docs", Condition.NEEDS_PERSON, "")]

    watched(test)


def test_each_cycle_has_an_id_of_its_own_in_the_log() -> None:
    async def test(watch: Watch) -> None:
        await watch.at(1)
        watch.daemon.ask("docs", Why.FOLDER)
        await watch.at(2)
        assert watch.works[0].ids == ["docs#1", "docs#2"]
        assert CYCLE.get() == ""

    watched(test)


@pytest.mark.parametrize("is_lost", [False, True])
def test_hints_of_a_hundred_wikis_are_spread_from_the_first_on(is_lost: bool) -> None:
    async def test(watch: Watch) -> None:
        if is_lost:
            await watch.at(10)
            for work in watch.works:
                work.failure = AWAY
            watch.daemon.ask()
            await watch.at(HOUR_S)
            for work in watch.works:
                work.failure = None
            await watch.at(HOUR_S + standings.BACK_OFF_MAX_S + 60)
        began = watch.loop.time() - START_S
        await watch.at(began + 600)
        times = sorted(at for work in watch.works for at in work.hints if at > began)
        most = max(
            sum(start <= at < start + 1 for at in times) for start in times[::10]
        )
        assert len(times) > 100 * 600 / 18
        assert most <= 35, "twenty a second would be even while all are quick"

    watched(test, *(f"wiki-{number}" for number in range(100)))
