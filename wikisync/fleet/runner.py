"""The runner of a fleet: cycles of many wikis on many machines, by procrastinate.

It holds what ``workspace.runner`` holds on one machine: no wiki has two live cycles, a
hint during a cycle means one more, and nothing is lost when a runner dies.  Its rules,
each of which a fault taught:

1. A stalled job is never retried: it is finished as failed and deleted, and its wiki
   gets a new one, for its lock and that of a successor would hold each other for ever.
2. No job is scheduled for later: when a wiki is due stands in its row.
3. Few jobs are queued at a time, and jobs have an index by lock.
4. Finished jobs are deleted.
5. The heart beats in a thread with a connection of its own, whatever the event loop
   does; it stops where that does nothing at all.
6. It beats every 5 s, is dead after 30 s, and each runner looks for dead ones.

A runner works in lives, each with a number in the queue.  One that could not say for
``SILENT_MAX_S`` that it lives ends its life: ``check`` lets none of its cycles write
any more (the clock goes on in a frozen process), they are cut off, and a new life
begins when the database answers.  So the loss of a connection needs no other cure.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status
from procrastinate.worker import Worker as JobWorker

from wikisync.core.system.parallel import finish_in_thread, plain_errors
from wikisync.fleet.rows import BEAT, VERSION, LostClaim, Rows, Settings

log = logging.getLogger(__name__)

TASK, QUEUE = "cycle", "wikis"
BEAT_S, SWEEP_S, STALLED_S = 5.0, 10.0, 30.0
SILENT_MAX_S = 20.0
"""Less than ``STALLED_S``: a cycle ends before its successor begins."""
AGAIN_S = 2.0
"""Between two lives."""
CYCLE_MAX_S = 3600.0
SWEEP_LOCK = 0x77696B69
"""Advisory lock of the database: one runner sweeps at a time."""

Work = Callable[[str], Awaitable[None]]
Idle = Callable[[], Awaitable[None]]


async def _nobody(key: str) -> None:
    raise AssertionError(f"nobody works on {key}")


def queue_of(cycle: Work = _nobody) -> procrastinate.App:
    """The queue, still to be opened with a pool, and who works on it."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector())
    app.task(name=TASK, queue=QUEUE)(cycle)
    return app


async def make_fleet(rows: Rows, settings: Settings) -> None:
    """Make the tables and those of the queue, or change what the fleet works on."""
    async with queue_of().open_async(rows.pool) as app:
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
    await rows.make(settings)


async def enqueue(app: procrastinate.App, keys: Collection[str]) -> None:
    """Give each wiki a job that waits, where it has none."""
    task = app.tasks[TASK]
    for key in keys:
        with suppress(AlreadyEnqueued):
            await task.configure(lock=key, queueing_lock=key).defer_async(key=key)


