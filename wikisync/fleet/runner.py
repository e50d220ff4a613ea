"""The runner of a fleet: cycles of many wikis on many machines, by procrastinate.

It holds what ``workspace.runner`` holds on one machine: no wiki has two live cycles, a
hint during a cycle means one more, and nothing is lost when a runner dies.  Its rules,
each of which a fault taught:

1. A stalled job is never retried: it is finished as failed and deleted, and its wiki
   gets a new one, for its lock and that of a successor would hold each other for ever.
2. No job is scheduled for later: when a wiki is due stands in its row.
3. Few jobs are queued at a time, and jobs have an index by lock.
4. Finished jobs are deleted.
5. The heart beats in an event loop where nothing else runs: cycles have another one, in
   a thread of their own.
6. It beats every 5 s, is dead after 30 s, and each runner looks for dead ones.

A runner that could not say for ``SILENT_MAX_S`` that it lives ends its cycles itself
before they write: ``check`` looks at the clock, which goes on in a frozen process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol, TypeVar

import procrastinate
import psycopg
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status
from procrastinate.worker import Worker as JobWorker

from wikisync.fleet.rows import LostClaim, Rows, pool_for

log = logging.getLogger(__name__)

TASK, QUEUE = "cycle", "wikis"
BEAT_S = 5.0
SWEEP_S = 10.0
STALLED_S = 30.0
SILENT_MAX_S = 20.0
"""Less than ``STALLED_S``: a cycle ends before its successor begins."""
AGAIN_S = 2.0
"""Between two attempts to take jobs."""
LAG_S = 1.0
"""An event loop that is late by so much is told of."""
SWEEP_LOCK = 0x77696B69
"""Advisory lock of the database: one runner sweeps at a time."""

T = TypeVar("T")
Work = Callable[[str], Awaitable[None]]


class Worker(Protocol):
    """What a runner's cycles do; it lives in the event loop of the cycles."""

    async def cycle(self, key: str) -> None:
        """Run one cycle of a wiki."""
        ...

    async def idle(self) -> None:
        """Do what is to be done now and then."""
        ...


MakeWorker = Callable[[], AbstractAsyncContextManager[Worker]]


async def _nobody(key: str) -> None:
    raise AssertionError(f"nobody works on {key}")


def queue_of(database: str, work: Work = _nobody) -> procrastinate.App:
    """The queue in a database, and who works on it."""
    connector = procrastinate.PsycopgConnector(
        conninfo=database, min_size=1, max_size=4, timeout=15
    )
    app = procrastinate.App(connector=connector)

    app.task(name=TASK, queue=QUEUE)(work)
    return app


