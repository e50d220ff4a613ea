"""``wikisync log``: what was done, and what needed a person."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from wikisync.cli.console import Console, fields
from wikisync.cli.options import flag, json_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.config import WikiSection
from wikisync.errors import UsageError
from wikisync.sync.decide.ledger import LogEntry
from wikisync.workspace.configured import find_workspace, named_page, named_pages
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.restoring import (
    DIGITS,
    Revisions,
    read_revisions,
    refuse_missing,
)
from wikisync.workspace.sentences import local_time
from wikisync.workspace.service import Credentials

SHOWN = 50
SHOWN_MAX = 100_000


@click.command(name="log", epilog="Example: wikisync log handbook/home.md --limit 10")
@click.argument("page", required=False)
@workspace_option
@click.option(
    "--limit",
    type=click.IntRange(1, SHOWN_MAX),
    default=SHOWN,
    show_default=True,
    help="Maximum number of lines.",
)
@flag(
    "--revisions",
    help="Show the revisions of PAGE in the wiki's git history, and who made them.",
)
@token_option
@json_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    page: str | None,
    limit: int,
    credentials: Credentials,
    *,
    revisions: bool,
) -> int:
    """Show what was done in the workspace, or with PAGE, newest first.

    PAGE is a page's file, FOLDER/SLUG, or a folder.
    """
    workspace = find_workspace(start)
    with open_workspace(
        workspace, is_read_only=True, allows_network_disk=True
    ) as opened:
        found: list[tuple[WikiSection, LogEntry]] = []
        whole = workspace.wiki_at(page) if page else None
        if revisions:
            if page is None or whole is not None:
                raise UsageError(
                    "--revisions needs the name of a page",
                    hint="wikisync log handbook/home.md --revisions",
                )
            section, named = named_page(workspace, page)
            slug = opened.page_of(section, named)
            reading = read_revisions(opened, section, slug, credentials)
            _show_revisions(console, asyncio.run(reading), limit)
            return 0
        if page is not None and whole is None:
            section, named = named_pages(workspace, page)
            slugs, known = opened.pages_of(section, [named]), opened.known(section)
            found = [(section, one) for s in slugs for one in known.events(limit, s)]
            if not found and not named.endswith("/"):
                asyncio.run(refuse_missing(opened, section, named))
        else:
            for section in (whole,) if whole else workspace.config.wikis:
                events = opened.known(section).events(limit)
                found += [(section, event) for event in events]
    found.sort(key=lambda one: one[1].at, reverse=True)
    _show(console, found[:limit])
    return 0


def _show(console: Console, found: Sequence[tuple[WikiSection, LogEntry]]) -> None:
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


def _show_revisions(console: Console, found: Revisions, limit: int) -> None:
    rows = found.rows[:limit]
    if console.as_json:
        names = "commit at author kind slug was added removed"
        console.json([fields(row, names) for row in rows])
        return
    for row in rows:
        what = f"renamed from {row.was}" if row.kind == "renamed" else row.kind
        lines = f" +{row.added} -{row.removed}" if row.added or row.removed else ""
        console.lines(
            f"{row.commit[:DIGITS]}  {local_time(row.at)}  {row.author}: {what}{lines}"
        )
    if found.since and len(found.rows) <= limit:
        console.note(f"the history is known since {local_time(found.since)}")


def sentence(event: LogEntry) -> str:
    """``update guide on the wiki``, ``guide: edited here and on the wiki``."""
    what = " ".join(event.what.split())
    if event.slug and event.slug not in what:
        what = f"{event.slug}: {what}"
    return what
