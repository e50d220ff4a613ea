"""The beginning and the end of the process."""

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
        # a text that never came is not an empty page
        ("<&-", ["render", "-"], 1),
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


def test_ctrl_c_while_modules_are_loaded_is_no_traceback() -> None:
    program = (
        "import signal, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'wikisync.cli.console': signal.raise_signal(2)\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from wikisync.cli.start import run; run()"
    )
    command = [sys.executable, "-c", program, "status"]

    done = subprocess.run(command, check=False, capture_output=True)

    said = b"\ninterrupted; run the same command again to continue\n"
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", said)
