"""A fleet on a real database, a real S3 server and the embedded service.

A worker that dies or freezes at a step is one whose ``at`` raises or waits there;
``Workers`` are real processes to which that happens.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.support.bending import BendingProxy, bending_proxy
from tests.support.bucket_server import got
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.core.model import WikiOwner
from wikisync.fleet.cycle import Cycle
from wikisync.fleet.parts import (
    BucketServer,
    DatabaseServer,
    bucket_server,
    database_server,
)
from wikisync.fleet.rows import Row, Rows
from wikisync.fleet.settings import Settings
from wikisync.fleet.worker import discover
from wikisync.site.bucket import RECORD, nothing_lost, open_bucket
from wikisync.workspace.discovery import Selection

ROOT = Path(__file__).resolve().parents[2]
PATH = "docs/handbook"
PICTURE = "uploads/0123456789abcdef0123456789abcdef/a.png"
Step = Callable[[str], Awaitable[None]]


class Died(BaseException):
    """The worker was killed."""


async def passes(_step: str) -> None:
    pass


def dies_at(step: str, after: int = 0) -> Step:
    left = [after]

    async def at(now: str) -> None:
        if now == step:
            left[0] -= 1
            if left[0] < 0:
                raise Died

    return at


async def due(rows: Rows) -> list[str]:
    """Wikis that a worker would take now, those that wait longest first."""
    found = await rows._do(
        "SELECT key FROM fleet_wiki WHERE hint_at > answered_at AND NOT is_halted"
        " AND due_at <= clock_timestamp() ORDER BY hint_at"
    )
    return [row["key"] for row in found]


async def is_waited_for(rows: Rows) -> bool:
    """Whether a statement waits for another one's lock."""
    return bool(await rows._one("SELECT pid FROM pg_locks WHERE NOT granted"))


async def claim(rows: Rows, key: str) -> Row | None:
    """Take one wiki, whatever else is due, for a worker that is dead."""
    async with rows.pool.connection() as connection, connection.transaction():
        await connection.execute(
            "SELECT FROM fleet_wiki WHERE key <> %s FOR UPDATE", (key,)
        )
        return await rows.claim("a test")


async def multiply(rows: Rows, count: int) -> None:
    """Make very many wikis that are due, after one that is known."""
    await rows._do(
        "INSERT INTO fleet_wiki (key, wiki, path) SELECT 'many-' || number, wiki,"
        " path || number FROM generate_series(1, %s) AS number,"
        " (SELECT wiki, path FROM fleet_wiki LIMIT 1) AS one",
        (count,),
    )
    await rows._do("ANALYZE fleet_wiki")


