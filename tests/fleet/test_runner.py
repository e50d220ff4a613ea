"""Claims, lives and lists of a fleet's runners, whose contract is ``test_contract``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from msgspec.structs import replace

from tests.support.fleet import claim, due, is_waited_for
from tests.support.relaying import relay
from tests.support.runners import KEYS, WIKIS, FleetBench, end_cycle, idle, running
from tests.support.waiting import until
from wikisync.core.model import WikiOwner
from wikisync.fleet.parts import DatabaseServer
from wikisync.fleet.rows import LATE, LostClaim, Row, Rows
from wikisync.fleet.worker import FleetRunner

WAIT_S = 60


async def is_done(rows: Rows) -> bool:
    return not (await rows.counts()).due


@pytest.fixture
async def fleet(database: str) -> AsyncIterator[FleetBench]:
    async with FleetBench(database) as bench:
        yield bench


@pytest.fixture
def rows(fleet: FleetBench) -> Rows:
    return fleet.rows


async def test_wiki_of_a_dead_worker_goes_to_another(
    fleet: FleetBench, rows: Rows
) -> None:
    await rows.join("dead", 3)
    taken = [await rows.claim("dead") for _ in KEYS]
    assert [one.key for one in taken if one] == [*KEYS]
    await rows.retry([])
    assert await rows.claim("alive") is None
    async with fleet.running():
        await until(lambda: set(fleet.cycles.ended) == set(KEYS))


async def test_wiki_whose_end_could_not_be_noted_is_taken_again(
    fleet: FleetBench, rows: Rows
) -> None:
    """The database was away when the cycle ended; the worker lives."""
    failures = [psycopg.OperationalError("it is away")]

    async def cycle(row: Row) -> None:
        await fleet.cycle(rows).run(row)
        if failures:
            await rows._do(
                "UPDATE fleet_wiki SET is_busy = true, hint_at = clock_timestamp()"
            )
            raise failures.pop()

    async with running(fleet.runner(rows).run(cycle, idle)):
        await until(lambda: is_done(rows))

    assert not failures


async def test_wiki_waits_for_the_worker_that_has_its_copy(rows: Rows) -> None:
    for name in ("one", "two"):
        await rows.join(name, 60)
        row = await rows.claim(name)
        assert row
        await end_cycle(rows, row)
    await rows.retry([one.path for one in await rows.shown()])
    kept = [await rows.claim("two") for _ in range(3)]
    assert [one is None for one in kept] == [False, False, True]
    await rows._do(
        "UPDATE fleet_wiki SET hint_at = now() - interval '6 seconds',"
        " answered_at = '-infinity'"
    )
    assert await rows.claim("two")


async def test_wiki_that_is_not_settled_waits_for_the_worker_that_has_its_copy(
    rows: Rows,
) -> None:
    for name in ("one", "two"):
        await rows.join(name, 60)
    while row := await rows.claim("one"):
        await end_cycle(rows, row, rests_s=None)
    await rows._do("UPDATE fleet_wiki SET due_at = now()")
    assert await rows.claim("two") is None
    assert await rows.claim("one")
    found = await rows._do("SELECT attempts FROM fleet_wiki WHERE is_busy")
    assert found == [{"attempts": 2}]


async def test_wiki_goes_to_a_worker_other_than_that_which_failed(rows: Rows) -> None:
    """The disk of the other may be full, or its clock wrong."""
    for name in ("one", "two"):
        await rows.join(name, 60)
    while row := await rows.claim("one"):
        await rows.fail(row, "its disk is full")
    await rows._do("UPDATE fleet_wiki SET due_at = now()")
    assert await rows.claim("one") is None
    assert await rows.claim("two")
    await rows._do(
        "UPDATE fleet_wiki SET due_at = now() - interval '6 seconds',"
        " hint_at = now() - interval '6 seconds', answered_at = '-infinity'"
    )
    row = await rows.claim("one")  # alone, it tries again
    assert row
    await rows.fail(row, "its disk is full")
    await rows.retry([])
    assert await rows.claim("one")  # some space was freed


async def test_failed_wiki_waits_and_a_person_may_end_that(rows: Rows) -> None:
    for key in KEYS[1:]:
        row = await claim(rows, key)
        assert row
        await rows.fail(row, "no", is_halted=key == KEYS[2])
    assert await due(rows) == [KEYS[0]]
    assert await rows.retry(["docs/2"]) == [KEYS[1]]
    assert await rows.approve([]) == [KEYS[2]]
    assert set(await due(rows)) == set(KEYS)


async def test_change_that_is_noted_while_a_cycle_runs_means_one_more(
    rows: Rows,
) -> None:
    """The transaction of a long list begins before the cycle, and ends after it."""
    moved = replace(WIKIS[0], owner=WikiOwner("project", "docs/moved"))
    async with (
        asyncio.TaskGroup() as group,
        rows.pool.connection() as cycle,
        cycle.transaction(),
    ):
        await cycle.execute("SELECT FROM fleet_wiki FOR UPDATE")
        group.create_task(rows.put([moved]))
        await until(lambda: is_waited_for(rows))
        await cycle.execute("UPDATE fleet_wiki SET answered_at = clock_timestamp()")
    assert await due(rows) == [KEYS[0]]


async def test_list_is_one_workers_until_it_ends_or_dies(rows: Rows) -> None:
    """A list of very many projects takes longer than the time between two."""
    await rows.join("one", 60)
    assert await rows.turn_to_list("one", 0, 60) == ""
    assert await rows.turn_to_list("two", 0, 60) is None
    await rows.end_turn("one")
    assert await rows.turn_to_list("two", 0, 60) == ""
    assert await rows.turn_to_list("one", 0, 60) == "", "two is dead"


async def test_list_goes_back_only_while_a_late_activity_may_come(rows: Rows) -> None:
    now = datetime.now(UTC)
    for at, back in ((now - 3 * LATE, timedelta()), (now, LATE)):
        wiki = replace(WIKIS[0], activity=at.isoformat())
        await rows.put([wiki], set())
        since = await rows.turn_to_list("one", 0, 60)
        assert since is not None
        assert datetime.fromisoformat(since) == at - back


async def test_worker_that_freezes_between_two_statements_has_no_row(
    fleet: FleetBench, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, seen = psycopg.AsyncCursor.execute, []

    async def watched(self: Any, *words: Any, **options: Any) -> Any:
        done = await execute(self, *words, **options)
        with psycopg.connect(fleet.database) as other:
            other.execute("SELECT FROM fleet_wiki FOR UPDATE NOWAIT")
        seen.append(words)
        return done

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", watched)
    wikis = [replace(one, title="new") for one in WIKIS[1:]]
    await rows.put(wikis, {KEYS[0]})
    assert seen


async def test_older_claim_moves_nothing(rows: Rows) -> None:
    old = await claim(rows, KEYS[0])
    await rows.retry(["docs/1"])
    new = await claim(rows, KEYS[0])
    assert old
    assert new
    with pytest.raises(LostClaim):
        await end_cycle(rows, old)
    await rows.check(new)
    await end_cycle(rows, new)


async def test_runner_that_was_silent_writes_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = FleetRunner(Rows(""))
    await runner.check()
    later = time.monotonic() + 21
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(LostClaim):
        await runner.check()


async def test_wiki_of_a_cycle_that_was_refused_to_write_is_taken_again(
    fleet: FleetBench, rows: Rows
) -> None:
    """The heart beats again before anybody takes the worker for dead."""
    refused: list[str] = []
    runner = fleet.runner(rows)

    async def cycle(row: Row) -> None:
        if not refused:
            heard, runner._heard = runner._heard, (0.0, 0.0)
            with pytest.raises(LostClaim):
                await runner.check()
            runner._heard = heard
            refused.append(row.key)
            return
        await fleet.cycle(rows).run(row)

    async with running(runner.run(cycle, idle)):
        await until(lambda: is_done(rows))

    assert refused


async def test_runner_that_is_cancelled_ends_though_a_statement_was_cut_off(
    fleet: FleetBench, rows: Rows
) -> None:
    begun = asyncio.Event()

    async def cycle(_row: Row) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # so ends what waits for the database
            raise psycopg.OperationalError("cancelling the statement") from None

    async with asyncio.timeout(WAIT_S), running(fleet.runner(rows).run(cycle, idle)):
        await begun.wait()


async def test_runner_that_was_told_to_end_takes_no_other_wiki(
    fleet: FleetBench,
) -> None:
    """One slot asks at a time, and the others come after it when it ends."""
    asked: list[Row | None] = []

    class AskedRows(Rows):
        async def claim(self, worker: str) -> Row | None:
            asked.append(await super().claim(worker))
            return asked[-1]

    async with AskedRows(fleet.database) as rows:
        while row := await rows.claim("before"):
            await fleet.cycle(rows).run(row)
        asked.clear()
        runner = FleetRunner(rows, slots=4, poll_s=WAIT_S)
        async with asyncio.TaskGroup() as group:
            group.create_task(runner.run(fleet.cycle(rows).run, idle))
            await until(lambda: bool(asked))
            await rows.retry(["docs/1"])
            runner.end()
    assert asked == [None]


async def test_runner_that_is_cancelled_while_its_pool_is_checked_ends(
    fleet: FleetBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement that is cut off ends with an error, which the pool takes."""
    async with Rows(fleet.database) as rows:
        begun = asyncio.Event()

        async def check() -> None:
            begun.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

        monkeypatch.setattr(rows.pool, "check", check)
        work = fleet.runner(rows).run(fleet.cycle(rows).run, idle)
        async with running(work) as task:
            await begun.wait()
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=WAIT_S)
        assert ended


