"""Cycles of a workspace's wikis, one wiki after the other, and what came of them.

A cycle that leaves something to do at once is followed by another; whoever keeps
editing a page in the meantime does not keep us for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wikisync.cli.workspace import OpenWorkspace, SyncedWiki
from wikisync.errors import ExitCode
from wikisync.model import Problem

if TYPE_CHECKING:
    from wikisync.progress import Progress
    from wikisync.sync.exchange import ExchangeOptions, ExchangeResult, Held
    from wikisync.sync.safety import Batch

ROUNDS_MAX = 8
"""Cycles in a row for one wiki; a merge and its push are two."""
WAITS_MAX = 8
"""Times that ``--wait`` waits until an absence is certain."""


@dataclass(slots=True)
class Synced:
    """One wiki after its cycles."""

    wiki: SyncedWiki
    results: list[ExchangeResult] = field(default_factory=list)

    @property
    def last(self) -> ExchangeResult:
        """The cycle after which nothing was left to do at once."""
        return self.results[-1]

    @property
    def held(self) -> tuple[Held, ...]:
        """Pages that wait for a person."""
        return self.last.held

    @property
    def batches(self) -> tuple[Batch, ...]:
        """What brakes hold."""
        return self.last.batches

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong in the last cycle, and pages that never came to rest."""
        if not self.last.has_more:
            return self.last.problems
        restless = Problem(
            "not-at-rest",
            str(self.wiki.section.owner),
            "pages change while they are carried over; some are not in step yet",
            "run it again",
        )
        return (*self.last.problems, restless)

    def count(self, name: str) -> int:
        """A count of all cycles together: ``pulled``, ``pushed`` and so on."""
        return sum(getattr(result, name) for result in self.results)


async def sync_wiki(
    opened: OpenWorkspace,
    wiki: SyncedWiki,
    options: ExchangeOptions,
    *,
    progress: Progress | None = None,
    waits: bool = False,
) -> Synced:
    """Run cycles until nothing is left to do at once.

    Args:
        opened: The workspace.
        wiki: One of its wikis.
        options: What is asked of every cycle.
        progress: Told of long work.
        waits: Wait until absences are certain, too.

    Raises:
        WikisyncError: a cycle could not go on.
    """
    from wikisync.sync.exchange import exchange

    synced = Synced(wiki)
    options = replace(options, adopts=opened.is_adopting)
    rounds = waited = 0
    while rounds < ROUNDS_MAX:
        rounds += 1
        result = await exchange(
            wiki.remote,
            wiki.local,
            opened.state,
            owner=wiki.section.owner,
            remote_id=wiki.remote_id,
            options=options,
            progress=progress,
            outdated=wiki.remote.outdated,
        )
        options = replace(options, adopts=False)
        synced.results.append(result)
        if options.is_dry_run:
            break
        if result.has_more:
            continue
        if not waits or result.next_look_s is None or waited >= WAITS_MAX:
            break
        waited, rounds = waited + 1, 0
        await asyncio.sleep(result.next_look_s)
    return synced


def exit_code_of(wikis: Sequence[Synced]) -> ExitCode:
    """What the shell is told of all wikis together."""
    if any(wiki.batches for wiki in wikis):
        return ExitCode.HALTED
    if any(wiki.held or wiki.problems for wiki in wikis):
        return ExitCode.HELD
    return ExitCode.DONE
