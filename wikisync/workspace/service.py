"""Clients for services: that of a workspace, or the one that an address leads to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from wikisync.api.client import Client
from wikisync.api.settings import DEFAULT_SETTINGS, ClientSettings
from wikisync.core.messages import Messages
from wikisync.workspace.addresses import find_target, may_name_wiki
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.rights import name_wikis
from wikisync.workspace.token import read_token, workspace_token

ANONYMOUS = (
    "no token is set: only public wikis can be read, and nothing can be written; set"
    " WIKISYNC_TOKEN, or set token_file in wikisync.toml"
)


@asynccontextmanager
async def open_service(
    workspace: ConfiguredWorkspace,
    token_file: Path | None,
    messages: Messages,
    env: Mapping[str, str],
    *,
    settings: ClientSettings | None = None,
) -> AsyncIterator[Client]:
    """A client for the workspace's service, agreed to, which says what it waits for."""
    token = workspace_token(workspace, token_file, messages, env)
    if token is None:
        messages.note(ANONYMOUS)
    url = workspace.config.service.url
    settings = settings or DEFAULT_SETTINGS
    async with Client(url, token, settings=settings, notify=messages.note) as client:
        yield client


def open_selected(
    url: str,
    token_file: Path | None,
    selection: Selection,
    messages: Messages,
    env: Mapping[str, str],
) -> tuple[Client, Selection]:
    """A client, still to be entered, for an address's service, and the wikis meant.

    The address of a wiki, project or group names its wiki, besides the selection's.
    """
    if may_name_wiki(url):
        target = asyncio.run(find_target(url, messages.note))
        url = target.service
        if target.path:
            token = read_token(url, token_file, messages, env)
            selection = asyncio.run(
                name_wikis(url, token, [target.path], selection, messages.note)
            )
    selection.check()
    token = read_token(url, token_file, messages, env)
    return Client(url, token, notify=messages.note), selection
