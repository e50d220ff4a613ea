"""What the decision of a cycle is made of: the plan, merges, conflicts.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from wikisync.merging.conflict import MergedText
from wikisync.model import Page, Slug, Snapshot
from wikisync.sync.decide.ledger import Replaced
from wikisync.sync.decide.plan import Plan, SkipReason
from wikisync.sync.decide.safety import Batch


class MergedPage(Struct, frozen=True):
    """The texts of one merge and what came of it."""

    slug: Slug
    """The page's name when it is its turn, as in the plan."""
    local: Page
    remote: Page
    """The wiki's text in the form that the folder would have it."""
    result: MergedText
    stale: Replaced | None = None
    """The text that the save here really was an edit of, if not the base's."""


class Decided(Struct, frozen=True):
    """What is to be done, and all that it was decided on."""

    plan: Plan
    """What is carried out: the part that was asked for."""
    whole: Plan
    """What there is to do and what waits, whoever asks."""
    here: Snapshot
    there: Snapshot
    merges: Mapping[Slug, MergedPage]
    """Merges and clashes by page."""
    batches: tuple[Batch, ...]
    """What safety stops hold, and what was said about it."""
    superseded: frozenset[Slug]
    """Pages whose text changed while this was decided; they are in no plan."""
    next_scan_s: float | None
    """When one more scan can make an absence certain that the plan waits for."""
    head: str = ""
    """The wiki's newest commit, where the plan made it worth asking."""
    is_unanswered: bool = False
    """Nobody could say then whether the wiki went back in time."""

    @property
    def left_out(self) -> frozenset[Slug]:
        """Pages that a first sync leaves here because nobody asked for them."""
        skipped = self.whole.skipped
        return frozenset(s.slug for s in skipped if s.reason is SkipReason.NOT_ASKED)
