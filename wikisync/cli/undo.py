"""``wikisync undo``: take the last sync back, here and on the wiki."""

import asyncio
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.cli.sync_report import report_sync
from wikisync.errors import ExitCode
from wikisync.folder.workspace import holder_of
from wikisync.workspace.attention import named_problem
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.sentences import counted, local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.syncing import exit_code_of
from wikisync.workspace.undoing import Undo, undo


@click.command(
    name="undo", epilog="Example: wikisync undo\n\nwikisync undo handbook --yes"
)
@click.argument("wiki", required=False)
@workspace_option
@flag("-y", "--yes", "is_yes", help="Do not ask for confirmation.")
@json_option
@token_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    wiki: str | None,
    credentials: Credentials,
    *,
    is_yes: bool,
) -> int:
    """Undo the last sync of WIKI, here and on the wiki.

    WIKI is a folder of the workspace; the default is the wiki that a sync changed last.
    Pages get the text and the name that both sides had before that sync, new pages are
    moved to the trash, and removed pages are restored. Pages that were edited since are
    listed and not changed. The command shows what it would do and asks for
    confirmation, unless --yes is given. Run it again to undo the undo.
    """
    workspace = find_workspace(start)
    given = workspace, wiki, credentials
    planned = asyncio.run(undo(*given))
    if planned is None:
        console.note("there is no sync to undo")
        return ExitCode.DONE
    if not console.as_json:
        _show(console, planned)
    steps = planned.steps
    is_wanted = is_yes or (
        not console.as_json and bool(steps) and bool(console.ask("undo this sync?"))
    )
    done = None
    if is_wanted and steps:
        holder = holder_of(workspace.private)
        done = asyncio.run(undo(*given, planned=planned))
        if holder is not None:
            console.note(f"the running wikisync carries it to the wiki ({holder})")
    else:
        console.note(
            "nothing was changed"
            + ("" if is_wanted else "; run it again with --yes to make the change")
        )
    return _report(console, planned, done)


def _report(console: Console, planned: Undo, done: Undo | None) -> int:
    synced = [done.synced] if done is not None and done.synced is not None else []
    code = exit_code_of(synced)
    if console.as_json:
        is_done = bool(synced) and not synced[0].failure
        _show_json(console, done or planned, is_done=is_done)
    else:
        new = [one for one in (done or planned).left if one not in planned.left]
        console.problems(named_problem(planned.section, one) for one in new)
        report_sync(console, synced, is_dry_run=False)
    if done is not None and done.left:
        return code or ExitCode.HELD
    return code


# -- shown -------------------------------------------------------------------------


def _show(console: Console, planned: Undo) -> None:
    count = counted(len(planned.sync.steps), "page")
    at = local_time(planned.sync.at)
    console.note(f"{planned.section.folder}: the sync of {at} changed {count}")
    if planned.steps:
        console.lines(*map(str, planned.steps))
    console.problems(named_problem(planned.section, one) for one in planned.left)


def _show_json(console: Console, one: Undo, *, is_done: bool) -> None:
    answer = {
        "wiki": one.section.folder,
        "sync": one.sync.at,
        "is_done": is_done,
        "pages": [
            {"page": step.name, "to": step.was or None, "what": str(step).split()[0]}
            for step in one.steps
        ],
        "left": [{"page": page.subject, "why": page.message} for page in one.left],
    }
    console.json(answer)
