"""``wikisync pause`` and ``resume``: leave a wiki alone for a while."""

from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import workspace_option
from wikisync.errors import command_line
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace

REASON_CHARS_MAX = 500
"""A longer reason is cut."""


@click.command(name="pause", epilog='Example: wikisync pause handbook "the big move"')
@click.argument("wiki", required=False)
@click.argument("reason", default="")
@workspace_option
@click.pass_obj
def pause(console: Console, start: Path, wiki: str | None, reason: str) -> int:
    """Pause WIKI until `resume`: it is not read, written or checked for deletions.

    WIKI is a folder of the workspace or a full path; the default is all wikis. A
    running watch applies the pause immediately.
    """
    workspace = find_workspace(start)
    wanted = workspace.wikis([wiki] if wiki else [])
    reason = " ".join(reason.split())[:REASON_CHARS_MAX]
    with open_workspace(workspace, is_held=False) as opened:
        for section in wanted:
            opened.known(section).remember(paused=reason)
            console.note(
                f"{section.folder}: paused; to resume, run:"
                f" {command_line('resume', section.folder)}"
            )
    return 0


@click.command(name="resume", epilog="Example: wikisync resume handbook")
@click.argument("wiki", required=False)
@workspace_option
@click.pass_obj
def resume(console: Console, start: Path, wiki: str | None) -> int:
    """Resume the sync of WIKI, or of every paused wiki of the workspace."""
    workspace = find_workspace(start)
    with open_workspace(workspace, is_held=False) as opened:
        for section in workspace.wikis([wiki] if wiki else []):
            known = opened.known(section)
            was_paused = known.memory.paused is not None
            known.remember(paused=None)
            what = "resumed" if was_paused else "was not paused"
            console.note(f"{section.folder}: {what}")
    return 0
