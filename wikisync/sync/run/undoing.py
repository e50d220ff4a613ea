"""Taking the last sync back: the folder as it was before, and then a sync like any.

A person's word is in the state (``undo``), and the cycles carry it out until it is
done, whoever runs them and however often they are killed: what is done already shows
in the base and in the folder.  Each page becomes what both sides held before the sync;
one that was merged, what the wiki had.  So both sides are in sync afterwards, and the
steps of that sync are what the next undo takes back.

A page that either side changed since is left alone and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import assert_never

from msgspec import Struct

from wikisync.errors import FolderError, NotFound, PreconditionFailed, command_line
from wikisync.model import (
    Page,
    Problem,
    Slug,
    Snapshot,
)
from wikisync.sync.base.state import WikiState
from wikisync.sync.base.steps import LastSync, Step, names_of
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.parts import Cycle

WHY = "taken back with a sync"


class _Way(Enum):
    """What is to be done in the folder about one page."""

    WRITE = auto()
    """The file gets its earlier text, or is there again."""
    MOVE = auto()
    """The file gets its earlier name; its text is the next cycle's."""
    REMOVE = auto()
    """The file goes."""
    FOLLOW = auto()
    """The file is as it was; the wiki follows in this cycle."""
    NOTHING = auto()
    """Both sides are as they were."""


class Undone(Struct, frozen=True):
    """What one cycle makes of a sync that is taken back."""

    here: Snapshot
    """The folder as it is then."""
    steps: tuple[Step, ...]
    """What is taken back."""
    has_more: bool
    """Something is left for the next cycle."""
    left: Mapping[Step, str]
    """What is left alone, and why; to be said once nothing is left to do."""

    @property
    def names(self) -> frozenset[Slug]:
        """The pages: no safety stop asks about them once more."""
        return names_of(self.steps)

    @property
    def removed(self) -> frozenset[Slug]:
        """Those of them whose files are gone for certain."""
        return frozenset(one.slug for one in self.steps if not one.was)


def _way_of(
    step: Step, base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> _Way | str:
    """What is to be done in the folder about one page, or why it is left alone."""
    if not step.slug:
        return _way_back(step, base, here, there)
    known = base.get(step.slug)
    mine, theirs = here.pages.get(step.slug), there.pages.get(step.slug)
    if known is None:
        return "it was removed since" if step.was else _Way.NOTHING
    is_text = (known.local, known.format) == (step.digest, step.format)
    if step.was == step.slug and is_text:
        return _Way.NOTHING
    if known.local != step.after:
        return "it was edited since"
    if theirs is None or theirs.digest != known.remote:
        return "it was changed on the wiki since"
    if mine is None:
        moved = here.pages.get(step.was)
        if not step.was or (moved is not None and moved.digest == known.local):
            return _Way.FOLLOW
        return "its file was removed or renamed since"
    if step.slug == step.was and mine.digest == step.digest:
        return _Way.FOLLOW
    if mine.digest != known.local:
        return "it was edited here since"
    if step.slug in here.busy:
        return "it is open in an editor"
    if not step.was:
        return _Way.REMOVE
    if step.was == step.slug:
        return _Way.WRITE
    if step.was in here.pages or step.was in there.pages:
        return f"another page is called {step.was} now"
    return _Way.MOVE


def _way_back(
    step: Step, base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> _Way | str:
    """The same for a page that was removed."""
    mine = here.pages.get(step.was)
    if step.was in base and base[step.was].local == step.digest:
        return _Way.NOTHING
    if mine is not None and mine.digest == step.digest:
        return _Way.FOLLOW
    if mine is not None or step.was in there.pages or step.was in base:
        return "there is another page of this name since"
    return _Way.WRITE


async def undo_sync(
    cycle: Cycle, sync: LastSync, here: Snapshot, there: Snapshot
) -> Undone:
    """Change the folder, or only say what it would be then.

    Raises:
        FolderError: the folder cannot be read any more.
    """
    base = cycle.state.base()
    ways = {step: _way_of(step, base, here, there) for step in sync.steps}
    # the text is the next cycle's where the name is this one's
    has_more = any(
        step.slug and step.was and step.slug != step.was
        for step, way in ways.items()
        if way in {_Way.MOVE, _Way.FOLLOW}
    )
    taken: list[Step] = []
    for step, way in ways.items():
        match way:
            case str():
                pass
            case _Way.NOTHING:
                pass
            case _Way.FOLLOW:
                taken.append(step)
            case _Way.WRITE | _Way.MOVE | _Way.REMOVE:
                if await _do(cycle, step, way, here):
                    taken.append(step)
            case _:
                assert_never(way)
    left = {step: way for step, way in ways.items() if isinstance(way, str)}
    return Undone(await cycle.local.snapshot(), tuple(taken), has_more, left)


async def _do(cycle: Cycle, step: Step, way: _Way, here: Snapshot) -> bool:
    """Change one file."""
    seen = here.pages.get(step.slug)
    try:
        if way is _Way.WRITE:
            # read once more: it may have been saved since the scan
            current = await cycle.local.read(step.slug) if seen else None
            if seen and current and current.digest != seen.digest:
                leave(cycle, step, "it was edited here since")
                return False
            local, state, now = cycle.local, cycle.state, cycle.clock()
            page = Page(step.was, step.format, step.before)
            await put_back(local, state, page, current, now, why=WHY)
            state.forget_writes(step.was)
        elif seen is not None and way is _Way.MOVE:
            await cycle.local.move(step.slug, step.was, expected=seen.digest)
        elif seen is not None:
            await cycle.local.delete(step.slug, expected=seen.digest, why=WHY)
    except (PreconditionFailed, NotFound) as error:
        leave(cycle, step, error.message)
        return False
    except FolderError as error:
        cycle.tally.fail("page-unwritable", step.name, error)
        return False
    return True


def leave(cycle: Cycle, step: Step, why: str) -> None:
    """Say that a page is left alone, and how to get at its earlier texts."""
    name = f"{cycle.local.name}/{step.name}"
    cycle.tally.warn(
        Problem(
            "undo-left",
            step.name,
            f"it is not undone: {why}",
            f"see its earlier texts: {command_line('restore', name, '--list')}",
            is_once=True,
        )
    )


async def put_back(
    local: LocalReplica,
    known: WikiState,
    page: Page,
    current: Page | None,
    now: float,
    *,
    why: str,
) -> None:
    """Write an earlier text into a page's file; what is in it now is kept first.

    Args:
        local: The folder.
        known: What is known of its wiki.
        page: With the earlier text.
        current: What the file says now; None where there is none.
        now: Seconds since the epoch.
        why: For a person, in a few words.

    Raises:
        PreconditionFailed: it was saved in this very moment.
        FolderError: it cannot be written, or the old text not be kept.
    """
    if current is None:
        await local.write(page, expected=None)
        return
    await local.keep(page.slug, current.content, why)
    kept = known.remember_replaced(page.slug, current.content, page.content, now)
    await local.write(page, expected=current.digest)
    known.confirm_replaced([kept])
