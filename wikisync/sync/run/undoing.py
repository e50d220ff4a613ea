"""Taking the last sync back: the folder as before it, which the next sync carries on.

Nothing here writes to the wiki, and nothing is noted but a person's yes (``safety``),
so what was killed on the way is repeated.  A page that either side changed since is
left alone and named.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

from wikisync.core.model import Page, Slug, Snapshot
from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.sync.base.history import LastSync, Step
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import NO_SLUG
from wikisync.sync.decide.plan import Base, BasePage
from wikisync.sync.decide.safety import APPROVED_BY_UNDO, Batch, Decision, Member
from wikisync.sync.replica import LocalReplica

WHY = "taken back with a sync"
FILES = "only files that it links to changed, and undo does not restore these"
EDITED_HERE = "it was edited here since"


async def undo_sync(
    local: LocalReplica, known: WikiState, sync: LastSync, there: Snapshot, now: float
) -> Mapping[Step, str]:
    """Change the folder; why each step is left alone, empty for what is taken back."""
    here, base = await local.snapshot(), known.base()
    left: dict[Step, str] = {}
    free: set[Slug] = set()
    for step in _in_order(sync.steps):
        if _is_as_before(step, base):
            if step.after == step.digest:
                left[step] = FILES
            continue
        left[step] = _why_left(step, base, here, there, free)
        if not left[step]:
            try:
                await _take_back(local, known, step, here, now)
            except (PreconditionFailed, NotFound, FolderError) as error:
                left[step] = error.message
        if not left[step] and step.was != step.slug:
            free.add(step.slug)
    done = [step for step, why in left.items() if not why]
    _note_files(known, done, base, await local.snapshot())
    return left


def _in_order(steps: Collection[Step]) -> Iterator[Step]:
    """The steps so that a name is free before the page that had it gets it back."""
    waiting = list(steps)
    while waiting:
        taken = {one.slug for one in waiting if one.slug and one.slug != one.was}
        # pages that changed names in a ring cannot wait for each other
        ready = [one for one in waiting if one.was not in taken] or waiting
        yield from ready
        waiting = [one for one in waiting if one not in ready]


def _is_as_before(step: Step, base: Base) -> bool:
    """Whether both sides are as they were: the sync came back to that by itself."""
    known = base.get(step.was)
    if not step.was:
        return step.slug not in base
    return (
        known is not None
        and step.slug in {"", step.was}
        and (known.local, known.format) == (step.digest, step.format)
    )


def _why_left(
    step: Step, base: Base, here: Snapshot, there: Snapshot, free: Collection[Slug]
) -> str:
    """Why a page is left alone; empty where nothing is against it."""
    # Its file may be as it was before already.  ``free`` are names that other pages
    # have given back since the scans.
    known, before = base.get(step.slug), here.pages.get(step.was)
    mine, theirs = here.pages.get(step.slug), there.pages.get(step.slug)
    if not step.slug:
        if before is not None and before.digest == step.digest:
            return ""
        is_taken = before or step.was in there.pages or step.was in base
        return "there is another page of this name since" if is_taken else ""
    if known is None:
        return "it was removed since"
    if known.local != step.after:
        return "it was edited since"
    if theirs is None or theirs.digest != known.remote:
        return "it was changed on the wiki since"
    is_back = before is not None and before.digest in {known.local, step.digest}
    if mine is None:
        is_ours = is_back or not step.was
        return "" if is_ours else "its file was removed or renamed since"
    if mine.digest != known.local:
        # its name may be another page's again
        is_ours = is_back or (step.was == step.slug and mine.digest == step.digest)
        return "" if is_ours else EDITED_HERE
    if step.slug in here.busy:
        return "it is open in an editor"
    is_taken = before or step.was in there.pages
    if step.was != step.slug and is_taken and step.was not in free:
        return f"another page is called {step.was} now"
    return ""


async def _take_back(
    local: LocalReplica, known: WikiState, step: Step, here: Snapshot, now: float
) -> None:
    seen = here.pages.get(step.slug)
    if not step.was:
        if seen is not None:
            await local.delete(step.slug, expected=seen.digest, why=WHY)
        return
    if seen is not None and step.was != step.slug and seen.digest == step.after:
        await local.move(step.slug, step.was, expected=seen.digest)
    page, current = Page(step.was, step.format, step.before), None
    with suppress(NotFound):
        current = await local.read(step.was)
    # it may have been saved since the scan
    if current is not None and current.digest not in {step.after, page.digest}:
        raise PreconditionFailed(EDITED_HERE)
    if current is None or current.state() != page.state():
        name = step.name
        await put_back(local, known, page, current, now, why=WHY, record=name)
    known.forget_writes(step.name)


def _note_files(
    known: WikiState, done: Collection[Step], base: Base, here: Snapshot
) -> None:
    """Note whose the files are, and a person's yes to what a sync makes of them."""
    # a file that has another name and another text is known by its identity alone
    members: set[Member] = set()
    moved: list[BasePage] = []
    for step in done:
        agreed, file = base.get(step.slug), here.pages.get(step.was)
        if agreed is not None and step.was != step.slug:
            members.add(Member(step.slug, agreed.remote))
            if file is not None:
                identity = file.identity or agreed.local_identity
                moved.append(replace(agreed, local_identity=identity))
        if file is not None:
            members.add(Member(step.was, file.digest))
    batches, number = list(known.memory.batches), known.memory.last_batch
    for kind in APPROVED_BY_UNDO if members else ():
        number += 1
        pages = tuple(sorted(members))
        batches.append(Batch(number, kind, pages, len(base), Decision.APPROVED))
    with known.together():
        known.refresh(moved)
        known.record_batches(batches)


async def put_back(
    local: LocalReplica,
    known: WikiState,
    page: Page,
    current: Page | None,
    now: float,
    *,
    why: str,
    record: Slug = NO_SLUG,
) -> None:
    """Write an earlier text into a page's file; what is in it now is kept first.

    PreconditionFailed where it was saved in this very moment.
    """
    name = record or page.slug
    before = known.text(name) if current is None else current.content
    if current is not None:
        await local.keep(page.slug, current.content, why)
    kept = []
    if before is not None:
        # a person chose between the two: who saves that text again means it
        noted = (name, before, page.content, now)
        kept = [known.remember_replaced(*noted, is_stale=True)]
    await local.write(page, expected=None if current is None else current.digest)
    known.confirm_replaced(kept)
