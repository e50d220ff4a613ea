"""The one thread that owns the records' connection, for coroutines.

So the loop never waits for a disk.  ``tables`` holds the questions.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from wikisync.errors import ServiceError
from wikisync.service.tables import Tables

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Records:
    """The tables behind the one thread that owns their connection."""

    def __init__(
        self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._tables: Tables | None = None

    async def open(self) -> None:
        """Connect, making the file if it is new; ServiceError if it is none of ours."""
        await self._run(self._connect)

    async def ask(
        self,
        question: Callable[Concatenate[Tables, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call a function of ``Tables`` in its thread, which ends it in any case."""
        tables = self._opened()
        return await self._run(lambda: question(tables, *args, **kwargs))

    def note(
        self,
        change: Callable[Concatenate[Tables, P], None],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Have something noted that nobody waits for; who asks later finds it noted."""
        done = self._thread.submit(change, self._opened(), *args, **kwargs)
        done.add_done_callback(_log_failure)

    def today(self) -> str:
        """The present date, ``YYYY-MM-DD``."""
        return self._now().date().isoformat()

    async def close(self) -> None:
        """Close the connection and end the thread."""
        if self._tables is not None:
            await self._run(self._tables.close)
        self._thread.shutdown(wait=False)

    def _opened(self) -> Tables:
        assert self._tables is not None, "records are open while the service runs"
        return self._tables

    def _connect(self) -> None:
        try:
            self._tables = Tables(self._path, self._now)
        except sqlite3.Error as error:
            raise ServiceError(
                f"cannot use {self._path} as the service's records: {error}",
                hint="choose another --data folder, or restore the file",
            ) from error

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _log_failure(done: Future[None]) -> None:
    error = done.exception()
    if error is not None:
        log.error("the records do not take a note: %r", error)
