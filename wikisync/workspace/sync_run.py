"""One sync of a workspace: some wikis at a time, and what is left for a person."""

import asyncio
from collections.abc import Iterator, Sequence, Set
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from wikisync import errors
from wikisync.api.client import Client
from wikisync.config.sections import WikiSection
from wikisync.core.messages import Messages
from wikisync.core.model import Problem, Slug, is_named, some_of
from wikisync.site.preview.writing import WikiDesk
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import SkipReason
from wikisync.sync.run.parts import CycleOptions, CycleResult, problems_of
from wikisync.workspace import attention, configured, opening
from wikisync.workspace.failures import OWN_TROUBLE, own_failure
from wikisync.workspace.runner import Outage, Runner, WikiRun
from wikisync.workspace.sent_pages import old_links
from wikisync.workspace.sentences import counted
from wikisync.workspace.service import Credentials

NAMES_SHOWN_MAX = 5
RENAMES_COUNTED_MAX = 3
"""Of one wiki, whose links are counted: each costs a look at all of its pages."""
RENAMED_STEP = "to change the links to an old name, too, run: wikisync mv OLD NEW"


class SyncRequest(Struct, frozen=True):
    """What a person asks of one sync."""

    direction: Direction = Direction.BOTH
    is_dry_run: bool = False
    waits: bool = False
    adopt: Literal["push", "hold"] | None = None
    """What a first sync does with pages that are only here; None to ask."""
    allows_network_disk: bool = False


class SyncRun(Struct, frozen=True):
    """What one sync of a workspace did."""

    wikis: Sequence[opening.Synced]
    """In order; those that were not begun when the service went away are not there."""
    problems: Sequence[Problem] = ()
    """Problems of the workspace, which are no single wiki's."""

    @property
    def exit_code(self) -> errors.ExitCode:
        """The exit code of the command."""
        beside = errors.ExitCode.HELD if self.problems else errors.ExitCode.DONE
        return exit_code_of(self.wikis) or beside


def exit_code_of(wikis: Sequence[opening.Synced]) -> errors.ExitCode:
    """The exit code of all wikis together: that of the worst."""
    failures = [wiki.failure for wiki in wikis if wiki.failure is not None]
    failed = [error for error in failures if not isinstance(error, errors.Halted)]
    if failed:
        return failed[0].exit_code
    if any(wiki.unknown for wiki in wikis):
        return errors.ExitCode.USAGE
    if failures or any(wiki.last.batches for wiki in wikis):
        return errors.ExitCode.HALTED
    if any(wiki.last.held or wiki.problems for wiki in wikis):
        return errors.ExitCode.HELD
    return errors.ExitCode.DONE


Wanted = Sequence[tuple[WikiSection, frozenset[Slug] | None]]
"""Wikis to sync, each with the pages that are asked for; None for all of them."""


async def sync_workspace(
    workspace: configured.ConfiguredWorkspace,
    pages: Sequence[str],
    request: SyncRequest,
    credentials: Credentials,
) -> SyncRun:
    """Sync a workspace once; what is wrong with one wiki stops no other one."""
    wanted = wanted_pages(workspace, pages)
    is_real = not request.is_dry_run
    with (
        attention.noting_halts(workspace.root) if is_real else nullcontext(),
        opening.open_workspace(
            workspace,
            allows_network_disk=request.allows_network_disk,
            is_read_only=request.is_dry_run,
        ) as opened,
    ):
        for notice in opened.notices():
            credentials.messages.warn(notice)
        async with credentials.open(workspace) as client:
            done = await _each(credentials.messages, opened, client, wanted, request)
        problems: list[Problem] = []
        if is_real:
            problems += say_attention(opened, done)
            for synced in done:
                synced.notes += await asyncio.to_thread(_renamed, opened, synced)
            is_anew = opened.is_adopting or opened.is_shared
            is_whole = not pages and len(done) == len(workspace.config.wikis)
            # a wiki that was not scanned has not been taken as it is
            scanned = (one.results and not one.failure for one in done)
            if is_anew and is_whole and all(scanned):
                opened.note_adopted()
    return SyncRun(done, problems)


