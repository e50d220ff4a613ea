import asyncio
import threading

import pytest

from wikisync.core.system.parallel import finish_in_thread


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
