"""The progress bar on a terminal; imported only when one is shown."""

import contextlib
from collections.abc import Iterator

from rich.console import Console as RichConsole
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)


class ProgressBar:
    """One bar, renamed from step to step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def start(self, label: str, total: int | None) -> None:
        """Show a new step at zero."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(label, total=total)

    def advance(self, steps: int = 1) -> None:
        """Move the bar on."""
        if self._task is not None:
            self._progress.advance(self._task, steps)


@contextlib.contextmanager
def progress_bar() -> Iterator[ProgressBar]:
    """A bar on stderr that is gone when the work is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = RichConsole(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        yield ProgressBar(progress)
