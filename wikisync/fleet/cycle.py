"""One cycle of one wiki: its copy brought up to date, built, and published.

The order makes a cycle that ends anywhere harmless:

1. claim the row; what an older claim writes later finds other tags in the bucket;
2. look at what is published, *before* the wiki is read: what is written over was there
   before the text that is written;
3. restore the state, read the wiki, build the site;
4. see that the claim still holds, then upload what changed, the manifest last;
5. put the new state beside the old one, then move the row, which names it.

A death before 5 leaves the old row true: the next worker reads the wiki again, builds
the same bytes and finds most of them published.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.core.messages import SilentProgress
from wikisync.core.model import Problem
from wikisync.core.system.parallel import finish_in_thread
from wikisync.core.system.private import make_private_folder
from wikisync.errors import Halted, NotFound, PreconditionFailed, WikisyncError
from wikisync.fleet.rows import LostClaim, Row, Rows, Settings
from wikisync.fleet.states import States
from wikisync.site.bucket import Check, look, open_bucket, upload
from wikisync.site.build import build_site
from wikisync.site.fingerprint import hash_of
from wikisync.site.mirror import Mirror, name_of, open_mirror
from wikisync.site.model import SiteOptions, WikiSource
from wikisync.workspace.discovery import wiki_of
from wikisync.workspace.mirroring import Mirroring
from wikisync.workspace.pulled import PulledWiki

log = logging.getLogger(__name__)

TRIES_MAX = 3
"""Of a cycle that another writer came between."""
COPY, SITE, CACHE = "copy", "site", "site-cache"
UNPROTECTED = (
    "it is not public, and the fleet has no place for such sites (fleet init"
    " --protected)"
)

_BUILDING = threading.Lock()


class Cycle(Struct, frozen=True):
    """What every cycle of a worker works with."""

    rows: Rows
    settings: Settings
    client: Client
    folder: Path
    """Of the worker; what lies there may be lost."""
    check: Check
    """Raises ``LostClaim`` where the worker may have been taken for dead."""
    at: Callable[[str], Awaitable[None]]
    """Told of each step, by its name."""

    async def run(self, key: str) -> None:
        """Bring one wiki up to date; what is wrong with it stands in its row.

        Raises:
            psycopg.Error: the database is away; the wiki stays due.
        """
        row = await self.rows.claim(key)
        if row is None:
            return
        try:
            await self._tried(row)
        except LostClaim:
            log.info("%s: another worker has it", row.wiki.owner)
        except Halted as error:
            await self._failed(row, error, is_halted=True)
        except WikisyncError as error:
            await self._failed(row, error)

    async def _failed(
        self, row: Row, error: WikisyncError, *, is_halted: bool = False
    ) -> None:
        log.warning("%s: %s", row.wiki.owner, error.message)
        try:
            await self.rows.fail(row, error.message, is_halted=is_halted)
        except LostClaim:
            log.info("%s: another worker has it", row.wiki.owner)

    async def _tried(self, row: Row) -> None:
        for number in range(TRIES_MAX):
            try:
                return await self._once(row)
            except PreconditionFailed as error:
                # the claim tells a writer that was replaced from one that meets traces
                await self.rows.check(row)
                if number == TRIES_MAX - 1:
                    raise
                log.info("%s: %s", row.wiki.owner, error.message)
        return None

    async def _once(self, row: Row) -> None:
        if row.is_gone:
            row = await self._asked_for(row)
        place, problem = self._place(row)
        target = open_bucket(place or row.place) if place or row.place else None
        states = self._states(row)
        make_private_folder(states.folder)
        await self.at("look")
        seen = await look(target) if target else None
        await self.at("restore")
        generation = await states.restore(row)
        pages, is_changed, site = 0, False, None
        if place and not row.is_gone:
            await self.at("pull")
            with open_mirror(states.folder) as mirror:
                before = _fingerprint(mirror, row)
                pulled = await self._pulled(mirror, row)
                is_changed = _fingerprint(mirror, row) != before
            if isinstance(pulled, PulledWiki) and pulled.pages:
                pages, site = pulled.pages, states.folder.with_name(SITE)
                problem = "; ".join(map(str, pulled.problems[:1]))
                await self.at("build")
                await finish_in_thread(_build, pulled, site)
        await self.at("check")
        await self.check()
        await self.rows.check(row)
        await self.at("upload")
        if target is not None and seen is not None:
            done = await upload(site, target, seen, check=self._checked)
            log.info("%s: %d put, %d removed", row.wiki.owner, done.put, done.removed)
        if row.place and place and row.place != place:
            old = open_bucket(row.place)
            await upload(None, old, await look(old), check=self._checked)
        if row.is_gone:
            await states.clear()
            await self.rows.forget(row)
            return
        name = row.state
        if is_changed or generation != row.generation:
            await self.at("state")
            await self.check()
            generation += 1
            name = await states.keep(generation, row.claim)
        await self.at("row")
        await self.rows.move(
            row,
            generation=generation,
            state=name,
            place=place if site else "",
            pages=pages,
            problem=problem,
        )
        await self.at("tidy")
        states.trust(name)
        if name != row.state:
            await states.tidy()

    async def _checked(self) -> None:
        await self.at("put")
        await self.check()

    async def _asked_for(self, row: Row) -> Row:
        """A wiki that no list has: whether it is gone, or only was not listed."""
        wiki = row.wiki
        try:
            record = (
                await self.client.group(wiki.id)
                if wiki.owner.kind == "group"
                else await self.client.project(wiki.id)
            )
        except NotFound:
            return row
        found = wiki_of(self.client, record, asked_by=wiki.origin.asked_by)
        return replace(row, is_gone=False, wiki=found)

    def _place(self, row: Row) -> tuple[str, str]:
        """Where the site belongs, empty for nowhere, and why."""
        wiki = row.wiki
        is_public = wiki.visibility == "public"
        top = self.settings.site if is_public else self.settings.protected
        if not top:
            return "", UNPROTECTED
        return f"{top}/{wiki.owner.full_path}/-/wikis", ""

    def _states(self, row: Row) -> States:
        bucket = open_bucket(self.settings.state)
        return States(self.folder / row.key / COPY, bucket, row.key)

    async def _pulled(self, mirror: Mirror, row: Row) -> PulledWiki | Problem:
        mirroring = Mirroring(
            self.client, mirror, allow_emptying=row.may_empty, verify=False
        )
        return await mirroring.pull(row.wiki, SilentProgress())


def _fingerprint(mirror: Mirror, row: Row) -> bytes:
    """A hash of what the copy of a wiki holds."""
    name = name_of(row.wiki.origin.service, row.wiki.owner.kind, row.wiki.id)
    noted = mirror.noted(name)
    return hash_of(mirror.copy(noted), noted.number and mirror.versions(noted))


def _build(pulled: PulledWiki, site: Path) -> None:
    """Build the site of one wiki; one after another, as it takes whole cores."""
    source = WikiSource(
        **pulled.wiki.info,
        folder=pulled.folder,
        problems=pulled.problems,
        copy=pulled.copy,
    )
    with _BUILDING:
        build_site(
            [source],
            site,
            SiteOptions(title=pulled.wiki.title, drop_prefix=True),
            cache=site.with_name(CACHE),
            may_leave=lambda _wiki: True,
        )
