"""From the wiki to the folder: pull, merge, rename, remove; nothing without a copy.

What is replaced here is kept in the ring of replaced texts first, what is removed
goes to the trash.  A merge is written here only; that it is pushed is the next
cycle's plan (``docs/sync.md`` "Merge").
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.model import Digest, Page, Slug, Snapshot
from wikisync.progress import Progress
from wikisync.sync.apply import Apply, is_disk_error
from wikisync.sync.echo import with_front_matter, with_line_ends_of
from wikisync.sync.flow import finish
from wikisync.sync.intents import rebase
from wikisync.sync.ledger import Event, Intent, Level, Operation
from wikisync.sync.merging import Merged
from wikisync.sync.plan import DeleteLocal, Merge, MoveLocal, Plan, Rebind, describe
from wikisync.sync.replica import LocalReplica, RemoteReplica
from wikisync.sync.state import WikiState
from wikisync.sync.tally import Tally

log = logging.getLogger(__name__)

STALE_SAVE = (
    "saved over an older text: the wiki's newer edits are kept; save again to remove"
    " them"
)
"""Said of a save that looks like one of a window which was not loaded anew."""


class Arrivals:
    """Carries out what a plan wants of the folder."""

    def __init__(
        self,
        remote: RemoteReplica,
        local: LocalReplica,
        state: WikiState,
        *,
        there: Snapshot,
        tally: Tally,
        clock: Callable[[], float],
        progress: Progress,
        reads_max: int,
    ) -> None:
        """Args: ``there`` is the look at the wiki that the plan was made on."""
        self._remote = remote
        self._local = local
        self._state = state
        self._there = there
        self._tally = tally
        self._clock = clock
        self._keeping: dict[Slug, int] = {}
        """Numbers of texts that are kept because they are about to be replaced."""
        self._apply = Apply(
            remote,
            local,
            state,
            seen=there,
            progress=progress,
            reads_max=reads_max,
            prepare=self._prepare,
        )

    async def run_writes(self, plan: Plan) -> None:
        """Write what the wiki created and edited, and note what is equal already.

        Raises:
            FolderError: the disk takes no more.
            RemoteError: the service is gone, or refuses the token.
        """
        lost = self._tally.lost_names
        allowed = plan.turned(lambda a: None if a.slug in lost else a)
        await self._apply.write_pages(allowed)
        written = self._apply.outcome.slugs
        self._state.confirm_replaced(
            [self._keeping[slug] for slug in written if slug in self._keeping]
        )
        await self._apply.record_equal_pages(allowed)
        self._tally.pulled += self._apply.outcome.written
        self._take_problems()

    async def remove(self, action: DeleteLocal) -> None:
        """Move a page's file to the trash."""
        if self._state.is_rewound:
            # the trash gives a text up after some weeks
            text = self._state.text(action.slug) or ""
            self._state.remember_replaced(action.slug, text, "", self._clock())
        before = self._apply.outcome.removed
        await self._apply.remove_pages((action,))
        if self._apply.outcome.removed > before:
            self._note(action)
            self._tally.removed += 1
        self._take_problems()

    async def move(self, action: MoveLocal | Rebind) -> None:
        """Rename a file as its page was renamed, or only its record."""
        given = None
        if isinstance(action, Rebind):
            given = self._tally.given_names.get(action.target)
        if given is None and action.target in self._tally.lost_names:
            return  # a rename on the wiki was to give it that name, and failed
        try:
            await finish(self._move(action, given or action.target))
        except (PreconditionFailed, NotFound) as error:
            self._tally.lost_names.add(action.target)
            log.info("decide anew about %s: %s", action.slug, error.message)
            self._tally.overtaken += 1
        except FolderError as error:
            self._tally.lost_names.add(action.target)
            self._fail(action.slug, error)

    async def _move(self, action: MoveLocal | Rebind, given: Slug) -> None:
        """Args: ``given`` is what the service calls the page, under its new name."""
        record = action.slug
        if isinstance(action, MoveLocal):
            record = action.record
            await self._local.move(action.slug, action.target, expected=action.local)
        if given != action.target:
            await self._remote.read(given)  # it may be where it was
        with self._state.together():
            if given != action.target:
                self._state.record_alias(action.target, given)
            elif isinstance(action, Rebind) and action.file is not None:
                self._state.keep_file(action.file, given)
            if given != record:
                is_step = isinstance(action, MoveLocal)
                self._state.record(renamed={record: given}, is_step=is_step)
            self._note(action)
        self._tally.renamed += 1

    async def merge(self, action: Merge, merged: Merged) -> None:
        """Write a clean merge here, and take the wiki's text as agreed on."""
        if action.slug in self._tally.lost_names:
            return
        try:
            await finish(self._merge(action, merged))
        except (PreconditionFailed, NotFound) as error:
            log.info("decide anew about %s: %s", action.slug, error.message)
            self._tally.overtaken += 1
        except FolderError as error:
            self._fail(action.slug, error)

    async def _merge(self, action: Merge, merged: Merged) -> None:
        text = merged.result.text
        assert text is not None, "a clash is held, not merged"
        page = Page(action.slug, action.format, text)
        intent = Intent(
            Operation.REBASE,
            action.slug,
            format=merged.remote.format,
            before=action.remote,
            after=page.digest,
            text=merged.remote.content,
            at=self._clock(),
        )
        if text != merged.local.content or action.format is not merged.local.format:
            with self._state.together():
                number = self._state.begin(intent)
                kept = self._state.remember_replaced(
                    action.slug,
                    merged.local.content,
                    text,
                    self._clock(),
                    is_stale=merged.stale is not None,
                    is_contained=merged.stale is None,
                )
            try:
                await self._local.write(page, expected=action.local)
            except (PreconditionFailed, FolderError):
                self._state.settle(number)
                raise
        else:
            number = kept = 0
        with self._state.together():
            rebase(self._state, intent)
            if number:
                self._state.settle(number)
                self._state.confirm_replaced([kept])
            if merged.stale is None:
                self._note(action)
            else:
                log.warning("%s: %s", action.slug, STALE_SAVE)
                self._state.note(
                    Event(self._clock(), Level.WARNING, action.slug, STALE_SAVE)
                )
        self._tally.merged += 1

    async def _prepare(self, page: Page, expected: Digest) -> Page:
        """Keep what is about to be replaced; give the new text the file's form."""
        try:
            mine = await self._local.read(page.slug)
        except (NotFound, FolderError):
            return page  # the write says what is wrong
        if mine.digest != expected:
            return page  # nor will the write replace it, and it is not to be kept
        content = page.content
        if page.format in self._state.capabilities().strips_front_matter_of:
            content = with_front_matter(content, mine.content)
        content = with_line_ends_of(content, mine.content)
        self._keeping[page.slug] = self._state.remember_replaced(
            page.slug, mine.content, content, self._clock()
        )
        return Page(page.slug, page.format, content, page.title)

    def _note(self, action: Merge | MoveLocal | Rebind | DeleteLocal) -> None:
        log.info("%s", describe(action))
        self._state.note_done(self._clock(), action.slug, describe(action))

    def _fail(self, slug: str, error: FolderError) -> None:
        if is_disk_error(error):
            raise error
        self._tally.fail("page-unwritable", slug, error.message, error.hint)

    def _take_problems(self) -> None:
        """Tell pages that changed meanwhile from those that are in trouble."""
        problems, self._apply.outcome.problems = self._apply.outcome.problems, []
        overtaken = [one for one in problems if one.code in _OVERTAKEN]
        self._tally.overtaken += len(overtaken)
        self._tally.problems += [one for one in problems if one not in overtaken]


_OVERTAKEN = {"page-changed", "page-missing"}
"""What the next cycle sees for itself."""
