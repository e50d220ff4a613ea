"""From the wiki to the folder: texts, merges, renames, removals; and what is equal.

Readers hand pages to one writer, which writes them in batches: a batch and its record
in the base are one unit that an interrupt waits for.  What is replaced or removed here
is kept first.  One page that fails becomes a problem; a full disk, a refused token or a
service that stays away ends the cycle.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeAlias

from msgspec.structs import replace

from wikisync import errors
from wikisync.core.model import Digest, Page, Slug, Snapshot
from wikisync.core.system.parallel import each, plain_errors
from wikisync.merging.metadata import with_front_matter
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.decided import MergedPage, with_line_ends_of
from wikisync.sync.decide.ledger import Agreed, Intent, LogEntry, WriteKind, packed_text
from wikisync.sync.run.intents import rebase
from wikisync.sync.run.parts import UNAGREED, Cycle, finish, is_disk_error

log = logging.getLogger(__name__)

BATCH_PAGES = 256
BATCH_CHARS = 8 * 1024 * 1024
"""A batch is written when it has this many pages or this much text."""
UNAVAILABLE_MAX = 5


_Fetched: TypeAlias = tuple[Page, Digest | None]
"""A page on its way from the wiki to the folder, and what it replaces."""


async def pull_pages(
    cycle: Cycle, plan: plans.Plan, here: Snapshot, there: Snapshot
) -> None:
    """Write what the wiki created and edited, and record what is equal already."""
    lost, pulls = cycle.tally.lost_names, _Pulls(cycle, here, there)
    left = plans.Plan(tuple(a for a in plan.actions if a.slug not in lost))
    await pulls.write_pages(left)
    adopted = [a for a in left.actions if isinstance(a, plans.Adopt)]
    for start in range(0, len(adopted), BATCH_PAGES):
        batch = adopted[start : start + BATCH_PAGES]
        agreed = [await pulls.agreed(action) for action in batch]
        cycle.state.record(filter(None, agreed))


class _Pulls:
    def __init__(self, cycle: Cycle, here: Snapshot, there: Snapshot) -> None:
        self._cycle = cycle
        self._state, self._tally = cycle.state, cycle.tally
        self._here = here
        self._there = there
        self._failures_in_row = 0
        self._keeping: dict[Slug, int] = {}
        """Numbers of texts that are kept because they are about to be replaced."""

    # -- pages from the wiki to the folder ---------------------------------------

    async def write_pages(self, plan: plans.Plan) -> None:
        if not plan.writes:
            return
        self._cycle.progress.start("pages", len(plan.writes))
        queue: asyncio.Queue[_Fetched | None] = asyncio.Queue(
            self._cycle.options.reads_max
        )
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_pages(plan.writes, queue))
                group.create_task(self._write_batches(queue))

    async def _read_pages(
        self, writes: tuple[plans.Write, ...], queue: asyncio.Queue[_Fetched | None]
    ) -> None:
        # The queue holds as many pages as reads are in flight: a slow disk holds the
        # readers up, so that few texts are in memory.
        async def read(action: plans.Write) -> None:
            page = self._there.texts.get(action.slug) or await self._read(action.slug)
            if page is not None:
                expected = action.local if isinstance(action, plans.Pull) else None
                await queue.put((page, expected))

        await each(writes, read, in_flight=self._cycle.options.reads_max)
        await queue.put(None)

    async def _read(self, slug: Slug) -> Page | None:
        try:
            page = await self._cycle.remote.read(slug)
        except (errors.AuthenticationFailed, errors.RateLimited):
            raise
        except errors.Unavailable as error:
            self._failures_in_row += 1
            if self._failures_in_row >= UNAVAILABLE_MAX:
                raise
            self._tally.add("page-unavailable", slug, error.message, "run it again")
            return None
        except errors.NotFound as error:
            self._tally.supersede(slug, error)
            return None
        except errors.RemoteError as error:
            self._tally.fail("page-unreadable", slug, error)
            return None
        self._failures_in_row = 0
        return page

    async def _write_batches(self, queue: asyncio.Queue[_Fetched | None]) -> None:
        batch: list[_Fetched] = []
        chars = 0
        while (fetched := await queue.get()) is not None:
            batch.append(fetched)
            chars += len(fetched[0].content)
            if len(batch) >= BATCH_PAGES or chars >= BATCH_CHARS:
                await finish(self._write_batch(batch))
                batch, chars = [], 0
        await finish(self._write_batch(batch))

    async def _write_batch(self, batch: list[_Fetched]) -> None:
        pages = [
            (page if old is None else await self._kept(page, old), old)
            for page, old in batch
        ]
        texts = [page.content for page, _ in batch]
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._cycle.local.write_pages(pages))
                packing = group.create_task(
                    asyncio.to_thread(lambda: list(map(packed_text, texts)))
                )
        agreed: list[Agreed] = []
        for (page, _), result, text in zip(
            batch, writing.result(), packing.result(), strict=True
        ):
            if isinstance(result, Page):
                log.info("pulled %s", page.slug)
                there = self._there.pages.get(page.slug)
                base = plans.BasePage.agreed(page, local=result.digest, there=there)
                agreed.append(Agreed(base, *text))
            elif isinstance(result, errors.PreconditionFailed):
                self._tally.supersede(page.slug, result)
            else:
                self._tally.fail("page-unwritable", page.slug, result)
        # ``agreed`` has the pages whose files were written and nothing else: a page
        # that failed keeps its record, and the next cycle finds the same difference.
        slugs = [one.page.slug for one in agreed]
        kept = [self._keeping[slug] for slug in slugs if slug in self._keeping]
        self._state.record(agreed, is_step=True)
        self._state.confirm_replaced(kept)
        self._tally.pulled += slugs
        self._cycle.progress.advance(len(agreed))

    async def _kept(self, page: Page, expected: Digest) -> Page:
        """Keep what is about to be replaced; give the new text the file's form."""
        mine = await self._cycle.page_here(page.slug)
        if mine is None or mine.digest != expected:
            return page  # the write will not replace it, and it is not to be kept
        content = page.content
        if page.format in self._state.memory.capabilities.strips_front_matter_of:
            content = with_front_matter(content, mine.content)
        content = with_line_ends_of(content, mine.content)
        self._keeping[page.slug] = self._state.remember_replaced(
            page.slug, mine.content, content, self._cycle.clock()
        )
        return Page(page.slug, page.format, content, page.title)

    # -- the base alone ----------------------------------------------------------

    async def agreed(self, action: plans.Adopt) -> Agreed | None:
        """What both sides hold; None where it changed on both meanwhile."""
        page = self._there.texts.get(action.slug)
        if page is None:
            page = await self._read_equal(action)
        if page is None:
            return None
        agreed = plans.BasePage.agreed(
            replace(page, slug=action.slug, format=action.format),
            local=action.local,
            remote=action.remote,
            here=self._here.pages.get(action.slug),
            there=self._there.pages.get(action.slug),
        )
        return Agreed.of(agreed, page.content)

    async def _read_equal(self, action: plans.Adopt) -> Page | None:
        """The text that both sides held, from the side that still has it."""
        # a text of one side alone would be the ancestor that makes the other side win
        with suppress(errors.NotFound, errors.FolderError):
            page = await self._cycle.local.read(action.slug)
            if page.digest == action.local:
                return page
        try:
            page = await self._cycle.remote.read(action.slug)
        except errors.NotFound as error:
            self._tally.supersede(action.slug, error)
            return None
        if page.digest == action.remote:
            return page
        self._tally.supersede(
            action.slug, errors.PreconditionFailed("it was saved meanwhile")
        )
        return None


