"""``wikisync undo``: take the last sync back, here and on the wiki."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from wikisync.cli.console import Console
from wikisync.cli.options import json_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.errors import ExitCode
from wikisync.folder.workspace import holder_of
from wikisync.workspace.attention import named_problem
from wikisync.workspace.configured import ConfiguredWorkspace, find_workspace
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.sentences import counted
from wikisync.workspace.sync_run import sync_pages
from wikisync.workspace.syncing import Synced, exit_code_of
from wikisync.workspace.times import local_time
from wikisync.workspace.undoing import (
    PlannedUndo,
    note_undo,
    planned_undo,
)


@click.command(
    name="undo", epilog="Example: wikisync undo\n\nwikisync undo handbook --yes"
)
@click.argument("wiki", required=False)
@workspace_option
@click.option(
    "-y", "--yes", "is_yes", is_flag=True, help="Do not ask for confirmation."
)
@json_option
@token_option
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
    planned = asyncio.run(
        planned_undo(console, workspace, wiki, token_file, os.environ)
    )
    if planned is None:
        console.note("there is no sync to undo")
        return ExitCode.DONE
    if not as_json:
        _show(console, planned)
    is_wanted = is_yes or (
        not as_json
        and bool(planned.synced.last.undone)
        and bool(console.ask("undo this sync?"))
    )
    if is_wanted and planned.synced.last.undone:
        return _undo(console, workspace, planned, token_file, as_json=as_json)
    if as_json:
        _show_json(console, planned, is_done=False)
    console.note(
        "nothing was changed"
        + ("" if is_wanted else "; run it again with --yes to make the change")
    )
    return ExitCode.DONE


def _undo(
    console: Console,
    workspace: ConfiguredWorkspace,
    planned: PlannedUndo,
    token_file: Path | None,
    *,
    as_json: bool,
) -> int:
    """Carry it out, or let the watch do so.

    Raises:
        SyncError: another sync changed something meanwhile.
    """
    holder = holder_of(workspace.private)
    with open_workspace(workspace, is_held=holder is None) as opened:
        note_undo(opened, planned)
        if holder is not None:
            console.note(f"the running wikisync applies it ({holder})")
            if as_json:
                _show_json(console, planned, is_done=False)
            return ExitCode.DONE
        wanted = [(planned.section, planned.sync.names)]
        syncing = sync_pages(console, opened, wanted, token_file, os.environ)
        done = asyncio.run(syncing)
    code = exit_code_of(done)
    if as_json:
        _show_json(console, planned, is_done=not any(one.failure for one in done))
    else:
        _leave_out_shown(done, planned)
        report_sync(console, done, as_json=False, is_dry_run=False)
    return code


def _leave_out_shown(done: Sequence[Synced], planned: PlannedUndo) -> None:
    """Leave out what the preview showed, before the sync changed its reason."""
    shown = {(one.code, one.subject) for one in planned.synced.last.problems}
    for one in done:
        one.results[:] = (
            replace(
                result,
                problems=tuple(
                    problem
                    for problem in result.problems
                    if not (
                        problem.is_once and (problem.code, problem.subject) in shown
                    )
                ),
            )
            for result in one.results
        )


# -- shown -------------------------------------------------------------------------


def _show(console: Console, planned: PlannedUndo) -> None:
    """What is taken back, and what is left alone."""
    last, folder = planned.synced.last, planned.section.folder
    count = counted(len(planned.sync.steps), "page")
    console.note(f"{folder}: the sync of {local_time(planned.sync.at)} changed {count}")
    if last.undone:
        console.lines(*map(str, last.undone))
    console.problems(named_problem(planned.section, one) for one in last.problems)


def _show_json(console: Console, planned: PlannedUndo, *, is_done: bool) -> None:
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
    console.json(answer)
