"""What long work reports to while it goes on.  Pure; ``cli.progress`` draws it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A watcher of one piece of long work, step after step."""

    def start(self, label: str, total: int | None) -> None:
        """Begin a step; ``total`` is None where nobody can know it."""
        ...

    def advance(self, steps: int = 1) -> None:
        """Some items of the current step are done."""
        ...


class SilentProgress:
    """Progress that nobody watches: a pipe, ``--quiet``, a test."""

    def start(self, label: str, total: int | None) -> None:
        """Nothing is shown."""

    def advance(self, steps: int = 1) -> None:
        """Nothing is shown."""
