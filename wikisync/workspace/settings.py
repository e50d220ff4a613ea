"""The configuration of a workspace, read where this user may obey it."""

from __future__ import annotations

import os
from pathlib import Path

from wikisync.config import FILE_NAME, Config, load_config
from wikisync.errors import ConfigError, UsageError

FOLDERS_ABOVE_MAX = 64
"""A workspace is searched for in no more folders above."""


def workspace_above(folder: Path) -> Path | None:
    """The workspace that a folder is, or lies in, if there is one.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}",
            hint="give a workspace, or a folder with pages",
        )
    return nearest_workspace(folder.resolve())


def nearest_workspace(path: Path) -> Path | None:
    """The workspace that an absolute path is, or lies in, whatever is at its end."""
    for place in (path, *list(path.parents)[:FOLDERS_ABOVE_MAX]):
        if (place / FILE_NAME).exists():
            return place
    return None


def no_wiki(workspace: Path) -> ConfigError:
    """The configuration of a workspace names none, so there is nothing to do."""
    return ConfigError(
        f"the workspace {workspace} names no wiki",
        hint='add a table [[wiki]] with project = "docs/handbook" to wikisync.toml',
    )


def read_config(path: Path) -> Config:
    """A workspace's configuration, where this user may obey it.

    Raises:
        ConfigError: it is wrong, gone, or another user's.
    """
    return load_config(path, os.environ)
