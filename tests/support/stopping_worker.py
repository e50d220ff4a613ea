"""A worker that sends itself signals, each when it comes to a step for the Nth time.

``stopping_worker.py DATABASE TOKEN FOLDER [STEP SIGNAL N]... [real | blind]``

Its times are short, unless they are to be the real ones; a blind one does not see that
it was silent, so that nothing but the bucket can refuse it.  A signal waits until the
one before it was sent.  Where the database or the bucket is away before its first cycle
it ends with ``AWAY``, as ``fleet run`` ends, to be started again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import psycopg

from wikisync.errors import SiteError
from wikisync.fleet.rows import Rows
from wikisync.fleet.worker import FleetRunner, work_on_sites

TIMES = {"beat_s": 0.5, "poll_s": 0.2, "silent_max_s": 4.0, "dead_s": 6.0}
REAL, BLIND = "real", "blind"
KINDS: dict[str, dict[str, float]] = {REAL: {}, BLIND: {**TIMES, "silent_max_s": 1e9}}
AWAY = 75


def main(database: str, token: str, folder: str, *words: str) -> None:
    times = KINDS.get(words[-1], TIMES) if words else TIMES
    stops = [words[at : at + 3] for at in range(0, len(words) - 2, 3)]
    left = int(stops[0][2]) if stops else 0
    has_begun = False

    async def at(now: str) -> None:
        nonlocal left, has_begun
        has_begun = True
        if stops and now == stops[0][0]:
            left -= 1
            if not left:
                name = stops.pop(0)[1]
                left = int(stops[0][2]) if stops else 0
                os.kill(os.getpid(), signal.Signals[name])

    async def run() -> None:
        async with Rows(database) as rows:
            runner = FleetRunner(rows, slots=2, **times)
            await work_on_sites(rows, runner, token, Path(folder), at=at)

    logging.basicConfig(level=logging.INFO)
    try:
        asyncio.run(run())
    except (psycopg.Error, SiteError):
        if has_begun:
            raise
        sys.exit(AWAY)


if __name__ == "__main__":
    main(*sys.argv[1:])
