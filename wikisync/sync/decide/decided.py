"""What the decision of a cycle is made of: the plan, merges, conflicts.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from wikisync.core.model import Digest, Page, Slug, Snapshot
from wikisync.merging.conflict import MergedText
from wikisync.merging.diff import changes
from wikisync.sync.decide.ledger import Replaced
from wikisync.sync.decide.plan import Action, BasePage, Plan, SkipReason
from wikisync.sync.decide.rewinding import NO_REWINDING, NotAgreed, Rewinding
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


UNCERTAIN = frozenset({SkipReason.GONE_HERE, SkipReason.GONE_THERE})
"""Why a removal waits for one more scan."""


class Absences(Struct, frozen=True):
    """What a cycle makes of the pages that its plan would remove."""

    waiting: Mapping[Slug, SkipReason]
    """Pages whose absence is not certain yet."""
    doubted: Slug | None = None
    """A page that the list lacks and the service still has, or the like: then the
    scan of the wiki was not complete."""
    due_s: float | None = None
    """Seconds until one more scan can make an absence certain."""


class Decided(Struct):
    """What is to be done, as far as the filters are through, and all it is based on."""

    base: Mapping[Slug, BasePage]
    """What both sides held, under the names of now."""
    here: Snapshot
    there: Snapshot
    plan: Plan
    """What is carried out: in the end the part that was asked for."""
    absences: Absences
    ignored: frozenset[Slug]
    """Pages whose absence in the folder means nothing."""
    shown: Mapping[Slug, Digest] = {}
    """What conflict files show of the wiki's texts."""
    seen: NotAgreed = NotAgreed()
    """What the wiki has otherwise than was agreed on."""
    is_set_back: bool | None = None
    """Whether the wiki's history lacks the last sync; None where it is not known."""
    head: str = ""
    """The wiki's newest commit, where the plan made it worth asking."""
    is_unanswered: bool = False
    """Nobody could say whether the wiki went back in time."""
    rewinding: Rewinding = NO_REWINDING
    """What a side that went back in time would take back."""
    unmerged: frozenset[Action] = frozenset()
    """What of it is not merged."""
    merges: Mapping[Slug, MergedPage] = {}
    """Merges and clashes by page."""
    superseded: frozenset[Slug] = frozenset()
    """Pages whose text changed while this was decided; they are in no plan."""
    batches: tuple[Batch, ...] = ()
    """What safety stops hold, and what was said about it."""
    whole: Plan = Plan()
    """What there is to do and what waits, whoever asks."""

    @property
    def next_scan_s(self) -> float | None:
        """When one more scan can make an absence certain that the plan waits for."""
        waits = any(skip.reason in UNCERTAIN for skip in self.plan.skipped)
        return self.absences.due_s if waits else None

    @property
    def left_out(self) -> frozenset[Slug]:
        """Pages that a first sync leaves here because nobody asked for them."""
        skipped = self.whole.skipped
        return frozenset(s.slug for s in skipped if s.reason is SkipReason.NOT_ASKED)


_WORD = re.compile(r"\w+|\W")
WORDS_MAX = 20_000
"""Words on one side of a change beyond which all of it counts as changed."""


STALE_TEXTS_MAX = 8
"""Replacements of a page that a save is compared with, the newest first."""
WINDOW_S = 3600.0
"""A save is taken for one of an older text only so long after a text was replaced:
whoever takes back what the wiki brought earlier means it."""


def stale_ancestor(
    text: str, replaced: Sequence[Replaced], now: float
) -> Replaced | None:
    """The replacement that a save knows nothing of, or None.

    A text that this guard has merged once and that is saved once more is meant.
    """
    if not replaced or now - replaced[0].at > WINDOW_S:
        return None
    if any(one.is_stale and one.replaced == text for one in replaced):
        return None
    written = replaced[0].written
    nearest = min(replaced, key=lambda one: _distance(text, one.replaced))
    is_stale = _distance(text, nearest.replaced) < _distance(text, written)
    return nearest if is_stale else None


def _distance(one: str, other: str) -> int:
    """How many characters of either text the other lacks, by lines, then words.

    Lines alone would take a word mended in a line that came from the wiki for that
    line added once more: one line away from the old text, two from the new one.
    """
    mine, theirs = one.splitlines(), other.splitlines()
    return sum(
        _word_distance(
            "\n".join(mine[change.old_start : change.old_end]),
            "\n".join(theirs[change.new_start : change.new_end]),
        )
        for change in changes(mine, theirs)
    )


def _word_distance(one: str, other: str) -> int:
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if not mine or not theirs or max(len(mine), len(theirs)) > WORDS_MAX:
        return len(one) + len(other)
    return sum(
        sum(map(len, mine[change.old_start : change.old_end]))
        + sum(map(len, theirs[change.new_start : change.new_end]))
        for change in changes(mine, theirs)
    )
