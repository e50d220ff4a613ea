"""A worker: a process that looks which wikis there are, and runs their cycles.

It answers with figures for Prometheus, and takes webhooks.  All workers share one
budget of requests, a back end of ``api.budget``.

A list of projects by their last activity, of those that had some since the newest that
is known, costs a quiet instance one request.  From time to time everything is listed:
what is missing from that is gone, renamed, or was not shown.

The runner holds what ``workspace.runner`` holds on one machine: no wiki has two live
cycles, a hint during a cycle means one more, and nothing is lost when a runner dies.
The rows are the queue (``Rows.claim``); a runner that has nothing to do asks again
every second.  The heart beats every 5 s, in a thread with a connection of its own,
whatever the event loop does; it stops where that does nothing at all.  After 30 s
without it, others take the wikis of a runner.

A runner works in lives.  One that could not say for ``SILENT_MAX_S`` that it lives ends
its life: ``check`` lets none of its cycles write any more (the clock goes on in a
frozen process), they are cut off, and a new life begins when the database answers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import psycopg
from aiohttp import web

from wikisync.api.client import Client
from wikisync.core.model import removals_max
from wikisync.core.packaged import packaged_text
from wikisync.core.system.locks import locked_folder
from wikisync.core.system.parallel import finish_in_thread, plain_errors
from wikisync.core.system.private import make_private_folder
from wikisync.errors import UsageError, WikisyncError
from wikisync.fleet.cycle import Cycle, Step
from wikisync.fleet.rows import BEAT, DEAD_S, Counts, LostClaim, Row, Rows, key_of
from wikisync.fleet.settings import PlaceTaken, Settings, own
from wikisync.watch.listen import METRICS_TYPE, listening, new_app
from wikisync.workspace.discovery import Selection, find_wikis, is_switched_off, wiki_of

log = logging.getLogger(__name__)

LISTED_S = 60.0
WHOLE_S = 6 * 3600.0
"""How often everything is listed: wikis of groups tell of no activity, and a project
that changed in silence is asked after this time, too."""
TAKEN_S = 0.3
"""Requests are taken for so long at a time, and not kept for long."""
SPARED = 0.9
"""Of the requests of a minute; the rest is for those that were taken before it."""
BEAT_S, POLL_S, IDLE_S = 5.0, 1.0, 10.0
SILENT_MAX_S = 20.0
"""Less than ``DEAD_S``: a cycle ends before its successor begins."""
AGAIN_S = 2.0
"""Between two lives."""
CYCLE_MAX_S = 3600.0
ANSWER_S = 5.0
"""Prometheus and the service wait 10 s for an answer."""

Work = Callable[[Row], Awaitable[None]]
Idle = Callable[[], Awaitable[None]]


async def work_on_sites(
    rows: Rows,
    runner: FleetRunner,
    token: str | None,
    folder: Path,
    *,
    listen: str = "",
    secret: str = "",
    at: Step | None = None,
) -> None:
    """Work on a fleet until SIGTERM or SIGINT, then end in order.

    ``listen`` is an address to answer Prometheus at, and webhooks that bring the
    secret; ``at`` is told of each step of a cycle in place of the meter.

    Raises:
        UsageError: there is no fleet, or it is drained, has another version, or lost
            a place; or another worker has the folder.
        SiteError: a bucket cannot be read.
        psycopg.Error: the database is away.
    """
    settings = await rows.settings()
    await own(settings)
    if (await rows.counts()).is_draining:
        raise UsageError(
            "the fleet is drained", hint="to end that: wikisync fleet drain --end"
        )
    make_private_folder(folder)
    async with AsyncExitStack() as stack:
        try:
            stack.enter_context(locked_folder(folder))
        except BlockingIOError as exc:
            raise UsageError(
                f"another worker works in {folder}",
                hint="give each worker a folder of its own with --folder",
            ) from exc
        loop, meter = asyncio.get_running_loop(), Meter()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, runner.end)
        client = await stack.enter_async_context(Client(settings.service, token))
        if settings.requests:
            client.budget.shared = FleetBudget(rows, settings.requests)
        if listen:
            app = worker_app(rows, meter, secret)
            await stack.enter_async_context(listening(app, listen, "--listen"))
        cycle = Cycle(rows, settings, client, folder, runner.check, at or meter.at)
        idle = partial(discover, client, rows, settings, runner.name)
        await runner.run(cycle.run, idle)


async def discover(client: Client, rows: Rows, settings: Settings, worker: str) -> None:
    """Note the wikis that are new, changed or gone, if it is time for that.

    Raises:
        psycopg.Error: the database is away.
    """
    since = await rows.turn_to_list(worker, LISTED_S, WHOLE_S)
    if since is None:
        return
    try:
        await own(settings)
        await _list(client, rows, settings.selection, since)
    except PlaceTaken as error:
        log.warning("all workers end: %s", error.message)
        await rows.drain(is_draining=True)
    except WikisyncError as error:
        log.warning("cannot list the wikis: %s", error.message)
    finally:
        await rows.end_turn(worker)


async def _list(client: Client, rows: Rows, selection: Selection, since: str) -> None:
    if since and selection.is_all and not selection.groups:
        since = datetime.fromisoformat(since).isoformat()
        wikis = [
            wiki_of(client, one, asked_by="--all")
            async for one in client.projects(active_after=since)
            if not is_switched_off(one)
        ]
        await rows.put([one for one in wikis if not selection.excludes(one.owner)])
        return
    found = await find_wikis(client, selection, spared=[*selection.options()])
    known = await rows.known()
    gone = known - set(map(key_of, found.wikis))
    if len(gone) > removals_max(len(known)):
        said = "%d of %d wikis are missing from the lists; none is removed"
        log.warning(said, len(gone), len(known))
        gone.clear()
    await rows.put(found.wikis, gone)


# Cycles, while the database hears that the worker lives -------------------------------


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
                _end_if_cancelled()
                log.warning("the database is away: %s", error)
            self._life_ends.clear()
            if not self._is_ending:
                await self._wait(AGAIN_S)
        with suppress(psycopg.Error):
            await self._rows.leave(self.name)

    async def _live_once(self, cycle: Work, idle: Idle) -> None:
        await self._rows.pool.check()
        _end_if_cancelled()
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
                    row = connection.execute(BEAT, (self.name, self._dead_s)).fetchone()
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


def _end_if_cancelled() -> None:
    """A statement cut off may end with an error of the database, which a pool takes."""
    if (task := asyncio.current_task()) and task.cancelling():
        raise asyncio.CancelledError


def _now() -> tuple[float, float]:
    return time.monotonic(), time.time()


# What a worker has of its own: its budget, figures and answers ------------------------


class FleetBudget:
    """The requests of one token, shared by all workers."""

    def __init__(self, rows: Rows, per_minute: int) -> None:
        """Nothing is taken yet."""
        self._rows, self._left, self._until = rows, 0, 0.0
        self._count = max(1, int(per_minute / 60 * TAKEN_S))
        self._seconds = self._count * 60 / (per_minute * SPARED)

    async def take(self) -> float:
        """Seconds to wait before it is asked again; 0: one request may be made now."""
        if not self._left or time.monotonic() > self._until:
            if wait_s := await self._rows.take_requests(self._seconds):
                return wait_s
            self._left, self._until = self._count, time.monotonic() + TAKEN_S
        self._left -= 1
        return 0.0

    async def refused(self, pause_s: float) -> None:
        """The service made this worker pause; the others do, too."""
        self._left = 0
        await self._rows.pause(pause_s)


class Meter:
    """Counts what happens in the cycles of one worker."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.seconds: Counter[str] = Counter()
        self.ends: Counter[str] = Counter(done=0, lost=0, refused=0)
        self._steps: MutableMapping[Any, tuple[str, float]] = WeakKeyDictionary()

    async def at(self, step: str) -> None:
        """Note that a cycle came to a step."""
        task, now = asyncio.current_task(), time.monotonic()
        if task is None or step == "put":
            return  # a part of the upload
        if step in self.ends:
            self.ends[step] += 1
        if before := self._steps.pop(task, None):
            self.seconds[before[0]] += now - before[1]  # type: ignore[assignment]
        if step not in ("done", "lost"):
            self._steps[task] = (step, now)


