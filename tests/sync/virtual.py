"""An event loop whose time is virtual: nothing waits, and nothing runs beside it.

Time moves only when every task waits for it.  Work for threads is done at once, in
the loop's own thread, so that one seed is one schedule.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

START_S = 1_700_000_000.0


class _Selector(selectors.DefaultSelector):
    """Moves the clock instead of waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("every task waits for something that never comes")
        self.loop.now_s += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never sleeps."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.now_s = START_S
        super().__init__(selector)
        # finer than a step of a float of this size, a timer would never be due
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self.now_s

    def run_in_executor(  # type: ignore[override]
        self, _executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits
            future.set_exception(error)
        return future


def run_virtually(work: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end on a new virtual loop."""
    loop = VirtualLoop()
    loop.set_exception_handler(_tell_but_ends)
    try:
        return loop.run_until_complete(work(loop))
    finally:
        loop.run_until_complete(_end_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _end_all() -> None:
    """End what nobody waits for any more, as the end of the process would."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


def _tell_but_ends(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell errors that nobody fetched; a process that ends fetches none."""
    error = context.get("exception")
    if error is None or isinstance(error, Exception):
        loop.default_exception_handler(context)
