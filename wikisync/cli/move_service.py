"""``wikisync move-service``: the service of a workspace has another address now.

``wikisync.toml`` and the records change together: the state notes the move before
the file is written, and the next process that holds the workspace ends or undoes it
by what the file says then.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikisync.api.address import ServiceAddress
from wikisync.cli.options import workspace_option
from wikisync.cli.service_command import token_option
from wikisync.errors import Halted, UsageError, command_line
from wikisync.layout import TEMPORARY_FOLDER
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.sentences import counted
from wikisync.workspace.token import workspace_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wikisync.cli.console import Console
    from wikisync.workspace.configured import Workspace
    from wikisync.workspace.opening import OpenWorkspace


@click.command(
    name="move-service",
    epilog="Example: wikisync move-service https://old.example.com"
    " https://gitlab.example.com --yes",
)
@click.argument("old")
@click.argument("new")
@workspace_option()
@click.option("-y", "--yes", "is_yes", is_flag=True, help="Make the change.")
@click.option("--offline", is_flag=True, help="Do not check the wikis at NEW.")
@click.option(
    "--network-disk",
    is_flag=True,
    help="Allow a network disk that only this machine writes to.",
)
@token_option()
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
    old_url, new_url = _addresses(workspace, old, new)
    with open_workspace(
        workspace, is_held=is_yes, allows_network_disk=network_disk
    ) as opened:
        moved = [one for one in opened.state.records() if one.service_url == old_url]
        if not offline:
            token = workspace_token(workspace.config, token_file, console, os.environ)
            console.told(*asyncio.run(_compared(opened, new_url, token)))
        text = _new_text(workspace, old_url, new_url)
        count = sum(bool(one.pages) for one in moved)
        if is_yes:
            opened.state.move_service(old_url, new_url)
            _write(workspace, text)
            opened.state.settle_move(new_url)
        console.told(
            f'{workspace.root / "wikisync.toml"}: url = "{new_url}"'
            f' replaces "{old_url}"',
            f"the address of {counted(count, 'record')}: the same",
        )
    if not is_yes:
        console.note("nothing was changed; run it again with --yes to make the change")
    return 0


def _addresses(workspace: Workspace, old: str, new: str) -> tuple[str, str]:
    """Both addresses: the old one as the workspace writes it, the new one checked.

    Raises:
        UsageError: the workspace's service is another one, or both are the same.
    """
    url = workspace.config.service.url.rstrip("/")
    if ServiceAddress.parse(old) != ServiceAddress.parse(url):
        raise UsageError(
            f"the service of {workspace.root} is {url}, and not {old}",
            hint=f"write: {command_line('move-service', url, new)}",
        )
    address = ServiceAddress.parse(new)
    if address == ServiceAddress.parse(url):
        raise UsageError(
            f"{new} is already the workspace's service", hint="give its new address"
        )
    return url, str(address)


async def _compared(
    opened: OpenWorkspace, new_url: str, token: str | None
) -> Sequence[str]:
    """A line for each wiki that was synced, with what it has at the new address.

    Raises:
        Halted: one is another wiki there.
    """
    from wikisync.api.client import Client
    from wikisync.workspace.addresses import find_service
    from wikisync.workspace.whose import wiki_at

    # asked without a token: what is no such service gets none
    await find_service(new_url)
    lines: list[str] = []
    others: list[str] = []
    async with Client(new_url, token) as client:
        for section in opened.workspace.config.wikis:
            known = opened.known(section)
            if not known.base():
                continue
            sentence, is_same = await wiki_at(client, section, known)
            (lines if is_same else others).append(f"{section.folder}: {sentence}")
    if others:
        raise Halted(
            f"{new_url} does not have the wikis of this workspace: {'; '.join(others)};"
            " nothing was changed",
            hint="check the address and the token; or force the move with --offline:"
            " every wiki with a different id then stops until you decide",
        )
    return lines


def _new_text(workspace: Workspace, old_url: str, new_url: str) -> str:
    """The configuration's file with the new address.

    Raises:
        UsageError: it writes the address in a way that is not changed by itself.
    """
    from msgspec.structs import replace

    from wikisync.config import FILE_NAME, parse_config
    from wikisync.config.writing import with_service_url
    from wikisync.workspace.folders import read_config

    file = workspace.root / FILE_NAME
    before = read_config(file)
    text = with_service_url(file.read_bytes().decode("utf-8"), new_url)
    expected = replace(before, service=replace(before.service, url=new_url))
    if text is None or parse_config(text, str(file)) != expected:
        raise UsageError(
            f"{file} sets the service in a form that cannot be edited automatically",
            hint=f'write url = "{old_url}" on a line of its own below [service]',
        )
    return text


def _write(workspace: Workspace, text: str) -> None:
    from wikisync.config import FILE_NAME
    from wikisync.folder.swap import OWNERS, write_atomically

    # behind a link lies what is meant
    file = (workspace.root / FILE_NAME).resolve()
    is_ours = file.parent == workspace.root
    place = workspace.private / TEMPORARY_FOLDER if is_ours else None
    write_atomically(
        file.parent, file.name, text.encode(), temporary=place, modes=OWNERS
    )