class Fleet:
    """A fleet whose cycles a test runs one by one."""

    def __init__(
        self, service: EmbeddedService, rows: Rows, server: BucketServer, folder: Path
    ) -> None:
        self.service, self.rows, self.server = service, rows, server
        self.folder, self.name = folder, folder.name
        self.settings = Settings(
            service.url,
            Selection(is_all=True),
            f"s3://site/{self.name}",
            f"s3://state/{self.name}",
            fleet="one",
        )
        self.client = Client(service.url, service.token)
        self.count = 0
        self.lists_all = False
        """Whether ``discover`` lists all wikis, as every six hours."""

    async def write(self, text: str, slug: str = "guide", path: str = PATH) -> None:
        await self.service.add_pages(WikiOwner("project", path), {slug: text})
        await self.hint()

    async def hint(self) -> None:
        await self.rows.retry([one.path for one in await self.rows.shown()])

    async def discover(self) -> None:
        await self.rows._do("UPDATE fleet SET listed_at = '-infinity'")
        if self.lists_all:
            await self.rows._do("UPDATE fleet SET swept_at = '-infinity'")
        await discover(self.client, self.rows, self.settings, self.name)

    async def sweep(self) -> None:
        """List all, and work on what is due, as every six hours."""
        await self.rows._do("UPDATE fleet SET swept_at = '-infinity'")
        await self.discover()
        await self.work(self.worker(folder="one"))

    def worker(self, at: Step = passes, folder: str = "") -> Cycle:
        """A worker, of another machine unless a folder is named."""
        self.count += 1
        place = self.folder / (folder or f"worker{self.count}")
        return Cycle(self.rows, self.settings, self.client, place, nothing_lost, at)

    async def work(self, worker: Cycle | None = None) -> None:
        worker = worker or self.worker()
        for key in await self.due():
            if row := await self.claim(key):
                await worker.run(row)

    async def follow(self, worker: Cycle | None = None) -> None:
        """List what is new, and work on what is due."""
        await self.discover()
        await self.work(worker)

    async def run(self, key: str, worker: Cycle | None = None) -> None:
        """Work on one wiki."""
        row = await self.claim(key)
        assert row
        await (worker or self.worker()).run(row)

    async def due(self) -> list[str]:
        return await due(self.rows)

    async def claim(self, key: str) -> Row | None:
        return await claim(self.rows, key)

    def site(self, path: str = PATH) -> str:
        return f"{self.name}/{path}/-/wikis"

    def page(self, slug: str = "guide", path: str = PATH) -> str | None:
        found = got(self.server, f"{self.site(path)}/{slug}.html")
        return found[0].decode() if found else None

    async def is_done(self) -> bool:
        return not (await self.rows.counts()).due

    async def problem(self) -> str:
        return next(one.problem for one in await self.rows.shown() if one.path == PATH)

    async def audit(self, path: str = PATH) -> None:
        """See that the site is what its manifest says, and nothing else."""
        bucket = open_bucket(f"s3://site/{self.site(path)}")
        found = await bucket.read("-/manifest.json")
        assert found
        said = {one["path"]: one["sha256"] for one in json.loads(found[0])["files"]}
        paths = (await bucket.etags()).keys() - {RECORD, "-/manifest.json"}
        there = {}
        for one in paths:
            content = await bucket.read(one)
            assert content
            there[one] = hashlib.sha256(content[0]).hexdigest()
        assert there == said


@asynccontextmanager
async def counted(fleet: Fleet) -> AsyncIterator[BendingProxy]:
    """Let the requests of a fleet's workers be counted; its wikis are read anew."""
    async with (
        bending_proxy(fleet.service.url) as proxy,
        Client(proxy.url, fleet.service.token) as client,
    ):
        fleet.client = client
        await fleet.sweep()
        yield proxy


class Workers:
    """Processes that end with the test."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database, self.folder = database, folder
        self.all: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        fleet: Fleet,
        *stops: str,
        within: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start one; ``within`` is what begins a command in another network."""
        place = self.folder / f"process{len(self.all)}"
        place.mkdir()
        words = [*within, sys.executable, "-m", "tests.support.stopping_worker"]
        words.append(self.database)
        with (place / "log").open("wb") as log:
            worker = subprocess.Popen(
                [*words, fleet.service.token, str(place), *stops],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdout=log,
                stderr=log,
            )
        self.all.append(worker)
        return worker

    def end(self) -> None:
        for number, worker in enumerate(self.all):
            worker.kill()
            worker.wait()
            log = (self.folder / f"process{number}/log").read_text()
            print(log, file=sys.stderr)  # noqa: T201


def is_stopped(worker: subprocess.Popen[bytes]) -> bool:
    return Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2][1] == "T"


@asynccontextmanager
async def whole_fleet(
    folder: Path,
) -> AsyncIterator[tuple[Fleet, Workers, DatabaseServer]]:
    """A fleet with servers of its own, on which real workers may be started."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(database_server())
        bucket = stack.enter_context(bucket_server(folder / "s3"))
        os.environ.update(bucket.environment)
        service = await stack.enter_async_context(embedded_service(folder))
        rows = await stack.enter_async_context(Rows(database.url))
        fleet = Fleet(service, rows, bucket, folder)
        await stack.enter_async_context(fleet.client)
        await fleet.rows.make(fleet.settings)
        workers = Workers(database.url, folder)
        stack.callback(workers.end)
        yield fleet, workers, database
