"""Prove a fleet: workers are killed and frozen at random steps while wikis change.

Meanwhile cables are cut, answers of the service and the bucket come late, cut, refused
or not at all, and the database loses its connections and is started again.  No page
that was published becomes an older one at any time; in the end every site is what its
wiki holds, byte for byte as its manifest says, and nothing waits.

``make prove-fleet`` (SEED=1 WIKIS=100 FAULTS=200), as root, who alone may cut cables.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
from msgspec.structs import replace

from tests.support.bending import Answer, Asked, BendingProxy, bending_proxy
from tests.support.cables import SERVERS, Cables, cables
from tests.support.fleet import Fleet, Workers, is_stopped, whole_fleet
from tests.support.relaying import Relay, relay
from tests.support.stopping_worker import AWAY, BLIND, REAL
from tests.support.waiting import until
from wikisync.api.client import Client
from wikisync.core.model import WikiOwner
from wikisync.fleet.parts import DatabaseServer

WORKERS = 3
ROUND_S, WHOLE_S = 2.0, 600.0
TICK_S = 0.05
FROZEN_MAX_S = 10.0
"""A worker is dead after half of it (``stopping_worker``)."""
BLIND_SHARE, BLIND_MAX_S = 0.4, 25.0
"""Of those that do not see it, and so long: others have their wikis meanwhile."""
FATE_S = 8.0
"""A worker that does not come to its step is killed or frozen where it is."""
EDITS = 6
RESTART_S = 45.0
DATABASE_ENDS = 5
REQUESTS = 30_000
STEPS = {"look": 12, "restore": 12, "pull": 12, "build": 12, "check": 12}
STEPS |= {"upload": 12, "put": 40, "state": 3, "row": 12}
"""Where a worker meets its fate, after at most so many times."""
WEATHER = (
    partial(BendingProxy.bend, status=503),
    partial(BendingProxy.bend, status=429, headers={"Retry-After": "1"}),
    partial(BendingProxy.bend, cut_after=40),  # half of a body
    partial(BendingProxy.bend, raw=b""),  # reset before it was asked
    partial(BendingProxy.bend, raw=b"", reaches=True),  # and after
    partial(BendingProxy.bend, delay_s=2.0),
)
CHANCE = 0.2
"""Of each request in bad weather."""


class Published:
    """What the bucket took, in that order."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.older: list[str] = []
        self.answers: Counter[int] = Counter()

    def done(self, asked: Asked, answer: Answer) -> None:
        if asked.method != "PUT":
            return
        self.answers[answer.status] += 1
        found = re.search(rb"Version (\d+)\.", asked.body)
        if answer.status != 200 or not asked.path.endswith("/guide.html") or not found:
            return
        path, version = asked.path.partition("?")[0], int(found[1])
        if version < (before := self.versions.get(path, 0)):
            self.older.append(f"{path}: {version} over {before}")
        self.versions[path] = max(version, before)


