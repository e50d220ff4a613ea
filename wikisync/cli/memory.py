"""Giving memory back to the system while a process runs for months.

The C library keeps what was freed between two things still in use, so a process that
reads and packs many texts holds a third more than it needs, and seems to grow.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable

GIVE_BACK_S = 120.0
"""How often memory is given back; each time takes some milliseconds."""


async def give_back_memory() -> None:
    """Give freed memory back from time to time, until cancelled."""
    trim = trimmer()
    while trim is not None:
        await asyncio.sleep(GIVE_BACK_S)
        trim(0)


def trimmer() -> Callable[[int], int] | None:
    """The C library's ``malloc_trim``; None where it has no such thing."""
    trim: Callable[[int], int] | None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