def _renamed(
    opened: opening.OpenWorkspace, synced: opening.Synced
) -> tuple[Problem, ...]:
    """Notes on the links to old names of pages that were renamed."""
    section = synced.section
    moves = list(synced.moves.items())
    desk = WikiDesk(opened.folder_of(section), opened.workspace.private)
    notes = [old_links(desk, section, *one) for one in moves[:RENAMES_COUNTED_MAX]]
    if more := len(moves[RENAMES_COUNTED_MAX:]):
        owner, what = str(section.owner), f"{counted(more, 'more page')} renamed"
        note = Problem("links-to-old-name", owner, what, RENAMED_STEP, is_note=True)
        notes.append(note)
    return tuple(one for one in notes if one)


def say_attention(
    opened: opening.OpenWorkspace, done: Sequence[opening.Synced]
) -> Iterator[Problem]:
    """Say in the workspace what waits; a file that cannot be written is a problem."""
    root, sections = opened.workspace.root, opened.workspace.config.synced_wikis
    before: Sequence[str] = ()
    service = ""
    with suppress(errors.FolderError):
        before = attention.read_attention(root)
    for wiki in done:
        if isinstance(wiki.failure, errors.AuthenticationFailed):
            service = attention.refused_sentence(wiki.failure.hint)
    lines = attention.attention_lines(sections, done, before, service=service)
    try:
        attention.write_attention(root, lines)
    except errors.FolderError as error:
        # what was done and what waits is reported all the same
        yield Problem("file-unwritten", str(root), error.message, error.hint or "")


async def sync_pages(
    opened: opening.OpenWorkspace, wanted: Wanted, credentials: Credentials
) -> Sequence[opening.Synced]:
    """Sync these pages of an open workspace once, after a person decided on them."""
    messages = credentials.messages
    async with credentials.open(opened.workspace) as client:
        done = await _each(messages, opened, client, wanted, SyncRequest())
    messages.problems(say_attention(opened, done))
    return done


def wanted_pages(
    workspace: configured.ConfiguredWorkspace, pages: Sequence[str]
) -> list[tuple[WikiSection, frozenset[Slug] | None]]:
    """The wikis to sync, each with the pages of it that are asked for."""
    if not pages or any(one and Path(one).resolve() == workspace.root for one in pages):
        return [(wiki, None) for wiki in workspace.config.synced_wikis]
    whole = {wiki for name in pages if (wiki := workspace.wiki_at(name)) is not None}
    found: dict[WikiSection, set[Slug]] = {}
    for name in pages:
        if not name.strip() or workspace.wiki_at(name) is None:
            wiki, slug = configured.named_pages(workspace, name)
            found.setdefault(wiki, set()).add(slug)
    return [
        (wiki, None if wiki in whole else frozenset(found[wiki]))
        for wiki in workspace.config.wikis
        if wiki in whole or wiki in found
    ]


async def _each(
    messages: Messages,
    opened: opening.OpenWorkspace,
    client: Client,
    wanted: Wanted,
    request: SyncRequest,
) -> list[opening.Synced]:
    """Some wikis at a time, until the service is away or refuses the token."""
    works = [_OneSync(opened, client, request, *one) for one in wanted]

    async def is_run(works: Sequence[_OneSync]) -> bool:
        with messages.progress() as progress:
            runner = await Runner.to_rest(
                works, client, progress, "sync wikis", waits=request.waits
            )
        for work in works:
            work.end(runner.wikis[work.name], runner.outage)
        return runner.outage is None

    goes_on = await is_run(works)
    # a person can answer one question at a time
    for work in works:
        if work.only_here and goes_on:
            work.ask(messages)
            goes_on = await is_run([work])
    done = [work.synced for work in works if work.is_done]
    for synced in done:
        if synced.has_other_folder:
            messages.warn(opening.other_folder(opened.folder_of(synced.section)))
    return done


class _Asks(errors.SyncError):
    """A person has to be asked first."""