class World:
    """The fleet, and all that can go wrong around it."""

    def __init__(
        self,
        fleet: Fleet,
        workers: Workers,
        network: Cables,
        proxies: tuple[BendingProxy, BendingProxy],
        database: tuple[DatabaseServer, Relay],
        chance: random.Random,
    ) -> None:
        self.fleet, self.workers, self.network = fleet, workers, network
        self.service, self.bucket = proxies
        self.database, self.relay = database
        self.chance, self.published = chance, Published()
        self.bucket.done = self.published.done
        self.seen: Counter[str] = Counter()
        self._end: Callable[[], object] = lambda: None

    def start(self, place: int, *stops: str) -> subprocess.Popen[bytes]:
        """Start a worker in a namespace."""
        environment = {"AWS_ENDPOINT_URL": self.bucket.url}
        within = self.network.words(place)
        return self.workers.start(
            self.fleet, *stops, within=within, environment=environment
        )

    def fated(self, place: int) -> tuple[subprocess.Popen[bytes], bool]:
        """One that freezes at a step, and is killed at a later one; if it is blind."""
        words: list[str] = []
        for name in ("SIGSTOP", "SIGKILL"):
            step = self.chance.choice(list(STEPS))
            count = self.chance.randint(1, STEPS[step])
            words += [step, name, str(count)]
        if is_blind := self.chance.random() < BLIND_SHARE:
            words.append(BLIND)
        return self.start(place, *words), is_blind

    def clear(self) -> None:
        """Let the weather be good."""
        self._end()
        self._end = lambda: None
        for proxy in (self.service, self.bucket):
            proxy.straighten()
            proxy.asked.clear()

    def turn(self) -> None:
        """Let it be another one."""
        self.clear()
        kind = self.chance.choice(["good", "answers", "answers", "cable", "reset"])
        if kind == "answers":
            rule = self.chance.choice(WEATHER)
            proxy = self.chance.choice([self.service, self.bucket])
            kind = f"{'bucket' if proxy is self.bucket else 'service'} {rule.keywords}"
            rule(proxy, when=lambda: self.chance.random() < CHANCE)
        elif kind == "cable":
            worker, server = self.chance.randrange(WORKERS), self.chance.choice(SERVERS)
            kind += f" to the {server}"
            self.network.cut(worker, server)
            self._end = partial(self.network.mend, worker, server)
        elif kind == "reset":
            kind = "database reset"
            self.relay.reset()
        self.seen[kind] += 1

    async def edit(self, versions: dict[int, int]) -> None:
        """Let some wikis change, and all be due."""
        for number in self.chance.sample(sorted(versions), min(EDITS, len(versions))):
            versions[number] += 1
            owner = WikiOwner("project", path_of(number))
            text = f"Version {versions[number]}."
            await self.fleet.service.add_pages(owner, {"guide": text})
        with suppress(psycopg.Error):
            await self.fleet.hint()


def path_of(number: int) -> str:
    return f"docs/wiki{number}"


class Fates:
    """The workers of each namespace, which freeze once and are killed later."""

    def __init__(self, world: World, faults: int) -> None:
        self._world, self._faults = world, faults
        self._live: dict[int, subprocess.Popen[bytes]] = {}
        self._blind: dict[int, bool] = {}
        self._since: dict[int, float] = {}
        self._thaws: dict[int, float] = {}
        self.frozen = self.killed = 0

    @property
    def are_over(self) -> bool:
        return self.killed >= self._faults

    def tick(self) -> None:
        """See what became of the workers.

        Raises:
            AssertionError: one ended by itself.
        """
        now = time.monotonic()
        for place in range(WORKERS):
            worker = self._live.get(place)
            if worker is None or worker.poll() is not None:
                if worker is not None and worker.returncode != AWAY:
                    code = worker.returncode
                    assert code == -signal.SIGKILL, f"a worker ended with {code}"
                    self.killed += 1
                self._live[place], self._blind[place] = self._world.fated(place)
                self._since[place] = now
                self._thaws.pop(place, None)
            elif is_stopped(worker):
                self._meet(place, worker, now)
            elif now - self._since[place] > FATE_S:
                has_frozen = place in self._thaws
                worker.send_signal(signal.SIGKILL if has_frozen else signal.SIGSTOP)

    def _meet(self, place: int, worker: subprocess.Popen[bytes], now: float) -> None:
        if place not in self._thaws:
            self.frozen += 1
            most_s = BLIND_MAX_S if self._blind[place] else FROZEN_MAX_S
            self._thaws[place] = now + self._world.chance.random() * most_s
        elif self._thaws[place] < now:
            worker.send_signal(signal.SIGCONT)
            self._since[place] = now

    def end(self) -> None:
        for worker in self._live.values():
            worker.kill()
            worker.wait()


