"""Pulling wikis into folders, some at a time: clone's and export's half.

Each gets cycles of one direction until it is at rest; where a page is missing from a
wiki, the command waits until its deletion is confirmed, so that one run is enough.  One
wiki that cannot be read keeps no other one back, unless the service is away as a
whole.  A named one that does not exist, or is not for this token, ends the command
where the caller does not spare it.  A safety stop is raised at the end, so that the
other wikis are complete.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.attachments import AttachmentSource
from wikisync.api.client import Client
from wikisync.api.git import RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.errors import (
    ExitCode,
    Halted,
    NotFound,
    PermissionDenied,
    RemoteError,
    WikisyncError,
    command_line,
)
from wikisync.folder.replica import FolderReplica
from wikisync.layout import CACHE_FOLDER, STATE_FILE
from wikisync.model import Problem, Slug, WikiOwner
from wikisync.parallel import WIKIS_AT_ONCE, gather
from wikisync.progress import Progress, SilentProgress
from wikisync.site.model import PageComment
from wikisync.sync.base.state import REBUILT, State, WikiState
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import Batch, BatchKind
from wikisync.sync.replica import LocalReplica, RemoteReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.options import (
    MIRROR_SPAN_S,
    REMOTE_SPAN_S,
    CycleOptions,
    LinkedPages,
)
from wikisync.sync.run.result import CycleResult, problems_of
from wikisync.sync.wiki.aliases import AliasedFolder
from wikisync.workspace.attention import next_step
from wikisync.workspace.discovery import FoundWiki, skipped
from wikisync.workspace.identity import RemoteId
from wikisync.workspace.links import translated_wiki
from wikisync.workspace.reach import is_of_all
from wikisync.workspace.sentences import problem_as_json

LEFT_OUT = "wiki-left-out"
"""Code of the problems of wikis that could not be read."""
CYCLES_MAX = 16
"""Cycles of one wiki in one run; one that is edited all the time ends, too."""
STOPS_HERE = frozenset(BatchKind) - {
    BatchKind.DELETES_THERE,
    BatchKind.CHANGES_THERE,
    BatchKind.SHRUNK_THERE,
}
"""Batches that hold what a pull would do; it writes nothing to a wiki."""


class PulledWiki(Struct, frozen=True):
    """One wiki that is in its folder now."""

    wiki: FoundWiki
    folder: Path
    pages: int
    """How many pages the wiki has."""
    written: int
    """Pages put into the folder."""
    removed: int
    """Pages removed from the folder."""
    attachments: int
    """Attachments fetched."""
    problems: tuple[Problem, ...]
    """Everything that may need a person, what is held included."""
    absent: tuple[Problem, ...]
    """Attachments that the wiki itself lacks; no trouble of the pull."""
    notes: tuple[Problem, ...]
    """Folders that are left out."""
    comments: Mapping[Slug, tuple[PageComment, ...]] = field(default_factory=dict)
    """Those on its pages, where somebody asked for them."""


class FailedWiki(Struct, frozen=True):
    """One wiki that could not be read whole."""

    wiki: FoundWiki
    error: WikisyncError

    @property
    def is_refused(self) -> bool:
        """Whether the service does not give it to this token, or hides it."""
        return isinstance(self.error, NotFound | PermissionDenied)

    def problem(self) -> Problem:
        """What is reported of it, where nothing was kept of it."""
        return Problem(
            LEFT_OUT,
            str(self.wiki.owner),
            f"left out: {self.error.message}",
            self.error.hint or "",
        )


class Pulled(Struct):
    """All wikis of one command."""

    wikis: list[PulledWiki] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    """Wikis without pages, or switched off: nothing of them is missing."""
    failed: list[FailedWiki] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    """Wikis that were there before and were not found now."""
    state_problem: Problem | None = None

    @property
    def halted(self) -> list[Halted]:
        """The safety stops that were met."""
        errors = (failed.error for failed in self.failed)
        return [error for error in errors if isinstance(error, Halted)]

    @property
    def refused(self) -> tuple[Problem, ...]:
        """Wikis that are not for this token, which may be meant so."""
        return tuple(one.problem() for one in self.failed if one.is_refused)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What may need a person, of all wikis."""
        return (
            *((self.state_problem,) if self.state_problem else ()),
            *(problem for wiki in self.wikis for problem in wiki.problems),
            *self.left_out,
        )

    @property
    def left_out(self) -> tuple[Problem, ...]:
        """Wikis that could not be read, though they are for this token."""
        failed = (
            failed.problem()
            for failed in self.failed
            if not failed.is_refused and not isinstance(failed.error, Halted)
        )
        return (*self.missing, *failed)


