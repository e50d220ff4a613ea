"""Holding little memory in a process that runs for months.

The C library keeps what was freed between two things still in use, and Python's
collector of cycles waits as long as suits a short command (``cli.start``); a watch that
reads and packs many texts would hold a third more than it needs, and seem to grow.
"""

from __future__ import annotations

import asyncio
import gc

from wikisync.libc import memory_trimmer

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
    trim = memory_trimmer()
    while trim is not None:
        await asyncio.sleep(GIVE_BACK_S)
        trim(0)
