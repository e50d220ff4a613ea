"""All output of the command line: data to stdout, everything else to stderr.

No other module prints.  ``NO_COLOR`` and pipes are honoured; meaning never
hangs on colour alone.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

import click

from wikisync.api.secret import without_tokens
from wikisync.core.messages import Messages, Progress
from wikisync.core.model import Problem
from wikisync.core.system.processes import interruptible
from wikisync.core.terminal import VisibleLines, one_line, visible_line
from wikisync.errors import ConfigError, UsageError, WikisyncError
from wikisync.workspace.sentences import local_time, with_hint

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

RED, GREEN, YELLOW = "\x1b[31m", "\x1b[32m", "\x1b[33m"
BOLD, RESET = "\x1b[1m", "\x1b[0m"


def _shown(text: str) -> str:
    """A line of an error, which may repeat a token given in a wrong place."""
    return visible_line(without_tokens(text))


def _in_stdout(text: str) -> str:
    """Sentences in what stdout takes, as stderr gets them: the rest escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Console(Messages):
    """Where a command prints to; made once per run."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.as_json = False
        """Whether the result is printed for programs."""
        self.shows_time = False
        """Whether each line on stderr begins with the time, as those of a command that
        runs for days do."""

    def result(self, text: str) -> None:
        """Data the command was asked for, to stdout."""
        try:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()
        except OSError as exc:
            exc.filename = "stdout"
            raise
        except UnicodeEncodeError as exc:
            raise UsageError(
                f"stdout uses {exc.encoding}, which cannot encode"
                f" {exc.object[exc.start]!a}",
                hint="set PYTHONIOENCODING=utf-8, or unset it",
            ) from exc

    def json(self, value: object) -> None:
        """A value for programs, to stdout."""
        import json

        self.result(json.dumps(value, ensure_ascii=False, indent=2))

    def lines(self, *lines: str) -> None:
        """Sentences the command was asked for, to stdout, safe on a terminal."""
        self.result(_in_stdout("\n".join(map(visible_line, lines))))

    def state(self, text: str, *, is_well: bool) -> None:
        """A sentence as of ``lines``, green on a terminal where all is well."""
        shown = _in_stdout(visible_line(text))
        self.result(self._paint(shown, GREEN if is_well else YELLOW, sys.stdout))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows the command was asked for, to stdout; lines with tabs in a pipe."""
        import shutil

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        self.result(_in_stdout(table_text(columns, rows, width=width)))

    def note(self, text: str) -> None:
        """A line for people, to stderr, unless ``--quiet``."""
        if not self.quiet:
            self._write_error(visible_line(text))

    def warn(self, text: str) -> None:
        """A line that a person should act on, to stderr."""
        self._write_error(f"{self._paint('warning', YELLOW)}: {visible_line(text)}")

    def error(self, error: WikisyncError) -> None:
        """An error with all its problems and its hint, to stderr."""
        self._write_error(f"{self._paint('error', RED)}: {_shown(error.message)}")
        if isinstance(error, ConfigError):
            for problem in error.problems:
                self._write_error(f"  - {_shown(problem)}")
        if error.hint:
            self._write_error(f"{self._paint('hint', BOLD)}: {_shown(error.hint)}")

    def problems(self, problems: Iterable[Problem]) -> None:
        """One line a problem, with its hint where it has one."""
        for problem in problems:
            self.warn(with_hint(problem, problem.hint))

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress]:
        """A progress bar when stderr is a terminal, else silence."""
        if self.quiet or not sys.stderr.isatty():
            yield Progress()
            return
        from rich import console, progress

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
        )
        with progress.Progress(
            *columns, console=console.Console(stderr=True), transient=True
        ) as bar:
            yield ProgressBar(bar)

    @property
    def has_person(self) -> bool:
        """Whether a person sits in front of this command, to be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> bool | None:
        """A person's answer on the terminal; None where there is none."""
        if not self.has_person:
            return None
        with interruptible():
            return click.confirm(question, err=True)

    def log_to_stderr(self, *, debug: bool) -> None:
        """Send the package's log to stderr: what is done, or also why."""
        handler = logging.StreamHandler()
        handler.setFormatter(VisibleLines("%(levelname)-7s %(name)s: %(message)s"))
        logger = logging.getLogger("wikisync")
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG if debug else logging.INFO)

    def _write_error(self, line: str) -> None:
        at = f"{local_time(time.time())} " if self.shows_time else ""
        sys.stderr.write(f"{at}{line}\n")

    def _paint(self, word: str, colour: str, stream: TextIO | None = None) -> str:
        if os.environ.get("NO_COLOR") or not (stream or sys.stderr).isatty():
            return word
        return f"{colour}{word}{RESET}"


class ProgressBar(Progress):
    """One bar on stderr, renamed from step to step."""

    def __init__(self, progress: RichProgress) -> None:
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


def table_text(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, width: int | None
) -> str:
    """Rows for a terminal, or lines with tabs where there is no width; printable."""
    shown = [
        ["" if value is None else one_line(str(value), None) for value in row]
        for row in rows
    ]
    if width is None:
        return "".join("\t".join(row) + "\n" for row in [list(columns), *shown])
    from rich import console, table, text

    drawn = table.Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in shown:
        # as text: square brackets in a description are no markup
        drawn.add_row(*map(text.Text, row))
    buffer = io.StringIO()
    console.Console(file=buffer, width=width, force_terminal=False).print(drawn)
    return buffer.getvalue()


PROBLEMS_SHOWN_MAX = 40


def show_problems(
    console: Console, problems: Sequence[Problem], notes: Sequence[Problem] = ()
) -> None:
    """Problems as warnings, the first of them in full, and notes as notes."""
    for note in notes:
        console.note(with_hint(note, note.hint))
    console.problems(problems[:PROBLEMS_SHOWN_MAX])
    if len(problems) > PROBLEMS_SHOWN_MAX:
        more = len(problems) - PROBLEMS_SHOWN_MAX
        console.warn(f"and {more} more problems; --json lists them all")
