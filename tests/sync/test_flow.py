import asyncio
import gc

import pytest

from wikisync.core.system.parallel import each, finish, gather, plain_errors
from wikisync.errors import Halted, NotFound


async def test_each_does_everything_with_so_many_in_flight() -> None:
    running, most, done = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    await each(range(50), work, in_flight=8)
    assert sorted(done) == list(range(50))
    assert most == 8


async def test_gathered_results_are_in_the_order_of_the_items() -> None:
    others = asyncio.Event()
    made = []

    async def work(item: str) -> str:
        if item == "a":
            await others.wait()
        made.append(item)
        if len(made) == 2:
            others.set()
        return item.upper()

    async with asyncio.timeout(30):
        found = await gather("abc", work, in_flight=2)
    assert made == ["b", "c", "a"]
    assert found == ["A", "B", "C"]


async def test_each_raises_the_first_error_itself_and_stops() -> None:
    started = []

    async def work(item: int) -> None:
        started.append(item)
        await asyncio.sleep(0)
        if item == 3:
            raise NotFound("item 3")

    with pytest.raises(NotFound, match="item 3"):
        await each(range(1000), work, in_flight=4)
    assert len(started) < 20


async def test_mistake_of_ours_is_not_hidden_behind_an_error_for_people() -> None:
    with pytest.raises(KeyError, match="ours"), plain_errors():
        raise ExceptionGroup("both", [NotFound("for people"), KeyError("ours")])


async def test_error_is_found_in_nested_groups() -> None:
    inner = ExceptionGroup("inner", [Halted("here")])
    with pytest.raises(Halted, match="here"), plain_errors():
        raise ExceptionGroup("outer", [inner])


async def test_interrupt_waits_for_what_must_be_whole() -> None:
    steps: list[str] = []
    started = asyncio.Event()

    async def batch() -> None:
        steps.append("effect")
        started.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        steps.append("record")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(finish(batch()))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert steps == ["effect", "record"]


async def test_interrupt_does_not_wait_for_ever() -> None:
    stuck, release = asyncio.Event(), asyncio.Event()

    async def batch() -> None:
        stuck.set()
        await release.wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(finish(batch(), within_s=0.0))
        await stuck.wait()
        task.cancel()
    assert task.cancelled()
    release.set()
    await asyncio.sleep(0)


@pytest.mark.parametrize("within_s", [None, 30.0, 0.0])
async def test_an_error_after_an_interrupt_prints_no_traceback(
    within_s: float | None,
) -> None:
    """Nobody waits for it any more; the interpreter would tell it as a mistake."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        for _ in range(5):
            await asyncio.sleep(0)
        raise NotFound("gone")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(finish(work(), within_s=within_s))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    del task  # whose traceback holds the work
    for _ in range(10):
        await asyncio.sleep(0)
    gc.collect()
    assert told == []
