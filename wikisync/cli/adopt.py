"""``wikisync adopt``: take the workspace's folders as they are."""

from __future__ import annotations

from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import network_disk_option, workspace_option
from wikisync.errors import command_line
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace


@click.command(name="adopt", epilog="Example: wikisync adopt -C my-wikis")
@workspace_option
@network_disk_option
@click.pass_obj
def command(console: Console, start: Path, *, network_disk: bool) -> int:
    """Accept the workspace's folders as they are: nothing counts as deleted.

    Use this after a workspace was emptied, restored or assembled by hand. The next sync
    downloads pages that only the wiki has and uploads pages that only the folder has.
    It deletes nothing on either side.
    """
    workspace = find_workspace(start)
    with open_workspace(workspace, allows_network_disk=network_disk, adopts=True):
        pass
    console.note(
        f"{workspace.root} is accepted as it is; the next sync deletes nothing. To see"
        f" what it will do, run: {command_line('sync', '-C', workspace.root)} --dry-run"
    )
    return 0
