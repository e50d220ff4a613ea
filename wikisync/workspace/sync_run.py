"""One sync of a workspace: some wikis at a time, and what is left for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from msgspec import Struct

from wikisync.api.client import Client
from wikisync.config import WikiSection
from wikisync.errors import (
    OWN_TROUBLE,
    AuthenticationFailed,
    ExitCode,
    FolderError,
    PermissionDenied,
    SyncError,
    WikisyncError,
)
from wikisync.messages import LaterMessages, Messages
from wikisync.model import Problem, Slug
from wikisync.parallel import WIKIS_AT_ONCE, each
from wikisync.progress import Progress
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.plan import SkipReason
from wikisync.sync.run.options import CycleOptions
from wikisync.sync.run.result import CycleResult, problems_of
from wikisync.workspace.attention import LASTING_HINT, LASTING_TRIES, lasting
from wikisync.workspace.attention_file import noting_halts, show_attention
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.named import no_such_pages, refuse_impossible
from wikisync.workspace.opening import (
    OpenWorkspace,
    SyncedWiki,
    WikiMoved,
    open_workspace,
)
from wikisync.workspace.reach import is_of_all
from wikisync.workspace.sentences import counted
from wikisync.workspace.service import open_service
from wikisync.workspace.syncing import Synced, exit_code_of, other_folder, sync_wiki

NAMES_SHOWN_MAX = 5
"""Pages named in one question."""


class SyncRequest(Struct, frozen=True):
    """What a person asks of one sync."""

    direction: Direction = Direction.BOTH
    is_dry_run: bool = False
    """Nothing is changed, here or on the wikis."""
    waits: bool = False
    """Wait until deletions of missing pages are confirmed."""
    adopt: Literal["push", "hold"] | None = None
    """What a first sync does with pages that are only here; None to ask."""
    allows_network_disk: bool = False


class SyncRun(Struct, frozen=True):
    """What one sync of a workspace did."""

    wikis: Sequence[Synced]
    """In order; those that were not begun when the service went away are not there."""
    problems: Sequence[Problem] = ()
    """Problems of the workspace, which are no single wiki's."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""
        beside = ExitCode.HELD if self.problems else ExitCode.DONE
        return exit_code_of(self.wikis) or beside


Wanted = Sequence[tuple[WikiSection, frozenset[Slug] | None]]
"""Wikis to sync, each with the pages that are asked for; None for all of them."""


async def sync_workspace(
    workspace: ConfiguredWorkspace,
    pages: Sequence[str],
    request: SyncRequest,
    token_file: Path | None,
    messages: Messages,
    env: Mapping[str, str],
) -> SyncRun:
    """Sync a workspace once; what is wrong with one wiki stops no other one.

    Interrupted, it leaves complete files; the next sync goes on from there.

    Args:
        workspace: Which one.
        pages: Files of pages, ``FOLDER/SLUG``, or folders of wikis; all for none.
        request: How.
        token_file: File with the token; None for what ``env`` or the workspace names.
        messages: Hears what a person should know meanwhile.
        env: May hold the token.

    Raises:
        UsageError: a page is of no wiki here, or the token cannot be read.
        FolderError: another process holds the workspace, or it cannot be used.
        Halted: its folder is not the one that was synced.
    """
    wanted = wanted_pages(workspace, pages)
    is_real = not request.is_dry_run
    with (
        noting_halts(workspace.root) if is_real else nullcontext(),
        open_workspace(
            workspace,
            allows_network_disk=request.allows_network_disk,
            is_read_only=request.is_dry_run,
        ) as opened,
    ):
        for notice in opened.notices():
            messages.warn(notice)
        async with open_service(workspace, token_file, messages, env) as client:
            done = await _each(messages, opened, client, wanted, request)
        problems: list[Problem] = []
        if is_real:
            problems += _show_attention(opened, done)
            if not pages:
                _note_adopted(opened, done)
    return SyncRun(done, problems)


def _show_attention(opened: OpenWorkspace, done: Sequence[Synced]) -> Iterator[Problem]:
    """Say in the workspace what waits; a file that cannot be written is a problem."""
    workspace = opened.workspace
    try:
        show_attention(workspace.root, workspace.synced, done)
    except FolderError as error:
        # what was done and what waits is reported all the same
        yield _unwritten(workspace.root, error)


