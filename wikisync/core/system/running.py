"""Running for long: work beside a block, the signal that ends it, and little memory.

The C library keeps what was freed between two things still in use: without giving it
back a watch grows with each edit.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from wikisync.core.system.libc import memory_trimmer


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do work while the block lasts; its errors leave it as they are, in no group."""
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


def stop_signal(then: Callable[[], object] = lambda: None) -> asyncio.Event:
    """What the first SIGINT or SIGTERM sets; a second one ends the process at once.

    ``then`` is called by the first.
    """
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        stopped.set()
        then()

    for number in signals:
        loop.add_signal_handler(number, stop)
    return stopped


GIVE_BACK_S = 30.0
"""How often memory is given back; each time takes some milliseconds."""


async def give_back_memory() -> None:
    """Give freed memory back from time to time, until cancelled."""
    trim = memory_trimmer()
    while trim is not None:
        await asyncio.sleep(GIVE_BACK_S)
        trim(0)
