"""Work on many things at once, within bounds, in threads or on the loop."""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar

from wikisync.errors import WikisyncError

P = ParamSpec("P")
T = TypeVar("T")
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

UNAVAILABLE_MAX = 5
"""Reads that may fail in a row before the service counts as gone."""
WIKIS_AT_ONCE = 4
"""On which one command works at the same time."""


def usable_cores() -> int:
    """How many processors this process may use."""
    with suppress(AttributeError):  # not every system tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[ItemT], ResultT],
    items: Iterable[ItemT],
    *,
    threads: int,
    ahead: int,
) -> Generator[ResultT, None, None]:
    """The result of each item, in the order of the items.

    Each thread works on ``ahead`` items before the first is wanted, and no more, so
    that memory stays flat.
    """
    rest = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[ResultT]] = deque()
        try:
            for item in islice(rest, threads * ahead):
                waiting.append(pool.submit(work, item))
            while waiting:
                result = waiting.popleft().result()
                for item in islice(rest, 1):
                    waiting.append(pool.submit(work, item))
                yield result
        finally:
            for future in waiting:
                future.cancel()


async def each(
    items: Iterable[ItemT], work: Callable[[ItemT], Awaitable[None]], *, in_flight: int
) -> None:
    """Do the work for every item, that many at a time; the first error ends all."""
    import asyncio  # slow to load, and a build of pages needs no event loop

    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    with plain_errors():
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(worker())


async def gather(
    items: Sequence[ItemT],
    work: Callable[[ItemT], Awaitable[ResultT]],
    *,
    in_flight: int,
) -> list[ResultT]:
    """Do the work as ``each`` does; the results are in the order of the items."""
    results: dict[int, ResultT] = {}

    async def one(at: int) -> None:
        results[at] = await work(items[at])

    await each(range(len(items)), one, in_flight=in_flight)
    return [results[at] for at in range(len(items))]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Take the first error out of a task group, a foreign one before our own."""
    import asyncio

    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        yield
    except BaseExceptionGroup as group:
        first = min(leaves(group), key=lambda error: isinstance(error, WikisyncError))
        # before Python 3.13 the group's own cancellation may stay counted, and before
        # 3.11.3 the next timeout is then no TimeoutError
        if task and task.cancelling() > before and isinstance(first, WikisyncError):
            task.uncancel()
        raise first from first.__cause__


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The errors in a group and in the groups inside it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error


async def finish(
    work: Awaitable[T],
    stop: Callable[[], object] = lambda: None,
    *,
    within_s: float | None = None,
) -> T:
    """What work comes to; cancelled, it is told to stop and waited for to its end.

    No longer than ``within_s``: then it goes on, and what it raises is nobody's.
    """
    import asyncio

    future = asyncio.ensure_future(work)  # noqa: TID251 - waited for here
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop()
        # else the interpreter reports an error that nobody waits for any more
        future.add_done_callback(lambda one: one.cancelled() or one.exception())
        loop, left_s = asyncio.get_running_loop(), within_s
        ends_at = loop.time() + (within_s or 0.0)
        while not future.done() and (left_s is None or left_s > 0):
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future], timeout=left_s)
            left_s = None if within_s is None else ends_at - loop.time()
        raise


async def finish_in_thread(
    work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run blocking work in a thread to its end, also when cancelled.

    Else it would go on with descriptors that the caller closes, without its locks.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    return await finish(loop.run_in_executor(None, partial(work, *args, **kwargs)))
