"""``wikisync doctor``: check everything a sync needs, and say what to do."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import flag, json_option, start_option, token_option
from wikisync.errors import ConfigError, ExitCode, Unagreed, UsageError, WikisyncError
from wikisync.workspace import doctor
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.sentences import counted, fields
from wikisync.workspace.service import Credentials


@click.command(name="doctor", epilog="Example: wikisync doctor -C my-wikis")
@start_option
@flag("--offline", help="Do not contact the service.")
@json_option
@token_option
@click.pass_obj
def command(
    console: Console, start: Path, credentials: Credentials, *, offline: bool
) -> int:
    """Check the configuration, folders, state, token and service.

    Each finding names the next step. The exit code is 3 for warnings and 1 for errors.
    Changes nothing.
    """
    found = _examine(console, start, credentials, offline=offline)
    return show_findings(console, found)


def show_findings(console: Console, found: Sequence[doctor.Finding]) -> ExitCode:
    """Print what was found; the exit code is that of the worst."""
    if console.as_json:
        console.json([fields(one, "grade sentence next_step") for one in found])
    else:
        for one in found:
            step = [f"       {one.next_step}"] if one.next_step else []
            console.lines(f"{one.grade:<5}  {one.sentence}", *step)
    grades = {one.grade for one in found}
    if doctor.Grade.WRONG in grades:
        return ExitCode.FAILED
    return ExitCode.HELD if doctor.Grade.LOOK in grades else ExitCode.DONE


def _examine(
    console: Console, start: Path, credentials: Credentials, *, offline: bool
) -> Sequence[doctor.Finding]:
    """Everything, as far as one thing does not need another that is wrong."""
    try:
        workspace = find_workspace(start)
    except ConfigError as error:
        problems = [doctor.Finding(doctor.Grade.WRONG, text) for text in error.problems]
        return [doctor.Finding.of(error), *problems]
    count = counted(len(workspace.config.wikis), "wiki")
    settings = workspace.root / "wikisync.toml"
    found = [doctor.fine(f"{settings} is valid and names {count}")]
    found += doctor.check_disk(workspace)
    try:
        with open_workspace(workspace, is_read_only=True, is_guarded=False) as opened:
            found += doctor.check_state(opened)
            for wiki in workspace.config.wikis:
                found += doctor.check_folder(opened, wiki)
            if not offline:
                found += asyncio.run(_there(console, opened, credentials))
    except Unagreed:
        raise
    except WikisyncError as error:
        finding = doctor.Finding.of(error)
        if finding not in found:
            found.append(finding)
    return found


async def _there(
    console: Console, opened: OpenWorkspace, credentials: Credentials
) -> Sequence[doctor.Finding]:
    try:
        token = credentials.of_workspace(opened.workspace)
    except UsageError as error:
        return [doctor.Finding.of(error)]
    return [
        finding async for finding in doctor.check_there(opened, token, console.note)
    ]
