"""Which wikis there are, and in which something happened.

A list of projects by their last activity, of those that had some since the newest that
is known, costs a quiet instance one request.  From time to time everything is listed:
what is missing from that is gone, renamed, or was not shown.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from wikisync.api.client import Client
from wikisync.core.model import removals_max
from wikisync.errors import WikisyncError
from wikisync.fleet.rows import Rows, Settings, key_of
from wikisync.workspace.discovery import find_wikis, is_switched_off, wiki_of

log = logging.getLogger(__name__)

LISTED_S = 60.0
WHOLE_S = 6 * 3600.0
"""How often everything is listed: wikis of groups tell of no activity, and a project
that changed in silence is asked after this time, too."""
OVERLAP = timedelta(minutes=10)
"""The service's clock and lists may be late."""


async def discover(client: Client, rows: Rows, settings: Settings) -> None:
    """Note the wikis that are new, changed or gone, if it is time for that.

    Raises:
        psycopg.Error: the database is away.
    """
    age_s = await rows.turn_to_list(LISTED_S)
    if age_s is None:
        return
    selection, newest = settings.selection, await rows.newest_activity()
    is_everything = selection.is_all and not selection.groups
    try:
        if is_everything and newest and age_s < WHOLE_S:
            since = datetime.fromisoformat(newest) - OVERLAP
            active = client.projects(active_after=since.isoformat())
            wikis = [
                wiki_of(client, one, asked_by="--all")
                async for one in active
                if not is_switched_off(one)
            ]
            kept = [one for one in wikis if not selection.excludes(one.owner)]
            await rows.put(kept, is_whole=False)
            return
        found = await find_wikis(client, selection)
    except WikisyncError as error:
        log.warning("cannot list the wikis: %s", error.message)
        return
    known = await rows.known()
    gone = known - set(map(key_of, found.wikis))
    is_whole = len(gone) <= removals_max(len(known))
    if not is_whole:
        log.warning(
            "%d of %d wikis are missing from the lists; none is removed",
            *(len(gone), len(known)),
        )
    await rows.put(found.wikis, is_whole=is_whole)
