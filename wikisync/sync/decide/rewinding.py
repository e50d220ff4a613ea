"""A wiki that goes back in time: restored from a backup, or pushed over by force.

Pure.  To the table it looks like many edits and deletions on the wiki.  It is
recognised by its history, which lacks the commit of the last sync; and where git says
nothing, by pages that return to texts which both sides agreed on before.  Then whatever
would be taken back here waits for a person, who follows the wiki or puts the newer
texts back on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from wikisync.model import Digest, Slug, Snapshot
from wikisync.sync.decide.plan import (
    Action,
    BasePage,
    DeleteLocal,
    Merge,
    MoveLocal,
    MoveRemote,
    Plan,
    Pull,
    Push,
    Skip,
    SkipReason,
)

REWOUND_PAGES_MIN = 3
"""Fewer pages that return to an earlier text are reverts that somebody made, as far as
the texts alone can show."""


class Rewinding(Struct, frozen=True):
    """What a wiki that went back in time would take back here."""

    returned: frozenset[Slug] = frozenset()
    """Pages that have an earlier text on the wiki."""
    missing: frozenset[Slug] = frozenset()
    """Pages that are not on it, whether that is certain yet or not."""
    renamed: Mapping[MoveLocal, MoveRemote] = {}
    """Pages that have an earlier name on it: what would be done here, and there."""

    def takes_back(self, action: Action) -> bool:
        """Whether an action is part of it."""
        if isinstance(action, Pull | Merge):
            return action.slug in self.returned
        if isinstance(action, MoveLocal):
            return action in self.renamed
        return isinstance(action, DeleteLocal | Skip) and action.slug in self.missing

    def put_back(self, action: Pull | Merge) -> Push:
        """What puts the newer text of a page back on the wiki."""
        names = {move.target: move.slug for move in self.renamed}
        slug = names.get(action.slug, action.slug)
        return Push(slug, action.format, action.local, action.remote)


NO_REWINDING = Rewinding()


def may_take_back(action: Action) -> bool:
    """Whether an action would take a text, a name or a page back here."""
    if isinstance(action, Skip):
        return action.reason is SkipReason.GONE_THERE
    return isinstance(action, Pull | Merge | MoveLocal | DeleteLocal)


def rewinding_of(
    plan: Plan,
    earlier: Mapping[Slug, Collection[Digest]],
    *,
    is_known: bool = False,
    gone: Collection[Slug] = (),
) -> Rewinding:
    """Whether the wiki went back in time, by what a plan would bring from it.

    Args:
        plan: The plan of a cycle.
        earlier: By the names of the plan, texts that pages had before the agreed one.
        is_known: It was found before and is not decided yet, or is likely: then one
            page suffices.
        gone: Pages that are missing, and were recorded too lately for the history to
            show whether somebody deleted them.
    """
    brought = [one for one in plan.actions if isinstance(one, Pull | Merge)]
    returned = {one.slug for one in brought if one.remote in earlier.get(one.slug, ())}
    is_most = len(returned) >= REWOUND_PAGES_MIN and 2 * len(returned) >= len(brought)
    if not (is_most or gone or (is_known and returned)):
        return NO_REWINDING
    return Rewinding(frozenset(returned), missing_pages(plan))


def rewinding_by_history(
    plan: Plan, base: Mapping[Slug, BasePage], there: Snapshot
) -> Rewinding:
    """All that a plan would take back, where the history says that the wiki went back.

    Args:
        plan: The plan of a cycle.
        base: The base it was made on.
        there: The scan of the wiki.
    """
    brought = {one.slug for one in plan.actions if isinstance(one, Pull | Merge)}
    moves = [one for one in plan.moves if isinstance(one, MoveLocal)]
    return Rewinding(
        frozenset(brought), missing_pages(plan), renamed_back(moves, base, there)
    )


def missing_pages(plan: Plan) -> frozenset[Slug]:
    """Pages that the wiki lacks, whether that is certain yet or not."""
    missing = {one.slug for one in plan.actions if isinstance(one, DeleteLocal)}
    missing |= {s.slug for s in plan.skipped if s.reason is SkipReason.GONE_THERE}
    return frozenset(missing)


def renamed_back(
    moves: Sequence[MoveLocal], base: Mapping[Slug, BasePage], there: Snapshot
) -> Mapping[MoveLocal, MoveRemote]:
    """What puts the name of each page back on the wiki instead."""
    return {
        move: MoveRemote(
            move.target,
            move.slug,
            move.record,
            base[move.record].format,
            there.pages[move.target].digest,
            turn=turn,
        )
        for turn, move in enumerate(moves)
        # another one only follows a rename that was made here
        if move.target in there.pages
    }
