"""Prove a fleet: workers are killed and frozen at random steps while wikis change.

In the end every site is what its wiki holds, byte for byte as its manifest says, and
nothing waits: ``make prove-fleet`` (SEED=1 WIKIS=100 FAULTS=400).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.support.fleet import Fleet, Workers, is_stopped, whole_fleet
from tests.support.waiting import until
from wikisync.core.model import WikiOwner

WORKERS = 3
STUCK_S = 300.0
"""After so long beside the work itself, a wiki that is still due is stuck."""
RESTART_S = 45.0
STEPS = ("look", "restore", "pull", "build", "check", "upload", "put", "state", "row")


def path_of(number: int) -> str:
    return f"docs/wiki{number}"


async def prove(
    fleet: Fleet, workers: Workers, wikis: int, faults: int, chance: random.Random
) -> str:
    """What was proved.

    Raises:
        AssertionError: something is not as it has to be.
    """
    versions = dict.fromkeys(range(wikis), 0)
    for number in versions:
        await fleet.service.add_project(
            path_of(number), {"guide": "Version 0."}, visibility="public"
        )
    await fleet.discover()
    frozen: list[tuple[float, int]] = []
    for fault in range(faults):
        while sum(one.poll() is None for one in workers.all) < WORKERS:
            name = chance.choice(["SIGKILL", "SIGSTOP"])
            after = str(chance.randrange(1, 40))
            workers.start(fleet, chance.choice(STEPS), name, after)
        for number in chance.sample(sorted(versions), min(3, wikis)):
            versions[number] += 1
            owner = WikiOwner("project", path_of(number))
            text = f"Version {versions[number]}."
            await fleet.service.add_pages(owner, {"guide": text})
        await fleet.hint()
        ends_at = time.monotonic() + 2 + chance.random() * 4
        while time.monotonic() < ends_at:
            for one in workers.all:
                stopped = one.poll() is None and is_stopped(one)
                if stopped and one.pid not in [pid for _, pid in frozen]:
                    frozen.append((time.monotonic() + chance.random() * 12, one.pid))
            for item in list(frozen):
                if item[0] < time.monotonic():
                    frozen.remove(item)
                    with suppress(ProcessLookupError):
                        os.kill(item[1], signal.SIGCONT)
            await asyncio.sleep(0.05)
        print(f"{fault + 1} of {faults}", end="\r", file=sys.stderr)
    for one in workers.all:
        if one.poll() is None:
            one.send_signal(signal.SIGCONT)
            one.kill()
    begun = time.monotonic()
    for _ in range(WORKERS):
        workers.start(fleet)
    try:
        await until(fleet.is_done, STUCK_S + 3 * wikis)
    except TimeoutError:
        raise AssertionError("a wiki is stuck") from None
    whole_s = time.monotonic() - begun
    for number, version in versions.items():
        page = fleet.page(path=path_of(number)) or ""
        assert f"Version {version}." in page, f"{path_of(number)} is not {version}"
        await fleet.audit(path_of(number))
    restart_s = await _restart_s(fleet, workers)
    return (
        f"{wikis} wikis are whole {whole_s:.0f} s after the last end; the wiki of a"
        f" killed worker had another after {restart_s:.0f} s"
    )


async def _restart_s(fleet: Fleet, workers: Workers) -> float:
    """From the end of a worker with the real times until another has its wiki.

    Raises:
        AssertionError: it is too long.
    """
    for one in workers.all:
        one.kill()
        one.wait()
    killed = workers.start(fleet, "pull", "SIGKILL", "1", "real")
    await fleet.hint()
    assert await asyncio.to_thread(killed.wait) == -signal.SIGKILL
    begun = time.monotonic()
    workers.start(fleet, "", "", "1", "real")

    async def is_taken() -> bool:
        left = await fleet.rows._do(
            "SELECT key FROM fleet_wiki WHERE is_busy AND worker LIKE %s",
            (f"%:{killed.pid}:%",),
        )
        return not left

    await until(is_taken)
    restart_s = time.monotonic() - begun
    assert restart_s <= RESTART_S, f"a wiki had no worker for {restart_s:.0f} s"
    return restart_s


async def main(seed: int, wikis: int, faults: int) -> None:
    """Start all parts and prove."""
    with tempfile.TemporaryDirectory() as name:
        async with whole_fleet(Path(name)) as (fleet, workers):
            said = await prove(fleet, workers, wikis, faults, random.Random(seed))
    print(said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wikis", type=int, default=100)
    parser.add_argument("--faults", type=int, default=400)
    options = parser.parse_args()
    try:
        asyncio.run(main(options.seed, options.wikis, options.faults))
    except (AssertionError, psycopg.Error) as error:
        sys.exit(f"seed {options.seed}: {error}")
