"""What went wrong with single pages, and what waits until it is mended.

A page that is gone may be one that was renamed, or whose text was put into another
page.  Where that other page cannot be carried over, the removal waits (``docs/sync.md``
"Absence"), or no copy in this place would have the text.  A page that can never be
carried over keeps back no other removal.  The errors of the last cycle are kept, so
that ``status`` and dry runs, which try nothing, know what stands in the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from wikisync.core.model import Problem, Slug
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.narrowing import without_removals
from wikisync.sync.decide.plan import (
    Delete,
    DeleteLocal,
    DropRecord,
    Hold,
    Merge,
    Plan,
    Send,
    Skip,
    SkipReason,
    Write,
)

NAMES_SHOWN_MAX = 3
OF_ONE_PAGE = frozenset({"page-unwritable", "page-unreadable", "page-refused"})
"""Errors that say nothing of other pages, unlike a service that does not answer."""


def lasting(
    known: WikiState, plan: Plan, *, is_wiki_seen: bool = True
) -> tuple[Problem, ...]:
    """Errors of the last cycle about what is still to be done.

    Not of pages that are held or wait: the plan names those.

    Args:
        known: What is known of the wiki.
        plan: What is to be done now.
        is_wiki_seen: False where the plan was made without a scan of the wiki: then
            it does not show that a page is in sync by now.
    """
    troubles = known.memory.troubles
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
    own = {one.slug for one in plan.removals}
    return tuple(one for one in errors if one.subject not in own)


def waiting_removals(
    plan: Plan, errors: Sequence[Problem], known: WikiState, texts: Mapping[Slug, str]
) -> Mapping[Slug, Sequence[Problem]]:
    """Pages that may not be removed or forgotten yet, each with the errors behind it.

    Args:
        plan: What was to be done.
        errors: What went wrong.
        known: What is known of the wiki.
        texts: Of the pages with an error, as far as they are known, from the side
            where they could not be carried over.
    """
    goings = [one for one in plan.actions if isinstance(one, _Going)]
    if not goings or not errors:
        return {}
    failed = {a.slug: a for a in plan.actions if isinstance(a, _Coming | Send)}
    lines = {slug: frozenset(_lines(text)) for slug, text in texts.items()}
    sightings = {**known.sightings(Side.LOCAL), **known.sightings(Side.REMOTE)}

    def is_older(error: Slug, absence: Slug) -> bool:
        """By what the log and the sightings show of their age."""
        logged, seen = known.events(1, error), sightings.get(absence)
        return bool(logged) and (seen is None or logged[0].at < seen.first_at)

    def waits(going: _Going, error: Problem) -> bool:
        action = failed.get(Slug(error.subject))
        if error.code not in OF_ONE_PAGE or action is None:
            return True
        other = Send if isinstance(going, DeleteLocal) else _Coming
        if isinstance(action, other) and not isinstance(going, DropRecord):
            return False  # what is gone on one side did not go to the other one
        if action.slug not in lines:
            return not is_older(action.slug, going.slug)
        own = _lines(known.text(going.slug) or "")
        return 2 * len(lines[action.slug].intersection(own)) >= max(1, len(own))

    found = {
        one.slug: [error for error in errors if waits(one, error)] for one in goings
    }
    return {slug: behind for slug, behind in found.items() if behind}


_Going = Delete | DropRecord
_Coming = Write | Merge


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {""}


def put_off(
    plan: Plan, waiting: Mapping[Slug, Sequence[Problem]]
) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan with these removals waiting for their errors, and what is said of it."""
    removed = [one.slug for one in plan.removals if one.slug in waiting]
    if not removed:
        return plan, ()
    behind = [error for slug in removed for error in waiting[slug]]
    plan = without_removals(plan, dict.fromkeys(removed, SkipReason.TROUBLE))
    return plan, (postponed(removed, behind),)


def postponed(removed: Sequence[Slug], errors: Iterable[Problem]) -> Problem:
    """One sentence on removals that wait, and for what."""
    is_one = len(removed) == 1
    wrong = _named(dict.fromkeys(error.subject for error in errors))
    return Problem(
        "removals-postponed",
        "1 page" if is_one else f"{len(removed)} pages",
        f"{'its' if is_one else 'their'} deletion waits until the problems with"
        f" {wrong} are fixed ({_named(removed)})",
        "fix the other problems, then run it again",
    )


def _named(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
