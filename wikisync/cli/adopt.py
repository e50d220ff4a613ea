"""``wikisync adopt``: take the workspace's folders as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikisync.cli.workspace import find_workspace, open_workspace, workspace_option

if TYPE_CHECKING:
    from wikisync.cli.console import Console


@click.command(name="adopt", epilog="Example: wikisync adopt -C my-wikis")
@workspace_option()
@click.option(
    "--network-disk", is_flag=True, help="Only this machine writes on that disk."
)
@click.pass_obj
def command(console: Console, start: Path, *, network_disk: bool) -> int:
    """Take the workspace's folders as they are: nothing counts as deleted.

    For a workspace that was emptied, restored or put together by hand.  The next
    sync brings back here what only the wiki has, and puts on the wiki what is only
    here; it removes nothing anywhere.
    """
    workspace = find_workspace(start)
    with open_workspace(workspace, allows_network_disk=network_disk, adopts=True):
        pass
    console.note(
        f"{workspace.root} is taken as it is; the next sync removes nothing."
        " See first what it will do: wikisync sync --dry-run"
    )
    return 0
