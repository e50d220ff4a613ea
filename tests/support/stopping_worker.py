"""A worker that sends itself a signal when it comes to a step for the NUMBERth time.

``python -m tests.support.stopping_worker DATABASE TOKEN FOLDER [STEP SIGNAL N [real]]``
Its times are short, unless they are to be the real ones.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from wikisync.fleet.rows import Rows, pool_for
from wikisync.fleet.runner import FleetRunner
from wikisync.fleet.worker import work_on_sites

TIMES = {"beat_s": 0.5, "poll_s": 0.2, "silent_max_s": 4.0, "dead_s": 6.0}


def main(
    database: str,
    token: str,
    folder: str,
    step: str = "",
    name: str = "",
    number: str = "1",
    times: str = "",
) -> None:
    left = int(number)

    async def at(now: str) -> None:
        nonlocal left
        left -= now == step
        if now == step and not left:
            os.kill(os.getpid(), signal.Signals[name])

    async def run() -> None:
        async with pool_for(database) as pool:
            rows = Rows(pool)
            runner = FleetRunner(rows, slots=2, **({} if times else TIMES))
            await work_on_sites(rows, runner, token, Path(folder), at=at)

    logging.basicConfig(level=logging.INFO)
    asyncio.run(run())


if __name__ == "__main__":
    main(*sys.argv[1:])
