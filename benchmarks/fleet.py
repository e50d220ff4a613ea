"""What a fleet costs: processor time of one to three workers, and of what they share.

    python -m benchmarks.fleet [--wikis N] [--pages N]

Service, database, object storage and workers share the machine, so times of a clock say
little; processor time is what each would need on a machine of its own.  N workers of
one core are N times as fast as one if none does what another one did, which the
speed-up counts, until a core of what they share is busy: the last columns tell at how
many workers that is.  The service is 50 ms away.  The rows tell the first publication,
and cycles in which nothing changed (``fleet retry``).

Then the service counts: requests of a minute in which nothing happens, those of the
list of all, and the busiest minute of workers that have a budget.  Last comes what it
costs to take one of 100,000 wikis that are due.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from msgspec.structs import replace

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.fleet import Fleet, Workers, multiply, whole_fleet
from tests.support.stopping_worker import REAL
from tests.support.waiting import until
from wikisync.api.client import Client
from wikisync.fleet.rows import LANDING
from wikisync.fleet.worker import LISTED_S, WHOLE_S

CLAIMS = 200
NAMES = [f"page{number // 2}" for number in range(40)]
AWAY_S = 0.05
WORKERS_MAX = 3
REQUESTS = 120
"""That workers may make in a minute, where they have a budget."""
QUIET_S, BUDGET_S = 180.0, 150.0
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int, *, with_children: bool = False) -> float:
    """Processor time of a process, and of the children that it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) * TICK_S