async def test_no_two_workers_have_one_name() -> None:
    rows = Rows("")
    assert FleetRunner(rows).name != FleetRunner(rows).name


async def test_queue_that_goes_and_comes_back_during_cycles_is_worked_on(
    fleet: FleetBench, postgres: DatabaseServer
) -> None:
    cycles = fleet.cycles
    async with fleet.running():
        await fleet.hold(KEYS[0])
        await asyncio.to_thread(postgres.stop)
        await asyncio.to_thread(postgres.start)
        cycles.is_held = False
        await fleet.rows.pool.check()
        await fleet.edit(KEYS[1])
        await cycles.rest()
        await until(lambda: is_done(fleet.rows))
    assert set(cycles.most.values()) == {1}


async def test_worker_whose_cable_to_the_database_is_cut_ends_its_cycles(
    fleet: FleetBench,
) -> None:
    """It alone: the bucket takes what it writes, and another worker has the wiki."""
    (place,) = parse_qs(urlsplit(fleet.database).query)["host"]
    begun, ended = asyncio.Event(), asyncio.Event()

    async def cycle(_row: Row) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncExitStack() as stack:
        cable = await stack.enter_async_context(AsyncExitStack())
        passes = await cable.enter_async_context(
            relay(Path(place, ".s.PGSQL.5432"), "127.0.0.1")
        )
        url = f"postgresql://fleet@127.0.0.1:{passes.port}/postgres"
        rows = await stack.enter_async_context(Rows(url))
        cut = FleetRunner(rows, beat_s=0.1, poll_s=0.1, silent_max_s=1, dead_s=2)
        await stack.enter_async_context(running(cut.run(cycle, idle)))
        await begun.wait()
        await cable.aclose()
        await ended.wait()
        await stack.enter_async_context(fleet.running())
        await until(lambda: set(fleet.cycles.ended) == set(KEYS))


