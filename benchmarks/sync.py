"""What a two-way sync costs, beside vdirsyncer where that is installed.

    python benchmarks/sync.py [--pages 2000] [--many 10000] [--repeat 5]
        [--vdirsyncer FOLDER]

Everything runs as a person would run it, against servers in processes of their own
on this machine.  The rows:

- a cycle with nothing to do: ``wikisync sync`` from its start to its exit, and one
  cycle inside a process that runs already, asking the service for the whole list;
- the same in a larger wiki, and with one edited page to upload;
- the first pull of many pages into an empty folder;
- the first push of pages that the wiki lacks, and the same again after it was killed
  half way;
- with ``--vdirsyncer``, a folder that has ``vdirsyncer`` and ``radicale`` in its
  ``bin``: as many address cards of the same size carried from a folder to that
  server, from there to another folder, and a sync that finds nothing to do.

Prints one row per measurement: seconds (median, fastest to slowest), of the
processor, and peak resident memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measured import WIKISYNC, Run, run_command, serving
from pull import generate, page_text

COMPARED = (
    "first sync to the server",
    "first sync to a folder",
    "no-op, from start to exit",
    "no-op, in a running process",
)
PAGE_BYTES = 1_800
PORT_TRIES = 100
CARD = (
    "BEGIN:VCARD\nVERSION:3.0\nUID:{uid}\nFN:Page {uid}\nN:;{uid};;;\n"
    "NOTE:{note}\nEND:VCARD\n"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement, made some times."""

    what: str
    items: int
    runs: Sequence[Run]

    @property
    def median_s(self) -> float:
        """Seconds of the run in the middle."""
        return statistics.median(run.seconds for run in self.runs)

    def __str__(self) -> str:
        seconds = [run.seconds for run in self.runs]
        cpu = statistics.median(run.cpu_seconds for run in self.runs)
        peak = max(run.peak_mb for run in self.runs)
        memory = f"{peak:.0f}" if peak else ""
        return (
            f"| {self.what} | {self.items:,} | {self.median_s:.3f}"
            f" | {min(seconds):.3f}-{max(seconds):.3f} | {cpu:.2f} | {memory} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--vdirsyncer", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    print("| what | items | median s | fastest-slowest | cpu s | MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        ours = wikisync_rows(Path(name), options)
        if options.vdirsyncer is None:
            print("\nno vdirsyncer to compare with; name its folder: --vdirsyncer")
            return
        theirs = vdirsyncer_rows(Path(name) / "peer", options)
    print()
    # it has no running process; each of its syncs starts anew
    pairs = zip(COMPARED, ours, (*theirs, theirs[-1]), strict=True)
    for what, mine, other in pairs:
        ratio = other.median_s / mine.median_s
        print(f"{what}: wikisync is {ratio:.1f} times as fast as vdirsyncer")


def shown(what: str, items: int, runs: Sequence[Run]) -> Row:
    """Print a row when it is measured."""
    row = Row(what, items, runs)
    print(row, flush=True)
    return row


# -- wikisync ----------------------------------------------------------------------


def wikisync_rows(place: Path, options: argparse.Namespace) -> tuple[Row, ...]:
    """Our rows; those that are compared are given."""
    first = first_sync(place / "first", options)
    generate(place / "pages" / "wiki", options.pages, PAGE_BYTES)
    with serving(place / "pages" / "wiki") as (url, token):
        command = ["clone", url, "--project", "local/wiki"]
        pull = shown(
            "first pull",
            options.pages,
            [
                run_command([*command, str(place / f"pull-{number}")], token)
                for number in range(options.repeat)
            ],
        )
        root = place / "pull-0"
        sync = ["sync", "-C", str(root)]
        run_command(sync, token)
        noop = shown(
            "no-op, from start to exit",
            options.pages,
            [run_command(sync, token) for _ in range(options.repeat)],
        )
        cycles = asyncio.run(cycles_inside(root, token, options.repeat))
        inside = shown("no-op, in a running process", options.pages, cycles)
    generate(place / "many" / "wiki", options.many, PAGE_BYTES)
    with serving(place / "many" / "wiki") as (url, token):
        command = ["clone", url, "--project", "local/wiki"]
        pulls = [
            run_command([*command, str(place / f"clone-{number}")], token)
            for number in range(max(1, options.repeat // 2))
        ]
        shown("first pull", options.many, pulls)
        sync = ["sync", "-C", str(place / "clone-0")]
        run_command(sync, token)
        runs = [run_command(sync, token) for _ in range(options.repeat)]
        shown("no-op, from start to exit", options.many, runs)
        edited = [
            edit_and_sync(folder_of(place / "clone-0"), sync, token)
            for _ in range(options.repeat)
        ]
        shown("one edit uploaded", options.many, edited)
    return first, pull, noop, inside


def edit_and_sync(folder: Path, sync: Sequence[str], token: str) -> Run:
    """Add a line to a page and upload it."""
    page = min(folder.rglob("*.md"))
    with page.open("a", encoding="utf-8") as file:
        file.write("\nOne more line.\n")
    return run_command(sync, token)


def first_sync(place: Path, options: argparse.Namespace) -> Row:
    """Put all pages of a folder on an empty wiki, straight and with a kill."""
    generate(place / "start" / "wiki", 1, PAGE_BYTES)
    with serving(place / "start" / "wiki") as (url, token):
        root = cloned(url, token, place / "push")
        generate(folder_of(root) / "new", options.pages, PAGE_BYTES)
        sync = ["sync", "--adopt", "push", "-C", str(root)]
        row = shown("first push", options.pages, [run_command(sync, token)])
    generate(place / "again" / "wiki", 1, PAGE_BYTES)
    with serving(place / "again" / "wiki") as (url, token):
        root = cloned(url, token, place / "resumed")
        generate(folder_of(root) / "new", options.pages, PAGE_BYTES)
        sync = ["sync", "--adopt", "push", "-C", str(root)]
        killed(sync, token, row.median_s / 2)
        resumed = run_command(sync, token)
        shown("first push, the rest after a kill", options.pages, [resumed])
    return row


def cloned(url: str, token: str, root: Path) -> Path:
    """A workspace of the wiki."""
    run_command(["clone", url, "--project", "local/wiki", str(root)], token)
    return root


def folder_of(root: Path) -> Path:
    """The wiki's folder in a workspace."""
    return next(
        path
        for path in root.iterdir()
        if path.is_dir() and not path.name.startswith(".")
    )


def killed(command: Sequence[str], token: str, after_s: float) -> None:
    """Run a command and kill it after some time."""
    process = subprocess.Popen(
        [WIKISYNC, "--quiet", *command],
        env={**os.environ, "WIKISYNC_TOKEN": token},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def cycles_inside(root: Path, token: str, repeat: int) -> list[Run]:
    """Cycles one after the other in this process, as the daemon runs them."""
    from wikisync.cli.console import Console
    from wikisync.sync.run.cycle import run_cycle
    from wikisync.sync.run.parts import CycleOptions
    from wikisync.workspace.configured import find_workspace
    from wikisync.workspace.opening import open_workspace
    from wikisync.workspace.service import Credentials

    workspace = find_workspace(root)
    runs = []
    with open_workspace(workspace) as opened:
        environment = {**os.environ, "WIKISYNC_TOKEN": token}
        credentials = Credentials(Console(), env=environment)
        async with credentials.open(workspace) as client:
            section = workspace.config.wikis[0]
            wiki = await opened.synced(client, section)
            for _ in range(repeat + 1):
                started, cpu = time.perf_counter(), time.process_time()
                result = await run_cycle(wiki.cycle(CycleOptions()))
                assert result.is_quiet
                seconds = time.perf_counter() - started
                runs.append(Run(seconds, time.process_time() - cpu, 0.0))
    return runs[1:]  # the first one reads what a running process knows


# -- vdirsyncer --------------------------------------------------------------------


def vdirsyncer_rows(place: Path, options: argparse.Namespace) -> tuple[Row, ...]:
    """The same with vdirsyncer, between folders and its own kind of server."""
    cards = place / "cards" / "local"
    cards.mkdir(parents=True)
    chance = random.Random(7)
    for number in range(options.pages):
        note = page_text(chance, number, PAGE_BYTES).replace("\n", "\\n")
        card = CARD.format(uid=f"page-{number}", note=note)
        (cards / f"page-{number}.vcf").write_text(card)
    with radicale(options.vdirsyncer, place) as url:
        sync = _discovered(options.vdirsyncer, place, "cards", url)
        first = shown("vdirsyncer, first push", options.pages, [timed(sync)])
        runs = [timed(sync) for _ in range(options.repeat)]
        noop = shown("vdirsyncer, no-op", options.pages, runs)
        other = _discovered(options.vdirsyncer, place, "other", url)
        pull = shown("vdirsyncer, first pull", options.pages, [timed(other)])
        assert len(list((place / "other").rglob("*.vcf"))) == options.pages
    return first, pull, noop


def _discovered(folder: Path, place: Path, name: str, url: str) -> list[str]:
    """The command that syncs one folder, which the tool knows then."""
    config = place / f"{name}.config"
    config.write_text(_config(place, name, url))
    command = [str(folder / "bin/vdirsyncer"), "-c", str(config)]
    timed([*command, "discover", "cards"], agrees=True)
    return [*command, "sync"]


def _config(place: Path, name: str, url: str) -> str:
    return f"""
[general]
status_path = "{place}/status-{name}"
[pair cards]
a = "here"
b = "there"
collections = ["local"]
[storage here]
type = "filesystem"
path = "{place}/{name}"
fileext = ".vcf"
[storage there]
type = "carddav"
url = "{url}"
username = "ann"
password = "ann"
"""


def timed(command: Sequence[str], *, agrees: bool = False) -> Run:
    """Run a command to its end."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("y\n" * (9 if agrees else 0))
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@contextmanager
def radicale(folder: Path, place: Path) -> Iterator[str]:
    """The server, on a free port of this machine."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(str(folder / "bin/radicale"), "--hosts", f"127.0.0.1:{port}"),
            *("--auth-type", "none", "--storage-filesystem-folder", f"{place}/server"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(PORT_TRIES):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
