"""What a cycle works with: what is asked of it, decision, account, result."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core.messages import Progress
from wikisync.core.model import Digest, Page, Problem, Slug, Snapshot, is_named
from wikisync.errors import FolderError, NotFound, PreconditionFailed, WikisyncError
from wikisync.merging.conflict import MergedText
from wikisync.merging.metadata import with_front_matter
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide import plan as plans
from wikisync.sync.decide.ledger import Replaced
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.rewinding import NO_REWINDING, NotAgreed, Rewinding
from wikisync.sync.decide.safety import Batch
from wikisync.sync.replica import LocalReplica, RemoteReplica

log = logging.getLogger(__name__)

UNAGREED = "the wiki's text, which a sync replaced by the newer one"
"""Why such a text is in the trash."""
EVENTS_EACH_MAX = 200
"""Pages of one cycle that the log names each in a line of its own."""
T = TypeVar("T")

THREAD_CHARS_MIN = 100_000
"""Work on shorter texts is done before a thread could begin with it."""
FINISH_TIMEOUT_S = 10.0
"""So long an interrupt waits for a write and its record."""

READS_MAX = 8
REMOTE_SPAN_S = 60.0


class LinkedPages(Protocol):
    """Pages whose texts differ by their links to files of the folder."""

    @property
    def unmet(self) -> Mapping[Slug, Sequence[str]]:
        """Ways of links to files that were not here when their pages were sent."""

    async def outdated(self) -> frozenset[Slug]:
        """Pages whose attachments here are other ones than the wiki's."""

    async def recognised(self, here: Page, slug: Slug) -> Page | None:
        """A page of the wiki as the folder writes it, if it is that one."""
        # nothing is known of its links; those to files are compared by the files


Confirm = Callable[[], Awaitable[None]]
"""Raises where the wiki that was read is not the one that is meant."""


class FolderMatch(Enum):
    """What the folder is, compared with that of the last cycle."""

    SAME = auto()
    ADOPTED = auto()
    """Both sides are taken as they are: what one of them lacks was not deleted."""
    SHARED = auto()
    """Another machine used folder and base last: what is missing here may be on its
    way, so each deletion waits for a cycle without another machine between."""
    OTHER = auto()
    """It may be an older copy: it is adopted, and what differs in it is no edit of what
    was agreed on, and waits for a person."""

    @property
    def is_new(self) -> bool:
        """Whether what is missing on either side says nothing."""
        return self in {FolderMatch.ADOPTED, FolderMatch.OTHER}


class Patience(Struct, frozen=True):
    """When something that was seen again and again is certain."""

    remote_scans: int = 3
    """A page is surely gone from the wiki if so many complete lists lack it ..."""
    remote_span_s: float = REMOTE_SPAN_S
    """... from the first to the last of them."""
    local_scans: int = 2
    """A file is surely gone if so many scans of the folder lack it ..."""
    local_span_s: float = 10.0
    """... from the first to the last of them."""
    editor_span_s: float = 600.0
    """How long a page may be open in an editor before a person is notified."""


class CycleOptions(Struct, frozen=True):
    """What a person asked of a cycle."""

    direction: Direction = Direction.BOTH
    pages: frozenset[Slug] | None = None
    """Pages and folders, as ``is_named`` takes them; None for all."""
    saved: frozenset[str] | None = None
    """Files of the folder that were saved since the last cycle, where nothing else is
    known to have happened to it: a scan of them may be enough.  None where anything may
    have happened."""
    folder: FolderMatch = FolderMatch.SAME
    tries_again: bool = False
    """Send once more what the service refused: its rights may be others by now."""
    allows_emptying: bool = False
    """A person's yes to all removals here that the safety stop would hold."""
    is_undoable: bool = True
    """What it does can be taken back by an undo."""
    waits: bool = False
    """The run goes on when an absence is certain, and its sync with it."""
    patience: Patience = Patience()

    @property
    def is_partial(self) -> bool:
        """Whether some differences are left alone because nobody asked for them."""
        return self.pages is not None or self.direction is not Direction.BOTH

    def writes_here(self, slug: Slug) -> bool:
        """Whether the folder may be written for this page."""
        is_asked = self.pages is None or is_named(slug, self.pages)
        return is_asked and self.direction is not Direction.PUSH


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


