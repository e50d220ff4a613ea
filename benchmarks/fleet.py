"""What a fleet costs: processor time of one and of two workers, and of the database.

    python -m benchmarks.fleet [--wikis N] [--pages N]

Service, database, object storage and workers share the machine, so times of a clock say
little; processor time is what each would need on a machine of its own, which tells how
many workers of one core it takes until a core of another one is busy.  The service is
50 ms away.  The tables tell the first publication, and cycles in which nothing changed
(``fleet retry``).  The service counts the requests of each minute.  Then come
the requests of an instance in which nothing happens, and what it costs to take one of
100,000 wikis that are due.
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

from tests.support.bending import bending_proxy
from tests.support.fleet import counted, multiply, whole_fleet
from tests.support.waiting import until
from wikisync.api.client import Client
from wikisync.fleet.doctor import own
from wikisync.fleet.worker import WHOLE_S

CLAIMS = 200
AWAY_S = 0.05
REQUESTS = 150
"""That workers may make in a minute."""
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


async def measure(folder: Path, count: int, wikis: int, pages: int) -> None:
    """Print two rows of the table, for so many workers."""
    async with (
        whole_fleet(folder) as (fleet, workers, _),
        bending_proxy(fleet.service.url) as proxy,
        Client(proxy.url, fleet.service.token) as fleet.client,
    ):
        proxy.bend(delay_s=AWAY_S)
        asked: list[float] = []
        proxy.done = lambda _asked, _answer: asked.append(time.monotonic())
        fleet.settings = replace(fleet.settings, service=proxy.url, requests=REQUESTS)
        await fleet.rows.make(fleet.settings, own)
        for number in range(wikis):
            texts = {
                f"page{one}": f"# Page {one}\n\n{'Words. ' * 500}"
                for one in range(pages)
            }
            await fleet.service.add_project(
                f"docs/{number}", texts, visibility="public"
            )
        await fleet.discover()
        for _ in range(count):
            workers.start(fleet)

        def spent_s() -> tuple[float, ...]:
            own = sum(cpu_s(one.pid, with_children=True) for one in workers.all)
            bucket = cpu_s(fleet.server.pid)
            return own, database_cpu_s(workers.database), bucket, time.process_time()

        for what in ("first", "nothing changed"):
            before, begun = spent_s(), time.monotonic()
            if what != "first":
                await fleet.hint()
            await until(fleet.is_done, 3600, look_s=2.0)
            passed = time.monotonic() - begun
            ms = [
                (now - then) * 1000 / wikis
                for now, then in zip(spent_s(), before, strict=True)
            ]
            cells = " | ".join(f"{one:.0f} ms" for one in ms)
            busy = " | ".join(f"{ms[0] / max(one, 0.1):.0f}" for one in ms[1:])
            print(f"| {count} | {what} | {passed:.1f} s | {cells} | {busy} |")
        most = max(sum(at <= other < at + 60 for other in asked) for at in asked)
        print(f"\n{most} requests in the busiest minute, of {REQUESTS} at most\n")


async def count_requests(folder: Path, wikis: int) -> None:
    """Print what so many wikis cost without a change."""
    async with whole_fleet(folder) as (fleet, _, _):
        for number in range(wikis):
            page = {"home": "Words."}
            await fleet.service.add_project(f"docs/{number}", page, visibility="public")
        async with counted(fleet) as proxy:
            made = []
            for asked in (fleet.discover, fleet.sweep):
                before = len(proxy.requests())
                await asked()
                made.append(len(proxy.requests()) - before)
        print(f"\n{wikis} quiet wikis: {made[0]} requests a minute,")
        print(f"and {made[1]} for the list of all in {WHOLE_S / 3600:.0f} hours")


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
            await rows.move(row, generation=0, state="", pages=1, problem="")
        cost_s = (database_cpu_s(workers.database) - server) / CLAIMS
        print(f"\n{wikis:,} due: {statistics.median(times) * 1000:.1f} ms to take one,")
        print(f"its three statements are {cost_s * 1000:.1f} CPU-ms of PostgreSQL")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wikis", type=int, default=40)
    parser.add_argument("--pages", type=int, default=20)
    options = parser.parse_args()
    parts = "PostgreSQL | bucket | service"
    print(f"| workers | what | time | CPU: workers | {parts} | until: {parts} |")
    print("|--:|---|" + "--:|" * 8)
    for workers in (1, 2, 3):
        with tempfile.TemporaryDirectory() as name:
            asyncio.run(measure(Path(name), workers, options.wikis, options.pages))
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(count_requests(Path(name), options.wikis))
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(claim_of_many(Path(name), 100_000))
