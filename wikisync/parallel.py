"""Work on many things at once, with the results in their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


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
) -> Iterator[ResultT]:
    """The result of each item, in the order of the items.

    Only a few results wait for one that takes long, so that memory stays flat.

    Args:
        work: What is done in one of the threads; it must be safe there.  What it
            raises is raised where the result is wanted.
        items: What it is done with.
        threads: How many work at one time.
        ahead: Items for each of them that are worked on before the first is wanted.
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
