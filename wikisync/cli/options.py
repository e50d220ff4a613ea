"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def workspace_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names the workspace; the command gets it as ``start``."""
    return click.option(
        "--workspace",
        "-C",
        "start",
        type=click.Path(path_type=Path),
        default=Path(),
        help="Workspace. [default: the one that contains the current folder]",
    )


def exclude_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that leaves wikis out; the command gets it as ``excluded``."""
    return click.option(
        "--exclude",
        "excluded",
        multiple=True,
        metavar="WIKI",
        help="Skip this wiki, given by folder or full path; repeatable.",
    )


def markup_option(command: Command) -> Command:
    """``--markup NAME=VALUE``, which may be given again."""
    return click.option(
        "--markup",
        "markup",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a key of [markup], as in wikisync.toml; repeatable.",
    )(command)
