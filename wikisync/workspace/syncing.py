"""Cycles of a workspace's wikis, one wiki after the other, and what came of them.

A cycle that leaves something to do at once is followed by another; whoever keeps
editing a page in the meantime does not keep us for ever.  What is wrong with one
wiki does not stop the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.config import WikiSection
from wikisync.errors import (
    ExitCode,
    Halted,
    WikisyncError,
)
from wikisync.model import Problem, Slug
from wikisync.progress import Progress
from wikisync.sync.decide.plan import (
    CreateLocal,
    CreateRemote,
    Notice,
    Rebind,
    Skip,
)
from wikisync.sync.decide.safety import Batch
from wikisync.sync.run.options import CycleOptions, FolderMatch
from wikisync.sync.run.result import CycleResult, Held, problems_of
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki

ROUNDS_MAX = 8
"""Cycles in a row for one wiki; a merge and its push are two."""
WAITS_MAX = 8
"""Times that ``--wait`` waits until an absence is certain."""


class Synced(Struct):
    """One wiki after its cycles."""

    section: WikiSection
    results: list[CycleResult] = field(default_factory=list)
    paused: str | None = None
    """Why a person wants it left alone; None where it is not paused."""
    failure: WikisyncError | None = None
    """Why it could not go on."""
    has_other_folder: bool = False
    """Whether its folder was another one than at the cycle before."""
    pages: frozenset[Slug] | None = None
    """What was asked for; None for the whole wiki."""
    unknown: tuple[Problem, ...] = ()
    """Pages that were named and are nowhere."""
    notes: tuple[Problem, ...] = ()
    """What a person may want to change in the configuration."""
    warnings: tuple[Problem, ...] = ()
    """What is wrong with the wiki as a whole."""

    @property
    def last(self) -> CycleResult:
        """The cycle after which nothing was left to do at once."""
        return self.results[-1]

    @property
    def held(self) -> tuple[Held, ...]:
        """Pages that wait for a person."""
        return self.last.held if self.results else ()

    @property
    def batches(self) -> tuple[Batch, ...]:
        """What safety stops hold."""
        return self.last.batches if self.results else ()

    @property
    def waiting(self) -> tuple[Skip, ...]:
        """Differences that were left alone, each with its reason."""
        return self.last.waiting if self.results else ()

    @property
    def notices(self) -> tuple[tuple[Slug, Notice], ...]:
        """Pages with which something went ahead that a person may not have meant."""
        return tuple(
            (action.slug, action.notice)
            for result in self.results
            for action in result.plan.actions
            if isinstance(action, CreateLocal | CreateRemote)
            and action.notice is not None
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong in the last cycle, and pages that never came to rest."""
        last = tuple(dict.fromkeys((*self.warnings, *problems_of(self.results))))
        if not self.results or not self.last.has_more or self.failure:
            return (*last, *self.unknown)
        restless = Problem(
            "not-at-rest",
            str(self.section.owner),
            "pages changed during the sync; some are not in sync yet",
            "run it again",
        )
        return (*last, *self.unknown, restless)

    @property
    def absent(self) -> tuple[Problem, ...]:
        """Attachments that the wiki lacks, reported in any of the cycles."""
        return tuple(one for result in self.results for one in result.absent)

    @property
    def all_notes(self) -> tuple[Problem, ...]:
        """Those of the wiki, and those of its folder in any of the cycles."""
        return (*self.notes, *(one for each in self.results for one in each.notes))

    def count(self, name: str) -> int:
        """A count of all cycles together: ``pulled``, ``pushed`` and so on."""
        return sum(getattr(result, name) for result in self.results)

    @property
    def has_moves(self) -> bool:
        """Whether a page was renamed, not only spelled as the service does."""
        done = (result.plan.moves for result in self.results if result.renamed)
        return any(not isinstance(move, Rebind) for moves in done for move in moves)


async def sync_wiki(
    opened: OpenWorkspace,
    wiki: SyncedWiki,
    options: CycleOptions,
    *,
    progress: Progress | None = None,
    waits: bool = False,
) -> Synced:
    """Run cycles until nothing is left to do at once, or until they fail.

    Args:
        opened: The workspace.
        wiki: One of its wikis.
        options: What is asked of every cycle.
        progress: Notified of long work.
        waits: Wait until absences are certain, too.
    """
    synced = Synced(wiki.section, notes=wiki.found.notes, warnings=wiki.found.warnings)
    # who says sync may have mended the token or the service's limits just now
    options = replace(
        options,
        tries_again=True,
        waits=waits,
    )
    rounds = waited = 0
    while rounds < ROUNDS_MAX:
        rounds += 1
        try:
            is_first = not synced.results
            with opened.meeting(wiki.section, is_first=is_first) as match:
                result = await opened.cycle(
                    wiki, replace(options, folder=match), progress
                )
        except WikisyncError as error:
            synced.failure = error
            return synced
        options = replace(options, tries_again=False)
        synced.results.append(result)
        synced.has_other_folder |= match is FolderMatch.OTHER
        if opened.is_read_only:
            return synced
        if result.has_more:
            continue
        if not waits or result.next_scan_s is None or waited >= WAITS_MAX:
            break
        waited, rounds = waited + 1, 0
        if progress is not None:
            progress.start("wait until missing pages are surely deleted", None)
        await asyncio.sleep(result.next_scan_s)
    return synced


def other_folder(folder: Path) -> str:
    """What is said of a wiki whose folder is another one than at the last cycle."""
    return (
        f"{folder} is not the folder of the last sync: it is accepted as it is,"
        f" nothing counts as deleted this time, and pages that differ are held"
    )


def exit_code_of(wikis: Sequence[Synced]) -> ExitCode:
    """The exit code of all wikis together: that of the worst."""
    failures = [wiki.failure for wiki in wikis if wiki.failure is not None]
    failed = [error for error in failures if not isinstance(error, Halted)]
    if failed:
        return failed[0].exit_code
    if any(wiki.unknown for wiki in wikis):
        return ExitCode.USAGE
    if failures or any(wiki.batches for wiki in wikis):
        return ExitCode.HALTED
    if any(wiki.held or wiki.problems for wiki in wikis):
        return ExitCode.HELD
    return ExitCode.DONE
