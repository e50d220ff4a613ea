"""What every part of one cycle works with: both copies, the base, and the account."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core.messages import Progress, SilentProgress
from wikisync.core.model import Digest, Page, Problem, Slug, Snapshot
from wikisync.errors import PreconditionFailed, WikisyncError
from wikisync.merging.front_matter import with_front_matter
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import LogEntry
from wikisync.sync.decide.plan import Action, describe
from wikisync.sync.replica import LocalReplica, RemoteReplica
from wikisync.sync.run.options import CycleOptions, LinkedPages

log = logging.getLogger(__name__)

UNAGREED = "the wiki's text, which a sync replaced by the newer one"
"""Why such a text is in the trash."""
EVENTS_EACH_MAX = 200
"""Pages of one cycle that the log names each in a line of its own."""


class _Tally(Struct):
    """What one cycle did so far, with the names that pages have after it."""

    pulled: list[Slug] = field(default_factory=list)
    pushed: list[Slug] = field(default_factory=list)
    merged: list[Slug] = field(default_factory=list)
    renamed: list[Slug] = field(default_factory=list)
    removed: list[Slug] = field(default_factory=list)
    superseded: int = 0
    """Pages that changed since the plan was made; the next cycle decides about them."""
    outdated: frozenset[Slug] = frozenset()
    """Pages whose files changed here; the next cycle sends those that are pulled."""
    attachments: list[str] = field(default_factory=list)
    """Paths of attachments fetched."""
    errors: list[Problem] = field(default_factory=list)
    """Nothing is removed in a cycle that had one."""
    warnings: list[Problem] = field(default_factory=list)
    """What a person has to do, and is no error: the page waits for them."""
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

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The pages and attachments that were carried over, by what was done."""
        return {
            "pulled": self.pulled,
            "pushed": self.pushed,
            "merged": self.merged,
            "renamed": self.renamed,
            "removed": self.removed,
            "attachments": self.attachments,
        }

    def fail(self, code: str, slug: str, error: WikisyncError) -> None:
        """Note that one page failed; the others go on, but for removals."""
        self.add(Problem(code, slug, error.message, error.hint or ""))

    def add(self, problem: Problem) -> None:
        """Note an error with one page."""
        log.info("problem with %s: %s", problem.subject, problem.message)
        self.errors.append(problem)

    def warn(self, problem: Problem) -> None:
        """Note what a person has to do about a page that waits for them."""
        log.info("waiting: %s: %s", problem.subject, problem.message)
        self.warnings.append(problem)

    def supersede(self, slug: Slug, error: WikisyncError) -> None:
        """Note a page that someone changed since the plan was made."""
        log.info("decide anew about %s: %s", slug, error.message)
        self.superseded += 1


class Cycle(Struct, frozen=True):
    """What one cycle works with; each of its parts gets this value and no more of it.

    What a part finds out and the next one needs (the two scans, the plan) goes from
    one to the other as an argument, so that the order of the parts can be read.
    """

    remote: RemoteReplica
    """The wiki."""
    local: LocalReplica
    """Its folder."""
    state: WikiState
    """What both held when they last agreed, and what else is known of them."""
    options: CycleOptions = CycleOptions()
    """What is asked for, with the limits; everything by default."""
    clock: Callable[[], float] = time.time
    """Seconds since the epoch."""
    progress: Progress = field(default_factory=SilentProgress)
    """Notified of long work."""
    linked: LinkedPages | None = None
    """Knows pages that link to files of the folder."""
    tally: _Tally = field(default_factory=_Tally)
    """What the cycle did so far; the one part that changes."""

    async def remote_page(
        self, slug: Slug, there: Snapshot, *, known: str, expected: Digest | None
    ) -> Page:
        """A page of the wiki, with the front matter that the service strips.

        Raises:
            PreconditionFailed: it holds something else.
            RemoteError: it cannot be read.
        """
        page = there.texts.get(slug) or await self.remote.read(slug)
        if expected is not None and page.digest != expected:
            raise PreconditionFailed(f"{slug} was edited on the wiki meanwhile")
        if page.format not in self.state.memory.capabilities.strips_front_matter_of:
            return page
        content = with_front_matter(page.content, known)
        return replace(page, content=content, wiki_digest=page.digest)

    def note_done(self, action: Action, slug: Slug) -> None:
        """Log one action as carried out, for the page as it is called now."""
        what = describe(action)
        log.info("%s", what)
        self.state.note_done(self.clock(), slug, what)

    def note_new(self, warnings: Mapping[Slug, str]) -> None:
        """Log what a person has to do, by page, unless the log says so already."""
        for slug, what in list(warnings.items())[:EVENTS_EACH_MAX]:
            last = self.state.events(1, slug)
            if not last or last[0].what != what:
                entry = LogEntry(self.clock(), slug, what, is_warning=True)
                self.state.note(entry)
