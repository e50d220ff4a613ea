"""What came of calls whose answer was lost: find out, do not repeat.

An intent that is still there at the start of a cycle says that process or line broke
off; the wiki shows whether the call came through (``docs/sync.md`` "Crashes").  Saves
that reached a file only after it had been replaced are settled at the same time.
"""

import logging
from contextlib import suppress
from typing import assert_never

from msgspec.structs import replace

from wikisync import errors
from wikisync.core import model
from wikisync.merging.merge import merge
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Agreed, Intent, WriteKind
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.run.parts import Cycle, is_disk_error, on_texts

log = logging.getLogger(__name__)


async def settle_intents(cycle: Cycle) -> None:
    """Find out what came of every intent; all stay where the wiki cannot be asked."""
    for intent in cycle.state.intents():
        log.info("checking the result of: %s %s", intent.operation, intent.slug)
        is_known = True
        match intent.operation:
            case WriteKind.CREATE:
                await _create(cycle, intent)
            case WriteKind.REPLACE:
                # another text there is an edit, or the one before: comparing finds out
                held = await _held(cycle, intent.slug)
                if held is not None and _is_sent(held, intent):
                    _agree(cycle, intent, held)
            case WriteKind.MOVE:
                is_known = await _move(cycle, intent)
            case WriteKind.DELETE:
                if await _held(cycle, intent.slug) is None:
                    cycle.state.record(dropped=[intent.slug], is_step=True)
            case WriteKind.REBASE:
                # a merge that reached the folder: what it was merged with is agreed on
                with suppress(errors.NotFound):
                    page = await cycle.local.read(intent.slug)
                    if page.digest == intent.after:
                        rebase(cycle.state, intent)
            case _:
                assert_never(intent.operation)
        if is_known:
            cycle.state.settle(intent.id)


async def _create(cycle: Cycle, intent: Intent) -> None:
    """Adopt the page if it was made, under whatever name the service gave it."""
    held = await _held(cycle, intent.slug)
    if held is None or not _is_sent(held, intent):
        # under another name it is found by its text, if no record owns a page of that
        # and there is just one
        base, there = cycle.state.base(), await cycle.remote.snapshot()
        found = [
            slug
            for slug, page in there.pages.items()
            if slug not in base and page.digest == intent.after
        ]
        if not there.is_complete or len(found) != 1:
            return
        # a page of its own here is no page that was made for another name
        if found[0] in (await cycle.local.snapshot()).pages:
            return
        held = model.Page(found[0], intent.format, intent.text)
        cycle.state.record_alias(intent.slug, held.slug)
    _agree(cycle, intent, held)


async def _move(cycle: Cycle, intent: Intent) -> bool:
    """Note a rename that came through, or finish it; whether it is known now."""
    base = cycle.state.base()
    if intent.slug not in base or intent.target in base:
        return True
    moved = await _held(cycle, intent.target)
    if moved is not None and moved.digest != intent.before:
        return True
    if await _held(cycle, intent.slug) is not None:
        return True
    # Under neither name: it is between the two writes of a rename, or gone.  The
    # temporary name shows which.
    if moved is None:
        return await _finish(cycle, intent)
    cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)
    return True


async def _finish(cycle: Cycle, intent: Intent) -> bool:
    """Give a page its new name that was left under the temporary one."""
    # Where the service refuses that, the page gets its old name back.  A page that is
    # under no name may be one that the service hides by mistake: nobody else would
    # finish its rename.  False where it waits for the next cycle.
    left = await _held(cycle, model.temporary_name(intent.slug, intent.target))
    if left is None:
        return False
    log.warning("finishing the rename of %s to %s", intent.slug, intent.target)
    try:
        await cycle.remote.move(left.slug, intent.target, expected=left.digest)
    except (errors.Rejected, errors.PreconditionFailed):
        return await _give_back(cycle, intent, left)
    cycle.state.record(renamed={intent.slug: intent.target}, is_step=True)
    return True


async def _give_back(cycle: Cycle, intent: Intent, left: model.Page) -> bool:
    try:
        await cycle.remote.move(left.slug, intent.slug, expected=left.digest)
    except errors.PreconditionFailed:
        return False
    except errors.Rejected as error:
        log.warning("%s stays: %s", left.slug, error.message)
    return True