STALE_SAVE = (
    "saved over an older text: the wiki's newer edits are kept; save again to remove"
    " them"
)
"""Said of a save that seems to be of a window which was not loaded anew."""


async def remove_here(cycle: Cycle, action: plans.DeleteLocal) -> None:
    """Move a page's file to the trash."""
    await _is_done(cycle, action.slug, _remove(cycle, action))


async def _remove(cycle: Cycle, action: plans.DeleteLocal) -> None:
    await cycle.local.delete(action.slug, expected=action.local)
    cycle.state.record(dropped=[action.slug], is_step=True)
    cycle.note_done(action, action.slug)
    cycle.tally.removed.append(action.slug)


async def move_here(cycle: Cycle, action: plans.MoveLocal | plans.Rebind) -> None:
    """Rename a file as its page was renamed, or only its record."""
    given = None
    if isinstance(action, plans.Rebind):
        given = cycle.tally.given_names.get(action.target)
    if given is None and action.target in cycle.tally.lost_names:
        return  # a rename on the wiki was to give it that name, and failed
    move = _move(cycle, action, given or action.target)
    if not await _is_done(cycle, action.slug, move):
        cycle.tally.lost_names.add(action.target)


async def _move(
    cycle: Cycle, action: plans.MoveLocal | plans.Rebind, given: Slug
) -> None:
    record = action.slug
    if isinstance(action, plans.MoveLocal):
        record = action.record
        await cycle.local.move(action.slug, action.target, expected=action.local)
    if given != action.target:
        await cycle.remote.read(given)  # it may be where it was
    # The file has its new name.  If the process ends before the record has it, the next
    # cycle matches the two again: both sides have the page under one name.
    with cycle.state.together():
        if given != action.target:
            cycle.state.record_alias(action.target, given)
        elif isinstance(action, plans.Rebind) and action.file is not None:
            cycle.state.keep_file(action.file, given)
        if given != record:
            is_step = isinstance(action, plans.MoveLocal)
            cycle.state.record(renamed={record: given}, is_step=is_step)
        cycle.note_done(action, action.slug)
    cycle.tally.renamed.append(given)


