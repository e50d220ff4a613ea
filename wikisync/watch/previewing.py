"""A live preview of a folder: a command of its own, or beside a watch."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from wikisync.config.sections import PreviewSection
from wikisync.site.preview.server import Preview, PreviewOptions, running_preview
from wikisync.site.preview.world import PreviewInputs
from wikisync.watch.report import health_of_watch
from wikisync.workspace import folders
from wikisync.workspace.deciding import WorkspaceDecisions
from wikisync.workspace.service import Credentials


@asynccontextmanager
async def previewing(
    shown: folders.ShownFolder,
    credentials: Credentials,
    section: PreviewSection,
    *,
    editor: str | None = None,
    is_port_wanted: bool = False,
    is_read_only: bool = False,
) -> AsyncIterator[Preview]:
    """Show a folder until the block ends, with what a person may decide there."""
    private, decisions = shown.private, None
    if shown.workspace is not None and private is not None:
        health = partial(health_of_watch, private)
        decisions = WorkspaceDecisions(shown.workspace, credentials, health)
    options = PreviewOptions(
        host=section.host,
        port=section.port,
        is_port_wanted=is_port_wanted,
        editor=folders.editor_command(editor, os.environ),
        settings=shown.settings,
        private=private,
        know_again=partial(folders.know_again, private) if private else None,
        is_read_only=is_read_only,
        decisions=decisions,
    )
    async with running_preview(
        lambda: PreviewInputs(*shown.site()),
        folders.cache_folder(shown, "preview", os.environ),
        options,
        notice=lambda problem: credentials.messages.problems([problem]),
    ) as preview:
        yield preview
