"""One cycle: the copy of a wiki brought up to date, built and published.

The order makes a cycle that ends anywhere harmless:

1. the row is claimed; what an older claim writes later finds other tags in the bucket;
2. look at what is published, *before* the wiki is read: what is written over was there
   before the text that is written;
3. restore the state, read the wiki, see that it still is public, build the site;
4. see that the claim still holds, note the place in the row, and upload what changed,
   the manifest last;
5. put the new state beside the old one, then move the row, which names it.

A death before 5 leaves the old row true: the next worker reads the wiki again, builds
the same bytes and finds most of them published.

The landing page, which lists all public wikis and searches their pages, is a row as a
wiki has one, so that it has one writer at a time, whose writes are refused where
another one came.  What the rows list is what it shows; a worker that has made it before
reads the search index of those wikis alone that changed.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import psycopg
from msgspec import Struct
from msgspec.structs import replace

from wikisync import errors
from wikisync.api.client import Client
from wikisync.core.decoding import json_decoder
from wikisync.core.messages import Progress
from wikisync.core.system.parallel import each, finish_in_thread
from wikisync.core.system.private import make_private_folder
from wikisync.core.versions import iso_time
from wikisync.fleet.beside import addresses_beside, named_places, redirect, site_pages
from wikisync.fleet.rows import LANDING, LostClaim, Row, Rows
from wikisync.fleet.settings import UNPROTECTED, Settings
from wikisync.fleet.states import States
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bucket import (
    AT_ONCE,
    TRIES_MAX,
    Bucket,
    Check,
    Seen,
    look,
    open_bucket,
    upload,
)
from wikisync.site.build import build_site
from wikisync.site.fingerprint import hash_of
from wikisync.site.kept import SEARCHED_DOCUMENTS
from wikisync.site.manifest import PublishedWiki
from wikisync.site.mirror import Mirror, name_of, open_mirror
from wikisync.site.model import SiteOptions, WikiSource
from wikisync.workspace.discovery import FoundWiki, is_switched_off, wiki_of
from wikisync.workspace.mirroring import Mirroring
from wikisync.workspace.pulled import PulledWiki

log = logging.getLogger(__name__)

COPY, APART, SITE, CACHE = "copy", "apart", "site", "site-cache"
INDEX_MARK = "version"
"""Says which version of a wiki's search index a folder holds."""
BUILDING = threading.Lock()
"""Builds of a process: they share the process that parses, and take whole cores."""
REST_S, REST_TIMES = 5.0, 10.0
"""Between two builds of the landing page: ten times what the processor did here during
one."""
FORMER_MAX = 8
TRANSIENT = {"page-limited", "page-unavailable"}
"""Problems for which a wiki is read again soon."""

Step = Callable[[str], Awaitable[None]]
_LISTED = json_decoder(PublishedWiki)


class Read(Struct, frozen=True):
    """What a cycle learned of a wiki."""

    problem: str = ""
    pulled: PulledWiki | None = None
    """Its pages, where it has some."""
    is_changed: bool = False
    """Whether the copy is another one than before."""
    changed: str = ""
    """When a page changed last, where that is known."""
    is_settled: bool = True
    """Whether it need not be read again soon."""
    links: Collection[str] = ()
    """Places of the sites that it names."""


