"""Work on many things at once: order, bound, and what is raised."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from wikisync.core.system.parallel import finish_in_thread, in_order, plain_errors
from wikisync.errors import Unavailable


def test_results_come_in_the_order_of_their_items() -> None:
    first = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert first.wait(60)
        if item == 1:
            first.set()
        return -item

    assert list(in_order(work, range(5), threads=2, ahead=4)) == [0, -1, -2, -3, -4]


def test_only_a_few_items_are_worked_on_ahead() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = in_order(abs, items(), threads=1, ahead=4)
    assert next(results) == 0
    assert len(taken) == 5
    assert len(list(results)) == 999


def test_what_the_work_raises_is_raised_where_the_result_is_wanted() -> None:
    results = in_order((10).__floordiv__, [5, 0, 2], threads=1, ahead=4)
    assert next(results) == 2
    with pytest.raises(ZeroDivisionError):
        next(results)


async def test_result_and_error_of_the_work_are_given_on() -> None:
    assert await finish_in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await finish_in_thread(divmod, 7, 0)


@pytest.mark.parametrize("cancellations", [1, 3])
async def test_cancelled_work_is_waited_for(cancellations: int) -> None:
    """Descriptors and locks must not be given back under a running thread."""
    started, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    steps: list[str] = []

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        may_end.wait(10)
        steps.append("worked")

    async def caller() -> None:
        try:
            await finish_in_thread(work)
        finally:
            steps.append("given back")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(caller())
        await started.wait()
        for _ in range(cancellations):
            task.cancel()
            await asyncio.sleep(0)
        may_end.set()
    assert steps == ["worked", "given back"]
    assert task.cancelled()


async def test_error_of_cancelled_work_is_not_reported_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    started, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(started.set)
        may_end.wait(10)
        raise ValueError

    async with asyncio.TaskGroup() as group:
        task = group.create_task(finish_in_thread(work))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
    assert task.cancelled()
    assert not caplog.records


async def test_after_an_error_of_a_group_its_task_does_not_count_as_cancelled() -> None:
    """With Python 3.11.2 the next timeout would be a cancellation."""

    async def fail() -> None:
        raise Unavailable("away")

    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(Unavailable), plain_errors():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
    assert task.cancelling() == 0
