"""A wiki that goes back in time: restored from a backup, or pushed over by force.

Pure.  To the table it looks like many edits and deletions on the wiki.  What tells it
apart is that pages return to texts which both sides agreed on before: then whatever
would be taken back here waits for a person, who follows the wiki or puts the newer
texts back on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from wikisync.model import Digest, Slug
from wikisync.sync.plan import Action, DeleteLocal, Merge, Plan, Pull, Skip, SkipReason

REWOUND_PAGES_MIN = 3
"""Fewer pages that return to an earlier text are reverts that somebody made."""


class Rewinding(Struct, frozen=True):
    """What a wiki that went back in time would take back here."""

    returned: frozenset[Slug] = frozenset()
    """Pages that have an earlier text on the wiki."""
    missing: frozenset[Slug] = frozenset()
    """Pages that are not on it, whether that is certain yet or not."""

    def takes_back(self, action: Action) -> bool:
        """Whether an action is part of it."""
        if isinstance(action, Pull | Merge):
            return action.slug in self.returned
        return isinstance(action, DeleteLocal | Skip) and action.slug in self.missing


NO_REWINDING = Rewinding()


def rewinding_of(
    plan: Plan,
    earlier: Mapping[Slug, Collection[Digest]],
    *,
    is_known: bool = False,
) -> Rewinding:
    """Whether the wiki went back in time, by what a plan would bring from it.

    Args:
        plan: The plan of a cycle.
        earlier: By the names of the plan, texts that pages had before the agreed one.
        is_known: It was found before and is not decided yet: then one page suffices.
    """
    brought = [one for one in plan.actions if isinstance(one, Pull | Merge)]
    returned = {one.slug for one in brought if one.remote in earlier.get(one.slug, ())}
    is_most = len(returned) >= REWOUND_PAGES_MIN and 2 * len(returned) >= len(brought)
    if not (is_most or (is_known and returned)):
        return NO_REWINDING
    missing = {one.slug for one in plan.actions if isinstance(one, DeleteLocal)}
    missing |= {s.slug for s in plan.skipped if s.reason is SkipReason.GONE_THERE}
    return Rewinding(frozenset(returned), frozenset(missing))