class Absences(Struct, frozen=True):
    """What a cycle makes of the pages that its plan would remove."""

    waiting: Mapping[Slug, plans.SkipReason]
    doubted: Slug | None = None
    """A page that the list lacks and the service still has, or the like: then the
    scan of the wiki was not complete."""
    due_s: float | None = None
    """Seconds until one more scan can make an absence certain."""


class Decided(Struct):
    """What is to be done, as far as the filters are through, and all it is based on."""

    base: plans.Base
    here: Snapshot
    there: Snapshot
    plan: plans.Plan
    """What is carried out: in the end the part that was asked for."""
    absences: Absences
    ignored: frozenset[Slug]
    """Pages whose absence in the folder means nothing."""
    shown: Mapping[Slug, Digest] = {}
    seen: NotAgreed = NotAgreed()
    """What the wiki has otherwise than was agreed on."""
    is_set_back: bool | None = None
    """Whether the wiki's history lacks the last sync; None where it is not known."""
    head: str = ""
    """The wiki's newest commit, where the plan made it worth asking."""
    is_unanswered: bool = False
    """Nobody could say whether the wiki went back in time."""
    rewinding: Rewinding = NO_REWINDING
    unmerged: frozenset[plans.Action] = frozenset()
    merges: Mapping[Slug, MergedPage] = {}
    superseded: frozenset[Slug] = frozenset()
    """Pages whose text changed while this was decided; they are in no plan."""
    batches: tuple[Batch, ...] = ()
    whole: plans.Plan = plans.Plan()
    """What there is to do and what waits, whoever asks."""


class _Tally(Struct):
    pulled: list[Slug] = field(default_factory=list)
    pushed: list[Slug] = field(default_factory=list)
    merged: list[Slug] = field(default_factory=list)
    renamed: list[Slug] = field(default_factory=list)
    removed: list[Slug] = field(default_factory=list)
    superseded: int = 0
    """Pages that changed since the plan was made, or whose turn comes later; the next
    cycle decides about them."""
    outdated: frozenset[Slug] = frozenset()
    """Pages whose files changed here; the next cycle sends those that are pulled."""
    attachments: list[str] = field(default_factory=list)
    errors: list[Problem] = field(default_factory=list)
    """Nothing is removed in a cycle that had one."""
    warnings: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    """Attachments that could not be fetched; no reason to keep a page."""
    absent: list[Problem] = field(default_factory=list)
    """Attachments that the wiki itself lacks, reported for the first time."""
    refused: set[Slug] = field(default_factory=set)
    """Pages that the service did not take; from the next cycle on they are held."""
    lost_names: set[Slug] = field(default_factory=set)
    """New names of pages whose rename failed; nothing follows it."""
    given_names: dict[Slug, Slug] = field(default_factory=dict)
    """What the service called pages instead of their new names, which are lost."""

    def fail(self, code: str, slug: str, error: WikisyncError) -> None:
        """Note that one page failed; the others go on, but for removals."""
        self.add(code, slug, error.message, error.hint or "")

    def add(
        self, code: str, slug: str, message: str, hint: str, *, is_once: bool = False
    ) -> None:
        """Note an error with one page."""
        log.info("problem with %s: %s", slug, message)
        self.errors.append(Problem(code, slug, message, hint, is_once=is_once))

    def warn(
        self, code: str, slug: str, message: str, hint: str, *, is_once: bool = False
    ) -> None:
        """Note what a person has to do about a page that waits for them."""
        log.info("waiting: %s: %s", slug, message)
        self.warnings.append(Problem(code, slug, message, hint, is_once=is_once))

    def supersede(self, slug: Slug, error: WikisyncError) -> None:
        """Note a page that someone changed since the plan was made."""
        log.info("decide anew about %s: %s", slug, error.message)
        self.superseded += 1


