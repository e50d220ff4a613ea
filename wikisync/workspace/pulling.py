"""Pulling wikis into the folders of a workspace: clone's half.

Each gets cycles of one direction until it is at rest; where a page is missing from a
wiki, the command waits until its deletion is confirmed, so that one run is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from wikisync.api.attachments import AttachmentSource
from wikisync.api.client import Client
from wikisync.api.git import RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.errors import (
    Halted,
    command_line,
)
from wikisync.folder.replica import FolderReplica
from wikisync.layout import CACHE_FOLDER, STATE_FILE
from wikisync.model import Problem, WikiOwner
from wikisync.progress import Progress
from wikisync.sync.base.state import REBUILT, State
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import Batch, BatchKind
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.options import REMOTE_SPAN_S, CycleOptions, Patience
from wikisync.sync.run.result import CycleResult, problems_of
from wikisync.sync.wiki.aliases import AliasedFolder
from wikisync.workspace.attention import next_step
from wikisync.workspace.discovery import FoundWiki
from wikisync.workspace.identity import RemoteId
from wikisync.workspace.links import translated_wiki
from wikisync.workspace.pulled import Pulled, PulledWiki, missing_pages, pull_all

CYCLES_MAX = 16
"""Cycles of one wiki in one run; one that is edited all the time ends, too."""
STOPS_HERE = frozenset(BatchKind) - {
    BatchKind.DELETES_THERE,
    BatchKind.CHANGES_THERE,
    BatchKind.SHRUNK_THERE,
}
"""Batches that hold what a pull would do; it writes nothing to a wiki."""


class Destination(Struct, frozen=True):
    """Where a clone keeps what it pulls."""

    private: Path
    """State, lock and temporary files."""
    folder_of: Callable[[FoundWiki], Path]
    folders: Mapping[WikiOwner, str]
    """The folder of each wiki of the workspace."""
    allow_emptying: bool = False

    @property
    def options(self) -> CycleOptions:
        """What every cycle of the command is asked for."""
        return CycleOptions(
            direction=Direction.PULL,
            allows_emptying=self.allow_emptying,
            is_undoable=False,
            patience=Patience(remote_span_s=REMOTE_SPAN_S),
        )


async def pull_into_folders(
    client: Client,
    wikis: Sequence[FoundWiki],
    destination: Destination,
    progress: Progress,
) -> Pulled:
    """Pull every wiki into its folder, as ``pull_all`` says; raises the same."""
    with State.open(destination.private / STATE_FILE) as state:
        state.follow_folders(destination.folders)

        async def pull(wiki: FoundWiki, progress: Progress) -> PulledWiki:
            return await _pull(client, wiki, destination, state, progress)

        pulled = await pull_all(client, wikis, pull, progress)
        pulled.state_problem = _set_aside(state)
    return pulled


async def _pull(
    client: Client,
    wiki: FoundWiki,
    destination: Destination,
    state: State,
    progress: Progress,
) -> PulledWiki:
    """Pull one wiki."""
    folder = destination.folder_of(wiki)
    own = FolderReplica.two_way(folder, private=destination.private, settle_s=0.0)
    known = state.wiki(wiki.owner)
    remote_id = str(RemoteId.of(client, wiki.owner, wiki.id))
    behind = _remote(client, wiki, state, destination, has_folder=folder.is_dir())
    if not known.base():
        # a folder that is gone later on may be a disk that is away
        await own.create()
    # a workspace that was synced before knows names and links by other words
    local = AliasedFolder(own, known)
    remote = translated_wiki(behind, own, known)

    async def cycle() -> CycleResult:
        return await run_cycle(
            remote,
            local,
            state,
            owner=wiki.owner,
            remote_id=remote_id,
            options=destination.options,
            progress=progress,
            linked=remote,
        )

    results = await _at_rest(cycle, progress)
    for batch in results[-1].batches:
        if batch.kind in STOPS_HERE:
            raise _halted(wiki.owner, folder, batch)
    return _pulled(wiki, folder, results)


async def _at_rest(
    cycle: Callable[[], Awaitable[CycleResult]], progress: Progress
) -> Sequence[CycleResult]:
    """Cycles until nothing is left to do, and every absence is certain."""
    results = [await cycle()]
    while len(results) < CYCLES_MAX:
        last = results[-1]
        if not last.has_more:
            if last.next_scan_s is None:
                break
            progress.start("wait until deletions of missing pages are confirmed", None)
            await asyncio.sleep(last.next_scan_s)
        results.append(await cycle())
    return results


def _halted(owner: WikiOwner, folder: Path, batch: Batch) -> Halted:
    """What ends the pull of a wiki when everything else of it is done."""
    if batch.kind is BatchKind.DELETES_HERE:
        gone = [member.slug for member in batch.members]
        return missing_pages(owner, gone, max(len(gone), batch.tracked))
    name = f"{folder.name}:{batch.id}"
    return Halted(
        f"{owner}: {batch}",
        hint=f"to approve, run: {command_line('approve', name)}; to reject, run:"
        f" {command_line('refuse', name)}",
    )


def _pulled(
    wiki: FoundWiki, folder: Path, results: Sequence[CycleResult]
) -> PulledWiki:
    """What all cycles of one wiki did, and what is left to a person."""
    last = results[-1]
    absent = [problem for result in results for problem in result.absent]
    return PulledWiki(
        wiki,
        folder,
        pages=last.pages,
        written=sum(result.pulled + result.merged for result in results),
        removed=sum(result.removed for result in results),
        attachments=sum(result.attachments for result in results),
        problems=tuple(dict.fromkeys(_problems(wiki, folder, results))),
        absent=tuple(dict.fromkeys(absent)),
        notes=tuple(note for result in results for note in result.notes),
    )


def _problems(
    wiki: FoundWiki, folder: Path, results: Sequence[CycleResult]
) -> Iterator[Problem]:
    """What went wrong, and what waits for a person."""
    yield from problems_of(results)
    last = results[-1]
    for held in last.held:
        step = next_step(folder.name, held)
        yield Problem("page-held", held.slug, str(held), step)
    for one in last.waiting:
        yield Problem("page-skipped", one.slug, str(one.reason))
    if last.has_more or last.next_scan_s is not None:
        message = "pages changed during the run; some are not up to date yet"
        yield Problem("not-at-rest", str(wiki.owner), message, "run it again")


def _remote(
    client: Client,
    wiki: FoundWiki,
    state: State,
    destination: Destination,
    *,
    has_folder: bool,
) -> WikiReplica:
    """The wiki, with what was seen last time as far as the folder still has it."""
    remote_wiki = Wiki(client, wiki.owner, wiki.id)
    repository = RemoteRepository(
        client, wiki.owner, destination.private / CACHE_FOLDER
    )
    known = state.wiki(wiki.owner)
    is_known = bool(known.memory.remote_tag) and has_folder
    return WikiReplica(
        remote_wiki,
        tag=known.memory.remote_tag if is_known else "",
        pages=known.remote_pages() if is_known else None,
        again=known.memory.remote_again,
        trees=repository.trees(),
        attachments=AttachmentSource(remote_wiki, repository),
    )


def _set_aside(state: State) -> Problem | None:
    if state.set_aside is None:
        return None
    return Problem(
        "state-set-aside",
        str(state.path),
        f"{REBUILT}; nothing was removed in this run",
        f"the old file is {state.set_aside.name}; delete it when everything works",
    )
