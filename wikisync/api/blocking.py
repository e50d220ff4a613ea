"""The client for programs without an event loop: one runs in a thread.

What waits is run, a list that is paged comes whole, and a file comes as bytes.  Types
are in the stub beside, which ``make stubs`` writes.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Coroutine
from functools import wraps
from typing import Any, Self, TypeVar

from wikisync.api import client, projects, wikis
from wikisync.core.model import WikiOwner

__all__ = ["Client", "Projects", "Wiki"]

T = TypeVar("T")


class LoopThread:
    """A thread that runs an event loop until it is stopped."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="wikisync client", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What came of the work; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """End the thread, when nothing is run any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Blocking:
    """One of the client's classes with methods that wait."""

    def __init__(self, inner: Any, loop: LoopThread) -> None:
        self.inner, self.loop = inner, loop

    def __repr__(self) -> str:
        return f"blocking.{self.inner!r}"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name.startswith("_") or not inspect.ismethod(found):
            return found

        @wraps(found)
        def call(*args: Any, **options: Any) -> Any:
            async def work() -> Any:
                made = found(*args, **options)
                if inspect.isawaitable(made):
                    return await made
                if isinstance(made, client.Listing):
                    return [record async for record in made]
                if isinstance(made, AsyncIterator):
                    return b"".join([part async for part in made])
                return made

            return self.loop.run(work())

        return call


class Client(Blocking):
    """A session with one service; use it as a context manager."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        super().__init__(client.Client(base_url, token), LoopThread())

    def __enter__(self) -> Self:
        self.loop.run(self.inner.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self.loop.run(self.inner.__aexit__(*error))
        self.loop.stop()


class Wiki(Blocking):
    """One wiki behind a client."""

    def __init__(self, client: Client, owner: WikiOwner) -> None:
        super().__init__(wikis.Wiki(client.inner, owner), client.loop)


class Projects(Blocking):
    """The projects of the service behind a client."""

    def __init__(self, client: Client) -> None:
        super().__init__(projects.Projects(client.inner), client.loop)
