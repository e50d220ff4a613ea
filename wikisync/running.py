"""Running for long: work beside a block, and the signal that ends a program."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do work while the block lasts; its end cancels what is not done.

    What the block raises leaves it as it is, in no group of errors.
    """
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised below, unwrapped
            failure = error
        for task in tasks:
            task.cancel()
    if failure is not None:
        raise failure


def stop_signal() -> asyncio.Event:
    """What the first SIGINT or SIGTERM sets; a second one ends the process at once."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        stopped.set()

    for number in signals:
        loop.add_signal_handler(number, stop)
    return stopped
