"""Blocking work in a thread that is always waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def finish_in_thread(
    work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run blocking work in a thread, and let it end also when cancelled.

    ``asyncio.to_thread`` leaves the thread running when its caller is cancelled;
    it would go on with descriptors that the caller closes and behind locks that
    the caller gives back.  Here the cancellation is raised once the work is done.
    """
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, partial(work, *args, **kwargs))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()
        raise
