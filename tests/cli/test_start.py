"""The beginning and the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("closed", "words", "code"),
    [
        (">&-", ["theme", "list"], 0),
        (">&- 2>&-", ["theme", "list"], 0),
        ("<&- >&- 2>&-", ["theme", "list"], 0),
        ("2>&-", ["theme", "show", "misspelt"], 2),
    ],
)
def test_closed_streams_are_none_to_fail_at(
    closed: str, words: list[str], code: int
) -> None:
    command = [sys.executable, "-m", "wikisync", *words]

    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], check=False
    )

    assert done.returncode == code


def test_process_ends_with_all_that_was_said_and_asked_for_at_its_end() -> None:
    program = (
        "import atexit, sys; from wikisync.cli import main, start;"
        "atexit.register(lambda: sys.stdout.write(' and the end'));"
        "main.main = lambda: sys.stdout.write('said') and 3;"
        "start.run()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True
    )

    assert (done.stdout, done.stderr, done.returncode) == (b"said and the end", b"", 3)


def test_windows_is_told_where_wikisync_runs() -> None:
    program = (
        "import sys; sys.modules['fcntl'] = None;"
        "from wikisync.cli.start import run; run()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "demo"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: wikisync runs on Linux and macOS\nhint: ")
    assert "WSL" in done.stderr