def metrics_text(counts: Counts | None, meter: Meter) -> str:
    """What Prometheus reads; without counts, of this worker alone."""
    fleet, _, own = packaged_text(__package__, "metrics.txt").partition("\n\n")
    text = own.format(ends=meter.ends)
    for step, seconds in meter.seconds.items():
        text += f'wikisync_fleet_step_seconds_total{{step="{step}"}} {seconds:.3f}\n'
    if counts is None:
        return text
    values = {**msgspec.structs.asdict(counts), "silent": len(counts.silent)}
    values["living"] = len(counts.workers) - values["silent"]
    return f"{text}{fleet.format(**values)}\n"


def worker_app(rows: Rows, meter: Meter, secret: str) -> web.Application:
    """What answers at ``/metrics`` and ``/hook``, though the database is away."""

    async def asked(answer: Coroutine[Any, Any, Any]) -> Any:
        # cancelled, a query still waits for its server, which may be frozen
        asking = asyncio.create_task(answer)  # noqa: TID251 - outlives who waits
        if not (await asyncio.wait([asking], timeout=ANSWER_S))[0]:
            asking.cancel()
        elif not isinstance(asking.exception(), psycopg.Error):
            return asking.result()
        return None

    async def see(event: Any, path: str, _slug: str) -> bool:
        # the next list tells it, too
        return event.object_kind == "wiki_page" and bool(await asked(rows.hint(path)))

    async def show(_request: web.Request) -> web.Response:
        text = metrics_text(await asked(rows.counts()), meter)
        return web.Response(text=text, headers={"Content-Type": METRICS_TYPE})

    app = new_app(secret.encode(), see)
    app.router.add_get("/metrics", show)
    return app
