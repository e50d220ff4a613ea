"""Holding little memory in a process that runs for months.

The C library keeps what was freed between two things still in use, and Python's
collector of cycles waits as long as suits a short command (``cli.start``); a watch that
reads and packs many texts would hold a third more than it needs, and seem to grow.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable

GIVE_BACK_S = 30.0
"""How often memory is given back; each time takes some milliseconds."""
GC_OBJECTS = 5_000
"""Objects made before the collector looks at the young ones."""


async def give_back_memory() -> None:
    """Collect cycles sooner, and give freed memory back, until cancelled."""
    # what is loaded by now stays, and is never looked through again
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_OBJECTS)
    trim = trimmer()
    while trim is not None:
        await asyncio.sleep(GIVE_BACK_S)
        trim(0)


def trimmer() -> Callable[[int], int] | None:
    """The C library's ``malloc_trim``; None where it has no such thing."""
    trim: Callable[[int], int] | None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
