"""``wikisync resume``: go on with a wiki that was paused."""

from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import workspace_option
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace


@click.command(name="resume", epilog="Example: wikisync resume handbook")
@click.argument("wiki", required=False)
@workspace_option
@click.pass_obj
def command(console: Console, start: Path, wiki: str | None) -> int:
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