def _note_adopted(opened: OpenWorkspace, done: Sequence[Synced]) -> None:
    """What only a sync of all wikis can say."""
    if len(done) < len(opened.workspace.config.wikis):
        return
    # a wiki that was not scanned has not been taken as it is
    is_anew = opened.is_adopting or opened.is_shared
    if is_anew and all(one.results and not one.failure for one in done):
        opened.note_adopted()


def _unwritten(folder: Path, error: FolderError) -> Problem:
    return Problem("file-unwritten", str(folder), error.message, error.hint or "")


async def sync_pages(
    messages: Messages,
    opened: OpenWorkspace,
    wanted: Wanted,
    token_file: Path | None,
    env: Mapping[str, str],
) -> Sequence[Synced]:
    """Sync these pages of an open workspace once, after a person decided on them."""
    async with open_service(opened.workspace, token_file, messages, env) as client:
        done = await _each(messages, opened, client, wanted, SyncRequest())
    messages.problems(_show_attention(opened, done))
    return done


def wanted_pages(
    workspace: ConfiguredWorkspace, pages: Sequence[str]
) -> list[tuple[WikiSection, frozenset[Slug] | None]]:
    """The wikis to sync, each with the pages of it that are asked for.

    Raises:
        UsageError: a page is of no wiki, or can be none.
    """
    if not pages:
        return [(wiki, None) for wiki in workspace.synced]

    refuse_impossible(workspace, pages)
    whole = {wiki for name in pages if (wiki := workspace.wiki_at(name)) is not None}
    found: dict[WikiSection, set[Slug]] = {}
    for name in pages:
        if workspace.wiki_at(name) is None:
            wiki, slug = workspace.page(name)
            found.setdefault(wiki, set()).add(slug)
    return [
        (wiki, None if wiki in whole else frozenset(found[wiki]))
        for wiki in workspace.config.wikis
        if wiki in whole or wiki in found
    ]


async def _each(
    messages: Messages,
    opened: OpenWorkspace,
    client: Client,
    wanted: Wanted,
    request: SyncRequest,
) -> list[Synced]:
    """Some wikis at a time, until the service is away or refuses the token."""
    run = _Run(opened, client, request)
    try:
        with messages.progress() as progress:
            if len(wanted) > 1:
                progress.start("sync wikis", len(wanted))
            else:
                run.watcher = progress

            async def one(at: int) -> None:
                await run.sync(at, *wanted[at])
                if len(wanted) > 1:
                    progress.advance()

            await each(range(len(wanted)), one, in_flight=WIKIS_AT_ONCE)
    finally:
        for at in sorted(run.said):
            run.said[at].say_to(messages)
    # a person can answer one question at a time
    for at in sorted(run.asking):
        await run.sync(at, *wanted[at], asks=messages)
    return [run.done[at] for at in sorted(run.done)]


