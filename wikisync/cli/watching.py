"""What the daemon does for one wiki: cycles, scans and hints, on real parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from wikisync.api.git import wiki_head
from wikisync.cli.syncing import Synced
from wikisync.cli.workspace import OpenWorkspace, SyncedWiki
from wikisync.errors import NotFound, PermissionDenied
from wikisync.model import Digest, digest_of
from wikisync.sync.daemon import CycleOutcome, Why
from wikisync.sync.exchange import ExchangeOptions, exchange

if TYPE_CHECKING:
    from wikisync.api.client import Client


class WatchedWiki:
    """One wiki of an open workspace, as ``sync.daemon.WikiWork`` wants it."""

    def __init__(
        self,
        opened: OpenWorkspace,
        wiki: SyncedWiki,
        client: Client,
        options: ExchangeOptions,
    ) -> None:
        self._opened = opened
        self._client = client
        self._options = options
        self._seen: Mapping[str, Digest] | None = None
        """What the last scan saw."""
        self._has_git = True
        self.wiki = wiki
        self.synced = Synced(wiki.section)
        """The last cycles, for whoever shows them."""

    @property
    def name(self) -> str:
        """The wiki's folder in the workspace."""
        return self.wiki.section.folder

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        return self.wiki.known.is_paused

    async def cycle(self, why: Why) -> CycleOutcome:
        """One cycle; for a save here the wiki is not looked at first."""
        self.wiki.remote.is_remembering = why is Why.FOLDER
        section = self.wiki.section
        asked_for_all = self._options.puts_new
        left = frozenset() if asked_for_all else self._opened.left_out(section)
        try:
            result = await exchange(
                self.wiki.remote,
                self.wiki.local,
                self._opened.state,
                owner=self.wiki.section.owner,
                remote_id=self.wiki.remote_id,
                options=replace(
                    self._options, adopts=self._opened.is_adopting, leaves=left
                ),
                outdated=self.wiki.remote.outdated,
            )
        finally:
            self.wiki.remote.is_remembering = False
        self.synced.results = [result]
        self._opened.note_left_out(section, self.synced.left_out)
        return CycleOutcome(
            is_quiet=result.is_quiet,
            has_more=result.has_more,
            next_look_s=result.next_look_s,
            needs_person=bool(result.held or result.batches),
            problem=str(result.problems[0]) if result.problems else "",
        )

    async def scan(self) -> bool:
        """Whether the folder differs from the scan before; the first one says yes."""
        local, known = self.wiki.local, self.wiki.known
        snapshot = await local.snapshot()
        seen = {str(slug): page.digest for slug, page in snapshot.pages.items()}
        for slug in known.bundles():
            text = await local.conflict_text(slug)
            if text is not None:
                # no page's slug has a space at its end
                seen[f"{slug} "] = digest_of(text)
        before, self._seen = self._seen, seen
        return seen != before

    async def hint(self) -> str | None:
        """The wiki's newest commit, or else when its project was last active."""
        owner = self.wiki.section.owner
        if self._has_git:
            head = await wiki_head(self._client, owner)
            if head is not None:
                return head
            self._has_git = False
        if owner.kind == "group":
            return None
        try:
            project = await self._client.project(self.wiki.section.path)
        except (NotFound, PermissionDenied):
            return None
        return project.last_activity_at
