"""Options of commands that read wikis from a service: its URL, a token, which wikis."""

from collections.abc import Callable
from typing import Any

import click

from wikisync.cli.options import decorated
from wikisync.cli.service_command import token_option, url_option

_WIKIS = [
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
]


def wiki_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name wikis of a service."""
    return decorated(command, _WIKIS)


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The service's URL and the options that name a token and wikis."""
    decorators = [
        url_option,
        *_WIKIS,
        click.option(
            "--exclude",
            "excluded",
            multiple=True,
            metavar="PATH",
            help="Skip the wiki of PATH and the wikis below it; repeatable.",
        ),
        token_option,
    ]
    return decorated(command, decorators)
