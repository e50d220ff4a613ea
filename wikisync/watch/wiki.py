"""What a watch does for one wiki: cycles, scans and hints; lists of several wikis."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.api.git import WikiHistory
from wikisync.config.sections import WikiSection
from wikisync.core.model import Slug, some_of
from wikisync.errors import NotFound, PermissionDenied
from wikisync.sync.run.parts import CycleOptions, CycleResult
from wikisync.watch.triggers import RemoteHint
from wikisync.workspace.attention import sentences
from wikisync.workspace.identity import find_wiki
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki, WikiCycles
from wikisync.workspace.runner import FULL_SCAN_S, CycleOutcome, ScanScope

WIKIS_MIN = 4
SAVED_MAX = 20
"""More files saved at once than these are a reason to scan the whole folder."""
NAMED_MAX = 1000
"""Pages that webhooks named since the last scan of the wiki, at the most."""


class WatchedWiki(WikiCycles):
    """One wiki of an open workspace, as ``triggers.WatchedWork`` wants it."""

    def __init__(
        self,
        opened: OpenWorkspace,
        section: WikiSection,
        client: Client,
        *,
        uploads_new: bool = False,
    ) -> None:
        """Make it; ``uploads_new`` asks a first sync for pages that are only here."""
        super().__init__(opened, section, client, CycleOptions())
        self._uploads_new = uploads_new
        self._history = WikiHistory(client, section.owner)
        self._noted_at = client.now()
        self._active: RemoteHint | None = None
        """The last hint that is no commit."""
        self._etag: str | None = None
        self._saved: set[str] | None = None
        """Files in the folder that were saved since the last cycle; None where
        anything may have happened to it."""
        self._news: ScanScope | None = None
        """The widest scope that was noted since the last cycle began."""
        self._has_rest = False
        """Whether the last cycle left pages to the next one."""
        self._named: set[Slug] = set()
        """Pages that webhooks named since the last scan of the wiki."""

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

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        """Remember files of the folder, or pages of the wiki, for the next cycle."""
        self._news = max(self._news or scope, scope)
        if scope is ScanScope.WIKI and len(self._named) < NAMED_MAX:
            self._named.update(map(Slug, paths or ()))
        if scope is ScanScope.FOLDER and self._saved is not None:
            saved = self._saved.union(paths or ())
            is_known = paths is not None and len(saved) <= SAVED_MAX
            self._saved = saved if is_known else None

    def is_awaited(self) -> bool:
        """Whether a file was saved, or a full scan requested, since the cycle began."""
        # news of the wiki do not count: they also report what this cycle itself sends
        is_full = self._news is ScanScope.EVERYTHING
        self._has_rest |= is_full or self._saved != set()
        return self._has_rest

    def _outcome(self, result: CycleResult) -> CycleOutcome:
        self.synced.results = [result]
        trouble = result.problems[0] if result.problems else None
        return CycleOutcome(
            is_quiet=result.is_quiet,
            has_more=result.has_more,
            has_rest=self._has_rest,
            next_scan_s=result.next_scan_s,
            needs_person=any(sentences(self.synced)),
            problem=str(trouble) if trouble else "",
            hint=trouble.hint if trouble else "",
            open_here=some_of(result.plan.open_here),
        )

    async def _exchange(self, scope: ScanScope) -> CycleResult:
        """Scan of each side what may have changed there, and carry it over."""
        if self._wiki is not None and scope is ScanScope.EVERYTHING:
            found = await find_wiki(self._opened.state, self._client, self.section)
            before = self._wiki.found
            is_same = (found.owner, found.id) == (before.owner, before.id)
            self._wiki = replace(self._wiki, found=found) if is_same else None
            self.synced.notes, self.synced.warnings = found.notes, found.warnings
        wiki = await self._connected()
        if self._uploads_new:
            wiki.known.remember(left_out=None)
        self._opened.refuse_lost(self.section)
        had_rest, self._has_rest = self._has_rest, False
        if had_rest:
            # the wiki is scanned once all is sent, unless there is news of it
            scope = self._news or ScanScope.FOLDER
        self._news = None
        saved, self._saved = self._saved, set()
        if scope is ScanScope.EVERYTHING or not self.synced.results:
            saved = None
        wiki.remote.is_remembering = scope is ScanScope.FOLDER
        wiki.remote.keeps_files = saved is not None
        named = frozenset(() if scope is ScanScope.FOLDER else self._named)
        wiki.replica.awaited = named
        try:
            self.synced.has_other_folder = False
            files = None if saved is None else frozenset(saved)
            result = await self._met(wiki, replace(self.options, saved=files))
        except BaseException:
            self._saved = None
            raise
        else:
            self._named -= named
            self._noted_at = self._client.now()
            return replace(result, has_more=result.has_more or had_rest)
        finally:
            wiki.remote.is_remembering = wiki.remote.keeps_files = False

    async def _begin(self, wiki: SyncedWiki) -> None:
        """See the folder before the first scan: what differs later came after it."""
        await asyncio.to_thread(wiki.index.saved_since)

    async def scan(self) -> bool:
        """Whether the folder differs from what the look before saw."""
        # or whether a program wrote to a file that was replaced: no event reports that
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
        self.note(ScanScope.FOLDER, None if is_late else saved)
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
        project = found.id if found else owner.full_path
        try:
            polled = await self._client.poll_project(project, self._etag)
        except (NotFound, PermissionDenied):
            return None
        if polled is None:
            return self._active
        record, etag = polled
        if record.last_activity_at is None:
            return None
        self._active = RemoteHint(record.last_activity_at)
        self._etag = etag
        return self._active


# -- lists of several wikis --------------------------------------------------------


PARTS = (20, 100)
"""Projects asked for: first as many as are active between two requests in a busy group,
and as many as the service gives where these are all new."""


class ActiveProjects:
    """The projects of a group and of its subgroups in which something happened.

    Every edit of a wiki is activity (a push by git a moment later), and so is much
    else: a project on the list is only a reason to ask for its wiki's newest commit.
    """

    def __init__(
        self, client: Client, group: str, wikis: Sequence[WatchedWiki] = ()
    ) -> None:
        self._list = client.active_projects
        self._group = group
        self.name = f"the list of active projects of {group}"
        self._wikis = wikis
        self._times: Mapping[int, str] | None = None
        """Of the projects that were among the first; None before the first list."""
        self._etag: str | None = None

    @property
    def wikis(self) -> Collection[str]:
        """Those of this watch whose project is in the group now."""
        return [wiki.name for wiki in self._in_group()]

    async def active(self) -> Collection[str]:
        """Those in which something happened since this was asked before."""
        changed = await self.changed()
        return [
            wiki.name
            for wiki in self._in_group()
            if changed is None or wiki.project_id in changed
        ]

    def _in_group(self) -> Sequence[WatchedWiki]:
        below = f"{self._group}/".casefold()
        return [one for one in self._wikis if one.path.casefold().startswith(below)]

    async def changed(self) -> frozenset[int] | None:
        """The ids of the projects with activity since this was asked before.

        None where there were too many; empty for the first list, or RemoteError.
        """
        first, before = await self._list(self._group, PARTS[0], self._etag), self._times
        if first is None:
            return frozenset()
        last = first
        if before is not None and first.may_lack_changes(before):
            last = await self._list(self._group, PARTS[1]) or first
        # both requests came through: else all of it is asked for again
        self._etag, self._times = first.etag, {**(before or {}), **last.times}
        if before is None:
            return frozenset()
        if last.may_lack_changes(before):
            return None
        return frozenset(number for number, _ in last.times.items() - before.items())


def lists_of(client: Client, wikis: Sequence[WatchedWiki]) -> list[ActiveProjects]:
    """A list for the projects of each top group, from its first common subgroup on."""
    by_top: dict[str, list[WatchedWiki]] = {}
    for wiki in wikis:
        if wiki.section.kind == "project":
            by_top.setdefault(wiki.path.partition("/")[0].casefold(), []).append(wiki)
    return [
        ActiveProjects(client, _common_group(several), several)
        for several in by_top.values()
        if len(several) >= WIKIS_MIN
    ]


def _common_group(wikis: Sequence[WatchedWiki]) -> str:
    """The smallest group that has all these wikis' projects, or subgroups of it."""
    groups = [wiki.path.split("/")[:-1] for wiki in wikis]
    levels = zip(*groups, strict=False)
    same = takewhile(lambda names: len(set(map(str.casefold, names))) == 1, levels)
    return "/".join(names[0] for names in same)
