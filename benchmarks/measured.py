"""What the benchmarks share: a service in a process of its own, commands on a clock."""

import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WIKISYNC = str(Path(sys.executable).with_name("wikisync"))
"""The command beside the Python that runs the benchmark."""

OK = frozenset({0, 3})
"""Done, or done with problems; generated pages may have some on purpose."""
SAMPLE_S = 0.05
SAMPLE_SHARE_MAX = 0.05
"""Of a core: to read the memory of a process takes longer the more it has."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command, as the operating system accounts for it."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    """Of its largest process."""
    sum_mb: float = math.nan
    """Of all its processes together; not a number where nobody sampled it."""

    def __str__(self) -> str:
        text = f"{self.seconds:>7.2f} {self.cpu_seconds:>6.2f} {self.peak_mb:>6.0f}"
        return text if math.isnan(self.sum_mb) else f"{text} {self.sum_mb:>6.0f}"


HEADER = f"{'s':>7} {'cpu s':>6} {'MB':>6}"
HEADER_WITH_SUM = f"{HEADER} {'sum MB':>6}"


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


def run_command(
    arguments: Sequence[str], token: str, *, is_summed: bool = False
) -> Run:
    """Run ``wikisync`` as a person would, from start to exit.

    ``is_summed`` samples the memory of all its processes, which costs them some time.
    """
    environment = {**os.environ, "WIKISYNC_TOKEN": token}
    # an installed program has its bytecode, and does not compile itself at each start
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return run_process(
        [WIKISYNC, "--quiet", *arguments], environment, is_summed=is_summed, allowed=OK
    )


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    is_summed: bool = True,
    allowed: Container[int] = (0,),
) -> Run:
    """Run a program that exits with one of the allowed codes."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if folder is None else None,
    )
    is_over = threading.Event()
    peak = [math.nan]
    watcher = threading.Thread(target=note_peak, args=(process.pid, is_over, peak))
    if is_summed:
        watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    is_over.set()
    if is_summed:
        watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in allowed, f"{command}: exit code {process.returncode}"
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Run(seconds, cpu_seconds, usage.ru_maxrss / 1024, peak[0] / 1024)


def note_peak(pid: int, is_over: threading.Event, peak: list[float]) -> None:
    """Keep the most memory, in KiB, that a process and its children ever share."""
    pause_s = SAMPLE_S
    while not is_over.wait(pause_s):
        started = time.thread_time()
        held = memory_of(pid)
        if held and not held <= peak[0]:
            peak[0] = held
        pause_s = max(SAMPLE_S, (time.thread_time() - started) / SAMPLE_SHARE_MAX)


def memory_of(pid: int) -> int:
    """Memory of a process and its children in KiB; what they share counts once."""
    total, waiting = 0, [pid]
    while waiting:
        process = Path("/proc", str(waiting.pop()))
        try:
            rollup = (process / "smaps_rollup").read_text()
            children = [path.read_text() for path in process.glob("task/*/children")]
        except OSError:
            continue  # it has just ended
        total += int(rollup.partition("Pss:")[2].split()[0])
        waiting += map(int, " ".join(children).split())
    return total