class Destination(Struct, frozen=True):
    """Where a command keeps what it pulls."""

    private: Path
    """State, lock and temporary files."""
    folder_of: Callable[[FoundWiki], Path]
    is_mirror: bool
    """The folders are private to us; else persons edit them."""
    folders: Mapping[WikiOwner, str] = {}
    """The folder of each wiki of a workspace."""
    allow_emptying: bool = False

    @property
    def options(self) -> CycleOptions:
        """What every cycle of the command is asked for."""
        return CycleOptions(
            direction=Direction.PULL,
            is_mirror=self.is_mirror,
            allows_emptying=self.allow_emptying,
            is_undoable=False,
            remote_span_s=MIRROR_SPAN_S if self.is_mirror else REMOTE_SPAN_S,
        )


async def pull_all(
    client: Client,
    wikis: Sequence[FoundWiki],
    destination: Destination,
    progress: Progress,
    *,
    is_spared: Callable[[FoundWiki], bool] = lambda _wiki: False,
) -> Pulled:
    """Pull every wiki into its folder; those that cannot be read are in ``failed``.

    Interrupted, it leaves complete files; running it again finishes the work.

    Args:
        client: The open session.
        wikis: What to pull.
        destination: Where to.
        progress: Notified of long work.
        is_spared: Whether a named wiki may be missing all the same.

    Raises:
        PermissionDenied: a named wiki is switched off or not available.
        RemoteError: the service is away, or gave none of the wikis.
        WikisyncError: nothing more can be done.
    """
    pulled = Pulled()
    is_one = len(wikis) == 1
    of_pages = progress if is_one else SilentProgress()
    of_wikis = SilentProgress() if is_one else progress
    of_wikis.start("read wikis", len(wikis))
    with State.open(destination.private / STATE_FILE) as state:
        pulled.state_problem = _set_aside(state)
        if destination.folders:
            state.follow_folders(destination.folders)

        async def one(wiki: FoundWiki) -> PulledWiki | FailedWiki | Problem:
            try:
                return await _pull(client, wiki, destination, state, of_pages)
            except (RemoteError, Halted) as error:
                failed = FailedWiki(wiki, error)
                if failed.is_refused and wiki.is_named and not is_spared(wiki):
                    raise
                if await is_of_all(client, error):
                    raise
                return failed
            finally:
                of_wikis.advance()

        outcomes = await gather(wikis, one, in_flight=WIKIS_AT_ONCE)
    for outcome in outcomes:
        match outcome:
            case PulledWiki():
                pulled.wikis.append(outcome)
            case FailedWiki():
                pulled.failed.append(outcome)
            case Problem():
                pulled.skipped.append(outcome)
    if not pulled.wikis and not pulled.refused and not pulled.halted and pulled.failed:
        raise pulled.failed[0].error
    return pulled


