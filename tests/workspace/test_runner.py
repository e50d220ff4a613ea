"""Runs to rest; ``tests.fleet.test_contract`` holds each runner to its contract."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.sync.virtual import START_S, VirtualLoop, run_virtually
from wikisync.errors import AuthenticationFailed, FolderError, Unavailable
from wikisync.workspace.failures import Condition
from wikisync.workspace.runner import (
    ROUNDS_MAX,
    CycleOutcome,
    Runner,
    ScanScope,
    WikiRun,
)

AWAY = Unavailable("the service does not answer", url="https://gitlab.example.com")
DONE = CycleOutcome(is_quiet=True)


@dataclass
class Work:
    """A wiki whose cycles take a second."""

    name: str
    outcomes: list[CycleOutcome | Exception] = field(default_factory=list)
    """Of the next cycles; they are done afterwards."""
    is_paused: bool = False
    scopes: list[ScanScope] = field(default_factory=list)

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        del scope, paths

    async def cycle(self, scope: ScanScope) -> CycleOutcome:
        self.scopes.append(scope)
        await asyncio.sleep(1.0)
        outcome = self.outcomes.pop(0) if self.outcomes else DONE
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Service:
    """A service that answers, or refuses whoever asks."""

    has_token = True

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def version(self) -> None:
        if self.error is not None:
            raise self.error


def rested(
    *works: Work, service: Service | None = None, waits: bool = False
) -> tuple[Runner, float]:
    """The runner after these wikis came to rest, and the seconds that it took."""

    async def run(loop: VirtualLoop) -> tuple[Runner, float]:
        runner = Runner(works, service, clock=loop.time)
        await runner.run_to_rest(waits=waits)
        return runner, loop.time() - START_S

    return run_virtually(run)


def test_four_wikis_at_a_time_run_to_rest_once_each() -> None:
    works = [Work(f"w{number}") for number in range(6)]
    _runner, took_s = rested(*works)
    assert [len(work.scopes) for work in works] == [1] * 6
    assert took_s == 2.0


class Asked(Work):
    """A wiki that counts how often it is asked whether it is paused."""

    times = 0

    def __getattribute__(self, name: str) -> object:
        if name == "is_paused":
            self.times += 1
        return super().__getattribute__(name)


def test_wikis_that_wait_are_not_all_asked_after_each_cycle() -> None:
    """A thousand of them took most of an export that had nothing to do."""
    works = [Asked(f"w{number}") for number in range(40)]
    rested(*works)
    assert max(work.times for work in works) <= 3


class Listed(dict[str, WikiRun]):
    """Wikis that count how often all are gone through."""

    times = 0

    def values(self) -> Any:
        self.times += 1
        return super().values()


@pytest.mark.parametrize("count", [1, 40])
def test_wikis_that_wait_are_not_all_counted_before_each_cycle(count: int) -> None:
    """A thousand of them took a quarter of an export after one edit.

    Nor is one that works looked at until it is done, though it is due again.
    """

    async def run(loop: VirtualLoop) -> int:
        works = [Work(f"w{number}") for number in range(count)]
        runner = Runner(works, clock=loop.time)
        runner.wikis = listed = Listed(runner.wikis)
        loop.call_later(0.5, runner.request_cycle, "w0")
        await runner.run_to_rest()
        return listed.times

    assert run_virtually(run) < 20


def test_wiki_that_has_more_to_do_gets_cycles_until_it_has_not_or_never_rests() -> None:
    more = CycleOutcome(is_quiet=False, has_more=True)
    merged, restless = Work("merged", [more]), Work("restless", [more] * 100)
    rested(merged, restless)
    assert (len(merged.scopes), len(restless.scopes)) == (2, ROUNDS_MAX)


@pytest.mark.parametrize(("waits", "cycles"), [(False, 1), (True, 3)])
def test_absence_that_is_not_certain_is_waited_for_on_request(
    cycles: int, *, waits: bool
) -> None:
    unsure = CycleOutcome(is_quiet=True, next_scan_s=30.0)
    work = Work("a", [unsure, unsure])
    _runner, took_s = rested(work, waits=waits)
    assert len(work.scopes) == cycles
    assert took_s == cycles + 30.0 * (cycles - 1)


def test_wiki_that_fails_is_not_tried_again_and_stops_no_other() -> None:
    failed, other = Work("failed", [FolderError("gone")] * 2), Work("other")
    runner, _ = rested(failed, other)
    assert str(runner.wikis["failed"].failure) == "gone"
    assert (len(failed.scopes), len(other.scopes)) == (1, 1)
    assert runner.wikis["other"].condition is Condition.IN_SYNC


def test_no_wiki_is_begun_after_the_service_went_away() -> None:
    works = [Work(f"w{number}", [AWAY]) for number in range(6)]
    runner, _ = rested(*works, service=Service(AWAY))
    assert runner.outage is not None
    assert [len(work.scopes) for work in works] == [1, 1, 1, 1, 0, 0]
    met = [run.meets(runner.outage) for run in runner.wikis.values()]
    assert met == [True] * 4 + [False] * 2


def test_wiki_that_alone_is_refused_stops_no_other() -> None:
    refused = AuthenticationFailed("401", url="https://gitlab.example.com")
    works = [Work("ill", [refused]), *(Work(f"w{number}") for number in range(5))]
    runner, _ = rested(*works, service=Service())
    assert runner.outage is None
    assert runner.wikis["ill"].failure is refused
    assert all(work.scopes for work in works)


def test_paused_wiki_is_left_alone() -> None:
    paused, other = Work("paused", is_paused=True), Work("other")
    runner, took_s = rested(paused, other)
    assert (paused.scopes, len(other.scopes), took_s) == ([], 1, 1.0)
    assert runner.wikis["paused"].is_paused


def test_fault_of_ours_ends_a_run_to_rest() -> None:
    with pytest.raises(ZeroDivisionError):
        rested(Work("a", [ZeroDivisionError("ours")]), Work("b"))