def _is_sent(held: model.Page, intent: Intent) -> bool:
    """Whether the wiki has what was sent; links to files are other ones there."""
    return model.digest_of(held.content) == intent.after


def _agree(cycle: Cycle, intent: Intent, held: model.Page) -> None:
    """Agree on what was sent; whatever the wiki has by now is an edit of it."""
    agreed = BasePage.agreed(
        replace(held, format=intent.format),
        local=intent.after,
        known=cycle.state.base().get(held.slug),
    )
    cycle.state.record([Agreed.of(agreed, intent.text)], is_step=True)


async def _held(cycle: Cycle, slug: model.Slug) -> model.Page | None:
    try:
        return await cycle.remote.read(slug)
    except (errors.NotFound, errors.ProtocolViolation):
        return None


def rebase(state: WikiState, intent: Intent) -> None:
    """Take the wiki's text that was merged as the one both sides agreed on."""
    agreed = BasePage.agreed(
        model.Page(intent.slug, intent.format, intent.text),
        remote=intent.before,
        known=state.base().get(intent.slug),
    )
    with state.together():
        state.record([Agreed.of(agreed, intent.text)], is_step=True)
        state.note_replaced_there(intent.slug, intent.text, intent.format)


LATE_SAVE = (
    "a program kept writing to its file after the file was replaced; the program's text"
    " is in the trash"
)
IN_THE_TRASH = "written by a program while its file was replaced"


async def take_late_save(cycle: Cycle, late: model.LateSave) -> None:
    """Bring one save into its page, or into the trash, and say so."""
    # one that could not be taken is given again
    try:
        if late.text is None:
            _warn(cycle, late.slug, "find it in .wikisync/trash")
        else:
            await _take(cycle, late, late.text)
        await cycle.local.acknowledge(late)
    except errors.PreconditionFailed as error:
        cycle.tally.supersede(late.slug, error)
    except errors.FolderError as error:
        if is_disk_error(error):
            raise
        cycle.tally.fail("page-unwritable", late.slug, error)


async def _take(cycle: Cycle, late: model.LateSave, text: str) -> None:
    slug, before = _edited(cycle, late)
    try:
        page = await cycle.local.read(slug)
    except errors.NotFound:
        _remember(cycle, slug, text, text)
        known = cycle.state.base().get(slug)
        page = model.Page(slug, known.format if known else model.Format.MARKDOWN, text)
        await cycle.local.write(page, expected=None)
        cycle.tally.merged.append(slug)
        return
    if text == page.content:
        _remember(cycle, slug, text, text)
    elif before is None or not await _merge(cycle, page, before, text):
        await cycle.local.keep(slug, text, IN_THE_TRASH)
        _remember(cycle, slug, text, page.content)
        name = f"{cycle.local.name}/{slug}"
        _warn(
            cycle,
            slug,
            f"see it with: {errors.command_line('restore', name, '--list')}",
        )


def _edited(cycle: Cycle, late: model.LateSave) -> tuple[model.Slug, str | None]:
    """The page, by the name it has now, and the text that was edited, if known."""
    if late.before is None:
        return late.slug, None
    agreed = cycle.state.text(late.slug)
    if agreed is not None and model.digest_of(agreed) == late.before:
        return late.slug, agreed
    return cycle.state.replaced_text(late.slug, late.before) or (late.slug, None)


async def _merge(cycle: Cycle, page: model.Page, before: str, text: str) -> bool:
    """Bring both edits together; False where that is a person's to do."""
    # a page that nobody edited since is taken back to before we replaced its text, and
    # the cycle decides about both edits as if it saw them for the first time
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
        digest = model.digest_of(before)
        earlier = replace(known, local=digest, remote=digest)
        cycle.state.record([Agreed.of(earlier, before)])
    await cycle.local.write(replace(page, content=text), expected=page.digest)
    cycle.state.confirm_replaced([kept])
    cycle.tally.merged.append(page.slug)
    return True


def _remember(cycle: Cycle, slug: model.Slug, old: str, new: str) -> int:
    """Know a text again, for the next save of the program is an edit of it."""
    return cycle.state.remember_replaced(slug, old, new, cycle.clock())


def _warn(cycle: Cycle, slug: model.Slug, step: str) -> None:
    # the cycle may come to nothing
    cycle.note_new({slug: LATE_SAVE})
    cycle.tally.warn("late-save", slug, LATE_SAVE, step, is_once=True)
