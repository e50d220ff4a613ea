"""``wikisync undo``: take the last sync back, here and on the wiki."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from wikisync.cli.console import interruptible
from wikisync.cli.options import workspace_option
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.errors import ExitCode, SyncError, UsageError, command_line
from wikisync.folder.workspace import holder_of
from wikisync.sync.exchange import ExchangeOptions
from wikisync.sync.ledger import NO_SLUG
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.sentences import counted
from wikisync.workspace.service import open_service
from wikisync.workspace.sync_run import sync_pages
from wikisync.workspace.syncing import exit_code_of, sync_wiki
from wikisync.workspace.times import local_time

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.config import WikiSection
    from wikisync.sync.steps import LastSync
    from wikisync.workspace.configured import Workspace
    from wikisync.workspace.opening import OpenWorkspace
    from wikisync.workspace.syncing import Synced


@click.command(
    name="undo", epilog="Example: wikisync undo\n\nwikisync undo handbook --yes"
)
@click.argument("wiki", required=False)
@workspace_option()
@click.option(
    "-y", "--yes", "is_yes", is_flag=True, help="Do not ask for confirmation."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@token_option()
@click.pass_obj
def command(
    console: Console,
    start: Path,
    wiki: str | None,
    token_file: Path | None,
    *,
    is_yes: bool,
    as_json: bool,
) -> int:
    """Undo the last sync of WIKI, here and on the wiki.

    WIKI is a folder of the workspace; the default is the wiki that a sync changed last.
    Pages get the text and the name that both sides had before that sync, new pages are
    moved to the trash, and removed pages are restored. Pages that were edited since are
    listed and not changed. The command shows what it would do and asks for
    confirmation, unless --yes is given. Run it again to undo the undo.
    """
    workspace = find_workspace(start)
    planned = asyncio.run(_planned(console, workspace, wiki, token_file))
    if planned is None:
        console.note("there is no sync to undo")
        return ExitCode.DONE
    if not as_json:
        _show(console, planned)
    is_wanted = is_yes or (not as_json and _is_said(planned))
    if is_wanted and planned.synced.last.undone:
        return _undo(console, workspace, planned, token_file, as_json=as_json)
    if as_json:
        _show_json(console, planned, is_done=False)
    console.note(
        "nothing was changed"
        + ("" if is_wanted else "; run it again with --yes to make the change")
    )
    return ExitCode.DONE


class _Planned(Struct, frozen=True):
    """A sync to take back, and what that would do."""

    section: WikiSection
    sync: LastSync
    synced: Synced
    """Of the dry run."""


async def _planned(
    console: Console, workspace: Workspace, wiki: str | None, token_file: Path | None
) -> _Planned | None:
    """What would be done; None where no sync is remembered.

    Raises:
        UsageError: the workspace has no such wiki, or it is paused.
        WikisyncError: the wiki cannot be looked at.
    """
    with open_workspace(workspace, is_read_only=True) as opened:
        found = _last(opened, workspace.wikis([wiki] if wiki else ()))
        if found is None:
            return None
        section, sync = found
        if opened.known(section).is_paused:
            raise UsageError(
                f"{section.folder} is paused, and an undo is a sync",
                hint=f"go on with it first: {command_line('resume', section.folder)}",
            )
        _refuse_running(workspace, opened, section)
        options = ExchangeOptions(pages=sync.names, is_dry_run=True, undoes=sync.number)
        async with open_service(workspace, token_file, console, os.environ) as client:
            both = await opened.synced(client, section, is_real=False)
            synced = await sync_wiki(opened, both, options)
    if synced.failure is not None:
        raise synced.failure
    return _Planned(section, sync, synced)


def _last(
    opened: OpenWorkspace, wikis: Sequence[WikiSection]
) -> tuple[WikiSection, LastSync] | None:
    """The wiki that a sync changed last, and that sync; one under way comes first."""
    syncs = [
        (section, sync, known.undoing == sync.number)
        for section in wikis
        for known in (opened.known(section),)
        if (sync := known.sync_of(known.undoing)) is not None
    ]
    latest = max(syncs, key=lambda one: (one[2], one[1].at), default=None)
    return latest and latest[:2]


def _refuse_running(
    workspace: Workspace, opened: OpenWorkspace, section: WikiSection
) -> None:
    """See that the sync to undo has ended.

    One that was killed has ended, too: nobody holds its workspace.

    Raises:
        SyncError: it is still running, and only half of it could be undone.
    """
    is_running = opened.known(section).is_under_way
    if is_running and holder_of(workspace.private) is not None:
        raise SyncError(
            f"a sync of {section.folder} is running",
            hint="when it has ended, run the same command again",
        )


def _is_said(planned: _Planned) -> bool:
    """Whether a person at the terminal says yes."""
    is_asked = sys.stdin.isatty() and sys.stderr.isatty()
    if not is_asked or not planned.synced.last.undone:
        return False
    with interruptible():
        return click.confirm("undo this sync?", err=True)


def _undo(
    console: Console,
    workspace: Workspace,
    planned: _Planned,
    token_file: Path | None,
    *,
    as_json: bool,
) -> int:
    """Note what a person said, and carry it out, or let the watch do so.

    Raises:
        SyncError: another sync changed something meanwhile.
    """
    section, sync = planned.section, planned.sync
    holder = holder_of(workspace.private)
    with open_workspace(workspace, is_held=holder is None) as opened:
        known = opened.known(section)
        with known.together():
            last = known.sync_of(known.undoing)
            if last is None or last.number != sync.number:
                raise SyncError(
                    f"{section.folder} was synced meanwhile",
                    hint=f"look again: {command_line('undo', section.folder)}",
                )
            _refuse_running(workspace, opened, section)
            known.undo(sync.number)
            at = local_time(sync.at)
            what = f"the user undoes the sync of {at}"
            known.note_done(time.time(), NO_SLUG, what)
        if holder is not None:
            console.note(f"the running wikisync applies it ({holder})")
            if as_json:
                _show_json(console, planned, is_done=False)
            return ExitCode.DONE
        return asyncio.run(_sync(console, opened, planned, token_file, as_json))


async def _sync(
    console: Console,
    opened: OpenWorkspace,
    planned: _Planned,
    token_file: Path | None,
    as_json: bool,
) -> int:
    wanted = [(planned.section, planned.sync.names)]
    done = await sync_pages(console, opened, wanted, token_file, os.environ)
    if as_json:
        _show_json(console, planned, is_done=not any(one.failure for one in done))
    else:
        report_sync(console, done, as_json=False, is_dry_run=False)
    return exit_code_of(done)


# -- shown -------------------------------------------------------------------------


def _show(console: Console, planned: _Planned) -> None:
    """What is taken back, and what is left alone."""
    last, folder = planned.synced.last, planned.section.folder
    count = counted(len(planned.sync.steps), "page")
    console.note(f"{folder}: the sync of {local_time(planned.sync.at)} changed {count}")
    if last.undone:
        console.told(*map(str, last.undone))
    console.problems(last.problems)


def _show_json(console: Console, planned: _Planned, *, is_done: bool) -> None:
    last = planned.synced.last
    answer = {
        "wiki": planned.section.folder,
        "sync": planned.sync.at,
        "is_done": is_done,
        "pages": [
            {"page": one.name, "to": one.was or None, "what": str(one).split()[0]}
            for one in last.undone
        ],
        "left": [{"page": one.subject, "why": one.message} for one in last.problems],
    }
    console.result(json.dumps(answer, ensure_ascii=False, indent=2))
