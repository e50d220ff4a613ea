"""What ``wikisync init`` asks a person in a terminal, until each answer is right."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from msgspec.structs import replace

from wikisync.api.secret import could_be_token
from wikisync.cli.console import Console
from wikisync.errors import ConfigError, RemoteError, UsageError
from wikisync.workspace.discovery import Selection
from wikisync.workspace.rights import Service, list_wikis, name_wikis
from wikisync.workspace.sentences import counted

T = TypeVar("T")

TRIES_MAX = 5
"""Wrong answers to one question before the command ends."""
WIKIS_NAMED_MAX = 100
WIKIS_LISTED_MAX = 30
"""Wikis that are shown to choose from."""
WIKIS_TAKEN_MAX = 3
"""An empty answer takes all wikis of a list that is no longer than this."""
ALL = "all"


def can_ask() -> bool:
    """Whether a person sits in front of this command."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Questions:
    """Questions in a terminal, all on stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def until(self, attempt: Callable[[], T]) -> T:
        """Let a person answer again while an answer is refused."""
        for _ in range(TRIES_MAX - 1):
            try:
                return attempt()
            except (UsageError, ConfigError, RemoteError) as error:
                self._console.error(error)
        return attempt()

    def ask_token(self, kept: Path) -> tuple[Path | None, str | None]:
        """A token, or the file that has one; neither for no token."""
        if kept.exists():
            question = f"Token (hidden; leave empty for the one in {kept})"
        else:
            question = "Token (hidden; leave empty to read public wikis without one)"
        typed = click.prompt(
            question, default="", show_default=False, hide_input=True, err=True
        )
        token = str(typed).strip()
        return (kept, None) if kept.exists() and not token else (None, token or None)

    def agrees_to_keep(self, file: Path) -> bool:
        """Whether the token may be written to this file."""
        instead = ", replacing the existing one" if file.exists() else ""
        return click.confirm(
            f"Save the token in {file}, readable only by you{instead}?",
            default=not file.exists(),
            err=True,
        )

    def ask_wikis(self, service: Service, token: str | None) -> Selection:
        """The wikis, by their numbers in a list, or by paths or addresses."""
        notify = self._console.note
        known = asyncio.run(
            list_wikis(service.url, token, WIKIS_LISTED_MAX + 1, notify)
        )
        listed = known[:WIKIS_LISTED_MAX]
        width = max((len(owner.full_path) for owner, _ in listed), default=0)
        for number, (owner, pages) in enumerate(listed, 1):
            held = "cannot be read" if pages is None else counted(pages, "page")
            line = f"{number:>4}  {owner.full_path:<{width}}  {owner.kind}, {held}"
            self._console.note(line)
        is_whole = len(known) == len(listed)
        if not is_whole:
            self._console.note("      and more; give others by path or address")
        by_number = 'number in this list, "all", ' if listed else ""
        answers = self.ask(
            f"Wikis to sync, by {by_number}path or address, separated by spaces",
            ALL if is_whole and 0 < len(listed) <= WIKIS_TAKEN_MAX else None,
        ).split()
        is_all = answers == [ALL]
        if is_all:
            if not is_whole:
                raise UsageError(
                    "the list does not show all wikis",
                    hint="give numbers or paths, or run wikisync init --all for every"
                    " wiki that you can see",
                )
            answers = [
                str(number)
                for number, (_, pages) in enumerate(listed, 1)
                if pages is not None
            ]
        numbered = {
            str(number): owner.full_path for number, (owner, _) in enumerate(listed, 1)
        }
        named = [numbered.get(answer, answer) for answer in answers[:WIKIS_NAMED_MAX]]
        selected = asyncio.run(name_wikis(service.url, token, named, notify=notify))
        return selected if is_all else self.with_those_below(selected)

    def with_those_below(self, selection: Selection) -> Selection:
        """The selection, with all below its groups if the person wants them."""
        if not selection.groups or selection.is_all:
            return selection
        groups = ", ".join(selection.groups)
        is_all = click.confirm(f"Include every wiki below {groups}?", err=True)
        return replace(selection, is_all=is_all)

    def ask(self, question: str, default: str | None = None) -> str:
        """An answer that may be shown; click asks again where it is none."""
        answer = click.prompt(
            question, default=default, err=True, value_proc=_shown_answer
        )
        return str(answer).strip()


def _shown_answer(text: str) -> str:
    """What was typed, unless it may be a token; the message does not repeat it."""
    if any(map(could_be_token, text.split())):
        raise click.BadParameter(
            "this may be a token, and it was shown as you typed it; init asks for the"
            " token right after the address, without showing it"
        )
    return text
