"""Options that several commands take, as decorators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

workspace_option = click.option(
    "--workspace",
    "-C",
    "start",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Workspace. [default: the one that contains the current folder]",
)
exclude_option = click.option(
    "--exclude",
    "excluded",
    multiple=True,
    metavar="WIKI",
    help="Skip this wiki, given by folder or full path; repeatable.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)
network_disk_option = click.option(
    "--network-disk",
    is_flag=True,
    help="Allow a network disk that only this machine writes to.",
)
folder_argument = click.argument(
    "folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]"
)
strict_option = click.option(
    "--strict", is_flag=True, help="Fail if there is a broken link or a problem."
)
retry_option = click.option(
    "--retry", is_flag=True, help="Retry pages that exceeded the time or memory limit."
)
replace_option = click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Remove wikis from the site that this command does not include.",
)
markup_option = click.option(
    "--markup",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a key of [markup], as in wikisync.toml; repeatable.",
)


def decorated(
    function: Callable[..., Any], decorators: Sequence[Callable[..., Any]]
) -> Callable[..., Any]:
    """The function with all the decorators, the first outermost."""
    for decorate in reversed(decorators):
        function = decorate(function)
    return function
