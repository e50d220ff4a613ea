"""The contract of a runner, whatever queue it has."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.runners import KEYS, Bench, Cycles, FleetBench, LocalBench
from tests.support.waiting import until
from wikisync.errors import FolderError, Unavailable

HINTS = 1000
FIRST, OTHER, _ = KEYS


@pytest.fixture(params=["one machine", "a fleet"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    if request.param == "one machine":
        yield LocalBench()
    else:
        async with FleetBench(request.getfixturevalue("database")) as fleet:
            yield fleet


@pytest.fixture
def cycles(bench: Bench) -> Cycles:
    return bench.cycles


async def test_no_wiki_has_two_live_cycles(bench: Bench, cycles: Cycles) -> None:
    async with bench.running():
        await bench.hold(FIRST)
        await bench.edit(FIRST)
        await bench.retry()
        # others have theirs meanwhile
        await until(lambda: cycles.live[OTHER] > 0)
        cycles.is_held = False
        await cycles.rest()
    assert set(cycles.most.values()) == {1}


async def test_every_hint_of_a_burst_is_answered(bench: Bench, cycles: Cycles) -> None:
    """Also one in the last moment of a cycle."""
    async with bench.running():
        for number in range(HINTS):
            await bench.edit(KEYS[number % len(KEYS)])
        await cycles.rest()
    assert set(cycles.most.values()) == {1}


async def test_thousand_hints_during_a_cycle_mean_one_more(
    bench: Bench, cycles: Cycles
) -> None:
    async with bench.running():
        await bench.hold(FIRST)
        before = cycles.begun[FIRST]
        for _ in range(HINTS):
            await bench.edit(FIRST)
        cycles.is_held = False
        await cycles.rest()
        await bench.edit(OTHER)
        await cycles.rest()
    assert cycles.begun[FIRST] == before + 1


async def test_hint_is_not_lost_when_the_runner_dies(
    bench: Bench, cycles: Cycles
) -> None:
    async with bench.running():
        await cycles.rest()
        await bench.edit(FIRST)
    async with bench.running():
        await cycles.rest()


async def test_hint_during_a_cycle_is_not_lost_when_the_runner_dies(
    bench: Bench, cycles: Cycles
) -> None:
    async with bench.running():
        await bench.hold(FIRST)
        await bench.edit(FIRST)
    assert not cycles.live[FIRST]
    cycles.is_held = False
    async with bench.running():
        await cycles.rest()


async def test_wiki_that_fails_keeps_no_other_waiting_and_is_tried_again(
    bench: Bench, cycles: Cycles
) -> None:
    async with bench.running():
        await cycles.rest()
        cycles.errors[FIRST] = FolderError("it is ill")
        before = cycles.begun[FIRST]
        await bench.edit(FIRST)
        await until(lambda: cycles.begun[FIRST] > before)
        await bench.edit(OTHER)
        await until(lambda: cycles.carried[OTHER] == 1)
        cycles.errors.clear()
        await cycles.rest()


async def test_wikis_go_on_when_the_service_is_back(
    bench: Bench, cycles: Cycles
) -> None:
    async with bench.running():
        await cycles.rest()
        away = Unavailable("the service does not answer", url="http://service")
        cycles.errors |= dict.fromkeys(KEYS, away)
        before = cycles.begun.total()
        for key in KEYS:
            await bench.edit(key)
        await until(lambda: cycles.begun.total() > before)
        cycles.errors.clear()
        await cycles.rest()
