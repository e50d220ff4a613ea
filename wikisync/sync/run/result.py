"""What one cycle found and did, and what it leaves to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from wikisync.core.model import Problem, Slug
from wikisync.errors import FolderError
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.plan import Hold, HoldReason, Plan, Skip
from wikisync.sync.decide.safety import Batch


def problems_of(results: Sequence[CycleResult]) -> list[Problem]:
    """Problems of cycles that followed each other: of the last, and what each has once.

    A problem of an earlier cycle is over where the last one has it no more.
    """
    once = [one for each in results[:-1] for one in each.problems if one.is_once]
    return [*once, *results[-1].problems] if results else []


class Held(Struct, frozen=True):
    """A page that waits for a person."""

    slug: Slug
    reason: HoldReason
    conflict_file: str = ""
    """Path of its conflict file in the wiki's folder; empty where there is none."""
    detail: str = ""
    """What the service said, or what is in the way; empty for neither."""
    step: str = ""
    """What makes way for its conflict file."""
    file: str = ""
    """The name of its file where that is neither this one nor what it waits for."""

    @classmethod
    def of(cls, hold: Hold, known: WikiState, *, shown: str | FolderError = "") -> Held:
        """A hold with what a person needs to know to settle it."""
        slug, reason = hold.slug, hold.reason
        if isinstance(shown, FolderError):
            return cls(slug, reason, "", shown.message, shown.hint or "")
        refusal = known.memory.refusals.get(slug)
        if reason is HoldReason.REFUSED and refusal is not None:
            return cls(slug, reason, shown, refusal.message)
        return cls(slug, reason, shown, hold.target or "", file=hold.file or "")

    def __str__(self) -> str:
        reason = f"{self.reason}: {self.detail}" if self.detail else str(self.reason)
        return f"{reason} (its file is {self.file})" if self.file else reason


class CycleResult(Struct, frozen=True):
    """What one cycle found and did."""

    plan: Plan
    """What was carried out, or would be."""
    pulled: int
    pushed: int
    merged: int
    renamed: int
    removed: int
    attachments: int
    """Attachments fetched."""
    held: tuple[Held, ...]
    batches: tuple[Batch, ...]
    """What a safety stop holds until a person decides."""
    problems: tuple[Problem, ...]
    absent: tuple[Problem, ...]
    """Attachments that the wiki itself lacks, reason for the first time."""
    notes: tuple[Problem, ...]
    """Folders that are left out: in a dry run all, otherwise for the first time."""
    pages: int
    """How many pages the wiki has, after what was done."""
    names: Mapping[str, Sequence[str]] = {}
    """The pages and attachments behind each count, by the name of the count."""
    settled: frozenset[Slug] = frozenset()
    """Pages that settled conflict files became, or would become."""
    has_more: bool = False
    """Another cycle has something to do at once."""
    next_scan_s: float | None = None
    """When one more scan can make an absence certain."""

    @property
    def waiting(self) -> tuple[Skip, ...]:
        """Differences left alone, but those which a problem or a batch reports."""
        return tuple(one for one in self.plan.skipped if not one.reason.is_reported)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was written on either side."""
        moved = self.pulled or self.pushed or self.merged or self.renamed
        return not (moved or self.removed or self.attachments)
