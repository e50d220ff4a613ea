"""From the wiki to the folder, page by page: merge, rename, remove.

What is replaced here is kept in the ring of replaced texts first, what is removed
goes to the trash.  A merge is written here only; that it is pushed is the next
cycle's plan (``docs/sync.md`` "Merge").
"""

from __future__ import annotations

import logging

from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.model import Page, Slug
from wikisync.sync.decide.decided import Merged
from wikisync.sync.decide.ledger import Intent, LogEntry, Severity, WriteKind
from wikisync.sync.decide.plan import DeleteLocal, Merge, MoveLocal, Rebind
from wikisync.sync.run.flow import finish
from wikisync.sync.run.intents import rebase
from wikisync.sync.run.parts import Cycle
from wikisync.sync.run.pull import is_disk_error

log = logging.getLogger(__name__)

STALE_SAVE = (
    "saved over an older text: the wiki's newer edits are kept; save again to remove"
    " them"
)
"""Said of a save that looks like one of a window which was not loaded anew."""


class Arrivals:
    """Carries out what a plan wants of the folder."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle

    async def remove(self, action: DeleteLocal) -> None:
        """Move a page's file to the trash; a mirror has none."""
        if self._cycle.state.is_rewound:
            # the trash gives a text up after some weeks
            state, now = self._cycle.state, self._cycle.clock()
            text = state.text(action.slug) or ""
            state.remember_replaced(action.slug, text, "", now)
        try:
            await finish(self._remove(action))
        except PreconditionFailed as error:
            self._cycle.tally.supersede(action.slug, error)
        except FolderError as error:
            self._cycle.tally.fail("page-unwritable", action.slug, error)

    async def _remove(self, action: DeleteLocal) -> None:
        await self._cycle.local.delete(action.slug, expected=action.local)
        self._cycle.state.record(dropped=[action.slug], is_step=True)
        self._cycle.note_done(action, action.slug)
        self._cycle.tally.removed += 1

    async def move(self, action: MoveLocal | Rebind) -> None:
        """Rename a file as its page was renamed, or only its record."""
        given = None
        if isinstance(action, Rebind):
            given = self._cycle.tally.given_names.get(action.target)
        if given is None and action.target in self._cycle.tally.lost_names:
            return  # a rename on the wiki was to give it that name, and failed
        try:
            await finish(self._move(action, given or action.target))
        except (PreconditionFailed, NotFound) as error:
            self._cycle.tally.lost_names.add(action.target)
            self._cycle.tally.supersede(action.slug, error)
        except FolderError as error:
            self._cycle.tally.lost_names.add(action.target)
            self._fail(action.slug, error)

    async def _move(self, action: MoveLocal | Rebind, given: Slug) -> None:
        """Args: ``given`` is what the service calls the page, under its new name."""
        record = action.slug
        if isinstance(action, MoveLocal):
            record = action.record
            await self._cycle.local.move(
                action.slug, action.target, expected=action.local
            )
        if given != action.target:
            await self._cycle.remote.read(given)  # it may be where it was
        with self._cycle.state.together():
            if given != action.target:
                self._cycle.state.record_alias(action.target, given)
            elif isinstance(action, Rebind) and action.file is not None:
                self._cycle.state.keep_file(action.file, given)
            if given != record:
                is_step = isinstance(action, MoveLocal)
                self._cycle.state.record(renamed={record: given}, is_step=is_step)
            self._cycle.note_done(action, action.slug)
        self._cycle.tally.renamed += 1

    async def merge(self, action: Merge, merged: Merged) -> None:
        """Write a clean merge here, and take the wiki's text as agreed on."""
        if action.slug in self._cycle.tally.lost_names:
            return
        try:
            await finish(self._merge(action, merged))
        except (PreconditionFailed, NotFound) as error:
            self._cycle.tally.supersede(action.slug, error)
        except FolderError as error:
            self._fail(action.slug, error)

    async def _merge(self, action: Merge, merged: Merged) -> None:
        text = merged.result.text
        assert text is not None, "a clash is held, not merged"
        page = Page(action.slug, action.format, text)
        intent = Intent(
            WriteKind.REBASE,
            action.slug,
            format=merged.remote.format,
            before=action.remote,
            after=page.digest,
            text=merged.remote.content,
            at=self._cycle.clock(),
        )
        if text != merged.local.content or action.format is not merged.local.format:
            with self._cycle.state.together():
                number = self._cycle.state.begin(intent)
                kept = self._cycle.state.remember_replaced(
                    action.slug,
                    merged.local.content,
                    text,
                    self._cycle.clock(),
                    is_stale=merged.stale is not None,
                    is_contained=merged.stale is None,
                )
            try:
                await self._cycle.local.write(page, expected=action.local)
            except (PreconditionFailed, FolderError):
                self._cycle.state.settle(number)
                raise
        else:
            number = kept = 0
        with self._cycle.state.together():
            rebase(self._cycle.state, intent)
            if number:
                self._cycle.state.settle(number)
                self._cycle.state.confirm_replaced([kept])
            if merged.stale is None:
                self._cycle.note_done(action, action.slug)
            else:
                log.warning("%s: %s", action.slug, STALE_SAVE)
                now = self._cycle.clock()
                entry = LogEntry(now, Severity.WARNING, action.slug, STALE_SAVE)
                self._cycle.state.note(entry)
        self._cycle.tally.merged += 1

    def _fail(self, slug: str, error: FolderError) -> None:
        if is_disk_error(error):
            raise error
        self._cycle.tally.fail("page-unwritable", slug, error)
