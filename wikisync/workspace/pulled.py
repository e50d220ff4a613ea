"""Wikis read whole, some at a time: what clone and export have in common.

One wiki that cannot be read keeps no other one back, unless the service is away, or the
wiki was named and the caller does not spare it.  A safety stop is raised at the end.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync import errors as failures
from wikisync.api.client import Client
from wikisync.core.messages import Progress
from wikisync.core.model import Problem, Slug, WikiOwner, some_of
from wikisync.site.model import WikiSource
from wikisync.workspace.discovery import FoundWiki
from wikisync.workspace.runner import Runner, ShownWork
from wikisync.workspace.sentences import fields, problems_as_json

NAMES_SHOWN_MAX = 10


class PulledWiki(Struct, frozen=True):
    """One wiki that is in its folder, or in the mirror, now."""

    wiki: WikiSource
    """Its problems are all that may need a person, what is held included."""
    pages: int
    written: int
    removed: int
    attachments: int
    absent: tuple[Problem, ...] = ()
    """Attachments that the wiki itself lacks; no trouble of the pull."""
    notes: tuple[Problem, ...] = ()


class FailedWiki(Struct, frozen=True):
    """One wiki that could not be read whole."""

    wiki: FoundWiki
    error: failures.WikisyncError

    @property
    def is_refused(self) -> bool:
        """Whether the service does not give it to this token, or hides it."""
        return isinstance(self.error, failures.NotFound | failures.PermissionDenied)

    def problem(self) -> Problem:
        """What is reported of it, where nothing was kept of it."""
        said, hint = f"left out: {self.error.message}", self.error.hint or ""
        return Problem("wiki-left-out", str(self.wiki.owner), said, hint)


def missing_pages(
    owner: WikiOwner, gone: Sequence[Slug], tracked: int
) -> failures.Halted:
    """What ends the pull of a wiki that lost most of its pages."""
    return failures.Halted(
        f"{len(gone)} of {tracked} pages ({some_of(gone, NAMES_SHOWN_MAX)}) are"
        f" missing from the wiki of {owner}; none was removed here",
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
    def halted(self) -> list[failures.Halted]:
        """The safety stops that were met."""
        errors = (failed.error for failed in self.failed)
        return [error for error in errors if isinstance(error, failures.Halted)]

    @property
    def refused(self) -> tuple[Problem, ...]:
        """Wikis that are not for this token, which may be meant so."""
        return tuple(one.problem() for one in self.failed if one.is_refused)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What may need a person, of all wikis."""
        return (
            *((self.state_problem,) if self.state_problem else ()),
            *(problem for wiki in self.wikis for problem in wiki.wiki.problems),
            *self.left_out,
        )

    @property
    def left_out(self) -> tuple[Problem, ...]:
        """Wikis that could not be read, though they are for this token."""
        failed = (
            failed.problem()
            for failed in self.failed
            if not failed.is_refused and not isinstance(failed.error, failures.Halted)
        )
        return (*self.missing, *failed)


class Pull(ShownWork, Protocol):
    """Reads one wiki."""

    wiki: FoundWiki

    def pulled(self) -> PulledWiki | Problem:
        """What came of it; a problem where nothing is to show, or Halted."""


async def pull_all(
    client: Client,
    pulls: Sequence[Pull],
    progress: Progress,
    *,
    waits: bool = False,
    is_spared: Callable[[FoundWiki], bool] = lambda _wiki: False,
) -> Pulled:
    """Pull every wiki; those that cannot be read are in ``failed``.

    Raises where a named wiki is not available, or the service is away.
    """
    runner = await Runner.to_rest(pulls, client, progress, "read wikis", waits=waits)
    if runner.outage is not None:
        raise runner.outage.error
    pulled = Pulled()
    for pull in pulls:
        try:
            if error := runner.wikis[pull.name].failure:
                raise error
            outcome = pull.pulled()
        except (failures.RemoteError, failures.Halted) as exc:
            failed = FailedWiki(pull.wiki, exc)
            if failed.is_refused and pull.wiki.is_named and not is_spared(pull.wiki):
                raise
            pulled.failed.append(failed)
            continue
        if isinstance(outcome, Problem):
            pulled.skipped.append(outcome)
        else:
            pulled.wikis.append(outcome)
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
        for problem in wiki.wiki.problems
    )
    return (*own, *of_wikis, *pulled.left_out)


def exit_code_of(pulled: Pulled) -> failures.ExitCode:
    """The exit code; a safety stop is raised instead, after the report."""
    if pulled.halted:
        raise pulled.halted[0]
    return failures.ExitCode.HELD if pulled.problems else failures.ExitCode.DONE


def wiki_as_json(wiki: PulledWiki) -> dict[str, object]:
    """One wiki for programs."""
    source = wiki.wiki
    folder = {} if source.copy else {"folder": str(source.folder)}
    return {
        "kind": source.owner.kind,
        "path": source.owner.full_path,
        **folder,
        **fields(wiki, "pages written removed"),
        "attachments_fetched": wiki.attachments,
        "problems": problems_as_json(source.problems),
        "absent": problems_as_json(wiki.absent),
        "notes": problems_as_json(wiki.notes),
    }
