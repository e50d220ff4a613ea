"""Brakes: when a plan would remove so much that a person must say yes.

Pure.  An outage of the service's storage looks exactly like a wiki that somebody
emptied (list ``200 []``, reads ``404``), so no amount of asking tells them apart;
only the share of what would go can (``sync.md`` 3.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wikisync.model import Slug
from wikisync.sync.plan import BasePage, Plan

BRAKE_SHARE = 0.10
"""Removals in one cycle up to this share of the tracked pages go through ..."""
BRAKE_PAGES = 3
"""... and so do these few, whatever the share."""
NAMES_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class Brake:
    """Removals that wait for a yes."""

    slugs: tuple[Slug, ...]
    tracked: int
    """How many pages the base knows."""

    def __str__(self) -> str:
        names = ", ".join(self.slugs[:NAMES_SHOWN_MAX])
        more = len(self.slugs) - NAMES_SHOWN_MAX
        tail = f" and {more} more" if more > 0 else ""
        return f"{len(self.slugs)} of {self.tracked} pages ({names}{tail})"


def removals_max(tracked: int) -> int:
    """How many pages one cycle may remove unasked; never all of them."""
    return min(max(BRAKE_PAGES, int(tracked * BRAKE_SHARE)), max(tracked - 1, 0))


def brake_of(plan: Plan, base: Mapping[Slug, BasePage]) -> Brake | None:
    """The brake that this plan pulls, or None where it may go ahead."""
    slugs = tuple(action.slug for action in plan.deletes)
    # a page that was never agreed on is a stray file of ours, not a page at risk
    tracked = [slug for slug in slugs if slug in base]
    if len(tracked) <= removals_max(len(base)):
        return None
    return Brake(slugs=tuple(sorted(slugs)), tracked=len(base))
