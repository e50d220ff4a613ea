"""What a command that speaks to a service knows from the workspace it is run in.

Only a command that names no service itself takes it from there, so that a token of a
workspace never goes to another service.
"""

from pathlib import Path

import click

from wikisync.core.model import WikiOwner
from wikisync.workspace import configured

WORKSPACE = "wikisync.workspace"
"""Under this name a command's context keeps the workspace that named its service."""


def is_in_workspace() -> bool:
    """Whether the current folder is, or lies in, a workspace."""
    return configured.workspace_above(Path()) is not None


def url_here(ctx: click.Context) -> str | None:
    """The service of the workspace that the command is run in; None outside of one.

    Raises:
        ConfigError: its ``wikisync.toml`` is wrong, or names no wiki.
    """
    if not is_in_workspace():
        return None
    workspace = configured.find_workspace(Path())
    ctx.meta[WORKSPACE] = workspace
    return workspace.config.service.url


def named_by() -> configured.ConfiguredWorkspace | None:
    """The workspace that named the service of the command under way, if one did."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(WORKSPACE) if ctx else None


def wiki_here() -> WikiOwner | None:
    """The wiki of the current folder, or the only one of the workspace."""
    workspace = named_by()
    if workspace is None:
        return None
    wikis = workspace.config.wikis
    current = Path.cwd()
    at = [
        wiki
        for wiki in wikis
        if current.is_relative_to((workspace.root / wiki.folder).resolve())
    ]
    found = at or (wikis if len(wikis) == 1 else ())
    return found[0].owner if found else None


def project_here() -> str | None:
    """The project of that wiki."""
    owner = wiki_here()
    return owner.full_path if owner and owner.kind == "project" else None
