"""From the wiki to the folder, page by page: merge, rename, remove.

What is replaced here is kept in the ring of replaced texts first, what is removed
goes to the trash.  A merge is written here only; that it is pushed is the next
cycle's plan (``docs/sync.md`` "Merge").
"""

from __future__ import annotations

import logging

from wikisync import errors
from wikisync.core.model import Page, Slug, Snapshot
from wikisync.sync.decide.decided import MergedPage
from wikisync.sync.decide.ledger import Intent, LogEntry, WriteKind
from wikisync.sync.decide.plan import DeleteLocal, Merge, MoveLocal, Rebase, Rebind
from wikisync.sync.run.flow import finish, is_disk_error
from wikisync.sync.run.intents import rebase
from wikisync.sync.run.parts import UNAGREED, Cycle

log = logging.getLogger(__name__)

STALE_SAVE = (
    "saved over an older text: the wiki's newer edits are kept; save again to remove"
    " them"
)
"""Said of a save that seems to be of a window which was not loaded anew."""


async def remove_here(cycle: Cycle, action: DeleteLocal) -> None:
    """Move a page's file to the trash."""
    try:
        await finish(_remove(cycle, action))
    except errors.PreconditionFailed as error:
        cycle.tally.supersede(action.slug, error)
    except errors.FolderError as error:
        cycle.tally.fail("page-unwritable", action.slug, error)


async def _remove(cycle: Cycle, action: DeleteLocal) -> None:
    await cycle.local.delete(action.slug, expected=action.local)
    cycle.state.record(dropped=[action.slug], is_step=True)
    cycle.note_done(action, action.slug)
    cycle.tally.removed.append(action.slug)


async def move_here(cycle: Cycle, action: MoveLocal | Rebind) -> None:
    """Rename a file as its page was renamed, or only its record."""
    given = None
    if isinstance(action, Rebind):
        given = cycle.tally.given_names.get(action.target)
    if given is None and action.target in cycle.tally.lost_names:
        return  # a rename on the wiki was to give it that name, and failed
    try:
        await finish(_move(cycle, action, given or action.target))
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.lost_names.add(action.target)
        cycle.tally.supersede(action.slug, error)
    except errors.FolderError as error:
        cycle.tally.lost_names.add(action.target)
        _fail(cycle, action.slug, error)


async def _move(cycle: Cycle, action: MoveLocal | Rebind, given: Slug) -> None:
    """Args: ``given`` is what the service calls the page, under its new name."""
    record = action.slug
    if isinstance(action, MoveLocal):
        record = action.record
        await cycle.local.move(action.slug, action.target, expected=action.local)
    if given != action.target:
        await cycle.remote.read(given)  # it may be where it was
    # The file has its new name.  If the process ends before the record has it, the next
    # cycle matches the two again: both sides have the page under one name.
    with cycle.state.together():
        if given != action.target:
            cycle.state.record_alias(action.target, given)
        elif isinstance(action, Rebind) and action.file is not None:
            cycle.state.keep_file(action.file, given)
        if given != record:
            is_step = isinstance(action, MoveLocal)
            cycle.state.record(renamed={record: given}, is_step=is_step)
        cycle.note_done(action, action.slug)
    cycle.tally.renamed.append(given)


async def rebase_here(cycle: Cycle, action: Rebase, there: Snapshot) -> None:
    """Take the wiki's older text as agreed on: what the folder has is an edit of it."""
    known = cycle.state.text(action.slug) or ""
    try:
        page = await cycle.remote_page(
            action.there, there, known=known, expected=action.remote
        )
        await finish(_rebase(cycle, action, page.content))
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(action.slug, error)
    except (errors.AuthenticationFailed, errors.RateLimited):
        raise
    except errors.RemoteError as error:
        cycle.tally.fail("page-unreadable", action.slug, error)
    except errors.FolderError as error:
        _fail(cycle, action.slug, error)


async def _rebase(cycle: Cycle, action: Rebase, text: str) -> None:
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


async def merge_here(cycle: Cycle, action: Merge, merged: MergedPage) -> None:
    """Write a clean merge here, and take the wiki's text as agreed on."""
    if action.slug in cycle.tally.lost_names:
        return
    try:
        await finish(_merge(cycle, action, merged))
    except (errors.PreconditionFailed, errors.NotFound) as error:
        cycle.tally.supersede(action.slug, error)
    except errors.FolderError as error:
        _fail(cycle, action.slug, error)


async def _merge(cycle: Cycle, action: Merge, merged: MergedPage) -> None:
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
    else:
        number = kept = 0
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


def _fail(cycle: Cycle, slug: str, error: errors.FolderError) -> None:
    if is_disk_error(error):
        raise error
    cycle.tally.fail("page-unwritable", slug, error)