class Cycle(Struct, frozen=True):
    """What every cycle of a worker works with."""

    rows: Rows
    settings: Settings
    client: Client
    folder: Path
    """Of the worker; what lies there may be lost."""
    check: Check
    """Raises ``LostClaim`` where the worker may have been taken for dead."""
    at: Step
    """Told of each step, by its name, and of what came of the cycle."""

    async def run(self, row: Row) -> None:
        """Bring one wiki up to date; what is wrong with it stands in its row.

        Raises:
            psycopg.Error: the database is away; the wiki stays due.
        """
        try:
            try:
                await self._tried(row)
            except (LostClaim, psycopg.OperationalError):
                raise
            except errors.WikisyncError as error:
                log.warning("%s: %s", row.wiki.owner, error.message)
                is_halted = isinstance(error, errors.Halted)
                said = "; ".join(filter(None, (error.message, error.hint)))
                await self.rows.fail(row, said, is_halted=is_halted)
            except Exception as error:
                # a defect met at one wiki keeps no other waiting
                log.exception("%s failed", row.wiki.owner)
                await self.rows.fail(row, f"{type(error).__name__}: {error}")
        except LostClaim:  # another worker has it
            await self.at("lost")
        else:
            await self.at("done")

    async def _tried(self, row: Row) -> None:
        for number in range(TRIES_MAX):
            try:
                return await self._once(row)
            except errors.PreconditionFailed as error:
                await self.at("refused")
                # was it replaced, or does it meet traces?
                await self.rows.check(row)
                if number == TRIES_MAX - 1:
                    raise
                log.info("%s: %s", row.wiki.owner, error.message)
        return None

    async def _once(self, row: Row) -> None:
        if row.key == LANDING:
            await self._land(row)
            return
        if row.is_gone:
            # a wiki that no list has may only not have been listed
            with suppress(errors.NotFound):
                if found := await self._now(row.wiki):
                    row = replace(row, is_gone=False, wiki=found)
        place = self._place(row)
        bucket = open_bucket(self.settings.state)
        states = States(self.folder / row.key / COPY, bucket, row.key)
        make_private_folder(states.folder)
        await self.at("look")
        seen = await look(open_bucket(place), is_audit=True) if place else Seen()
        await self.at("restore")
        generation = await states.restore(row)
        read = Read(problem="" if row.is_gone else UNPROTECTED)
        if place:
            await self.at("pull")
            read = await self._read(row, states, generation)
        if {*read.links} - {*(row.links or ())}:
            # before the pages there are read: a cycle that brings pages reads links
            await self.rows.note_links(row, [*read.links])
        if read.pulled:
            if now := await self._moved(row, read):
                await self._once(now)
                return
            await self.at("build")
            others: dict[str, Sequence[str]] = dict.fromkeys(read.links, ())
            if read.links:
                others |= await self.rows.beside(read.links)
            beside = dict(addresses_beside(row, self._top(row), others))
            wiki = replace(read.pulled.wiki, beside=beside)
            options = SiteOptions(title=wiki.title, drop_prefix=True)
            await finish_in_thread(_build, self.folder / row.key, options, wiki)
        await self.at("check")
        await self.rows.check(row)
        await self._publish(row, seen, read)
        if row.is_gone and not (row.place or row.listed):
            await states.clear()
            await self.rows.forget(row)
        else:
            # a killed worker's last writes may come yet: what is gone has one more
            await self._note(row, states, generation, read)

    async def _read(self, row: Row, states: States, generation: int) -> Read:
        """Bring the copy of a wiki up to date."""
        with open_mirror(states.folder) as mirror:
            before = _fingerprint(mirror, row)
            mirror.forget_lost_texts(_name(row))
            pulled = await Mirroring(
                self.client, mirror, allow_emptying=row.may_empty, verify=False
            ).pull(row.wiki, Progress())
            is_changed = _fingerprint(mirror, row) != before
            noted = mirror.noted(_name(row))
            copy = mirror.copy(noted)
            versions = mirror.versions(noted).rows
            changed = iso_time(max((one.at for one in versions), default=0)) or ""
        links: Collection[str] = row.links or ()
        is_known = (row.place, row.generation) == (self._place(row), generation)
        if is_changed or row.links is None or not is_known:
            where = states.folder, noted.number, copy
            links = await finish_in_thread(named_places, *where, row, self._top(row))
        if not isinstance(pulled, PulledWiki):
            return Read(is_changed=is_changed)
        problem = "; ".join(map(str, pulled.wiki.problems[:1]))
        if not pulled.pages:
            # it has some, and none could be read
            raise errors.SiteError(problem)
        is_settled = not {one.code for one in pulled.wiki.problems} & TRANSIENT
        return Read(problem, pulled, is_changed, changed, is_settled, links)

    async def _moved(self, row: Row, read: Read) -> Row | None:
        """The row of a wiki that was made private, maybe before it was read."""
        place = self._place(row)
        is_public = row.wiki.visibility == "public"
        if not is_public or not (read.is_changed or row.place != place):
            return None
        found = await self._now(row.wiki)
        now = replace(row, wiki=found or replace(row.wiki, visibility="private"))
        return now if self._place(now) != place else None

    async def _publish(self, row: Row, seen: Seen, read: Read) -> None:
        """Upload the site; places that it had before redirect to it, or are emptied."""
        place = self._place(row)
        # without pages, it removes what another wiki left that had its path
        old = [row.place or (place if seen.record.files else ""), *row.former]
        if row.is_gone or row.wiki.visibility != "public":
            # a late write may have come there, of a worker that died of it
            old.append(f"{self.settings.site}/{row.wiki.owner.full_path}/-/wikis")
        place = place if read.pulled else ""
        former: list[str] = []
        for one in dict.fromkeys(old):
            if one in ("", place) or await self.rows.is_taken(row, one, self.settings):
                continue
            # whoever can read the redirects must be one who can read the site
            is_readable = bool(place) and one.startswith(f"{self._top(row)}/")
            redirects = is_readable and len(former) < FORMER_MAX
            if redirects:
                former.append(one)
            if not (redirects and one in row.former and row.place == place):
                await self._leave(one, place, row.names if redirects else None)
        if (row.place, row.former) != (place, former):
            # a site lies where its row says; its pages are told of once they are there
            keeps = bool(place) and row.place.startswith(f"{self._top(row)}/")
            await self.rows.note_place(row, place, former, keeps_names=keeps)
        await self.at("upload")
        if place:
            bucket, site = open_bucket(place), self.folder / row.key / SITE
            done = await upload(site, bucket, seen, check=self._put)
            log.info("%s: %d put, %d removed", row.wiki.owner, done.put, done.removed)

    async def _leave(self, old: str, new: str, names: Sequence[str] | None) -> None:
        """Redirect the pages at a place to another one; without names, empty it."""
        bucket = open_bucket(old)
        found = await look(bucket, is_audit=True)
        with TemporaryDirectory() as name:
            if names is not None:
                await finish_in_thread(redirect, Path(name), names, old, new)
            site = None if names is None else Path(name)
            await upload(site, bucket, found, check=self._put)

    async def _note(
        self, row: Row, states: States, generation: int, read: Read
    ) -> None:
        """Put the state beside the one before, and name it in the row."""
        name = row.state
        if read.is_changed or generation != row.generation:
            await self.at("state")
            await self.check()
            generation += 1
            name = await states.keep(generation, row.claim)
        await self.at("row")
        await self.rows.move(
            row,
            generation=generation,
            state=name,
            pages=read.pulled.pages if read.pulled else 0,
            problem=read.problem,
            place=self._place(row),
            links=sorted(read.links),
            names=site_pages(self.folder / row.key / SITE) if read.pulled else (),
            rests_s=0.0 if read.is_settled else None,
            listed=self._listed(row, name, read),
        )
        await self.at("tidy")
        states.trust(name)
        if name != row.state:
            await states.tidy()

    def _listed(self, row: Row, state: str, read: Read) -> str:
        """What the landing page says of a wiki; empty for nothing."""
        wiki = row.wiki
        if not read.pulled or wiki.visibility != "public":
            return ""
        one = PublishedWiki(
            **wiki.info,
            prefix=f"{wiki.owner.full_path}/-/wikis/",
            pages=read.pulled.pages,
            changed=read.changed,
            apart=f"{row.key}/{state}",
        )
        return msgspec.json.encode(one).decode()

    async def _land(self, row: Row) -> None:
        """Make the landing page show what the rows list."""
        begun, bucket = time.process_time(), open_bucket(self.settings.site)
        await self.at("look")
        seen = await look(bucket, is_audit=True, is_top=True)
        wikis = [_LISTED.decode(one) for one in await self.rows.listed()]
        folder = self.folder / LANDING
        make_private_folder(folder)
        apart = folder / APART
        for wiki in wikis:
            await _fetch(bucket, wiki, apart)
        await self.at("build")
        if wikis:
            options = SiteOptions(title=self.settings.title, has_report=False)
            await finish_in_thread(_build, folder, options, kept=wikis, apart=apart)
        await self.at("check")
        await self.rows.check(row)
        await self.at("upload")
        await upload(folder / SITE if wikis else None, bucket, seen, check=self._put)
        rests_s = bool(wikis) * max(REST_S, REST_TIMES * (time.process_time() - begun))
        await self.rows.move(row, generation=row.generation, rests_s=rests_s)

    async def _put(self) -> None:
        await self.at("put")
        await self.check()

    async def _now(self, wiki: FoundWiki) -> FoundWiki | None:
        """A wiki as the service has it now; None where it is to have no site."""
        record = (
            await self.client.group(wiki.id)
            if wiki.owner.kind == "group"
            else await self.client.project(wiki.id)
        )
        found = wiki_of(self.client, record, asked_by=wiki.origin.asked_by)
        asked_by = wiki.origin.asked_by if wiki.is_named else ""
        is_meant = self.settings.selection.means(found.owner, asked_by)
        return found if is_meant and not is_switched_off(record) else None

    def _place(self, row: Row) -> str:
        """Where the site belongs; empty for nowhere."""
        top = "" if row.is_gone else self._top(row)
        return top and f"{top}/{row.wiki.owner.full_path}/-/wikis"

    def _top(self, row: Row) -> str:
        return self.settings.top(is_public=row.wiki.visibility == "public")


