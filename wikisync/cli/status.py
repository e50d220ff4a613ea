"""``wikisync status``, ``diff`` and ``log``: what differs, waits, and was done."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import chain

import click
from msgspec import Struct
from msgspec.structs import replace

from wikisync.cli import options
from wikisync.cli.console import Console
from wikisync.config.sections import WikiSection
from wikisync.core.model import Slug, is_named
from wikisync.core.system.parallel import WIKIS_AT_ONCE, gather
from wikisync.errors import FolderError, NotFound, Unagreed, UsageError, WikisyncError
from wikisync.folder.workspace import WATCH, holder_of
from wikisync.sync.decide import plan
from wikisync.sync.decide.ledger import LogEntry
from wikisync.sync.replica import Replica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleOptions
from wikisync.watch.report import read_health
from wikisync.workspace import configured, restoring
from wikisync.workspace.failures import is_of_all
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki, read_workspace
from wikisync.workspace.sentences import fields, local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.status import (
    WikiStatus,
    exit_code_of,
    headline,
    is_well,
    notes_of_watch,
    rows,
    scan,
    status_as_json,
    unified,
)
from wikisync.workspace.sync_run import Wanted, missing_from, unknown_of, wanted_pages


@click.command(name="status", epilog="Example: wikisync status handbook")
@click.argument("wikis", nargs=-1, metavar="[WIKI]...")
@options.workspace_option
@options.flag("--offline", help="Check the folders only; do not contact the service.")
@options.json_option
@options.exclude_option
@options.token_option
@click.pass_obj
def status(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    wikis: tuple[str, ...],
    credentials: Credentials,
    excluded: tuple[str, ...],
    *,
    offline: bool,
) -> int:
    """Show what is not in sync and what needs your decision.

    WIKI is a folder of the workspace or a full path; the default is all wikis. The
    command changes nothing and also works while `wikisync watch` runs. Without the
    service it uses the folders alone.
    """
    workspace = workspace.without(excluded)
    chosen = workspace.wikis(wikis) if wikis else workspace.config.synced_wikis
    with read_workspace(workspace) as opened:
        found = asyncio.run(_scan(opened, chosen, credentials, offline=offline))
        notices = list(opened.notices())
    _show_status(console, workspace, found, notices)
    return exit_code_of(found)


async def _scan(
    opened: OpenWorkspace,
    wikis: Sequence[WikiSection],
    credentials: Credentials,
    *,
    offline: bool,
) -> list[WikiStatus]:
    client, unseen = None, None
    async with AsyncExitStack() as stack:
        if not offline:
            service = credentials.open(opened.workspace)
            try:
                client = await stack.enter_async_context(service)
            except Unagreed:
                raise
            except WikisyncError as error:
                unseen = error
        away: dict[int, WikisyncError] = {}  # what wikis met, by their places

        async def one(at: int) -> WikiStatus:
            section = wikis[at]
            if client is None or opened.known(section).memory.paused is not None:
                return await scan(opened, section, None, unseen=unseen)
            if away:
                return await scan(opened, section, None, unseen=away[min(away)])
            status = await scan(opened, section, client)
            failure = status.unseen
            if failure is not None and await is_of_all(client, failure):
                away[at] = failure
            return status

        found = await gather(range(len(wikis)), one, in_flight=WIKIS_AT_ONCE)
    if not away:
        return found
    first = min(away)
    # its own words name another wiki
    words = f"as {wikis[first].folder}, which was checked first: {away[first].message}"
    failure = WikisyncError(words, hint=away[first].hint)
    return [
        replace(status, unseen=failure)
        if at != first and status.unseen in away.values()
        else status
        for at, status in enumerate(found)
    ]


def _show_status(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    found: Sequence[WikiStatus],
    notices: Sequence[str],
) -> None:
    holder = holder_of(workspace.private)
    if console.as_json:
        answer = {"workspace": str(workspace.root), "held_by": holder}
        console.json(answer | {"wikis": [status_as_json(one) for one in found]})
        return
    for notice in notices:
        console.warn(notice)
    if holder is not None:
        is_watch = holder.startswith(WATCH)
        console.note(holder if is_watch else f"another wikisync is running: {holder}")
        for line in notes_of_watch(read_health(workspace.private), time.time()):
            console.lines(line)
    for status in found:
        if console.quiet and is_well(status):
            continue
        is_green = is_well(status) and status.unseen is None
        console.state(headline(status), is_well=is_green)
        for row in rows(status):
            console.lines(f"  {row.sentence}")
        if status.failure is not None:
            console.error(status.failure)
    unchecked = (one.unseen for one in found if one.failure is None and one.unseen)
    for hint in dict.fromkeys(error.hint for error in unchecked if error.hint):
        console.note(f"hint: {hint}")


class Shown(Struct, frozen=True):
    """Two texts of one page, and what they are."""

    page: str
    """``handbook/home``."""
    names: tuple[str, str]
    old: str
    new: str


@click.command(name="diff", epilog="Example: wikisync diff handbook/home.md")
@click.argument("pages", nargs=-1, metavar="[PAGE]...")
@options.workspace_option
@options.flag(
    "--base",
    help="Show local changes since the last sync, without contacting the wiki.",
)
@options.json_option
@options.token_option
@click.pass_obj
def diff(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    pages: tuple[str, ...],
    credentials: Credentials,
    *,
    base: bool,
) -> int:
    """Show the differences between the wiki's texts and the local texts.

    For a page that was edited on both sides, show what each side changed since the last
    sync.  PAGE is a page's file, FOLDER/SLUG, or a folder.
    """
    wanted = wanted_pages(workspace, pages)
    with read_workspace(workspace) as opened:
        on_wiki = None if base else _from_wiki(opened, wanted, credentials)
        shown = asyncio.run(on_wiki or _since_base(opened, wanted))
    different = [one for one in shown if one.old != one.new]
    if console.as_json:
        rows = [
            fields(one, "page old new")
            | dict(zip(("from", "to"), one.names, strict=True))
            | {"diff": unified(one.old, one.new, one.names)}
            for one in different
        ]
        console.json(rows)
        return 0
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for one in different:
        console.result(unified(one.old, one.new, one.names, is_coloured=is_coloured))
    if not different:
        console.note("no differences")
    return 0


async def _since_base(opened: OpenWorkspace, wanted: Wanted) -> list[Shown]:
    shown: list[Shown] = []
    for section, named in wanted:
        slugs = None if named is None else opened.pages_of(section, named)
        known, local = opened.known(section), opened.local(section)
        here, base = (await local.snapshot()).pages, known.base()
        if slugs is not None:
            configured.refuse_unknown(
                section, missing_from(slugs, here.keys() | base.keys())
            )
        for slug in sorted(here.keys() | base.keys()):
            is_same = slug in here and slug in base
            if is_same and here[slug].digest == base[slug].local:
                continue
            if slugs is None or is_named(slug, slugs):
                name = f"{section.folder}/{slug}"
                names = f"{name} at the last sync", f"{name} here"
                text = await _text(local, slug)
                shown.append(Shown(name, names, known.text(slug) or "", text))
    return shown


async def _from_wiki(
    opened: OpenWorkspace, wanted: Wanted, credentials: Credentials
) -> list[Shown]:
    async with credentials.open(opened.workspace) as client:

        async def one(
            asked: tuple[WikiSection, frozenset[Slug] | None],
        ) -> Sequence[Shown]:
            section, named = asked
            slugs = None if named is None else opened.pages_of(section, named)
            wiki = await opened.synced(client, section)
            asked_for = CycleOptions(pages=slugs, folder=opened.match_of(section))
            result = await run_cycle(wiki.cycle(asked_for))
            configured.refuse_unknown(section, unknown_of(wiki.known, [result], slugs))
            names = {move.target: move.slug for move in result.plan.moves}
            shown: list[Shown] = []
            for action in result.plan.actions:
                shown += await _of_action(wiki, action, names)
            return shown

        found = await gather(wanted, one, in_flight=WIKIS_AT_ONCE)
    return list(chain.from_iterable(found))


async def _of_action(
    wiki: SyncedWiki, action: plan.Action, names: Mapping[Slug, Slug]
) -> list[Shown]:
    """The texts of one page; none where both sides hold the same."""
    if isinstance(action, plan.Adopt | plan.DropRecord | plan.Move | plan.Rebase):
        return []
    slug = action.slug
    name = f"{wiki.section.folder}/{slug}"
    here = await _text(wiki.local, slug, names.get(slug))
    there = await _text(wiki.remote, slug, names.get(slug))
    base = wiki.known.text(names.get(slug, slug))
    if isinstance(action, plan.Hold | plan.Merge) and base is not None:
        last = f"{name} at the last sync"
        return [
            Shown(name, (last, f"{name} on the wiki"), base, there),
            Shown(name, (last, f"{name} here"), base, here),
        ]
    return [Shown(name, (f"{name} on the wiki", f"{name} here"), there, here)]


async def _text(replica: Replica, *slugs: Slug | None) -> str:
    """What a side has under the first of these names; empty where nothing."""
    for slug in slugs:
        try:
            if slug is not None:
                return (await replica.read(slug)).content
        except (NotFound, FolderError):
            continue
    return ""


SHOWN = 50
SHOWN_MAX = 100_000


@click.command(name="log", epilog="Example: wikisync log handbook/home.md --limit 10")
@click.argument("page", required=False)
@options.workspace_option
@click.option(
    "--limit",
    type=click.IntRange(1, SHOWN_MAX),
    default=SHOWN,
    show_default=True,
    help="Maximum number of lines.",
)
@options.flag(
    "--revisions",
    help="Show the revisions of PAGE in the wiki's git history, and who made them.",
)
@options.token_option
@options.json_option
@click.pass_obj
def log(
    console: Console,
    workspace: configured.ConfiguredWorkspace,
    page: str | None,
    limit: int,
    credentials: Credentials,
    *,
    revisions: bool,
) -> int:
    """Show what was done in the workspace, or with PAGE, newest first.

    PAGE is a page's file, FOLDER/SLUG, or a folder.
    """
    with read_workspace(workspace) as opened:
        found: list[tuple[WikiSection, LogEntry]] = []
        whole = workspace.wiki_at(page) if page else None
        if revisions:
            if page is None or whole is not None:
                raise UsageError(
                    "--revisions needs the name of a page",
                    hint="wikisync log handbook/home.md --revisions",
                )
            section, named = configured.named_page(workspace, page)
            slug = opened.page_of(section, named)
            reading = restoring.read_revisions(opened, section, slug, credentials)
            _show_revisions(console, asyncio.run(reading), limit)
            return 0
        if page is not None and whole is None:
            section, named = configured.named_pages(workspace, page)
            slugs, known = opened.pages_of(section, [named]), opened.known(section)
            found = [(section, one) for s in slugs for one in known.events(limit, s)]
            if not found and not named.endswith("/"):
                asyncio.run(restoring.refuse_missing(opened, section, named))
        else:
            for section in (whole,) if whole else workspace.config.wikis:
                events = opened.known(section).events(limit)
                found += [(section, event) for event in events]
    found.sort(key=lambda one: one[1].at, reverse=True)
    _show_events(console, found[:limit])
    return 0


def _show_events(
    console: Console, found: Sequence[tuple[WikiSection, LogEntry]]
) -> None:
    if console.as_json:
        rows = [
            {
                "at": event.at,
                "level": "warning" if event.is_warning else "info",
                "folder": section.folder,
                "page": event.slug,
                "what": sentence(event),
            }
            for section, event in found
        ]
        console.json(rows)
        return
    if not found:
        console.note("nothing has been done yet")
        return
    for section, event in found:
        console.lines(f"{local_time(event.at)}  {section.folder}: {sentence(event)}")


def _show_revisions(console: Console, found: restoring.Revisions, limit: int) -> None:
    rows = found.rows[:limit]
    counts = [found.line_counts(row) for row in rows]
    if console.as_json:
        names = "commit at author kind slug was"
        shown = zip(rows, counts, strict=True)
        sums = (
            fields(row, names) | {"added": a, "removed": r} for row, (a, r) in shown
        )
        console.json(list(sums))
        return
    for row, (added, removed) in zip(rows, counts, strict=True):
        what = f"renamed from {row.was}" if row.kind == "renamed" else row.kind
        lines = f" +{added} -{removed}" if added or removed else ""
        commit = row.commit[: restoring.DIGITS]
        console.lines(f"{commit}  {local_time(row.at)}  {row.author}: {what}{lines}")
    if found.since and len(found.rows) <= limit:
        console.note(f"the history is known since {local_time(found.since)}")


def sentence(event: LogEntry) -> str:
    """``update guide on the wiki``, ``guide: edited here and on the wiki``."""
    what = " ".join(event.what.split())
    if event.slug and event.slug not in what:
        what = f"{event.slug}: {what}"
    return what
