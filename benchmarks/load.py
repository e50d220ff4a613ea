"""Many clients at once: reads and writes of a wiki and of projects for a while.

    python benchmarks/load.py [--clients 50] [--seconds 60]

Each client in turn edits a page of its own, reads it back, lists the wiki, reads
and edits a project of its own and stars it.  Every answer is checked: a status of
500 or more, or a text that is not the last one written, ends the run with an error.
Prints how many requests of each kind were answered, and how fast.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
from measured import serving

SEED = 7
PAGES = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        wiki = Path(name) / "wiki"
        wiki.mkdir()
        for number in range(PAGES):
            (wiki / f"page-{number}.md").write_text(f"# Page {number}\n")
        with serving(wiki) as (url, token):
            times = asyncio.run(load(url, token, arguments))
    report(times, arguments.seconds)


async def load(
    url: str, token: str, arguments: argparse.Namespace
) -> dict[str, list[float]]:
    """Run all clients for so long; gives seconds per answer, by kind."""
    times: dict[str, list[float]] = defaultdict(list)
    connector = aiohttp.TCPConnector(limit=arguments.clients)
    async with aiohttp.ClientSession(
        f"{url}/api/v4/", headers={"PRIVATE-TOKEN": token}, connector=connector
    ) as session:
        end = time.monotonic() + arguments.seconds
        async with asyncio.TaskGroup() as group:
            for number in range(arguments.clients):
                client = BusyClient(session, number, times)
                group.create_task(client.run(end))
    return times


class BusyClient:
    """One client with a page and a project of its own."""

    def __init__(
        self, session: aiohttp.ClientSession, number: int, times: dict[str, list[float]]
    ) -> None:
        self._session = session
        self._number = number
        self._times = times
        self._chance = random.Random(SEED + number)
        self._wiki = "projects/local%2Fwiki/wikis"
        self._text = ""
        self._project = ""

    async def run(self, end: float) -> None:
        """Set up, then act until the end, then look whether the last write stayed."""
        self._text = f"text of client {self._number}"
        page = {"title": f"client-{self._number}", "content": self._text}
        await self._ask("create page", "POST", self._wiki, page, 201)
        made = await self._ask(
            "create project", "POST", "projects", {"name": f"load {self._number}"}, 201
        )
        self._project = str(made["id"])
        acts: list[Callable[[], Awaitable[None]]] = [
            self._edit_page,
            self._read_page,
            self._list_pages,
            self._edit_project,
            self._list_projects,
            self._star,
        ]
        while time.monotonic() < end:
            await self._chance.choice(acts)()
        await self._read_page()

    async def _edit_page(self) -> None:
        text = f"{self._text[:20]} {self._chance.random()}"
        address = f"{self._wiki}/client-{self._number}"
        await self._ask("edit page", "PUT", address, {"content": text}, 200)
        self._text = text

    async def _read_page(self) -> None:
        address = f"{self._wiki}/client-{self._number}"
        page = await self._ask("read page", "GET", address, None, 200)
        assert page["content"] == self._text, f"client {self._number} lost a write"

    async def _list_pages(self) -> None:
        await self._ask("list pages", "GET", self._wiki, None, 200)

    async def _edit_project(self) -> None:
        text = f"described {self._chance.random()}"
        address = f"projects/{self._project}"
        await self._ask("edit project", "PUT", address, {"description": text}, 200)
        project = await self._ask("read project", "GET", address, None, 200)
        assert project["description"] == text, f"client {self._number} lost an edit"

    async def _list_projects(self) -> None:
        await self._ask("list projects", "GET", "projects?simple=true", None, 200)

    async def _star(self) -> None:
        act = self._chance.choice(("star", "unstar"))
        address = f"projects/{self._project}/{act}"
        await self._ask("star, unstar", "POST", address, None, 201, 304)

    async def _ask(
        self,
        kind: str,
        method: str,
        address: str,
        sent: dict[str, str] | None,
        *expected: int,
    ) -> dict[str, str]:
        started = time.perf_counter()
        async with self._session.request(method, address, json=sent) as answer:
            body = await answer.read()
            self._times[kind].append(time.perf_counter() - started)
            assert answer.status in expected, f"{kind}: {answer.status} {body[:200]!r}"
            return await answer.json() if body and answer.status < 300 else {}


def report(times: dict[str, list[float]], seconds: float) -> None:
    print(f"{'request':<16} {'count':>7} {'per s':>7} {'median ms':>10} {'p99 ms':>8}")
    everything = [one for some in times.values() for one in some]
    for kind, some in [*sorted(times.items()), ("all", everything)]:
        p99 = statistics.quantiles(some, n=100)[98] * 1000
        median = statistics.median(some) * 1000
        rate = len(some) / seconds
        print(f"{kind:<16} {len(some):>7} {rate:>7.0f} {median:>10.1f} {p99:>8.1f}")
    print("no 5xx, no lost write")


if __name__ == "__main__":
    main()
