"""Slots for dear work: callers without a token get half of them, somebody is served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager


class NoSlot(Exception):
    """So many are at work and waiting that one more is sent away."""


class Slots:
    """Slots for one kind of work, taken in the order of asking."""

    def __init__(self, at_once: int, waiting_max: int, waiting_s: float) -> None:
        self._waiting_s = waiting_s
        self._all = _Share(at_once, waiting_max)
        self._strangers = _Share((at_once + 1) // 2, waiting_max // 2)

    @asynccontextmanager
    async def taken(self, *, is_stranger: bool) -> AsyncIterator[None]:
        """Hold a slot while the block lasts; NoSlot after too long, or for too many."""
        shares = [self._strangers, self._all] if is_stranger else [self._all]
        for share in shares:
            if share.is_full:
                raise NoSlot
        async with AsyncExitStack() as stack:
            for share in shares:
                stack.enter_context(share)
            try:
                async with asyncio.timeout(self._waiting_s):
                    for share in shares:
                        await stack.enter_async_context(share.at_work)
            except TimeoutError:
                raise NoSlot from None
            yield


class _Share:
    """Some of the slots; as a context, somebody who has or wants one of them."""

    def __init__(self, at_once: int, waiting_max: int) -> None:
        self.at_work = asyncio.Semaphore(at_once)
        self._people_max = at_once + waiting_max
        self._people = 0

    @property
    def is_full(self) -> bool:
        return self._people >= self._people_max

    def __enter__(self) -> None:
        self._people += 1

    def __exit__(self, *_: object) -> None:
        self._people -= 1
