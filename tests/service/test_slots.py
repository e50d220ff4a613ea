"""Slots are bounded, and strangers never have all of them."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from wikisync.service.slots import NoSlot, Slots


async def test_strangers_have_half_of_the_places() -> None:
    slots = Slots(at_once=2, waiting_max=0, waiting_s=30.0)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(slots.taken(is_stranger=True))
        with pytest.raises(NoSlot):
            await stack.enter_async_context(slots.taken(is_stranger=True))

        await stack.enter_async_context(slots.taken(is_stranger=False))


async def test_who_may_not_wait_is_sent_away_at_once() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    free = asyncio.Event()
    done: list[str] = []

    async def work(name: str) -> None:
        async with slots.taken(is_stranger=False):
            await free.wait()
            done.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(work("first"))
        group.create_task(work("second"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(NoSlot):
            await work("third")
        free.set()

    assert done == ["first", "second"]


async def test_waiting_ends() -> None:
    slots = Slots(at_once=1, waiting_max=5, waiting_s=0.05)
    async with slots.taken(is_stranger=False):
        with pytest.raises(NoSlot):
            async with slots.taken(is_stranger=False):
                pass

    async with slots.taken(is_stranger=False):
        pass


async def test_who_leaves_while_waiting_gives_the_place_back() -> None:
    slots = Slots(at_once=1, waiting_max=1, waiting_s=30.0)
    async with slots.taken(is_stranger=True):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), slots.taken(is_stranger=False):
                pass
    async with slots.taken(is_stranger=True), AsyncExitStack():
        pass
