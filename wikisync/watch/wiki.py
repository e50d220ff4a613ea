"""What the daemon does for one wiki: cycles, scans and hints, on real parts.

The service is asked for nothing before the first cycle, so that a watch may begin
while it is away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from wikisync.api.client import Client, Id
from wikisync.api.git import WikiHistory
from wikisync.config import WikiSection
from wikisync.errors import NotFound, PermissionDenied
from wikisync.model import Slug
from wikisync.sync.decide.ledger import RemoteEdit
from wikisync.sync.run.options import CycleOptions, FolderMatch
from wikisync.sync.run.result import CycleResult
from wikisync.watch.daemon.schedule import FULL_SCAN_S
from wikisync.watch.daemon.wiki_status import CycleOutcome, RemoteHint, Why
from wikisync.workspace.attention import sentences
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki
from wikisync.workspace.syncing import Synced

NAMED_MAX = 3
"""Pages that one line names."""
SAVED_MAX = 20
"""More files saved at once than these are a reason to scan the whole folder."""
EDITS_MAX = 1000
"""Reported edits between two cycles that are remembered, the last ones."""


class WatchedWiki:
    """One wiki of an open workspace, as ``watch.daemon.work.WikiWork`` wants it."""

    def __init__(
        self,
        opened: OpenWorkspace,
        section: WikiSection,
        client: Client,
        options: CycleOptions,
        *,
        uploads_new: bool = False,
        settle_s: float | None = None,
    ) -> None:
        self._opened = opened
        self._client = client
        self._options = options
        self._uploads_new = uploads_new
        """Whether a first sync uploads pages that are only here."""
        self._settle_s = settle_s
        self._wiki: SyncedWiki | None = None
        self._history = WikiHistory(client, section.owner)
        self._noted_at = client.now()
        """When its health was last noted."""
        self._active: RemoteHint | None = None
        """The last hint that is no commit."""
        self._etag: str | None = None
        """Of the answer that it came from."""
        self._edits: dict[Slug, RemoteEdit] = {}
        self._saved: set[str] | None = None
        """Files in the folder that were saved since the last cycle; None where
        anything may have happened to it."""
        self._named: set[Slug] = set()
        """Pages that webhooks named since the last scan of the wiki."""
        self.section = section
        self.synced = Synced(section)
        """The last cycle, for whoever shows it."""

    @property
    def name(self) -> str:
        """The wiki's folder in the workspace."""
        return self.section.folder

    @property
    def path(self) -> str:
        """The full path of its project or group, as far as that is known."""
        found = self._wiki
        return found.found.owner.full_path if found else self.section.path

    @property
    def project_id(self) -> int | None:
        """The id of its project or group; None before its first cycle."""
        return self._wiki.found.id if self._wiki else None

    @property
    def paths(self) -> frozenset[str]:
        """What its project or group is called, now and in the configuration."""
        return frozenset({self.section.path, self.path})

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        return self._opened.known(self.section).memory.paused is not None

    async def cycle(self, why: Why) -> CycleOutcome:
        """One cycle, which scans of each side what may have changed there."""
        try:
            result = await self._exchange(why)
        except NotFound:
            # a project may come back under its path with another id
            self._wiki = None
            raise
        self.synced.results = [result]
        trouble = result.problems[0] if result.problems else None
        return CycleOutcome(
            is_quiet=result.is_quiet,
            has_more=result.has_more,
            next_scan_s=result.next_scan_s,
            needs_person=any(sentences(self.synced)),
            problem=str(trouble) if trouble else "",
            hint=trouble.hint if trouble else "",
            open_here=some_of(result.plan.open_here),
        )

    def note_saved(self, files: Collection[str] | None) -> None:
        """Remember files of the folder to scan; None where that is all of it."""
        if files is not None and self._saved is not None:
            files = self._saved | set(files)
            self._saved = files if len(files) <= SAVED_MAX else None
        else:
            self._saved = None

    def note_named(self, slug: Slug) -> None:
        """Remember a page that a webhook names, for the next scan of the wiki."""
        if len(self._named) < EDITS_MAX:
            self._named.add(slug)

    def note_edit(self, slug: Slug, edit: RemoteEdit) -> None:
        """Remember who edited a page on the wiki, until the next cycle."""
        self._edits.pop(slug, None)
        self._edits[slug] = edit
        if len(self._edits) > EDITS_MAX:
            del self._edits[next(iter(self._edits))]

    async def _exchange(self, why: Why) -> CycleResult:
        wiki = await self._connected(why)
        if self._uploads_new:
            wiki.known.remember(left_out=None)
        self._opened.refuse_lost(self.section)
        edits, self._edits = self._edits, {}
        if edits:
            self._opened.known(self.section).note_edits(edits)
        is_first = not self.synced.results
        saved, self._saved = self._saved, set()
        if why is Why.EVERYTHING or is_first:
            saved = None
        wiki.remote.is_remembering = why is Why.FOLDER
        wiki.remote.keeps_files = saved is not None
        named = frozenset() if why is Why.FOLDER else frozenset(self._named)
        wiki.replica.await_pages(named)
        try:
            with self._opened.meeting(self.section, is_first=is_first) as match:
                self.synced.has_other_folder = match is FolderMatch.OTHER
                result = await self._opened.cycle(
                    wiki,
                    replace(
                        self._options,
                        saved=None if saved is None else frozenset(saved),
                        folder=match,
                        tries_again=is_first,
                    ),
                )
        except BaseException:
            self._saved = None
            raise
        else:
            self._named -= named
            self._noted_at = self._client.now()
            return result
        finally:
            wiki.remote.is_remembering = wiki.remote.keeps_files = False

    async def _connected(self, why: Why) -> SyncedWiki:
        """Both sides of the wiki; a whole scan sees where it is now, too."""
        if self._wiki is not None and why is Why.EVERYTHING:
            found = await find_wiki(self._opened.state, self._client, self.section)
            before = self._wiki.found
            is_same = (found.owner, found.id) == (before.owner, before.id)
            self._wiki = replace(self._wiki, found=found) if is_same else None
        if self._wiki is None:
            self._wiki = await self._opened.synced(
                self._client, self.section, settle_s=self._settle_s
            )
            # before the first scan: what differs half a minute later came after it
            await asyncio.to_thread(self._wiki.index.saved_since)
        self.synced.notes = self._wiki.found.notes
        self.synced.warnings = self._wiki.found.warnings
        return self._wiki

    async def scan(self) -> bool:
        """Whether the folder differs from what the look before saw.

        Or whether a program wrote to a file that was replaced: no event reports that.
        """
        if self._wiki is None:
            return False  # its first cycle is still to come
        try:
            saved = await asyncio.to_thread(self._wiki.index.saved_since)
            is_late = bool(await self._wiki.local.late_saves())
        except BaseException:
            self._saved = None
            raise
        if saved is not None and not saved and not is_late:
            return False
        self.note_saved(None if is_late else saved)
        return True

    async def note_unchanged(self) -> None:
        """Note in the state, not too often, that the last cycle is good until now."""
        now = self._client.now()
        if self._wiki is None or now < self._noted_at + FULL_SCAN_S:
            return
        known, self._noted_at = self._wiki.known, now
        health = known.memory.health
        good_at, began_at = health.last_good_at, health.last_started_at
        if good_at is not None and good_at >= (began_at or 0.0):
            known.remember(health=replace(health, last_good_at=time.time()))

    async def hint(self) -> RemoteHint | None:
        """The wiki's newest commit, or else when its project was last active."""
        found = None if self._wiki is None else self._wiki.found
        owner = self.section.owner if found is None else found.owner
        if self._wiki is not None:
            self._history = self._wiki.replica.history
        head = await self._history.head()
        if head is not None:
            return RemoteHint(head, is_exact=True)
        if owner.kind == "group":
            return None
        try:
            return await self._last_activity(found.id if found else owner.full_path)
        except (NotFound, PermissionDenied):
            return None

    async def _last_activity(self, project: Id) -> RemoteHint | None:
        found = await self._client.poll_project(project, self._etag)
        if found is None:
            return self._active
        record, etag = found
        if record.last_activity_at is None:
            return None
        # without an ETag, the whole record comes each time
        self._active = RemoteHint(record.last_activity_at, is_costly=etag is None)
        self._etag = etag
        return self._active


def some_of(names: Sequence[str]) -> str:
    """The first of some pages or files, and how many more there are."""
    named, more = ", ".join(names[:NAMED_MAX]), len(names) - NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named
