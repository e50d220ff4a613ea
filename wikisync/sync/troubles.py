"""What went wrong with single pages, and what waits until it is mended.

Nothing is removed in a cycle that had an error (``sync.md`` 3.5): what failed may be
the first sign that a side is not what it seems.  The errors of the last cycle are
kept, so that ``status`` and dry runs, which try nothing, know what stands in the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from wikisync.model import Problem, Slug
from wikisync.sync.plan import (
    Action,
    DeleteLocal,
    DeleteRemote,
    Hold,
    Plan,
    Skip,
    SkipReason,
)

if TYPE_CHECKING:
    from wikisync.sync.state import WikiState

NAMES_SHOWN_MAX = 3


def lasting(
    known: WikiState, plan: Plan, *, is_wiki_seen: bool = True
) -> tuple[Problem, ...]:
    """Errors of the last cycle about what is still to be done.

    Not of pages that are held or wait: of those the plan tells.

    Args:
        known: What is known of the wiki.
        plan: What is to be done now.
        is_wiki_seen: False where the plan was made without a look at the wiki: then
            it does not show that a page is in step by now.
    """
    troubles = known.troubles()
    if not troubles:
        return ()
    waiting = {str(a.slug) for a in plan.actions if isinstance(a, Hold | Skip)}
    missing = set(known.mentions()) - known.attachments_here()
    undone = {str(a.slug) for a in plan.actions} | missing
    return tuple(
        one
        for one in troubles
        if one.subject not in waiting and (one.subject in undone or not is_wiki_seen)
    )


def in_the_way(errors: Iterable[Problem], plan: Plan) -> tuple[Problem, ...]:
    """Those of the errors that keep removals back: not those of removals."""
    own = set(_removed(plan))
    return tuple(one for one in errors if one.subject not in own)


def put_off(plan: Plan, errors: Sequence[Problem]) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan with its removals waiting for these errors, and what is said of it."""
    removed = _removed(plan)
    if not removed or not errors:
        return plan, ()

    def wait(action: Action) -> Action:
        if isinstance(action, DeleteLocal | DeleteRemote):
            return Skip(action.slug, SkipReason.TROUBLE)
        return action

    return plan.turned(wait), (postponed(removed, errors),)


def postponed(removed: Sequence[Slug], errors: Iterable[Problem]) -> Problem:
    """One sentence on removals that wait, and for what."""
    is_one = len(removed) == 1
    wrong = _named(dict.fromkeys(error.subject for error in errors))
    return Problem(
        "removals-postponed",
        "1 page" if is_one else f"{len(removed)} pages",
        f"{'its' if is_one else 'their'} removal waits until what is wrong with"
        f" {wrong} is mended ({_named(removed)})",
        "run it again when the other problems are solved",
    )


def _removed(plan: Plan) -> Sequence[Slug]:
    return [
        one.slug for one in plan.actions if isinstance(one, DeleteLocal | DeleteRemote)
    ]


def _named(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
