"""Where a command meets the service: URL, token, client, and which wikis are meant.

The token comes from ``--token-file`` or ``WIKISYNC_TOKEN`` and from nowhere else:
a token on the command line would be in every process list and shell history.

Wikis that are named must be there; wikis that are found by looking around are
left out with a note where they are switched off, hidden or empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Callable,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wikisync.cli.service_command import token_option, url_option
from wikisync.workspace.discovery import Selection
from wikisync.workspace.token import read_token

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.cli.console import Console


Command = TypeVar("Command", bound=Callable[..., Any])


def service_options(command: Command) -> Command:
    """The service's URL and the options that name a token and wikis."""
    decorators: list[Callable[..., Any]] = [
        url_option(),
        click.option(
            "--project",
            "projects",
            multiple=True,
            metavar="PATH",
            help="Wiki of this project; repeatable.",
        ),
        click.option(
            "--group",
            "groups",
            multiple=True,
            metavar="PATH",
            help="Wiki of this group; repeatable.",
        ),
        click.option(
            "--all",
            "is_all",
            is_flag=True,
            help="With --group: all wikis below it. Alone: all wikis you can see.",
        ),
        click.option(
            "--exclude",
            "excluded",
            multiple=True,
            metavar="PATH",
            help="Skip the wiki of PATH and the wikis below it; repeatable.",
        ),
        token_option(),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def open_client(url: str, token_file: Path | None, console: Console) -> Client:
    """A client for the service at this URL, still to be entered.

    Raises:
        UsageError: the URL or the token cannot be one.
    """
    from wikisync.api.client import Client

    return Client(url, read_token(token_file, console), told=console.note)


def open_selected(
    url: str, token_file: Path | None, selection: Selection, console: Console
) -> tuple[Client, Selection]:
    """A client for the service that an address leads to, and the wikis that are meant.

    The address of a wiki, project or group names its wiki, besides those of the
    selection.

    Raises:
        UsageError: no service answers there, no wiki is selected, or the token cannot
            be one.
        RemoteError: the service cannot be reached.
    """
    from wikisync.workspace.addresses import find_target, may_name_wiki
    from wikisync.workspace.rights import name_wikis

    if may_name_wiki(url):
        target = asyncio.run(find_target(url, console.note))
        url = target.service
        if target.path:
            token = read_token(token_file, console)
            selection = asyncio.run(
                name_wikis(url, token, [target.path], selection, console.note)
            )
    selection.check()
    return open_client(url, token_file, console), selection
