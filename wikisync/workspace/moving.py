"""The service of a workspace at another address: its records and its configuration.

``wikisync.toml`` and the records change together: the state notes the move before
the file is written, and the next process that holds the workspace ends or undoes it
by what the file says then.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.client import Client
from wikisync.config import FILE_NAME, parse_config
from wikisync.config.trust import is_agreed
from wikisync.config.writing import with_service_url
from wikisync.decoding import decode_text
from wikisync.errors import Halted, UsageError, command_line
from wikisync.folder.swap import OWNERS, write_atomically
from wikisync.layout import TEMPORARY_FOLDER
from wikisync.workspace.addresses import find_service
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.creating import agree_to_new
from wikisync.workspace.opening import OpenWorkspace
from wikisync.workspace.settings import read_config
from wikisync.workspace.whose import wiki_at


def checked_addresses(
    workspace: ConfiguredWorkspace, old: str, new: str
) -> tuple[str, str]:
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


async def compared_wikis(
    opened: OpenWorkspace, new_url: str, token: str | None
) -> Sequence[str]:
    """A line for each wiki that was synced, with what it has at the new address.

    Raises:
        Halted: one is another wiki there.
    """
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


def _new_text(workspace: ConfiguredWorkspace, old_url: str, new_url: str) -> str:
    """The configuration's file with the new address.

    Raises:
        UsageError: it writes the address in a way that is not changed by itself.
    """
    file = workspace.root / FILE_NAME
    before = read_config(file)
    text = with_service_url(decode_text(file.read_bytes()), new_url)
    expected = replace(before, service=replace(before.service, url=new_url))
    if text is None or parse_config(text, str(file)) != expected:
        raise UsageError(
            f"{file} sets the service in a form that cannot be edited automatically",
            hint=f'write url = "{old_url}" on a line of its own below [service]',
        )
    return text


def _write(workspace: ConfiguredWorkspace, text: str) -> None:
    # behind a link lies what is meant
    file = (workspace.root / FILE_NAME).resolve()
    is_ours = file.parent == workspace.root
    temporary = workspace.private / TEMPORARY_FOLDER if is_ours else None
    write_atomically(
        file.parent, file.name, text.encode(), temporary=temporary, modes=OWNERS
    )


def move_service(
    opened: OpenWorkspace, old_url: str, new_url: str, *, is_real: bool
) -> int:
    """Move the records and the configuration to another address.

    Args:
        opened: The workspace, held where the move is real.
        old_url: The address that the configuration names.
        new_url: Its new one, as ``checked_addresses`` gives it.
        is_real: False to change nothing.

    Returns:
        How many records with pages move.

    Raises:
        UsageError: the configuration cannot be changed by itself.
    """
    moved = [one for one in opened.state.records() if one.service_url == old_url]
    text = _new_text(opened.workspace, old_url, new_url)
    if is_real:
        workspace = opened.workspace
        if is_agreed(workspace.root, workspace.config, os.environ):
            # first, so that whoever is cut off here is asked nothing afterwards
            agree_to_new(workspace.root, parse_config(text))
        opened.state.move_service(old_url, new_url)
        _write(workspace, text)
        opened.state.settle_move(new_url)
    return sum(bool(one.pages) for one in moved)