async def test_runner_whose_loop_stood_still_begins_a_new_life(
    fleet: FleetBench, rows: Rows
) -> None:
    seen: list[str] = []
    runner = FleetRunner(rows, beat_s=0.1, poll_s=0.1, silent_max_s=1)

    async def stands_still(row: Row) -> None:
        if not seen:
            seen.append(row.key)
            time.sleep(3)  # noqa: ASYNC251 - a defect
            with pytest.raises(LostClaim):
                await runner.check()
            await asyncio.Event().wait()
        await fleet.cycle(rows).run(row)

    async with running(runner.run(stands_still, idle)):
        await until(lambda: set(fleet.cycles.ended) == set(KEYS))


async def test_wiki_that_no_worker_survives_waits_ever_longer(rows: Rows) -> None:
    waits = []
    for _ in range(3):
        await rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
        assert await claim(rows, KEYS[0])
        row = await rows._one(
            "SELECT extract(epoch FROM due_at - begun_at)::float8 AS wait"
            " FROM fleet_wiki WHERE key = %s",
            (KEYS[0],),
        )
        assert row
        waits.append(round(row["wait"]))
    assert waits == [2, 4, 8]
    assert KEYS[0] not in await due(rows)


@pytest.mark.parametrize("change", ["is_draining = true", "version = version + 1"])
async def test_drained_or_newer_fleet_ends_its_workers(
    fleet: FleetBench, rows: Rows, change: str
) -> None:
    await rows._do(f"UPDATE fleet SET {change}")
    async with asyncio.timeout(WAIT_S):
        await fleet.runner(rows).run(fleet.cycle(rows).run, idle)
    assert not (await rows.counts()).workers
