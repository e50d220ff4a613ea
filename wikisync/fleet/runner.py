"""The runner of a fleet: cycles of many wikis on many machines.

It holds what ``workspace.runner`` holds on one machine: no wiki has two live cycles, a
hint during a cycle means one more, and nothing is lost when a runner dies.  The rows
are the queue (``Rows.claim``); a runner that has nothing to do asks again every second.
The heart beats every 5 s, in a thread with a connection of its own, whatever the event
loop does; it stops where that does nothing at all.  After 30 s without it, others take
the wikis of a runner.

A runner works in lives.  One that could not say for ``SILENT_MAX_S`` that it lives ends
its life: ``check`` lets none of its cycles write any more (the clock goes on in a
frozen process), they are cut off, and a new life begins when the database answers.  So
the loss of a connection needs no other cure.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg

from wikisync.core.system.parallel import finish_in_thread, plain_errors
from wikisync.fleet.rows import BEAT, DEAD_S, VERSION, LostClaim, Row, Rows

log = logging.getLogger(__name__)

BEAT_S, POLL_S, IDLE_S = 5.0, 1.0, 10.0
SILENT_MAX_S = 20.0
"""Less than ``DEAD_S``: a cycle ends before its successor begins."""
AGAIN_S = 2.0
"""Between two lives."""
CYCLE_MAX_S = 3600.0

Work = Callable[[Row], Awaitable[None]]
Idle = Callable[[], Awaitable[None]]


class FleetRunner:
    """Works on wikis until it is told to end."""

    def __init__(
        self,
        rows: Rows,
        *,
        slots: int = 1,
        beat_s: float = BEAT_S,
        poll_s: float = POLL_S,
        silent_max_s: float = SILENT_MAX_S,
        dead_s: float = DEAD_S,
    ) -> None:
        """Nothing is done yet."""
        self._rows, self._slots = rows, slots
        self._beat_s, self._poll_s = beat_s, poll_s
        self._silent_max_s, self._dead_s = silent_max_s, dead_s
        # containers on the network of their host share its name, and a process number
        self.name = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self._heard = _now()
        self._looped = time.monotonic()
        self._is_ending = False
        self._life_ends = asyncio.Event()
        self._asking = asyncio.Lock()
        """Has the one slot that asks for a wiki, and asks again."""

    async def check(self) -> None:
        """See that nobody may have taken this runner for dead.

        Raises:
            LostClaim: somebody may have.
        """
        if (silent_s := self._silent_s) > self._silent_max_s:
            self._life_ends.set()  # the next one frees the wiki
            raise LostClaim(f"silent for {silent_s:.0f} s")

    @property
    def _silent_s(self) -> float:
        # the one stands still while a machine sleeps, the other is set by people
        return max(now - then for now, then in zip(_now(), self._heard, strict=True))

    def end(self) -> None:
        """End after the cycles that run; called in the runner's loop."""
        self._is_ending = True
        self._life_ends.set()

    async def run(self, cycle: Work, idle: Idle) -> None:
        """Run cycles until ended, by ``end`` or as the fleet is drained.

        Cancelled, it ends its cycles where they are.

        Args:
            cycle: Works on one wiki.
            idle: Is done now and then.
        """
        while not self._is_ending:
            try:
                with plain_errors():
                    await self._live_once(cycle, idle)
            except psycopg.Error as error:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise asyncio.CancelledError from error  # cut off a statement
                log.warning("the database is away: %s", error)
            self._life_ends.clear()
            if not self._is_ending:
                await self._wait(AGAIN_S)
        with suppress(psycopg.Error):
            await self._rows.leave(self.name)

    async def _live_once(self, cycle: Work, idle: Idle) -> None:
        await self._rows.pool.check()
        await self._rows.join(self.name, self._dead_s)
        self._heard, self._looped, is_over = _now(), time.monotonic(), threading.Event()
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(finish_in_thread(self._beat, is_over, loop))
            others = group.create_task(self._now_and_then(idle))
            slots = [group.create_task(self._slot(cycle)) for _ in range(self._slots)]
            try:
                await self._life_ends.wait()
            finally:
                self._life_ends.set()
                others.cancel()
                if not self._is_ending:
                    for slot in slots:
                        slot.cancel()
                try:
                    # the heart beats until its cycles are done
                    await asyncio.wait(slots)
                finally:
                    is_over.set()

    async def _slot(self, cycle: Work) -> None:
        while not self._life_ends.is_set():
            async with self._asking:
                # one that thawed may have a cycle of the wiki
                silent = self._silent_s > self._silent_max_s
                is_over = silent or self._life_ends.is_set()
                if is_over or not (row := await self._rows.claim(self.name)):
                    await self._wait(self._poll_s)
                    continue
            try:
                async with asyncio.timeout(CYCLE_MAX_S):
                    await cycle(row)
            except TimeoutError:
                with suppress(LostClaim):
                    await self._rows.fail(row, f"it took {CYCLE_MAX_S:.0f} s")

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._life_ends.wait(), seconds)

    def _beat(self, is_over: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        """Say that this life goes on, in a thread, until it ends."""
        connection: psycopg.Connection[Any] | None = None
        while not is_over.is_set():
            if self._silent_s > self._silent_max_s:
                log.warning("silent for %.0f s: its cycles are cut off", self._silent_s)
                loop.call_soon_threadsafe(self._life_ends.set)
                break
            loop.call_soon_threadsafe(self._loops)
            now = _now()
            if now[0] - self._looped > self._silent_max_s:
                log.warning("the event loop stands still")
            else:
                try:
                    connection = connection or psycopg.connect(
                        str(self._rows.pool.conninfo), autocommit=True
                    )
                    values = (self.name, self._dead_s, VERSION)
                    row = connection.execute(BEAT, values).fetchone()
                except psycopg.Error as error:
                    log.warning("cannot beat: %s", error)
                    if connection:
                        connection.close()
                    connection = None
                else:
                    self._heard = now
                    if row is None or row[0]:
                        loop.call_soon_threadsafe(self.end)
            is_over.wait(self._beat_s)
        if connection:
            connection.close()

    def _loops(self) -> None:
        self._looped = time.monotonic()

    async def _now_and_then(self, idle: Idle) -> None:
        # a statement that is cancelled may end with an error of the database
        while not self._life_ends.is_set():
            try:
                await idle()
            except psycopg.Error as error:
                log.warning("the database is away: %s", error)
            await self._wait(IDLE_S)


def _now() -> tuple[float, float]:
    return time.monotonic(), time.time()