def database_cpu_s(url: str) -> float:
    """That of all processes of the server."""
    (folder,) = parse_qs(urlsplit(url).query)["host"]
    pid = int(Path(folder, "data/postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_s(pid, with_children=True) + sum(map(cpu_s, map(int, children)))


class Spent:
    """Processor time since it was made, of the workers and of what they share."""

    def __init__(self, fleet: Fleet, workers: Workers) -> None:
        self._fleet, self._workers = fleet, workers
        self._before, self.begun = self._now(), time.monotonic()

    def _now(self) -> list[float]:
        own = sum(cpu_s(one.pid, with_children=True) for one in self._workers.all)
        shared = database_cpu_s(self._workers.database), cpu_s(self._fleet.server.pid)
        return [own, *shared, time.process_time()]

    def ms(self, cycles: int) -> list[float]:
        """Milliseconds for each of so many cycles."""
        pairs = zip(self._now(), self._before, strict=True)
        return [(now - then) * 1000 / cycles for now, then in pairs]


async def cycles(fleet: Fleet) -> int:
    """How many there were, without those of the landing page."""
    found = f"SELECT sum(claim)::int AS count FROM fleet_wiki WHERE key <> '{LANDING}'"
    async with fleet.rows.pool.connection() as connection:
        (count,) = await (await connection.execute(found)).fetchone() or (0,)
    return int(count)


async def measure(
    folder: Path, count: int, wikis: int, pages: int, alone: dict[str, float]
) -> None:
    """Print two rows of the table, for so many workers; then what the service counts.

    ``alone`` has the milliseconds of one worker.
    """
    async with (
        whole_fleet(folder) as (fleet, workers, _),
        bending_proxy(fleet.service.url) as proxy,
        Client(proxy.url, fleet.service.token) as fleet.client,
    ):
        proxy.bend(delay_s=AWAY_S)
        fleet.settings = replace(fleet.settings, service=proxy.url, title="All wikis")
        await fleet.rows.make(fleet.settings)
        texts = {f"page{one}": f"# Page\n\n{'Words. ' * 500}" for one in range(pages)}
        for number in range(wikis):
            path = f"docs/{number}"
            await fleet.service.add_project(path, texts, visibility="public")
        await fleet.discover()
        spent, done = Spent(fleet, workers), await cycles(fleet)
        for _ in range(count):
            workers.start(fleet, REAL)
        for what in ("first", "nothing changed"):
            if what != "first":
                spent = Spent(fleet, workers)
                await fleet.hint()
            await until(fleet.is_done, 7200, look_s=5.0)
            # a list may bring a wiki a second one
            total = await cycles(fleet)
            passed, ms = time.monotonic() - spent.begun, spent.ms(total - done)
            done = total
            speed = count * alone.setdefault(what, ms[0]) / ms[0]
            cells = " | ".join(f"{one:.1f}" for one in ms)
            busy = " | ".join(f"{ms[0] / max(one, 0.1):.0f}" for one in ms[1:])
            times = f"{count} | {what} | {passed:.0f} s"
            print(f"| {times} | {cells} | {speed:.2f} | {busy} |", flush=True)
        if count == WORKERS_MAX:
            await count_requests(fleet, workers, proxy)


async def count_requests(fleet: Fleet, workers: Workers, proxy: BendingProxy) -> None:
    """Print what the service is asked by the workers, as it counts."""
    asked: list[float] = []
    proxy.done = lambda _asked, _answer: asked.append(time.monotonic())
    await list_all(fleet)  # ``fleet retry`` asks about each wiki once more
    asked.clear()
    await list_all(fleet)
    print(f"\n{len(asked)} requests for the list of all in {WHOLE_S / 3600:.0f} hours,")
    asked.clear()
    await asyncio.sleep(QUIET_S)
    print(f"and {len(asked)} in {QUIET_S:.0f} s in which nothing happens")
    for one in workers.all:
        one.kill()
        one.wait()
    fleet.settings = replace(fleet.settings, requests=REQUESTS)
    await fleet.rows.make(fleet.settings)
    asked.clear()
    await fleet.hint()
    for _ in range(WORKERS_MAX):
        workers.start(fleet, REAL)
    await asyncio.sleep(BUDGET_S)
    most = max(sum(at <= other < at + 60 for other in asked) for at in asked)
    print(
        f"{len(asked)} requests in {BUDGET_S:.0f} s of a budget of {REQUESTS} a minute:"
    )
    print(f"{most} in the busiest minute")


async def list_all(fleet: Fleet) -> None:
    """Let the workers list all wikis, and work on what came of it."""

    async def is_listed() -> bool:
        async with fleet.rows.pool.connection() as connection:
            found = "SELECT number FROM fleet WHERE swept_at > '-infinity'"
            cursor = await connection.execute(found)
            return await cursor.fetchone() is not None

    await fleet.rows.make(fleet.settings)
    await until(is_listed, 3 * LISTED_S)
    await until(fleet.is_done, 7200, look_s=5.0)


async def claim_of_many(folder: Path, wikis: int) -> None:
    """Print what it costs to take a wiki of very many that are due."""
    async with whole_fleet(folder) as (fleet, workers, _):
        await fleet.service.add_project("docs/one", {"home": "Words."})
        await fleet.discover()
        rows = fleet.rows
        await multiply(rows, wikis)
        await rows.join("one", 60)
        server, times = database_cpu_s(workers.database), []
        for _ in range(CLAIMS):
            begun = time.perf_counter()
            row = await rows.claim("one")
            times.append(time.perf_counter() - begun)
            assert row
            await rows.check(row)
            place = f"s3://site/{row.key}"
            await rows.note_place(row, place, [], keeps_names=False)
            listed = row.key
            await rows.move(
                row, generation=0, pages=20, place=place, names=NAMES, listed=listed
            )
        cost_s = (database_cpu_s(workers.database) - server) / CLAIMS
        print(f"\n{wikis:,} due: {statistics.median(times) * 1000:.1f} ms to take one,")
        print(f"the statements of its first cycle are {cost_s * 1000:.1f} CPU-ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wikis", type=int, default=40)
    parser.add_argument("--pages", type=int, default=20)
    options = parser.parse_args()
    parts = "PostgreSQL | bucket | service"
    print("Milliseconds of processor time a cycle\n")
    print(f"| workers | what | time | workers | {parts} | speed-up | until: {parts} |")
    print("|--:|---|" + "--:|" * 9, flush=True)
    alone: dict[str, float] = {}
    for count in range(1, WORKERS_MAX + 1):
        with tempfile.TemporaryDirectory() as name:
            made = measure(Path(name), count, options.wikis, options.pages, alone)
            asyncio.run(made)
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(claim_of_many(Path(name), 100_000))
