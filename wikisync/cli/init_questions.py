"""What ``wikisync init`` asks a person in a terminal.

Every answer is checked at once, and a wrong one is asked for again with what is
wrong about it.  A token that is typed here is used for the checks and kept nowhere.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from wikisync.cli.context import TOKEN_VARIABLE, Selection
from wikisync.errors import ConfigError, RemoteError, UsageError

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.cli.rights import Service
    from wikisync.model import WikiOwner

T = TypeVar("T")

TRIES_MAX = 5
"""Wrong answers to one question before the command ends."""
WIKIS_NAMED_MAX = 100
PLACES = ("variable", "file", "command", "none")


def can_ask() -> bool:
    """Whether a person sits in front of this command."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Questions:
    """Questions in a terminal, all on stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def until(self, attempt: Callable[[], T]) -> T:
        """Let a person answer again while an answer is refused.

        Raises:
            UsageError, ConfigError, RemoteError: what was wrong with the last one.
        """
        for _ in range(TRIES_MAX - 1):
            try:
                return attempt()
            except (UsageError, ConfigError, RemoteError) as error:
                self._console.error(error)
        return attempt()

    def ask_url(self) -> str:
        """Address of the service, as it was typed."""
        return self._asked("Address of the service, like https://gitlab.example.com")

    def ask_token(self) -> tuple[Path | None, str | None, str | None]:
        """A file, a command, or a token for the checks; none of them for no token."""
        place = click.prompt(
            f"Where does the token come from: the variable {TOKEN_VARIABLE}, a file,"
            " a command, or none (public wikis)",
            type=click.Choice(PLACES),
            default=PLACES[0],
            err=True,
            # click's own error repeats what was typed, which may be the token
            value_proc=_place,
        )
        if place == "file":
            return (
                Path(self._asked("File that holds nothing but the token")),
                None,
                None,
            )
        if place == "command":
            return None, self._asked("Command whose first line is the token"), None
        if place == "none":
            return None, None, None
        token = click.prompt(
            "Token, for the checks now; it is not kept", hide_input=True, err=True
        )
        return None, None, str(token).strip()

    def ask_wikis(self, service: Service, token: str | None) -> Selection:
        """The wikis, by paths or addresses of their projects and groups.

        Raises:
            UsageError: an answer names none.
            RemoteError: the service cannot say what is meant.
        """
        from wikisync.cli.rights import name_wikis

        named = self._asked(
            "Projects and groups, by path or address, with spaces between"
        ).split()
        selection = asyncio.run(name_wikis(service, token, named[:WIKIS_NAMED_MAX]))
        if not selection.groups:
            return selection
        groups = ", ".join(selection.groups)
        is_all = click.confirm(f"Also every wiki below {groups}?", err=True)
        return Selection(selection.projects, selection.groups, is_all)

    def ask_folder(self, owner: WikiOwner, default: str) -> str:
        """The folder for a wiki's pages."""
        return self._asked(f"Folder for {owner}", default)

    def _asked(self, question: str, default: str | None = None) -> str:
        """An answer that may be shown.

        click asks again where it is none.
        """
        answer = click.prompt(
            question, default=default, err=True, value_proc=_shown_answer
        )
        return str(answer).strip()


def _shown_answer(text: str) -> str:
    """What was typed, unless it has been seen by too many already.

    Raises:
        BadParameter: it may be a token; the message does not repeat it.
    """
    from wikisync.api.secret import could_be_token

    if any(map(could_be_token, text.split())):
        raise click.BadParameter(
            "this may be a token, and it was shown as you typed it; init asks for a"
            " token without showing it, after the variable, file or command"
        )
    return text


def _place(text: str) -> str:
    if text.strip() not in PLACES:
        raise click.BadParameter(f"answer one of {', '.join(PLACES)}")
    return text.strip()