async def _pull(
    client: Client,
    wiki: FoundWiki,
    destination: Destination,
    state: State,
    progress: Progress,
) -> PulledWiki | Problem:
    """Pull one wiki; a problem says why there is nothing to show of it."""
    folder = destination.folder_of(wiki)
    own = _local(folder, destination)
    known = state.wiki(wiki.owner)
    remote_id = str(RemoteId.of(client, wiki.owner, wiki.id))
    if destination.is_mirror and not known.is_same_wiki(remote_id):
        # pages of another project that had this path would outlive it
        known = state.begin_anew(wiki.owner)
        shutil.rmtree(folder, ignore_errors=True)
    behind = _remote(client, wiki, state, destination, has_folder=folder.is_dir())
    if destination.is_mirror or not known.base():
        # a folder that is gone later on may be a disk that is away
        await own.create()
    local: LocalReplica = own
    remote: RemoteReplica = behind
    linked: LinkedPages | None = None
    if not destination.is_mirror:
        # a workspace that was synced before knows names and links by other words
        local = AliasedFolder(own, known)
        remote = linked = translated_wiki(behind, own, known, destination.private)

    async def cycle() -> CycleResult:
        return await run_cycle(
            remote,
            local,
            state,
            owner=wiki.owner,
            remote_id=remote_id,
            options=destination.options,
            progress=progress,
            linked=linked,
        )

    results = await _at_rest(cycle, progress)
    for batch in results[-1].batches:
        if batch.kind in STOPS_HERE:
            raise _halted(wiki.owner, folder, batch)
    if destination.is_mirror:
        _drop_unmentioned(folder, known)
    one = _pulled(wiki, folder, results, destination)
    # a workspace keeps empty wikis: they are in wikisync.toml, and a sync has folders
    if not destination.is_mirror or wiki.is_named or one.pages or one.problems:
        return one
    with suppress(OSError):
        folder.rmdir()
    return skipped(wiki.owner, "its wiki has no pages")


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
        return Halted(
            f"{batch.share} ({batch.names}) are missing from the wiki of {owner};"
            " none was removed here",
            hint="check the wiki; if they were deleted on purpose, run the same"
            " command again with --allow-emptying",
        )
    name = f"{folder.name}:{batch.id}"
    return Halted(
        f"{owner}: {batch}",
        hint=f"to approve, run: {command_line('approve', name)}; to reject, run:"
        f" {command_line('refuse', name)}",
    )


def _pulled(
    wiki: FoundWiki,
    folder: Path,
    results: Sequence[CycleResult],
    destination: Destination,
) -> PulledWiki:
    """What all cycles of one wiki did, and what is left to a person."""
    last = results[-1]
    absent = [problem for result in results for problem in result.absent]
    problems = [*_problems(wiki, folder, results)]
    if destination.is_mirror:
        # the site has a placeholder there
        problems += absent
        absent = []
    return PulledWiki(
        wiki,
        folder,
        pages=last.pages,
        written=sum(result.pulled + result.merged for result in results),
        removed=sum(result.removed for result in results),
        attachments=sum(result.attachments for result in results),
        problems=tuple(dict.fromkeys(problems)),
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


def _local(folder: Path, destination: Destination) -> FolderReplica:
    """The folder; in a workspace a person edits it, and what goes is kept."""
    if destination.is_mirror:
        return FolderReplica.mirror(folder, private=destination.private)
    return FolderReplica.two_way(folder, private=destination.private, settle_s=0.0)


def _drop_unmentioned(folder: Path, known: WikiState) -> None:
    """A mirror holds what its pages mention: a site from it equals one made anew.

    Only files that the state knows as fetched go; a workspace keeps them all.
    """
    gone = known.attachments().keys() - set(known.mentions())
    for path in sorted(gone):
        with suppress(FileNotFoundError):
            (folder / path).unlink()
        with suppress(OSError):
            (folder / path).parent.rmdir()
    if gone:
        known.record_attachments(dropped=gone)


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


# -- the report --------------------------------------------------------------------


def labelled(pulled: Pulled) -> tuple[Problem, ...]:
    """All problems; with several wikis each subject names its wiki."""
    if len(pulled.wikis) == 1:
        return pulled.problems
    own = (pulled.state_problem,) if pulled.state_problem else ()
    of_wikis = tuple(
        replace(problem, subject=f"{wiki.wiki.owner}: {problem.subject}")
        for wiki in pulled.wikis
        for problem in wiki.problems
    )
    return (*own, *of_wikis, *pulled.left_out)


def exit_code_of(pulled: Pulled) -> ExitCode:
    """The exit code; a safety stop is raised instead, after the report.

    Raises:
        Halted: a safety stop stopped at least one wiki.
    """
    if pulled.halted:
        raise pulled.halted[0]
    return ExitCode.HELD if pulled.problems else ExitCode.DONE


def wiki_as_json(wiki: PulledWiki) -> dict[str, object]:
    """One wiki for programs."""
    return {
        "kind": wiki.wiki.owner.kind,
        "path": wiki.wiki.owner.full_path,
        "folder": str(wiki.folder),
        "pages": wiki.pages,
        "written": wiki.written,
        "removed": wiki.removed,
        "attachments_fetched": wiki.attachments,
        "problems": [problem_as_json(problem) for problem in wiki.problems],
        "absent": [problem_as_json(problem) for problem in wiki.absent],
        "notes": [problem_as_json(note) for note in wiki.notes],
    }
