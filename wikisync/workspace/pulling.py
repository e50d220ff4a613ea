"""Pulling several wikis into folders, one after the other: clone's and export's half.

One wiki that cannot be read keeps no other one back, unless the service is away as a
whole.  A named one that does not exist, or is not for this token, ends the command
where the caller does not spare it.  A safety stop is raised at the end, so that the
other wikis are complete.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.attachments import AttachmentSource
from wikisync.api.client import Client
from wikisync.api.git import WikiRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.errors import (
    ExitCode,
    Halted,
    NotFound,
    PermissionDenied,
    RemoteError,
    WikisyncError,
)
from wikisync.folder.replica import FolderReplica
from wikisync.layout import CACHE_FOLDER, STATE_FILE, TEMPORARY_FOLDER
from wikisync.model import Problem, Slug
from wikisync.progress import Progress
from wikisync.sync.aliases import AliasedFolder
from wikisync.sync.cycle import CycleResult, pull_wiki
from wikisync.sync.identity import Located, carried_records
from wikisync.sync.ledger import Event, Level
from wikisync.sync.reconcile import Policy
from wikisync.sync.replica import AttachmentFolder, Replica
from wikisync.sync.state import State, WikiState
from wikisync.workspace.discovery import FoundWiki, skipped
from wikisync.workspace.links import translated_wiki
from wikisync.workspace.reach import is_of_all
from wikisync.workspace.sentences import problem_as_json

LEFT_OUT = "wiki-left-out"
"""Code of the problems of wikis that could not be read."""


class PulledWiki(Struct, frozen=True):
    """One wiki that is in its folder now."""

    wiki: FoundWiki
    folder: Path
    result: CycleResult


class FailedWiki(Struct, frozen=True):
    """One wiki that could not be read whole."""

    wiki: FoundWiki
    error: WikisyncError

    @property
    def is_refused(self) -> bool:
        """Whether the service does not give it to this token, or hides it."""
        return isinstance(self.error, NotFound | PermissionDenied)

    def problem(self) -> Problem:
        """What a person is told of it, where nothing was kept of it."""
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
        """What a person may have to look at, of all wikis."""
        return (
            *((self.state_problem,) if self.state_problem else ()),
            *(problem for wiki in self.wikis for problem in wiki.result.problems),
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

    def count(self, what: Callable[[CycleResult], int]) -> int:
        """A sum over all wikis."""
        return sum(what(wiki.result) for wiki in self.wikis)


class Place(Struct, frozen=True):
    """Where a command keeps what it pulls."""

    private: Path
    """State, lock and temporary files."""
    folder_of: Callable[[FoundWiki], Path]
    policy: Policy
    allow_emptying: bool = False


async def pull_all(
    client: Client,
    wikis: Sequence[FoundWiki],
    place: Place,
    progress: Progress,
    *,
    is_spared: Callable[[FoundWiki], bool] = lambda _wiki: False,
) -> Pulled:
    """Pull every wiki into its folder; those that cannot be read are in ``failed``.

    Interrupted, it leaves complete files; running it again finishes the work.

    Args:
        client: The open session.
        wikis: What to pull.
        place: Where to.
        progress: Told of long work.
        is_spared: Whether a named wiki may be missing all the same.

    Raises:
        PermissionDenied: a named wiki is switched off or not available.
        RemoteError: the service is away, or gave none of the wikis.
        WikisyncError: nothing more can be done.
    """
    pulled = Pulled()
    with State.open(
        place.private / STATE_FILE, service_url=str(client.address)
    ) as state:
        pulled.state_problem = _set_aside(state)
        for wiki in wikis:
            try:
                await _pull(client, wiki, place, state, progress, pulled)
            except (RemoteError, Halted) as error:
                failed = FailedWiki(wiki, error)
                if failed.is_refused and wiki.is_named and not is_spared(wiki):
                    raise
                if await is_of_all(client, error):
                    raise
                pulled.failed.append(failed)
    if not pulled.wikis and not pulled.refused and not pulled.halted and pulled.failed:
        raise pulled.failed[0].error
    return pulled


async def _pull(
    client: Client,
    wiki: FoundWiki,
    place: Place,
    state: State,
    progress: Progress,
    pulled: Pulled,
) -> None:
    folder = place.folder_of(wiki)
    own = _local(folder, place)
    known = state.wiki(wiki.owner)
    if place.policy is Policy.MIRROR and not known.is_same_wiki(str(wiki.id)):
        # pages of another project that had this path would outlive it
        known = state.bind(wiki.owner, state.begin(wiki.owner, str(wiki.id)))
        shutil.rmtree(folder, ignore_errors=True)
    elif place.policy is Policy.PULL and not known.base():
        known = _carried(state, wiki, str(client.address), folder, place)
    behind = _remote(client, wiki, state, place, has_folder=folder.is_dir())
    if place.policy is Policy.MIRROR or not known.base():
        # a folder that is gone later on may be a disk that is away
        await own.create()
    local: AttachmentFolder = own
    remote: Replica = behind
    if place.policy is not Policy.MIRROR:
        # a workspace that was synced before knows names and links by other words
        local = AliasedFolder(own, known)
        remote = translated_wiki(behind, folder, known, place.private)
    result = await pull_wiki(
        remote,
        local,
        state,
        owner=wiki.owner,
        policy=place.policy,
        remote_id=str(wiki.id),
        allow_emptying=place.allow_emptying,
        progress=progress,
    )
    if place.policy is Policy.MIRROR:
        _drop_unmentioned(folder, known)
        # the site has a placeholder there
        problems = (*result.problems, *result.absent)
        result = replace(result, problems=problems, absent=())
    else:
        _note_absent(known, result)
    if wiki.is_named or result.pages or result.problems:
        pulled.wikis.append(PulledWiki(wiki, folder, result))
        return
    pulled.skipped.append(skipped(wiki.owner, "its wiki has no pages"))
    with suppress(OSError):
        folder.rmdir()


def _carried(
    state: State, wiki: FoundWiki, service_url: str, folder: Path, place: Place
) -> WikiState:
    """The record of a wiki, which it may have from before its path was corrected."""
    found = carried_records(
        state.records(),
        service_url=service_url,
        there=Located(wiki.owner, wiki.id),
        folder=folder.relative_to(place.private.parent).as_posix(),
        others={},
    )
    if found and found[0].service_url == service_url:
        return state.bind(wiki.owner, found[0].number)
    return state.wiki(wiki.owner)


def _local(folder: Path, place: Place) -> FolderReplica:
    """The folder; in a workspace a person edits it, and what goes is kept."""
    if place.policy is Policy.MIRROR:
        return FolderReplica(folder, temporary=place.private / TEMPORARY_FOLDER)
    return FolderReplica.two_way(folder, private=place.private, settle_s=0.0)


def _note_absent(known: WikiState, result: CycleResult) -> None:
    """Log it as a sync does, which then tells nothing of it again."""
    for one in result.absent:
        slug = Slug(one.subject)
        known.note(Event(time.time(), Level.WARNING, slug, one.message))


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
    client: Client, wiki: FoundWiki, state: State, place: Place, *, has_folder: bool
) -> WikiReplica:
    """The wiki, told what was seen last time as far as the folder still has it."""
    remote_wiki = Wiki(client, wiki.owner, wiki.id)
    repository = WikiRepository(client, wiki.owner, place.private / CACHE_FOLDER)
    known = state.wiki(wiki.owner)
    is_known = bool(known.remote_tag) and has_folder
    return WikiReplica(
        remote_wiki,
        tag=known.remote_tag if is_known else "",
        pages=known.remote_pages() if is_known else None,
        attachments=AttachmentSource(remote_wiki, repository),
    )


def _set_aside(state: State) -> Problem | None:
    if state.set_aside is None:
        return None
    return Problem(
        "state-set-aside",
        str(state.path),
        "was damaged and is rebuilt; nothing was removed in this run",
        f"the damaged file is {state.set_aside.name}; delete it when everything works",
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
        for problem in wiki.result.problems
    )
    return (*own, *of_wikis, *pulled.left_out)


def exit_code_of(pulled: Pulled) -> ExitCode:
    """What the shell is told; a brake is raised instead, after the report.

    Raises:
        Halted: a brake stopped at least one wiki.
    """
    if pulled.halted:
        raise pulled.halted[0]
    return ExitCode.HELD if pulled.problems else ExitCode.DONE


def wiki_as_json(wiki: PulledWiki) -> dict[str, object]:
    """One wiki for programs."""
    result = wiki.result
    return {
        "kind": wiki.wiki.owner.kind,
        "path": wiki.wiki.owner.full_path,
        "folder": str(wiki.folder),
        "pages": result.pages,
        "written": result.written,
        "removed": result.removed,
        "attachments_fetched": result.attachments,
        "problems": [problem_as_json(problem) for problem in result.problems],
        "absent": [problem_as_json(problem) for problem in result.absent],
    }