async def rebase_here(cycle: Cycle, action: plans.Rebase, there: Snapshot) -> None:
    """Take the wiki's older text as agreed on: what the folder has is an edit of it."""
    known = cycle.state.text(action.slug) or ""
    try:
        page = await cycle.remote_page(
            action.there, there, known=known, expected=action.remote
        )
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(action.slug, error)
    except (errors.AuthenticationFailed, errors.RateLimited):
        raise
    except errors.RemoteError as error:
        cycle.tally.fail("page-unreadable", action.slug, error)
    else:
        await _is_done(cycle, action.slug, _rebase(cycle, action, page.content))


async def _rebase(cycle: Cycle, action: plans.Rebase, text: str) -> None:
    # the push replaces it, and the wiki's history is not at hand here
    await cycle.local.keep(action.slug, text, UNAGREED, is_again=True)
    intent = Intent(
        WriteKind.REBASE,
        action.slug,
        format=action.format,
        before=action.remote,
        text=text,
        at=cycle.clock(),
    )
    with cycle.state.together():
        rebase(cycle.state, intent)
        cycle.note_done(action, action.slug)


async def merge_here(cycle: Cycle, action: plans.Merge, merged: MergedPage) -> None:
    """Write a clean merge here, and take the wiki's text as agreed on."""
    if action.slug not in cycle.tally.lost_names:
        await _is_done(cycle, action.slug, _merge(cycle, action, merged))


async def _merge(cycle: Cycle, action: plans.Merge, merged: MergedPage) -> None:
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
        at=cycle.clock(),
    )
    number = kept = 0
    if text != merged.local.content or action.format is not merged.local.format:
        with cycle.state.together():
            number = cycle.state.begin(intent)
            kept = cycle.state.remember_replaced(
                action.slug,
                merged.local.content,
                text,
                cycle.clock(),
                is_stale=merged.stale is not None,
                is_contained=merged.stale is None,
            )
        try:
            await cycle.local.write(page, expected=action.local)
        except (errors.PreconditionFailed, errors.FolderError):
            cycle.state.settle(number)
            raise
    # At this point the file holds the merged text.  The wiki's text that went into it
    # counts as agreed on, so what the file has beyond it is an edit made here.
    with cycle.state.together():
        rebase(cycle.state, intent)
        if number:
            cycle.state.settle(number)
            cycle.state.confirm_replaced([kept])
        if merged.stale is None:
            cycle.note_done(action, action.slug)
        else:
            log.warning("%s: %s", action.slug, STALE_SAVE)
            now = cycle.clock()
            entry = LogEntry(now, action.slug, STALE_SAVE, is_warning=True)
            cycle.state.note(entry)
    cycle.tally.merged.append(action.slug)


async def _is_done(cycle: Cycle, slug: Slug, work: Coroutine[None, None, None]) -> bool:
    """Do it, and say so where the page changed meanwhile, or cannot be written."""
    try:
        await finish(work)
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(slug, error)
    except errors.FolderError as error:
        if is_disk_error(error):
            raise
        cycle.tally.fail("page-unwritable", slug, error)
    else:
        return True
    return False
