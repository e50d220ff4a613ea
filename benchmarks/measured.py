"""What the benchmarks share: a service in a process of its own, commands on a clock."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WIKISYNC = str(Path(sys.executable).with_name("wikisync"))
"""The command beside the Python that runs the benchmark."""

OK = frozenset({0, 3})
"""Done, or done with problems; generated pages may have some on purpose."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command, as the operating system accounts for it."""

    seconds: float
    cpu_seconds: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.seconds:>7.2f} {self.cpu_seconds:>6.2f} {self.peak_mb:>6.0f}"


HEADER = f"{'s':>7} {'cpu s':>6} {'MB':>6}"


@contextmanager
def serving(wiki: Path) -> Iterator[tuple[str, str]]:
    """The embedded service with a folder's pages in it: its URL and a token."""
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as data:
        command = [WIKISYNC, "serve", "--data", data]
        process = subprocess.Popen(
            [*command, "--load", str(wiki)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        try:
            said = dict(_said(process.stdout))
            yield said["url"], said["token"]
        finally:
            process.terminate()
            process.communicate()


def _said(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """What ``serve`` prints, up to the address, which comes when it answers."""
    for line in lines:
        word, _, value = line.strip().partition(": ")
        yield word, value
        if word == "url":
            return


def run_command(arguments: Sequence[str], token: str) -> Run:
    """Run ``wikisync`` as a person would, from start to exit."""
    environment = {**os.environ, "WIKISYNC_TOKEN": token}
    # an installed program has its bytecode, and does not compile itself at each start
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    process = subprocess.Popen(
        [WIKISYNC, "--quiet", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in OK, f"exit code {process.returncode}"
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu_seconds, usage.ru_maxrss / 1024)