class Cycle(Struct, frozen=True):
    """What one cycle works with; each of its parts gets this and no more of it."""

    remote: RemoteReplica
    local: LocalReplica
    state: WikiState
    """What both held when they last agreed, and what else is known of them."""
    options: CycleOptions = CycleOptions()
    clock: Callable[[], float] = time.time
    progress: Progress = field(default_factory=Progress)
    linked: LinkedPages | None = None
    confirm: Confirm | None = None
    """Asked before anything is done; None where the wiki is known to be the one."""
    is_awaited: Callable[[], bool] = bool
    """Whether there is a newer change, for which the rest of many pages waits."""
    tally: _Tally = field(default_factory=_Tally)
    """What the cycle did so far; the one part that changes."""

    async def remote_page(
        self, slug: Slug, there: Snapshot, *, known: str, expected: Digest | None
    ) -> Page:
        """A page of the wiki, with the front matter that the service strips.

        PreconditionFailed where it holds something else, or RemoteError.
        """
        page = there.texts.get(slug) or await self.remote.read(slug)
        if expected is not None and page.digest != expected:
            raise PreconditionFailed(f"{slug} was edited on the wiki meanwhile")
        if page.format not in self.state.memory.capabilities.strips_front_matter_of:
            return page
        content = with_front_matter(page.content, known)
        return replace(page, content=content, wiki_digest=page.digest)

    async def page_here(self, slug: Slug) -> Page | None:
        """A page of the folder; None where it cannot be read: its turn says why."""
        with contextlib.suppress(NotFound, FolderError):
            return await self.local.read(slug)
        return None

    def note_done(self, action: plans.Action, slug: Slug) -> None:
        """Log one action as carried out, for the page as it is called now."""
        what = plans.describe(action)
        log.info("%s", what)
        self.state.note(self.clock(), slug, what)

    def note_new(self, warnings: Mapping[Slug, str]) -> None:
        """Log what a person has to do, by page, unless the log says so already."""
        for slug, what in list(warnings.items())[:EVENTS_EACH_MAX]:
            last = self.state.events(1, slug)
            if not last or last[0].what != what:
                self.state.note(self.clock(), slug, what, is_warning=True)


def problems_of(results: Sequence[CycleResult]) -> list[Problem]:
    """Problems of cycles in a row: all of the last, and what each has once."""
    once = [one for each in results[:-1] for one in each.problems if one.is_once]
    return [*once, *results[-1].problems] if results else []


class Held(Struct, frozen=True):
    """A page that waits for a person."""

    slug: Slug
    reason: plans.HoldReason
    conflict_file: str = ""
    """Path of its conflict file in the wiki's folder; empty where there is none."""
    detail: str = ""
    """What the service said, or what is in the way; empty for neither."""
    step: str = ""
    file: str = ""
    """The name of its file where that is neither this one nor what it waits for."""

    @classmethod
    def of(
        cls, hold: plans.Hold, known: WikiState, *, shown: str | FolderError = ""
    ) -> Held:
        """A hold with what a person needs to know to settle it."""
        slug, reason = hold.slug, hold.reason
        if isinstance(shown, FolderError):
            return cls(slug, reason, "", shown.message, shown.hint or "")
        refusal = known.memory.refusals.get(slug)
        if reason is plans.HoldReason.REFUSED and refusal is not None:
            return cls(slug, reason, shown, refusal.message)
        return cls(slug, reason, shown, hold.target or "", file=hold.file or "")

    def __str__(self) -> str:
        reason = f"{self.reason}: {self.detail}" if self.detail else str(self.reason)
        return f"{reason} (its file is {self.file})" if self.file else reason


class CycleResult(Struct, frozen=True):
    """What one cycle found and did."""

    plan: plans.Plan = plans.Plan()
    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    renamed: int = 0
    removed: int = 0
    attachments: int = 0
    held: tuple[Held, ...] = ()
    batches: tuple[Batch, ...] = ()
    """What a safety stop holds until a person decides."""
    problems: tuple[Problem, ...] = ()
    absent: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """Folders that are left out: in a dry run all, otherwise for the first time."""
    pages: int = 0
    names: Mapping[str, Sequence[str]] = {}
    settled: frozenset[Slug] = frozenset()
    """Pages that settled conflict files became, or would become."""
    has_more: bool = False
    """Another cycle has something to do at once."""
    next_scan_s: float | None = None
    """When one more scan can make an absence certain."""

    @property
    def waiting(self) -> tuple[plans.Skip, ...]:
        """Differences left alone, but those which a problem or a batch reports."""
        return tuple(one for one in self.plan.skipped if not one.reason.is_reported)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was written on either side."""
        moved = self.pulled or self.pushed or self.merged or self.renamed
        return not (moved or self.removed or self.attachments)


NOTHING_DONE = CycleResult()


async def on_texts(work: Callable[[], T], *texts: str) -> T:
    """Compare, merge or take texts apart beside the loop, where they are long."""
    # everything else goes on meanwhile; cancelled, the work comes to its end in vain
    if max(map(len, texts), default=0) < THREAD_CHARS_MIN:
        return work()
    return await asyncio.to_thread(work)