class _OneSync(opening.WikiCycles):
    def __init__(
        self,
        opened: opening.OpenWorkspace,
        client: Client,
        request: SyncRequest,
        section: WikiSection,
        slugs: frozenset[Slug] | None,
    ) -> None:
        if slugs is not None:
            slugs = opened.pages_of(section, slugs)
        asked = CycleOptions(
            direction=request.direction, pages=slugs, waits=request.waits
        )
        super().__init__(opened, section, client, asked, asks_first=False)
        self.synced.pages = slugs
        self.only_here: Sequence[Slug] = ()
        """Pages of which a person has to be asked whether they are uploaded."""
        self.is_done = False
        self._adopt = request.adopt
        self._is_answered = request.adopt is not None or opened.is_read_only

    async def _begin(self, wiki: opening.SyncedWiki) -> None:
        """Find out what a first sync does with pages that are only here."""
        # of the others nothing is said by who names a page, nor by who wants a pull
        is_pull = self.options.direction is Direction.PULL
        if self.options.pages is not None or is_pull:
            return
        if self._adopt == "push":
            wiki.known.remember(left_out=None)
        is_first = not wiki.known.base() and wiki.known.memory.left_out is not None
        # the wiki is not scanned for an empty folder: texts come with the first list
        # alone, and after it each page would be read by itself
        if is_first and not self._is_answered and (await wiki.local.snapshot()).pages:
            seen = await self._opened.plan(wiki, self.options)
            left = [a for a in seen.waiting if a.reason is SkipReason.NOT_ASKED]
            if left:
                self.only_here = [action.slug for action in left]
                raise _Asks(f"pages are only in {self.name}")

    def ask(self, messages: Messages) -> None:
        new, self._is_answered = self.only_here, True
        shown = some_of(new, NAMES_SHOWN_MAX)
        what = f"only in {self.name}: {counted(len(new), 'page')} ({shown})"
        answer = messages.ask(f"{what}; upload them to the wiki?")
        if answer is None:
            step = "to upload them, use --adopt push"
            messages.note(f"{what}; they are not uploaded; {step}")
        if answer:
            self._adopt = "push"

    def end(self, wiki: WikiRun, outage: Outage | None) -> None:
        """Take up what came of it; of a service that is away one wiki reports it."""
        failure = wiki.failure
        if wiki.is_paused:
            self.synced.paused = self._opened.known(self.section).memory.paused
        elif outage is not None and outage.error is failure:
            self.synced.failure = failure
        elif not wiki.cycles or isinstance(failure, _Asks) or wiki.meets(outage):
            return
        elif self._opened.is_read_only:
            self.synced.failure = failure
        else:
            self.synced.failure = _counted(self._opened, self.section, failure)
        self.is_done = True
        known = self._opened.known(self.section)
        unknown = unknown_of(known, self.synced.results, self.options.pages)
        self.synced.unknown = configured.no_such_pages(unknown)


def _counted(
    opened: opening.OpenWorkspace,
    section: WikiSection,
    failure: errors.WikisyncError | None,
) -> errors.WikisyncError | None:
    """What one wiki failed with while the service answers; often in a row, it lasts."""
    name = f"failures {section.owner}"
    before = opened.state.recalled(name)
    if not isinstance(failure, OWN_TROUBLE):
        if before:
            opened.state.remember(name, "")
        return failure
    tries = int(before or 0) + 1
    opened.state.remember(name, str(tries))
    lasting = own_failure(failure, tries)
    if lasting is failure and isinstance(failure, errors.AuthenticationFailed):
        # the token is good elsewhere: it is a right that it lacks here
        return errors.PermissionDenied(failure.message, hint=failure.hint)
    return lasting


def unknown_of(
    known: WikiState, results: Sequence[CycleResult], slugs: frozenset[Slug] | None
) -> frozenset[Slug]:
    """Pages that were named, and that neither side has or had."""
    if slugs is None or not results:
        return frozenset()
    planned = {
        name
        for result in results
        for action in result.plan.actions
        for name in (action.slug, getattr(action, "target", None))
    }
    broken = {problem.subject for problem in problems_of(results)}
    return missing_from(slugs, known.base().keys() | planned | broken)


def missing_from(names: frozenset[Slug], slugs: Set[object]) -> frozenset[Slug]:
    """The names, also of folders, that no page has."""
    found = frozenset(Slug(str(slug)) for slug in slugs)
    return frozenset(
        name
        for name in names - found
        if not any(is_named(slug, {name}) for slug in found)
    )
