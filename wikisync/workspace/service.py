"""A client for the service of a workspace."""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Mapping,
)
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wikisync.workspace.token import workspace_token

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.api.settings import ClientSettings
    from wikisync.messages import Messages
from wikisync.workspace.configured import Workspace

ANONYMOUS = (
    "no token is set: only public wikis can be read, and nothing can be written; set"
    " WIKISYNC_TOKEN, or set token_file in wikisync.toml"
)


@asynccontextmanager
async def open_service(
    workspace: Workspace,
    token_file: Path | None,
    messages: Messages,
    env: Mapping[str, str],
    *,
    settings: ClientSettings | None = None,
) -> AsyncIterator[Client]:
    """A client for the workspace's service, which says what it waits for.

    Raises:
        UsageError: there is no token where one should be.
    """
    from wikisync.api.client import Client
    from wikisync.api.settings import DEFAULT_SETTINGS

    token = workspace_token(workspace.config, token_file, messages, env)
    if token is None:
        messages.note(ANONYMOUS)
    url = workspace.config.service.url
    settings = settings or DEFAULT_SETTINGS
    async with Client(url, token, settings=settings, told=messages.note) as client:
        yield client