async def prove(world: World, wikis: int, faults: int) -> None:
    """Prove it, and say what was seen.

    Raises:
        AssertionError: something is not as it has to be.
    """
    fleet, begun = world.fleet, time.monotonic()
    versions = dict.fromkeys(range(wikis), 0)
    for number in versions:
        await fleet.service.add_project(
            path_of(number), {"guide": "Version 0."}, visibility="public"
        )
    await fleet.discover()
    fates, restarts = Fates(world, faults), 0
    while not fates.are_over:
        world.turn()
        await world.edit(versions)
        ends_at = time.monotonic() + ROUND_S * (1 + world.chance.random())
        while time.monotonic() < ends_at:
            fates.tick()
            await asyncio.sleep(TICK_S)
        if fates.killed * DATABASE_ENDS > restarts * faults + faults // 2:
            restarts += 1
            await asyncio.to_thread(world.database.stop)
            await asyncio.to_thread(world.database.start)
        said = f"{fates.frozen} frozen and {fates.killed} killed of {faults}"
        print(said, end="\r", file=sys.stderr, flush=True)
    fates.end()
    world.clear()
    await fleet.rows.pool.check()
    await fleet.hint()
    last = time.monotonic()
    for place in range(WORKERS):
        world.start(place)
    try:
        await until(fleet.is_done, WHOLE_S)
    except TimeoutError:
        raise AssertionError("a wiki is stuck") from None
    whole_s = time.monotonic() - last
    for number, version in versions.items():
        page = fleet.page(path=path_of(number)) or ""
        assert f"Version {version}." in page, f"{path_of(number)} is not {version}"
        await fleet.audit(path_of(number))
    assert not world.published.older, world.published.older
    minutes = (time.monotonic() - begun) / 60
    answers = world.published.answers
    print(
        f"{wikis} wikis, {fates.frozen} workers frozen, {fates.killed} killed, the"
        f" database {restarts} times started again, {sum(versions.values())} edits:"
        f" all are whole {whole_s:.0f} s after the last end.\n"
        f"The bucket took {answers[200]} objects and refused {answers[412]}; 0 pages"
        f" became older.  It took {minutes:.0f} minutes."
    )
    for kind, count in sorted(world.seen.items()):
        print(f"  {count} times {kind}")
    restart_s = await _restart_s(world)
    print(f"The wiki of a killed worker had another after {restart_s:.0f} s.")


async def _restart_s(world: World) -> float:
    """From the end of a worker with the real times until another has its wiki.

    Raises:
        AssertionError: it is too long.
    """
    for one in world.workers.all:
        one.kill()
        one.wait()
    killed = world.start(0, "pull", "SIGKILL", "1", REAL)
    # it alone is due, so that nobody has another one to do first
    await world.fleet.rows.retry([path_of(0)])
    assert await asyncio.to_thread(killed.wait) == -signal.SIGKILL
    begun = time.monotonic()
    world.start(1, REAL)

    async def is_taken() -> bool:
        left = await world.fleet.rows._do(
            "SELECT key FROM fleet_wiki WHERE is_busy AND worker LIKE %s",
            (f"%:{killed.pid}:%",),
        )
        return not left

    await until(is_taken)
    restart_s = time.monotonic() - begun
    assert restart_s <= RESTART_S, f"a wiki had no worker for {restart_s:.0f} s"
    return restart_s


@asynccontextmanager
async def world(folder: Path, chance: random.Random) -> AsyncIterator[World]:
    """All parts; what workers know of the servers lies behind proxies and cables."""
    async with AsyncExitStack() as stack:
        network = stack.enter_context(cables(WORKERS))
        parts = whole_fleet(folder)
        fleet, workers, database = await stack.enter_async_context(parts)
        proxies = [
            await stack.enter_async_context(
                bending_proxy(str(url), host=network.addresses[server])
            )
            for server, url in zip(
                SERVERS, (fleet.service.url, fleet.server.address), strict=False
            )
        ]
        (place,) = parse_qs(urlsplit(database.url).query)["host"]
        passes = await stack.enter_async_context(
            relay(Path(place, ".s.PGSQL.5432"), network.addresses["database"])
        )
        fleet.client = await stack.enter_async_context(
            Client(proxies[0].url, fleet.service.token)
        )
        fleet.settings = replace(
            fleet.settings, service=proxies[0].url, requests=REQUESTS
        )
        await fleet.rows.make(fleet.settings)
        host = f"{network.addresses['database']}:{passes.port}"
        workers.database = f"postgresql://fleet@{host}/postgres"
        proxied = (proxies[0], proxies[1])
        yield World(fleet, workers, network, proxied, (database, passes), chance)


async def main(seed: int, wikis: int, faults: int) -> None:
    """Start all parts and prove."""
    with tempfile.TemporaryDirectory() as name:
        async with world(Path(name), random.Random(seed)) as one:
            await prove(one, wikis, faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wikis", type=int, default=100)
    parser.add_argument("--faults", type=int, default=200)
    options = parser.parse_args()
    if os.geteuid() or not shutil.which("ip"):
        sys.exit("only root may cut cables, with ip of the package iproute2")
    try:
        asyncio.run(main(options.seed, options.wikis, options.faults))
    except (AssertionError, psycopg.Error) as error:
        sys.exit(f"seed {options.seed}: {error}")
