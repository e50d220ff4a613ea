"""``wikisync move-service``: the service of a workspace has another address now."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from wikisync.cli.console import Console
from wikisync.cli.options import network_disk_option, workspace_option
from wikisync.cli.service_command import token_option
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.moving import checked_addresses, compared_wikis, move_service
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.sentences import counted
from wikisync.workspace.token import workspace_token


@click.command(
    name="move-service",
    epilog="Example: wikisync move-service https://old.example.com"
    " https://gitlab.example.com --yes",
)
@click.argument("old")
@click.argument("new")
@workspace_option
@click.option("-y", "--yes", "is_yes", is_flag=True, help="Make the change.")
@click.option("--offline", is_flag=True, help="Do not check the wikis at NEW.")
@network_disk_option
@token_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    old: str,
    new: str,
    token_file: Path | None,
    *,
    is_yes: bool,
    offline: bool,
    network_disk: bool,
) -> int:
    """Change the address of the workspace's service from OLD to NEW.

    Use this when a service has moved to another domain or path, or to https. The sync
    records of its wikis are kept. The command first checks that NEW has the same wikis,
    with the same ids and pages. Without --yes it only shows what it would do.
    """
    workspace = find_workspace(start)
    old_url, new_url = checked_addresses(workspace, old, new)
    with open_workspace(
        workspace, is_held=is_yes, allows_network_disk=network_disk
    ) as opened:
        if not offline:
            token = workspace_token(workspace, token_file, console, os.environ)
            console.lines(*asyncio.run(compared_wikis(opened, new_url, token)))
        count = move_service(opened, old_url, new_url, is_real=is_yes)
        console.lines(
            f'{workspace.root / "wikisync.toml"}: url = "{new_url}"'
            f' replaces "{old_url}"',
            f"the address of {counted(count, 'record')}: the same",
        )
    if not is_yes:
        console.note("nothing was changed; run it again with --yes to make the change")
    return 0
