"""Slots for dear work: so many at once, so many waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class NoSlot(Exception):
    """So many are at work and waiting that one more is sent away."""


class Slots:
    """Slots for one kind of work, taken in the order of asking."""

    def __init__(self, at_once: int, waiting_max: int, waiting_s: float) -> None:
        """Make slots."""
        self._waiting_s = waiting_s
        self._at_work = asyncio.Semaphore(at_once)
        self._free = at_once + waiting_max

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a slot while the block lasts.

        Raises:
            NoSlot: nobody else can wait, or it took too long.
        """
        if not self._free:
            raise NoSlot
        self._free -= 1
        try:
            try:
                async with asyncio.timeout(self._waiting_s):
                    await self._at_work.acquire()
            except TimeoutError:
                raise NoSlot from None
            try:
                yield
            finally:
                self._at_work.release()
        finally:
            self._free += 1
