"""What a person decides about a workspace in its preview, by the commands' functions.

Each question opens the workspace anew, also while a watch holds it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct

from wikisync.api.budget import shown_time
from wikisync.config.sections import WikiSection
from wikisync.core.layout import HEALTH_FILE, PRIVATE_FOLDER, STATE_FILE
from wikisync.core.model import Slug, WikiOwner, digest_of
from wikisync.core.system.file_status import status_at
from wikisync.errors import FolderError, NotFound, PreconditionFailed, UsageError
from wikisync.folder.workspace import holder_of
from wikisync.merging.conflict import Piece, has_marker
from wikisync.site.history import difference, shown_versions
from wikisync.site.preview import states
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.decide.safety import Batch, Decision, decide
from wikisync.workspace import restoring
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.failures import Condition
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.resolving import pieces_of, settle
from wikisync.workspace.sentences import local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.status import Difference, headline, rows, scan

TEXTS_MAX = 50
_AWAY: Mapping[str, str] = {
    Condition.LIMITED.value: "service limits requests",
    Condition.REFUSED.value: "service rejects the token",
}
_COUNTED: Mapping[states.StateName, str] = {
    "changed": "changed here",
    "waiting": "on the way",
    "held": "held",
}
_IN_REACH = frozenset(
    one.value
    for one in (
        Condition.IN_SYNC,
        Condition.SYNCING,
        Condition.PARTLY,
        Condition.OPEN,
        Condition.NEEDS_PERSON,
    )
)
"""Conditions in which the watch knows of all pages of the wiki."""


def note_decision(known: WikiState, batch: Batch, decision: Decision) -> None:
    """Note what a person says about a batch, for the next cycle."""
    with known.together():
        known.record_batches(decide(known.memory.batches, batch.id, decision))
        known.note(time.time(), NO_SLUG, f"{decision} by the user: {batch}")


class WorkspaceDecisions(Struct, frozen=True):
    """What a person decides about one workspace."""

    root: Path
    credentials: Credentials
    """For the history of the wiki, which the service has."""
    health: Callable[[], Mapping[str, Any]] = dict
    """That of a watch that runs, or empty."""

    @contextmanager
    def _opened(
        self, owner: WikiOwner, *, is_held: bool = False, is_read_only: bool = False
    ) -> Iterator[tuple[OpenWorkspace, WikiSection]]:
        workspace = find_workspace(self.root)
        section = next(
            (one for one in workspace.config.wikis if one.owner == owner), None
        )
        if section is None:
            raise NotFound(f"{owner} is no wiki of the workspace any more")
        with open_workspace(
            workspace, is_held=is_held, is_read_only=is_read_only
        ) as opened:
            yield opened, section

    def stamp(self) -> object:
        """Another one where the state is, or what a watch says of itself."""
        private, holder = self.root / PRIVATE_FOLDER, None
        with suppress(FolderError):
            holder = holder_of(private)
        names = (STATE_FILE, f"{STATE_FILE}-wal", HEALTH_FILE)
        found = [status_at(private / name) for name in names]
        # of the log, root's SQLite sets the owner anew whenever it looks at it
        return holder, [one and (one.size, one.mtime_ns, one.inode) for one in found]

    def sync_status(self, owner: WikiOwner) -> states.SyncStatus:
        """How a wiki stands, as ``status`` and the watch that runs have it."""
        with self._opened(owner, is_read_only=True) as (opened, section):
            status = asyncio.run(scan(opened, section, None))
            known = opened.known(section)
            conflicts = known.conflict_files()
            files = known.files()
        watch = self._watched(section)
        of_batches = {one.slug for batch in status.batches for one in batch.members}
        found = [
            states.Waiting(
                row.sentence,
                files.get(row.slug, row.slug) if row.slug else "",
                row.slug in conflicts,
                row.batch.id if row.batch else 0,
                tuple(one.slug for one in row.batch.members) if row.batch else (),
            )
            for row in rows(status)
            # the batch names its pages
            if row.slug is None or row.slug not in of_batches
        ]
        pages = {
            files.get(one.slug, one.slug): _page_status(one, watch)
            for one in status.differences
        }
        held = states.PageStatus("held", "waits for approval")
        pages |= {files.get(slug, slug): held for slug in of_batches}
        if watch is None:
            at, usual = status.health.last_good_at, states.PageStatus("same")
            line = "never synced" if at is None else f"last sync {shown_time(at)}"
        else:
            line = watch.note
            usual = watch if watch.state == "away" else states.PageStatus(watch.state)
        counts = Counter(one.state for one in pages.values())
        if counts and usual.state != "away":
            line = ", ".join(
                f"{counts[one]} {words}"
                for one, words in _COUNTED.items()
                if counts[one]
            )
        return states.SyncStatus(line, usual, pages, headline(status), found)

    def _watched(self, section: WikiSection) -> states.PageStatus | None:
        """A page that nothing waits for, as the watch knows it; None without one."""
        health = self.health()
        wikis = health.get("wikis", ())
        wiki = next((one for one in wikis if one["folder"] == section.folder), None)
        if wiki is None:
            return None
        service, condition = health["service"], wiki["condition"]
        if service["problem"]:
            why = _AWAY.get(service["condition"], "service away")
            return states.PageStatus(
                "away", f"{why} since {shown_time(service['since'])}"
            )
        return states.PageStatus(
            "synced" if condition in _IN_REACH else "same", condition
        )

    def decide(self, owner: WikiOwner, batch: int, *, is_approved: bool) -> str:
        """Approve or refuse what a safety stop holds; NotFound where none waits."""
        decision = Decision.APPROVED if is_approved else Decision.REFUSED
        with self._opened(owner) as (opened, section):
            known = opened.known(section)
            waits = {
                one.id: one
                for one in known.memory.batches
                if one.decision is Decision.WAITING
            }
            if batch not in waits:
                raise NotFound(f"no batch {batch} is waiting for approval")
            note_decision(known, waits[batch], decision)
        return f"{decision}; {self._when()}"

    def _when(self) -> str:
        holder = holder_of(find_workspace(self.root).private)
        return f"the {'running watch' if holder else 'next sync'} applies it"

    def pieces(self, owner: WikiOwner, slug: Slug) -> Sequence[Piece]:
        """A page with its clashes, as far as its conflict file is settled already."""
        with self._opened(owner, is_read_only=True) as (opened, section):
            page = opened.page_of(section, slug)
            if page not in opened.known(section).conflict_files():
                return ()
            return asyncio.run(pieces_of(opened, section, page))

    def settle(self, owner: WikiOwner, slug: Slug, text: str, seen: str) -> str:
        """Make the text the page, as ``resolve``; PreconditionFailed if it moved."""
        if has_marker(text):
            raise UsageError("the text has marker lines", hint="remove them")
        holder = holder_of(find_workspace(self.root).private)
        with self._opened(owner, is_held=holder is None) as (opened, section):
            page = opened.page_of(section, slug)
            known = opened.known(section)
            is_there = page in known.conflict_files()
            now = asyncio.run(pieces_of(opened, section, page)) if is_there else ()
            if not is_there or states.digest_of_pieces(now) != seen:
                raise PreconditionFailed(
                    f"the conflict of {slug} is another one by now",
                    hint="open it again",
                )
            asyncio.run(settle(opened, section, page, text, holder=holder))
            known.note(time.time(), page, f"resolve {page} in the preview")
        return self._when()

    def earlier(
        self, owner: WikiOwner, slug: Slug, *, of_wiki: bool
    ) -> Sequence[states.EarlierText]:
        """The texts that a page had, the newest first."""
        with self._opened(owner, is_read_only=not of_wiki) as (opened, section):
            if of_wiki:
                return self._of_wiki(opened, section, opened.page_of(section, slug))
            page, _ = asyncio.run(restoring.find_page(opened, section, slug))
            found = restoring.versions_of(opened, section, page)[: TEXTS_MAX + 1]
        shown, texts = [], [one.text.splitlines() for one in found]
        pairs = list(zip_longest(found, texts, texts[1:]))
        for one, now, was in pairs[:TEXTS_MAX]:
            shows = ("", False) if was is None else difference(was, now)[:2]
            until = "the last sync" if one.at is None else f"until {local_time(one.at)}"
            where = "" if one.at is None else one.where
            shown.append(states.EarlierText(_id(one), until, where, *shows))
        return shown

    def _of_wiki(
        self, opened: OpenWorkspace, section: WikiSection, page: Slug
    ) -> Sequence[states.EarlierText]:
        reading = restoring.read_revisions(opened, section, page, self.credentials)
        found = asyncio.run(reading)
        shown = shown_versions(found.rows[: TEXTS_MAX + 1], TEXTS_MAX, found.texts)
        return [
            states.EarlierText(
                row.commit,
                local_time(row.at),
                " ".join(filter(None, (row.kind, row.author and f"by {row.author}"))),
                one.html,
                one.is_cut,
            )
            for row, one in zip(found.rows, shown, strict=False)
        ]

    def restore(self, owner: WikiOwner, slug: Slug, text_id: str) -> None:
        """Make an earlier text the page, as ``restore`` does; the other is kept."""
        with self._opened(owner) as (opened, section):
            known = opened.known(section)
            page, current = asyncio.run(restoring.find_page(opened, section, slug))
            found = restoring.versions_of(opened, section, page)
            chosen = next((one for one in found if _id(one) == text_id), None)
            if chosen is None:
                wanted = opened, section, page, text_id, self.credentials
                chosen = asyncio.run(restoring.read_revision(*wanted))
            if has_marker(chosen.text):
                raise UsageError("the text is of a conflict file with marker lines")
            local = opened.local(section)
            asyncio.run(restoring.bring_back(local, known, page, chosen, current))


def _page_status(one: Difference, watch: states.PageStatus | None) -> states.PageStatus:
    """How far a page is that is not in sync."""
    reason = one.sentence.partition(";")[0]
    if one.side == "held":
        return states.PageStatus("held", reason)
    if watch is None:
        return states.PageStatus("changed")
    if watch.state == "away":
        return states.PageStatus("waiting", watch.note)
    return states.PageStatus("waiting", reason if one.side == "waiting" else "")


def _id(version: restoring.Version) -> str:
    return str(digest_of(version.text.encode("utf-8", "surrogatepass")))
