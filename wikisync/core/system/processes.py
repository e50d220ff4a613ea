"""Every child process of wikisync: nothing else in the package starts one.

A *worker* does part of our own work, on pages or repositories that nobody vouches for:
it gets pipes, the root folder as its current one and a few named variables, no token.
Workers in Python are ``isolated``.  A *program* is one that the person chose (an
editor, a command of ``wikisync.toml``); it gets their environment without our secrets.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from wikisync.core.system.parallel import finish

if TYPE_CHECKING:
    from asyncio.subprocess import Process

Child: TypeAlias = subprocess.Popen[bytes]
AsyncChild: TypeAlias = "Process"
Stream: TypeAlias = int | IO[bytes] | None
"""``PIPE``, ``DEVNULL``, ``STDOUT``, a file, or None: that of this process."""
PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
TimeoutExpired = subprocess.TimeoutExpired

SECRET_VARIABLES = frozenset({"WIKISYNC_TOKEN", "WIKISYNC_HOOK_SECRET"})
WORKER_VARIABLES = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    # a Python may be built to need the second, Windows starts nothing without
    # the third
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
)
"""What every worker may know of the environment."""
SLOW_S = 5.0
"""A person is told what is waited for after this time."""
ROOT = os.sep
"""Where workers run: a folder that is always there, and is nobody's."""

_PACKAGE = Path(__file__).resolve().parents[2]
_BEGIN = str(Path(__file__).resolve().with_name("isolated.py"))


# Workers --------------------------------------------------------------------------


def python_worker(
    target: str | Path,
    words: Iterable[str] = (),
    *,
    memory_bytes_max: int | None = None,
) -> list[str]:
    """The command that runs a module of ours, or a file, in an isolated Python."""
    # Modules are found as here, but not in the folder that this process runs in: Python
    # looks there for ``python -m``, and for an empty part of ``PYTHONPATH``.
    here, parent = None, str(_PACKAGE.parent)
    with contextlib.suppress(FileNotFoundError):
        here = Path.cwd()
    path = [
        place
        for place in sys.path
        if Path(place).is_absolute()
        and (place == parent or Path(place).resolve() != here)
    ]
    start = {
        "package": str(_PACKAGE),
        "path": path,
        "memory_bytes_max": memory_bytes_max,
    }
    # isolated mode reads none of the variables that say the same
    modes = ["-I", "-X", "utf8", *(["-B"] if sys.dont_write_bytecode else [])]
    return [sys.executable, *modes, _BEGIN, json.dumps(start), str(target), *words]


def start_worker(command: Sequence[str]) -> Child:
    """Start a worker with pipes for its input and output (``worker.Worker``)."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and files
        command,
        cwd=ROOT,
        env={name: os.environ[name] for name in WORKER_VARIABLES if name in os.environ},
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
    )


# Programs -------------------------------------------------------------------------


def start_program(words: Sequence[str], stderr: Stream = DEVNULL) -> Child:
    """Start a program of the person's that outlives the terminal; or OSError."""
    return subprocess.Popen(  # noqa: S603 - the person's own choice
        words,
        env=without_secrets(os.environ),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=stderr,
        start_new_session=True,
    )


def with_limits(
    words: Sequence[str], *, memory: int | None = None, file: int | None = None
) -> list[str]:
    """The command of a program that has limits, in bytes, as each of its children.

    The shell sets them before it becomes the program, for what was set later would come
    too late for the first child.  It reads none of the words, and goes on where the
    system knows no such limit.
    """
    data = "unlimited" if memory is None else str(memory // 1024)
    # in blocks of 512 bytes
    size = "unlimited" if file is None else str(-(-file // 512))
    script = 'ulimit -d "$0" 2>/dev/null; ulimit -f "$1" 2>/dev/null; shift; exec "$@"'
    return ["/bin/sh", "-c", script, data, size, *words]


async def start_program_async(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: Stream = DEVNULL,
    stdout: Stream = DEVNULL,
    stderr: Stream = DEVNULL,
) -> AsyncChild:
    """Start a program of the person's, for the event loop; no shell reads the words.

    It has a session, so that it can be killed with all that it starts
    (``end_session``).
    """
    import asyncio

    return await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        env=without_secrets(os.environ if environment is None else environment),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def start_server(
    words: Sequence[str],
    *,
    folder: Path,
    log: IO[bytes],
    environment: Mapping[str, str],
    user: int | None = None,
) -> Child:
    """Start a server of an installed package in a folder; or OSError.

    Secrets are left out of its environment.  A user runs it with no group of ours.
    """
    return subprocess.Popen(  # noqa: S603 - a program that came with a package
        words,
        cwd=folder,
        env=without_secrets(environment),
        stdin=DEVNULL,
        stdout=log,
        stderr=log,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def run_program(words: Sequence[str]) -> int:
    """Run a person's program in this terminal until it ends; its exit code."""
    environment = without_secrets(os.environ)
    return subprocess.run(words, env=environment, check=False).returncode  # noqa: S603 - the person's own choice


def output_of(
    words: Sequence[str], seconds_max: float, on_slow: Callable[[], None]
) -> tuple[int, bytes]:
    """Exit code and output of a person's program that reads nothing.

    Ctrl-C ends the wait, also where an event loop runs.  ``on_slow`` is called once
    after ``SLOW_S``; after ``seconds_max`` it is killed (TimeoutError).
    """
    with interruptible(), _reading(words) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = process.communicate(timeout=min(SLOW_S, seconds_max))
            return process.returncode, output
        on_slow()
        try:
            output, _ = process.communicate(timeout=max(0.0, seconds_max - SLOW_S))
        except subprocess.TimeoutExpired as exc:
            raise TimeoutError from exc
        return process.returncode, output


@contextlib.contextmanager
def _reading(words: Sequence[str]) -> Iterator[Child]:
    """A person's program whose output is read, and that is killed with the block."""
    process = subprocess.Popen(  # noqa: S603 - the person's own choice
        words,
        env=without_secrets(os.environ),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
    )
    try:
        yield process
    finally:
        # what it started may keep its output open: that is not waited for
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal that an event loop would only note end a wait at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        # who ignores it goes on doing so, and who has no handler is ended by it
        if callable(handler := signal.getsignal(number))
    }
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_browser(url: str) -> None:
    """Show a page in the person's browser; whether one opens is not known."""
    # Python knows the browsers, but starts them with all that it knows itself
    script = "import sys, webbrowser; webbrowser.open(sys.argv[1])"
    run_program([sys.executable, "-I", "-c", script, url])


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for programs of others."""
    return {
        name: text for name, text in environment.items() if name not in SECRET_VARIABLES
    }


# The end of either ----------------------------------------------------------------


def worker_streams(process: Child) -> tuple[IO[bytes], IO[bytes]]:
    """Where a worker's answers come from, and where its jobs go."""
    assert process.stdout is not None
    assert process.stdin is not None
    return process.stdout, process.stdin


def end_worker(process: Child, seconds: float = 0.0) -> int:
    """The exit code of a worker, which is gone then, by itself if given the seconds."""
    source, target = worker_streams(process)
    if seconds:
        with contextlib.suppress(OSError):
            target.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    process.kill()
    for stream in (source, target):
        with contextlib.suppress(OSError):
            stream.close()
    return process.wait()


def end_server(process: Child, number: signal.Signals, seconds: float) -> int:
    """The exit code of a server that is asked to end; after so long it is killed."""
    process.send_signal(number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(seconds)
    process.kill()
    return process.wait()


async def end_session(process: AsyncChild) -> None:
    """Kill a program with all that it started; it is gone then, also when cancelled."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await finish(process.wait())