def _fingerprint(mirror: Mirror, row: Row) -> bytes:
    """A hash of what the copy of a wiki holds."""
    noted = mirror.noted(_name(row))
    return hash_of(mirror.copy(noted), noted.number and mirror.versions(noted))


def _name(row: Row) -> str:
    return name_of(row.wiki.origin.service, row.wiki.owner.kind, row.wiki.id)


async def _fetch(bucket: Bucket, wiki: PublishedWiki, apart: Path) -> None:
    """Read the search index of a wiki, unless that version of it is here."""
    top = apart / wiki.prefix
    mark = top / INDEX_MARK
    if mark.exists() and mark.read_text() == wiki.apart:
        return
    await asyncio.to_thread(shutil.rmtree, top, ignore_errors=True)
    paths = await bucket.etags(f"{wiki.prefix}{SEARCH_FOLDER}")
    wanted = [one for one in paths if one.startswith(wiki.prefix + SEARCHED_DOCUMENTS)]
    make_private_folder(top / SEARCH_FOLDER)

    async def fetch(path: str) -> None:
        if found := await bucket.read(path):
            (apart / path).write_bytes(found[0])

    await each(wanted, fetch, in_flight=AT_ONCE)
    mark.write_text(wiki.apart)


def _build(folder: Path, options: SiteOptions, *wikis: WikiSource, **kept: Any) -> None:
    """Build a site in a folder of the worker."""
    with BUILDING:
        build_site(
            wikis,
            folder / SITE,
            options,
            cache=folder / CACHE,
            may_leave=lambda _wiki: True,
            **kept,
        )
