"""``wikisync sync``: carry edits both ways, once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikisync.cli.service_command import token_option
from wikisync.cli.workspace import (
    OpenWorkspace,
    SyncedWiki,
    exclude_option,
    find_workspace,
    open_service,
    open_workspace,
    workspace_option,
)
from wikisync.errors import (
    OWN_TROUBLE,
    AuthenticationFailed,
    FolderError,
    PermissionDenied,
    SyncError,
    UsageError,
    WikisyncError,
)

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console
    from wikisync.cli.syncing import Synced
    from wikisync.cli.workspace import Workspace
    from wikisync.config import WikiSection
    from wikisync.model import Problem, Slug
    from wikisync.sync.exchange import ExchangeOptions

NAMES_SHOWN_MAX = 5
"""Pages named in one question."""
AFTER_ANOTHER = (
    "the folder was synced with another wiki before: give the pages that belong to"
    " this one, like wikisync sync FOLDER/PAGE"
)


@click.command(
    name="sync",
    epilog="Example: wikisync sync --dry-run\n\nwikisync sync handbook/home.md",
)
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@workspace_option()
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done; change nothing."
)
@click.option(
    "--pull", "is_pull", is_flag=True, help="Only download; write nothing to the wikis."
)
@click.option(
    "--push", "is_push", is_flag=True, help="Only upload; write nothing to the folders."
)
@click.option(
    "--wait",
    "waits",
    is_flag=True,
    help="Wait until deletions of missing pages are confirmed.",
)
@click.option(
    "--adopt",
    type=click.Choice(["push", "hold"]),
    help="First sync: upload pages that exist only locally, or hold them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--network-disk",
    is_flag=True,
    help="Allow a network disk that only this machine writes to.",
)
@exclude_option()
@token_option()
@click.pass_obj
def command(
    console: Console, /, pages: tuple[str, ...], start: Path, **options: Any
) -> int:
    """Sync the workspace's folders and their wikis in both directions.

    PAGE is a page's file or FOLDER/SLUG; the default is all pages.  Edits of both sides
    are
    merged; if they overlap, the page is held until you resolve its conflict file. A
    change that would delete or change many pages at once waits for your approval.
    """
    if options["is_pull"] and options["is_push"]:
        raise UsageError(
            "--pull and --push cannot be used together",
            hint="omit both to sync in both directions",
        )
    workspace = find_workspace(start).without(options["excluded"])
    return asyncio.run(_sync(console, workspace, pages, options))


async def _sync(
    console: Console,
    workspace: Workspace,
    pages: Sequence[str],
    options: dict[str, Any],
) -> int:
    from wikisync.cli.attention_file import told_where_halted
    from wikisync.cli.sync_report import report_sync
    from wikisync.cli.syncing import exit_code_of
    from wikisync.errors import ExitCode

    wanted = wanted_pages(workspace, pages)
    is_dry_run = options["dry_run"]
    with (
        nullcontext() if is_dry_run else told_where_halted(workspace.root),
        open_workspace(
            workspace,
            allows_network_disk=options["network_disk"],
            is_read_only=is_dry_run,
        ) as opened,
    ):
        for notice in opened.notices():
            console.warn(notice)
        async with open_service(
            workspace, options["token_file"], console, os.environ
        ) as client:
            done = await _each(console, opened, client, wanted, options)
        beside: list[Problem] = []
        if not is_dry_run:
            beside += _show_conflict_texts(opened)
            beside += _show_attention(opened, done)
            if not pages:
                _note_adopted(opened, done)
    report_sync(
        console,
        done,
        beside,
        as_json=options["as_json"],
        is_dry_run=is_dry_run,
    )
    return exit_code_of(done) or (ExitCode.HELD if beside else ExitCode.DONE)


def _show_conflict_texts(opened: OpenWorkspace) -> Iterator[Problem]:
    """Write the texts of what is held; a file that cannot be written is a problem."""
    from wikisync.cli.conflict_texts import conflict_texts, show_conflict_texts

    private = opened.workspace.private
    try:
        show_conflict_texts(private, conflict_texts(opened))
    except FolderError as error:
        yield _unwritten(private, error)


def _show_attention(opened: OpenWorkspace, done: Sequence[Synced]) -> Iterator[Problem]:
    """Say in the workspace what waits; a file that cannot be written is a problem."""
    from wikisync.cli.attention_file import show_attention

    workspace = opened.workspace
    try:
        show_attention(workspace.root, workspace.synced, done)
    except FolderError as error:
        # what was done and what waits is told all the same
        yield _unwritten(workspace.root, error)


def _note_adopted(opened: OpenWorkspace, done: Sequence[Synced]) -> None:
    """What only a sync of all wikis can say."""
    if len(done) < len(opened.workspace.config.wikis):
        return
    # a wiki that was not looked at has not been taken as it is
    if opened.is_adopting and all(one.results and not one.failure for one in done):
        opened.note_adopted()


def _unwritten(folder: Path, error: FolderError) -> Problem:
    from wikisync.model import Problem

    return Problem("file-unwritten", str(folder), error.message, error.hint or "")


async def sync_pages(
    console: Console,
    opened: OpenWorkspace,
    wanted: Sequence[tuple[WikiSection, frozenset[Slug] | None]],
    token_file: Path | None,
) -> Sequence[Synced]:
    """Sync these pages of an open workspace once, after a person decided on them."""
    async with open_service(
        opened.workspace, token_file, console, os.environ
    ) as client:
        done = await _each(console, opened, client, wanted, {})
    console.problems(_show_attention(opened, done))
    return done


def wanted_pages(
    workspace: Workspace, pages: Sequence[str]
) -> list[tuple[WikiSection, frozenset[Slug] | None]]:
    """The wikis to look at, each with the pages of it that are asked for.

    Raises:
        UsageError: a page is of no wiki, or can be none.
    """
    if not pages:
        return [(wiki, None) for wiki in workspace.synced]
    from wikisync.cli.named import refuse_impossible

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
    console: Console,
    opened: OpenWorkspace,
    client: Client,
    wanted: Sequence[tuple[WikiSection, frozenset[Slug] | None]],
    options: dict[str, Any],
) -> list[Synced]:
    """One wiki after the other, until the service is away or refuses the token."""
    from wikisync.cli.reach import is_of_all
    from wikisync.cli.syncing import Synced

    done: list[Synced] = []
    for section, slugs in wanted:
        paused = opened.known(section).pause_reason
        if paused is not None:
            done.append(Synced(section, paused=paused))
            continue
        try:
            done.append(await _one(console, opened, client, section, slugs, options))
        except WikisyncError as error:
            done.append(Synced(section, failure=error))
        failure = done[-1].failure
        if failure is not None and await is_of_all(client, failure):
            break
        if not options.get("dry_run"):
            done[-1].failure = _counted(opened, section, failure)
    return done


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
    from wikisync.sync.standings import LASTING_HINT, LASTING_TRIES, lasting

    if tries >= LASTING_TRIES:
        return SyncError(lasting(failure.message), hint=LASTING_HINT)
    if isinstance(failure, AuthenticationFailed):
        # the token is good elsewhere: it is a right that it lacks here
        return PermissionDenied(failure.message, hint=failure.hint)
    return failure


async def _one(
    console: Console,
    opened: OpenWorkspace,
    client: Client,
    section: WikiSection,
    slugs: frozenset[Slug] | None,
    options: dict[str, Any],
) -> Synced:
    from msgspec.structs import replace

    from wikisync.cli.syncing import Synced, other_folder, sync_wiki
    from wikisync.sync.exchange import ExchangeOptions
    from wikisync.sync.narrowing import Direction

    direction = Direction.PULL if options.get("is_pull") else Direction.BOTH
    adopt = options.get("adopt")
    wiki = await opened.synced(
        client, section, is_real=not options.get("dry_run", False)
    )
    known = wiki.known
    if known.pause_reason is not None:
        # it was paused under another address
        return Synced(section, paused=known.pause_reason)
    if slugs is not None:
        slugs = frozenset(opened.page_of(section, slug) for slug in slugs)
    # of the others nothing is said by who names a page, nor by who wants a pull
    puts_new = (
        adopt == "push"
        and slugs is None
        and direction is not Direction.PULL
        and wiki.found.may_adopt
    )
    if adopt == "push" and not wiki.found.may_adopt:
        console.note(f"{section.folder}: --adopt does not apply; {AFTER_ANOTHER}")
    asked = ExchangeOptions(
        direction=Direction.PUSH if options.get("is_push") else direction,
        pages=slugs,
        is_dry_run=bool(options.get("dry_run")),
        puts_new=puts_new,
        leaves=frozenset() if puts_new else known.left_out,
        reads_max=opened.workspace.config.sync.reads_max,
    )
    if adopt is None and _asks(wiki, asked):
        puts_new = await _asks_first(console, opened, wiki, asked)
        asked = replace(asked, puts_new=puts_new)
    with console.progress() as progress:
        synced = await sync_wiki(
            opened, wiki, asked, progress=progress, waits=bool(options.get("waits"))
        )
    if synced.has_other_folder:
        console.warn(other_folder(wiki.folder))
    synced.pages = slugs
    synced.unknown = _unknown(wiki, synced, slugs)
    return synced


def _asks(wiki: SyncedWiki, asked: ExchangeOptions) -> bool:
    """Whether this is a first sync, where a person may be asked."""
    from wikisync.sync.narrowing import Direction

    if asked.puts_new or asked.is_dry_run:
        return False
    if asked.pages is not None or asked.direction is Direction.PULL:
        return False
    return not wiki.known.base()


def _unknown(
    wiki: SyncedWiki, synced: Synced, slugs: frozenset[Slug] | None
) -> tuple[Problem, ...]:
    """Pages that were named, and that neither side has or had."""
    from wikisync.model import Problem

    if slugs is None or not synced.results:
        return ()
    planned = {
        name
        for result in synced.results
        for action in result.plan.actions
        for name in (action.slug, getattr(action, "target", None))
    }
    broken = {problem.subject for problem in synced.problems}
    missing = slugs - wiki.known.base().keys() - planned - broken
    return tuple(
        Problem(
            "page-unknown",
            f"{wiki.section.folder}/{slug}",
            "there is no such page, here or on the wiki",
            "check the spelling, or give its file",
        )
        for slug in sorted(missing)
    )


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a question at once; the loop would only note the first one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _asks_first(
    console: Console, opened: OpenWorkspace, wiki: SyncedWiki, asked: ExchangeOptions
) -> bool:
    """Whether a first sync puts pages on the wiki that are only here."""
    from msgspec.structs import replace

    from wikisync.cli.sentences import counted
    from wikisync.sync.exchange import exchange
    from wikisync.sync.plan import CreateRemote

    seen = await exchange(
        wiki.remote,
        wiki.local,
        opened.state,
        owner=wiki.section.owner,
        remote_id=wiki.remote_id,
        options=replace(asked, is_dry_run=True, puts_new=True),
    )
    new = [one.slug for one in seen.plan.actions if isinstance(one, CreateRemote)]
    if not new:
        return True
    more = " ..." if len(new) > NAMES_SHOWN_MAX else ""
    shown = ", ".join(new[:NAMES_SHOWN_MAX]) + more
    what = f"only in {wiki.section.folder}: {counted(len(new), 'page')} ({shown})"
    if not wiki.found.may_adopt:
        console.note(f"{what}; they are not uploaded; {AFTER_ANOTHER}")
        return False
    if sys.stdin.isatty() and sys.stderr.isatty():
        with interruptible():
            return click.confirm(f"{what}; upload them to the wiki?", err=True)
    console.note(f"{what}; they are not uploaded; to upload them, use --adopt push")
    return False