class _Run:
    """The wikis of one sync, by their order."""

    def __init__(
        self, opened: OpenWorkspace, client: Client, request: SyncRequest
    ) -> None:
        self._opened, self._client, self._request = opened, client, request
        self.watcher: Progress | None = None
        """Notified of the pages, where there is one wiki."""
        self.done: dict[int, Synced] = {}
        self.said: dict[int, LaterMessages] = {}
        self.asking: list[int] = []
        """Wikis of which a person has to be asked first."""
        self._over = asyncio.Event()
        """The service is away, or refuses the token: it is said of one wiki."""

    async def sync(
        self,
        at: int,
        section: WikiSection,
        slugs: frozenset[Slug] | None,
        *,
        asks: Messages | None = None,
    ) -> None:
        """Sync one wiki; one that has to ask waits until there is whom to ask."""
        if self._over.is_set():
            return
        opened, request = self._opened, self._request
        paused = opened.known(section).memory.paused
        if paused is not None:
            self.done[at] = Synced(section, paused=paused)
            return
        said = asks or self.said.setdefault(at, LaterMessages())
        try:
            synced = await self._synced(section, slugs, said, asks)
            if synced is not None and isinstance(synced.failure, WikiMoved):
                synced = await self._synced(section, slugs, said, asks, asks_first=True)
        except WikisyncError as error:
            synced = Synced(section, failure=error)
        if synced is None:
            self.said.pop(at, None)
            self.asking.append(at)
            return
        failure = synced.failure
        if failure is not None and await is_of_all(self._client, failure):
            if not self._over.is_set():
                self.done[at] = synced
            self._over.set()
            return
        if not request.is_dry_run:
            synced.failure = _counted(opened, section, failure)
        self.done[at] = synced

    async def _synced(
        self,
        section: WikiSection,
        slugs: frozenset[Slug] | None,
        said: Messages | LaterMessages,
        asks: Messages | None,
        *,
        asks_first: bool = False,
    ) -> Synced | None:
        """One wiki to the end; None where a person has to be asked and is not there.

        ``asks_first`` is that of ``OpenWorkspace.synced``.
        """
        opened, request = self._opened, self._request
        adopt = request.adopt
        wiki = await opened.synced(
            self._client,
            section,
            asks_first=asks_first,
        )
        if slugs is not None:
            slugs = frozenset(opened.page_of(section, slug) for slug in slugs)
        # of the others nothing is said by who names a page, nor by who wants a pull
        is_whole = slugs is None and request.direction is not Direction.PULL
        if adopt == "push" and is_whole:
            wiki.known.remember(left_out=None)
        asked = CycleOptions(
            direction=request.direction,
            pages=slugs,
            reads_max=opened.workspace.config.sync.reads_max,
        )
        is_first = not wiki.known.base() and wiki.known.memory.left_out is not None
        if adopt is None and is_first and is_whole and not request.is_dry_run:
            new = await _only_here(opened, wiki, asked)
            if new and asks is None:
                return None
            if new and asks is not None and _asks_first(asks, wiki, new):
                wiki.known.remember(left_out=None)
        with asks.progress() if asks else nullcontext(self.watcher) as watcher:
            synced = await sync_wiki(
                opened, wiki, asked, progress=watcher, waits=request.waits
            )
        if synced.has_other_folder:
            said.warn(other_folder(wiki.index.root))
        synced.pages = slugs
        synced.unknown = no_such_pages(unknown_of(wiki, synced.results, slugs))
        return synced


def _counted(
    opened: OpenWorkspace, section: WikiSection, failure: WikisyncError | None
) -> WikisyncError | None:
    """What one wiki failed with while the service answers; often in a row, it lasts."""
    name = f"failures {section.owner}"
    before = opened.state.recalled(name)
    if not isinstance(failure, OWN_TROUBLE):
        if before:
            opened.state.remember(name, "")
        return failure
    tries = int(before or 0) + 1
    opened.state.remember(name, str(tries))

    if tries >= LASTING_TRIES:
        return SyncError(lasting(failure.message), hint=LASTING_HINT)
    if isinstance(failure, AuthenticationFailed):
        # the token is good elsewhere: it is a right that it lacks here
        return PermissionDenied(failure.message, hint=failure.hint)
    return failure


def unknown_of(
    wiki: SyncedWiki, results: Sequence[CycleResult], slugs: frozenset[Slug] | None
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
    return slugs - wiki.known.base().keys() - planned - broken


async def _only_here(
    opened: OpenWorkspace, wiki: SyncedWiki, asked: CycleOptions
) -> Sequence[Slug]:
    """The pages that a first sync would put on the wiki.

    The wiki is not scanned for an empty folder: texts come with the first list alone,
    and after it each page would be read by itself.
    """
    if not (await wiki.local.snapshot()).pages:
        return ()
    seen = await opened.planned(wiki, asked)
    return [one.slug for one in seen.waiting if one.reason is SkipReason.NOT_ASKED]


def _asks_first(messages: Messages, wiki: SyncedWiki, new: Sequence[Slug]) -> bool:
    """Whether a first sync puts pages on the wiki that are only here."""
    more = " ..." if len(new) > NAMES_SHOWN_MAX else ""
    shown = ", ".join(new[:NAMES_SHOWN_MAX]) + more
    what = f"only in {wiki.section.folder}: {counted(len(new), 'page')} ({shown})"
    answer = messages.ask(f"{what}; upload them to the wiki?")
    if answer is None:
        step = "to upload them, use --adopt push"
        messages.note(f"{what}; they are not uploaded; {step}")
    return bool(answer)
