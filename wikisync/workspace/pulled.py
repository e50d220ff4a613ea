"""Wikis read whole, some at a time: what clone and export have in common.

One wiki that cannot be read keeps no other one back, unless the service is away as a
whole.  A named one that does not exist, or is not for this token, ends the command
where the caller does not spare it.  A safety stop is raised at the end, so that the
other wikis are complete.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.errors import (
    ExitCode,
    Halted,
    NotFound,
    PermissionDenied,
    RemoteError,
    WikisyncError,
)
from wikisync.model import Problem, Slug, WikiOwner
from wikisync.parallel import WIKIS_AT_ONCE, gather
from wikisync.progress import Progress, SilentProgress
from wikisync.site.model import PageComment
from wikisync.workspace.discovery import FoundWiki
from wikisync.workspace.reach import is_of_all
from wikisync.workspace.sentences import problem_as_json

NAMES_SHOWN_MAX = 10
LEFT_OUT = "wiki-left-out"
"""Code of the problems of wikis that could not be read."""


class PulledWiki(Struct, frozen=True):
    """One wiki that is in its folder, or in the mirror, now."""

    wiki: FoundWiki
    folder: Path
    """Of its files, or of the mirror."""
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
    absent: tuple[Problem, ...] = ()
    """Attachments that the wiki itself lacks; no trouble of the pull."""
    notes: tuple[Problem, ...] = ()
    """Folders that are left out."""
    comments: Mapping[Slug, tuple[PageComment, ...]] = field(default_factory=dict)
    """Those on its pages, where somebody asked for them."""
    copy: int = 0
    """Number of its copy in the mirror; 0 where it has files of its own."""


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


def missing_pages(owner: WikiOwner, gone: Sequence[Slug], tracked: int) -> Halted:
    """What ends the pull of a wiki that lost most of its pages."""
    names, more = ", ".join(gone[:NAMES_SHOWN_MAX]), len(gone) - NAMES_SHOWN_MAX
    names += f" and {more} more" if more > 0 else ""
    return Halted(
        f"{len(gone)} of {tracked} pages ({names}) are missing from the wiki of"
        f" {owner}; none was removed here",
        hint="check the wiki; if they were deleted on purpose, run the same"
        " command again with --allow-emptying",
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


Pull = Callable[[FoundWiki, Progress], Awaitable[PulledWiki | Problem]]
"""Reads one wiki; a problem says why there is nothing to show of it."""


async def pull_all(
    client: Client,
    wikis: Sequence[FoundWiki],
    pull: Pull,
    progress: Progress,
    *,
    is_spared: Callable[[FoundWiki], bool] = lambda _wiki: False,
) -> Pulled:
    """Pull every wiki; those that cannot be read are in ``failed``.

    Interrupted, it leaves whole pages or wikis; running it again finishes the work.

    Args:
        client: The open session.
        wikis: What to pull.
        pull: Pulls one of them.
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

    async def one(wiki: FoundWiki) -> PulledWiki | FailedWiki | Problem:
        try:
            return await pull(wiki, of_pages)
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
    folder = {} if wiki.copy else {"folder": str(wiki.folder)}
    return {
        "kind": wiki.wiki.owner.kind,
        "path": wiki.wiki.owner.full_path,
        **folder,
        "pages": wiki.pages,
        "written": wiki.written,
        "removed": wiki.removed,
        "attachments_fetched": wiki.attachments,
        "problems": [problem_as_json(problem) for problem in wiki.problems],
        "absent": [problem_as_json(problem) for problem in wiki.absent],
        "notes": [problem_as_json(note) for note in wiki.notes],
    }
