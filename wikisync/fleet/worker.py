"""A worker: a process that looks which wikis there are, and runs their cycles.

A list of projects by their last activity, of those that had some since the newest that
is known, costs a quiet instance one request.  From time to time everything is listed:
what is missing from that is gone, renamed, or was not shown.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path

from wikisync.api.client import Client
from wikisync.core.model import removals_max
from wikisync.core.system.locks import locked_folder
from wikisync.core.system.private import make_private_folder
from wikisync.errors import UsageError, WikisyncError
from wikisync.fleet.budget import FleetBudget
from wikisync.fleet.cycle import Cycle, Step
from wikisync.fleet.doctor import PlaceTaken, own
from wikisync.fleet.metrics import Meter, worker_app
from wikisync.fleet.rows import Rows, Settings, key_of
from wikisync.fleet.runner import FleetRunner
from wikisync.watch.listen import listening
from wikisync.workspace.discovery import Selection, find_wikis, is_switched_off, wiki_of

log = logging.getLogger(__name__)

LISTED_S = 60.0
WHOLE_S = 6 * 3600.0
"""How often everything is listed: wikis of groups tell of no activity, and a project
that changed in silence is asked after this time, too."""


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
    try:
        with locked_folder(folder):
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, runner.end)
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(
                    Client(settings.service, token)
                )
                if settings.requests:
                    client.budget.shared = FleetBudget(rows, settings.requests)
                meter = Meter()
                if listen:
                    app = worker_app(rows, meter, secret)
                    await stack.enter_async_context(listening(app, listen, "--listen"))
                cycle = Cycle(
                    rows, settings, client, folder, runner.check, at or meter.at
                )
                await runner.run(
                    cycle.run, lambda: discover(client, rows, settings, runner.name)
                )
    except BlockingIOError as exc:
        raise UsageError(
            f"another worker works in {folder}",
            hint="give each worker a folder of its own with --folder",
        ) from exc


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
        active_after = datetime.fromisoformat(since).isoformat()
        active = client.projects(active_after=active_after)
        wikis = [
            wiki_of(client, one, asked_by="--all")
            async for one in active
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