class FleetRunner:
    """Works on wikis until it is told to end."""

    def __init__(
        self,
        rows: Rows,
        *,
        slots: int = 1,
        beat_s: float = BEAT_S,
        sweep_s: float = SWEEP_S,
        stalled_s: float = STALLED_S,
        silent_max_s: float = SILENT_MAX_S,
    ) -> None:
        """Nothing is done yet."""
        self._rows, self._slots = rows, slots
        self._beat_s, self._sweep_s, self._stalled_s = beat_s, sweep_s, stalled_s
        self._silent_max_s = silent_max_s
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._heard = _now()
        self._looped = time.monotonic()
        self._is_ending = False
        self._life_ends = asyncio.Event()
        self._live: dict[str, asyncio.Task[Any]] = {}
        """Wikis that have a cycle here."""
        self._strays: set[int] = set()
        """Jobs of this life that nobody works on, at the last sweep."""

    async def check(self) -> None:
        """See that nobody may have taken this runner for dead.

        Raises:
            LostClaim: somebody may have.
        """
        if (silent_s := self._silent_s) > self._silent_max_s:
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

        async def alone(key: str) -> None:
            task = asyncio.current_task()
            # taken for dead and still at it: the wiki stays due
            if key not in self._live and task:
                self._live[key] = task
                try:
                    async with asyncio.timeout(CYCLE_MAX_S):
                        await cycle(key)
                finally:
                    del self._live[key]

        async with queue_of(alone).open_async(self._rows.pool) as app:
            while not self._is_ending:
                try:
                    with plain_errors():
                        await self._live_once(app, idle)
                except (psycopg.Error, ConnectorException) as error:
                    log.warning("the database is away: %s", error)
                self._life_ends.clear()
                if not self._is_ending:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._life_ends.wait(), AGAIN_S)
        with suppress(psycopg.Error):
            await self._rows.leave(self.name)

    async def _live_once(self, app: procrastinate.App, idle: Idle) -> None:
        worker = JobWorker(
            app,
            queues=[QUEUE],
            concurrency=self._slots,
            name=self.name,
            delete_jobs="always",
            fetch_job_polling_interval=self._beat_s,
            # its own heart would end with the first error of the database
            update_heartbeat_interval=CYCLE_MAX_S,
            stalled_worker_timeout=self._stalled_s,
            install_signal_handlers=False,
        )
        self._heard, self._looped, is_over = _now(), time.monotonic(), threading.Event()
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(finish_in_thread(self._beat, worker, is_over, loop))
            jobs = group.create_task(worker.run())  # type: ignore[no-untyped-call]
            jobs.add_done_callback(lambda _task: self._life_ends.set())

            async def sweep() -> None:
                await self._sweep(app, worker)

            others = [
                # a list of very many wikis must keep no dead one waiting
                group.create_task(self._now_and_then(sweep)),
                group.create_task(self._now_and_then(idle, sweep)),
            ]
            try:
                await self._life_ends.wait()
            finally:
                self._life_ends.set()
                for task in others:
                    task.cancel()
                if not self._is_ending:
                    worker.shutdown_graceful_timeout = 0
                    for task in self._live.values():
                        task.cancel()
                jobs.cancel()
                try:
                    # the heart beats until its cycles are done
                    await asyncio.wait([jobs])
                finally:
                    is_over.set()

    def _beat(
        self,
        worker: JobWorker,
        is_over: threading.Event,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
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
                    values = (worker.worker_id, self.name, self._slots, VERSION)
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

    async def _now_and_then(self, *acts: Idle) -> None:
        # a statement that is cancelled may end with an error of the database
        while not self._life_ends.is_set():
            try:
                for act in acts:
                    await act()
            except (psycopg.Error, ConnectorException) as error:
                log.warning("the database is away: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._life_ends.wait(), self._sweep_s)

    async def _sweep(self, app: procrastinate.App, worker: JobWorker) -> None:
        """Bury the dead, and queue what is due; one runner at a time."""
        manager, rows = app.job_manager, self._rows
        if worker.worker_id is not None:
            # jobs whose end could not be noted
            strays = await rows.strays(worker.worker_id, self._live)
            for number in strays & self._strays:
                await manager.finish_job_by_id_async(
                    number, Status.FAILED, delete_job=True
                )
            self._strays = strays
        async with rows.pool.connection() as connection, connection.transaction():
            # a frozen one must not keep the lock
            await connection.execute(
                "SET LOCAL idle_in_transaction_session_timeout = '10s'"
            )
            cursor = await connection.execute(
                "SELECT pg_try_advisory_xact_lock(%s)", (SWEEP_LOCK,)
            )
            if not (await cursor.fetchone() or [False])[0]:
                return
            for job in await manager.get_stalled_jobs(
                seconds_since_heartbeat=self._stalled_s
            ):
                log.warning("%s: its worker died", job.lock)
                await manager.finish_job(job, Status.FAILED, delete_job=True)
            await manager.prune_stalled_workers(self._stalled_s)
            await enqueue(app, await rows.due())


def _now() -> tuple[float, float]:
    return time.monotonic(), time.time()
