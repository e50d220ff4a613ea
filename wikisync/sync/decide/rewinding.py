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
    Hold,
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
    waiting: Mapping[Slug, Digest] = {}
    """As ``waiting_texts`` finds them, whether the wiki went back or not."""
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
        if self.waits(action):
            return action.slug in self.returned
        return isinstance(action, DeleteLocal | Skip) and action.slug in self.missing

    def waits(self, action: Action) -> bool:
        """Whether a page is left alone whose text on the wiki is another one."""
        return isinstance(action, Hold | Skip) and action.slug in self.waiting

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


def waiting_texts(
    plan: Plan, base: Mapping[Slug, BasePage], there: Snapshot
) -> Mapping[Slug, Digest]:
    """Texts on the wiki, other than the agreed ones, of pages that are left alone.

    They cannot have their names, say, or are open in an editor.
    """
    found: dict[Slug, Digest] = {}
    for action in plan.actions:
        if isinstance(action, Hold | Skip) and action.slug in base:
            slug = action.slug
            theirs = there.pages.get(slug)
            if theirs is None and isinstance(action, Hold) and action.target:
                theirs = there.pages.get(action.target)
            if theirs and (theirs.slug, theirs.digest) != (slug, base[slug].remote):
                found[slug] = theirs.digest
    return found


def texts_there(plan: Plan, waiting: Mapping[Slug, Digest]) -> Mapping[Slug, Digest]:
    """The wiki's text of each page that it has otherwise than this folder."""
    brought = [one for one in plan.actions if isinstance(one, Pull | Merge)]
    return {**waiting, **{one.slug: one.remote for one in brought}}


def rewinding_of(
    plan: Plan,
    texts: Mapping[Slug, Digest],
    earlier: Mapping[Slug, Collection[Digest]],
    *,
    is_known: bool = False,
    gone: Collection[Slug] = (),
) -> Rewinding:
    """Whether the wiki went back in time, by what a plan would bring from it.

    Args:
        plan: The plan of a cycle.
        texts: As ``texts_there`` finds them.
        earlier: By the names of the plan, texts that pages had before the agreed one.
        is_known: It was found before and is not decided yet, or is likely: then one
            page suffices.
        gone: Pages that are missing, and were recorded too lately for the history to
            show whether somebody deleted them.
    """
    returned = {slug for slug, one in texts.items() if one in earlier.get(slug, ())}
    is_most = len(returned) >= REWOUND_PAGES_MIN and 2 * len(returned) >= len(texts)
    if not (is_most or gone or (is_known and returned)):
        return NO_REWINDING
    return Rewinding(frozenset(returned), missing=missing_pages(plan))


def rewinding_by_history(
    plan: Plan,
    texts: Mapping[Slug, Digest],
    base: Mapping[Slug, BasePage],
    there: Snapshot,
) -> Rewinding:
    """All that a plan would take back, where the history says that the wiki went back.

    Args:
        plan: The plan of a cycle.
        texts: As ``texts_there`` finds them.
        base: The base it was made on.
        there: The scan of the wiki.
    """
    moves = [one for one in plan.moves if isinstance(one, MoveLocal)]
    return Rewinding(
        frozenset(texts),
        missing=missing_pages(plan),
        renamed=renamed_back(moves, base, there),
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
