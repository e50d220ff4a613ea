"""A process that runs for months gives freed memory back."""

import asyncio
import platform

import pytest

from wikisync.core.system import running as memory
from wikisync.core.system.libc import memory_trimmer
from wikisync.core.system.running import give_back_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc_trim is glibc's")
def test_the_library_of_this_system_gives_back() -> None:
    trim = memory_trimmer()

    assert trim is not None
    assert trim(0) in {0, 1}


async def test_memory_is_given_back_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = asyncio.Queue[int]()

    def trim(kept: int) -> int:
        given.put_nowait(kept)
        return 1

    monkeypatch.setattr(memory, "memory_trimmer", lambda: trim)
    monkeypatch.setattr(memory, "GIVE_BACK_S", 0.0)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        giving = group.create_task(give_back_memory())
        assert [await given.get() for _ in range(3)] == [0, 0, 0]
        giving.cancel()


async def test_where_there_is_nothing_to_give_it_back_with_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "memory_trimmer", lambda: None)
    async with asyncio.timeout(60):
        await give_back_memory()
