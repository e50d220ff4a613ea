"""What long work says to a person meanwhile, and how far it is.  Pure.

``cli.console`` prints and draws it.
"""

import contextlib
from collections.abc import Iterable

from wikisync.core.model import Problem
from wikisync.errors import WikisyncError


class Progress:
    """Hears of one piece of long work, step after step; here nobody watches."""

    def start(self, label: str, total: int | None) -> None:
        """Begin a step; ``total`` is None where nobody can know it."""

    def advance(self, steps: int = 1) -> None:
        """Some items of the current step are done."""


class Messages:
    """Takes the sentences of a piece of work, in order; here nobody reads them."""

    def note(self, text: str) -> None:
        """A line that a person may want to know."""

    def warn(self, text: str) -> None:
        """A line that a person should act on."""

    def problems(self, problems: Iterable[Problem]) -> None:
        """One line a problem, with its hint where it has one."""

    def error(self, error: WikisyncError) -> None:
        """What went wrong with one of several things, with its hint."""

    def progress(self) -> contextlib.AbstractContextManager[Progress]:
        """Shows the progress of one step while the block lasts."""
        return contextlib.nullcontext(Progress())

    def ask(self, question: str) -> bool | None:
        """A person's answer; None where nobody can be asked."""
