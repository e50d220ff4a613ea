"""Saves that reached a file only after it had been replaced.

A program that had the file open writes into what came out of the swap
(``folder.limbo`` finds it there), once or for hours.  Such a save is an edit of the
text that the file held before, whatever became of the page since.
"""

from __future__ import annotations

from msgspec.structs import replace

from wikisync.core.model import Format, LateSave, Page, Problem, Slug, digest_of
from wikisync.errors import FolderError, NotFound, PreconditionFailed, command_line
from wikisync.merging.merge import merge
from wikisync.sync.decide.ledger import Agreed
from wikisync.sync.run.flow import is_disk_error, on_texts
from wikisync.sync.run.parts import Cycle

LATE_SAVE = (
    "a program kept writing to its file after the file was replaced; the program's text"
    " is in the trash"
)
IN_THE_TRASH = "written by a program while its file was replaced"
"""Why the text is in the trash."""


async def take_late_save(cycle: Cycle, late: LateSave) -> None:
    """Bring one save into its page, or into the trash, and say so.

    One that could not be taken is given again.

    Raises:
        FolderError: the disk takes no more.
    """
    try:
        if late.text is None:
            _warn(cycle, late.slug, "find it in .wikisync/trash")
        else:
            await _take(cycle, late, late.text)
        await cycle.local.acknowledge(late)
    except PreconditionFailed as error:
        cycle.tally.supersede(late.slug, error)
    except FolderError as error:
        if is_disk_error(error):
            raise
        cycle.tally.fail("page-unwritable", late.slug, error)


async def _take(cycle: Cycle, late: LateSave, text: str) -> None:
    slug, before = _edited(cycle, late)
    try:
        page = await cycle.local.read(slug)
    except NotFound:
        _remember(cycle, slug, text, text)
        known = cycle.state.base().get(slug)
        page = Page(slug, known.format if known else Format.MARKDOWN, text)
        await cycle.local.write(page, expected=None)
        cycle.tally.merged.append(slug)
        return
    if text == page.content:
        _remember(cycle, slug, text, text)
    elif before is None or not await _merge(cycle, page, before, text):
        await cycle.local.keep(slug, text, IN_THE_TRASH)
        _remember(cycle, slug, text, page.content)
        name = f"{cycle.local.name}/{slug}"
        _warn(cycle, slug, f"see it with: {command_line('restore', name, '--list')}")


def _edited(cycle: Cycle, late: LateSave) -> tuple[Slug, str | None]:
    """The page, by the name it has now, and the text that was edited, if known."""
    if late.before is None:
        return late.slug, None
    agreed = cycle.state.text(late.slug)
    if agreed is not None and digest_of(agreed) == late.before:
        return late.slug, agreed
    return cycle.state.replaced_text(late.slug, late.before) or (late.slug, None)


async def _merge(cycle: Cycle, page: Page, before: str, text: str) -> bool:
    """Bring both edits together; False where that is a person's to do.

    A page that nobody edited since is taken back to before we replaced its text,
    and the cycle decides about both edits as if it saw them for the first time.
    """
    known = cycle.state.base().get(page.slug)
    is_in_sync = known is not None and known.local == page.digest
    if not is_in_sync:
        late, now = text, page.content
        again = await on_texts(
            lambda: merge(before, late, now, page_format=page.format), late, now
        )
        if again.text is None:
            return False
        _remember(cycle, page.slug, text, again.text)
        text = again.text
    else:
        # a save from an old window may replace it before it is scanned
        _remember(cycle, page.slug, text, text)
    kept = _remember(cycle, page.slug, page.content, text)
    if known is not None and is_in_sync:
        # the earlier text is the agreed one again, and the base first: until the page
        # follows, both sides hold the same text
        digest = digest_of(before)
        earlier = replace(known, local=digest, remote=digest)
        cycle.state.record([Agreed.of(earlier, before)])
    await cycle.local.write(replace(page, content=text), expected=page.digest)
    cycle.state.confirm_replaced([kept])
    cycle.tally.merged.append(page.slug)
    return True


def _remember(cycle: Cycle, slug: Slug, old: str, new: str) -> int:
    """Know a text again, for the next save of the program is an edit of it."""
    return cycle.state.remember_replaced(slug, old, new, cycle.clock())


def _warn(cycle: Cycle, slug: Slug, step: str) -> None:
    # the cycle may come to nothing
    cycle.note_new({slug: LATE_SAVE})
    cycle.tally.warn(Problem("late-save", slug, LATE_SAVE, step, is_once=True))