async def poke(app: procrastinate.App, rows: Rows, keys: Collection[str]) -> None:
    """Something may have happened in these wikis; each gets a cycle after this."""
    await rows.hint(keys)
    await enqueue(app, keys)


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
        database: str,
        *,
        slots: int = 1,
        beat_s: float = BEAT_S,
        sweep_s: float = SWEEP_S,
        stalled_s: float = STALLED_S,
        silent_max_s: float = SILENT_MAX_S,
    ) -> None:
        """Name the database; nothing is done yet."""
        self.database, self._slots = database, slots
        self._beat_s, self._sweep_s, self._stalled_s = beat_s, sweep_s, stalled_s
        self._silent_max_s = silent_max_s
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._heard = (time.monotonic(), time.time())
        self._ends = asyncio.Event()
        self._jobs_worker: JobWorker | None = None
        self._live: set[str] = set()
        """Wikis that have a cycle here."""
        self._strays: set[int] = set()
        """Jobs of this runner that nobody here works on, at the last sweep."""

    async def check(self) -> None:
        """See that nobody may have taken this runner for dead; of any thread.

        Raises:
            LostClaim: somebody may have.
        """
        steady, wall = self._heard
        # the one stands still while a machine sleeps, the other is set by people
        silent_s = max(time.monotonic() - steady, time.time() - wall)
        if silent_s > self._silent_max_s:
            raise LostClaim(f"silent for {silent_s:.0f} s")

    def end(self) -> None:
        """End after the cycles that run; called in the runner's own loop."""
        self._ends.set()

    async def run(self, make: MakeWorker) -> None:
        """Work until ended, by ``end`` or as the fleet is drained.

        Cancelled, it ends its cycles where they are.
        """
        pool, works = pool_for(self.database), _Thread()

        async def cycle(key: str) -> None:
            self._live.add(key)
            try:
                await works.do(worker.cycle(key))
            finally:
                self._live.discard(key)

        app = queue_of(self.database, cycle)
        try:
            await pool.open()
            rows = Rows(pool)
            await self._beat_once(rows)
            making = make()
            worker = await works.do(making.__aenter__())
            try:
                async with app.open_async(), asyncio.TaskGroup() as group:
                    jobs = group.create_task(self._jobs(app))
                    heart = group.create_task(self._beat(app, rows, jobs))
                    sweep = group.create_task(self._sweep(app, rows, works, worker))
                    try:
                        await self._ends.wait()
                    finally:
                        if not self._ends.is_set():
                            works.cancel()
                        self._ends.set()
                    sweep.cancel()
                    jobs.cancel()
                    # it waits for its cycles, and the heart has to beat meanwhile
                    await asyncio.wait([jobs])
                    heart.cancel()
            finally:
                await works.do(making.__aexit__(None, None, None))
            with suppress(psycopg.Error):
                await rows.leave(self.name)
        finally:
            works.end()
            await pool.close()

    async def _jobs(self, app: procrastinate.App) -> None:
        """Take jobs until cancelled, also where the database goes and comes."""
        while not self._ends.is_set():
            try:
                self._jobs_worker = JobWorker(
                    app,
                    queues=[QUEUE],
                    concurrency=self._slots,
                    name=self.name,
                    delete_jobs="always",
                    fetch_job_polling_interval=self._beat_s,
                    update_heartbeat_interval=self._beat_s,
                    stalled_worker_timeout=self._stalled_s,
                    install_signal_handlers=False,
                )
                # cancelled, it ends as soon as its cycles are done
                await self._jobs_worker.run()  # type: ignore[no-untyped-call]
            except (psycopg.Error, ConnectorException) as error:
                log.warning("the database is away: %s", error)
                await asyncio.sleep(AGAIN_S)

    @property
    def _number(self) -> int | None:
        """Of this runner in the queue."""
        return self._jobs_worker.worker_id if self._jobs_worker else None

    async def _beat(
        self, app: procrastinate.App, rows: Rows, jobs: asyncio.Task[None]
    ) -> None:
        # a statement that is cancelled may end with an error of the database
        while not jobs.done():
            due = time.monotonic() + self._beat_s
            await asyncio.sleep(self._beat_s)
            if (late_s := time.monotonic() - due) > LAG_S:
                log.warning("the heart of this worker was late by %.1f s", late_s)
            with suppress(psycopg.Error, ConnectorException, TimeoutError):
                # its own heart stops for good where the database was away once
                if (number := self._number) is not None:
                    await app.job_manager.update_heartbeat(number)
                await self._beat_once(rows)

    async def _beat_once(self, rows: Rows) -> None:
        now = (time.monotonic(), time.time())
        async with asyncio.timeout(self._silent_max_s):
            if await rows.beat(self.name, self._slots):
                self._ends.set()
        self._heard = now

    async def _sweep(
        self, app: procrastinate.App, rows: Rows, works: _Thread, worker: Worker
    ) -> None:
        while not self._ends.is_set():
            try:
                await works.do(worker.idle())
                await self._bury_strays(app, rows)
                await self.sweep_once(app, rows)
            except (psycopg.Error, ConnectorException) as error:
                log.warning("cannot sweep: %s", error)
            await asyncio.sleep(self._sweep_s)

    async def _bury_strays(self, app: procrastinate.App, rows: Rows) -> None:
        """Delete jobs whose end could not be noted, as the database was away."""
        if (number := self._number) is None:
            return
        strays = await rows.strays(number, self._live)
        for job in strays & self._strays:
            await app.job_manager.finish_job_by_id_async(
                job, Status.FAILED, delete_job=True
            )
        self._strays = strays

    async def sweep_once(self, app: procrastinate.App, rows: Rows) -> None:
        """Bury the dead, and queue what is due; one runner at a time."""
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
            manager = app.job_manager
            for job in await manager.get_stalled_jobs(
                seconds_since_heartbeat=self._stalled_s
            ):
                log.warning("%s: its worker died", job.lock)
                await manager.finish_job(job, Status.FAILED, delete_job=True)
            await manager.prune_stalled_workers(self._stalled_s)
            await enqueue(app, await rows.due())


class _Thread:
    """An event loop in a thread, where cycles run and nothing waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._futures: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cycles")
        self._thread.start()

    async def do(self, work: Awaitable[T]) -> T:
        """Run work there and wait for it; cancelled, the work is cancelled, too."""

        async def run() -> T:
            return await work

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return await asyncio.wrap_future(future)

    def cancel(self) -> None:
        """End all work there where it is."""
        for future in tuple(self._futures):
            future.cancel()

    def end(self) -> None:
        """Stop the loop, when nothing runs in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
