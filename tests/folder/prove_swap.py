"""Prove that no save is lost while pages are replaced: a real editor process.

    python -m tests.folder.prove_swap [--seconds 6] [--rounds 3] [--folder /dev/shm]

An editor in a process of its own saves a page every 0.3 ms while the folder's
replica replaces it as a sync would, each time with the digest of what it read.
Before a save the editor looks at the page: is there a text of the sync, then its
last save was replaced, and must be among the texts that the sync had read, or
among the late saves.  If it is in neither, it is lost.

A text of the sync may also be there for a moment only, until the save that it
replaced goes back in.  Every other time the editor waits whether it does; if it
does not, and for all writes that the sync believes done, the save is looked for.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path

from wikisync.core.model import Format, Page, Slug
from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.folder.limbo import LATE_S
from wikisync.folder.replica import FolderReplica

PAGE = Slug("home")
SAVE_EVERY_S = 0.0003
HELD_OPEN_S = 0.001
GIVEN_BACK_S = 1.0
START_S = 30.0
SYNC = "sync"
STYLES = ("rename", "place", "truncate", "held")
"""How the editor saves: by rename, into the file, emptying it first, or into the
file as it was when the editor opened it a moment ago."""


@dataclass(slots=True)
class Outcome:
    """What a race came to."""

    style: str
    writes: int = 0
    refused: int = 0
    saves: int = 0
    replaced: int = 0
    """Saves that the editor saw replaced by the sync."""
    given_back: int = 0
    """Writes that failed and gave the save back, as far as the editor saw."""
    late: int = 0
    lost: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    """Texts of the writes that went well."""

    def __str__(self) -> str:
        return (
            f"{self.style:>9} {self.writes:>8} {self.refused:>8} {self.saves:>8}"
            f" {self.replaced:>9} {self.given_back:>10} {self.late:>6}"
            f" {len(self.lost):>6}"
        )


HEADER = (
    f"{'saved by':>9} {'writes':>8} {'refused':>8} {'saves':>8} {'replaced':>9}"
    f" {'given back':>10} {'late':>6} {'lost':>6}"
)


def save_all_the_time(path: Path, log: Path, stop: Event, style: str) -> None:
    """The editor; notes each save that it finds replaced by the sync."""
    number = 0
    text = ""
    with log.open("w") as replaced:
        while not stop.is_set():
            seen = path.read_text()
            if number and seen.startswith(SYNC):
                is_sure = number % 2 == 0 and not is_given_back(path, seen, text)
                replaced.write(f"{text.strip()}|{seen.strip()}|{is_sure}\n")
            number += 1
            text = f"save {number:08d}\n"
            save(path, text, style)
            time.sleep(SAVE_EVERY_S)
        replaced.write(f"saves {number}\n")


def is_given_back(path: Path, seen: str, text: str) -> bool:
    """Wait until the text of the sync makes way, and see if it is for our save."""
    end = time.monotonic() + GIVEN_BACK_S
    while (now := path.read_text()) == seen and time.monotonic() < end:
        pass
    return now == text


def save(path: Path, text: str, style: str) -> None:
    """One save, in the editor's way."""
    if style == "rename":
        fresh = path.with_name(".editor")
        fresh.write_text(text)
        fresh.replace(path)
        return
    descriptor = os.open(path, os.O_WRONLY | (style == "truncate" and os.O_TRUNC))
    if style == "held":
        time.sleep(HELD_OPEN_S)
        os.ftruncate(descriptor, len(text))
    os.write(descriptor, text.encode())
    os.close(descriptor)


async def race(style: str, seconds: float, folder: Path | None = None) -> Outcome:
    """One race in a folder of its own."""
    outcome = Outcome(style)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        root = Path(name) / "wiki"
        root.mkdir()
        (Path(name) / ".wikisync").mkdir()
        path, log = root / "home.md", Path(name) / "log"
        path.write_text(f"save {0:08d}\n")
        ahead_s = 0.0
        replica = FolderReplica(root, settle_s=0.0, clock=lambda: time.time() + ahead_s)
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        editor = context.Process(
            target=save_all_the_time, args=(path, log, stop, style)
        )
        editor.start()
        await asyncio.to_thread(wait_for, log)
        try:
            known = await replace_all_the_time(replica, seconds, outcome)
        finally:
            stop.set()
            editor.join()
        ahead_s = LATE_S + 0.1
        for late in await replica.late_saves():
            outcome.late += 1
            known.add(late.text or "")
        judge(log.read_text().splitlines(), known, outcome)
    return outcome


def wait_for(path: Path) -> None:
    """Wait until the editor has begun."""
    end = time.monotonic() + START_S
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


async def replace_all_the_time(
    replica: FolderReplica, seconds: float, outcome: Outcome
) -> set[str]:
    """Replace the page whenever it can be read; returns every text that was read."""
    known: set[str] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            page = await replica.read(PAGE)
            known.add(page.content)
            number = outcome.writes + outcome.refused
            ours = Page(PAGE, Format.MARKDOWN, f"{SYNC} {number:08d}\n")
            await replica.write(ours, expected=page.digest)
        except (PreconditionFailed, NotFound):
            outcome.refused += 1
        else:
            outcome.writes += 1
            outcome.done.add(ours.content)
    return known


def judge(log: list[str], known: set[str], outcome: Outcome) -> None:
    """Count saves that were replaced and are nowhere."""
    *replaced, last = log
    outcome.saves = int(last.split()[1])
    for line in replaced:
        save, sync, is_sure = line.split("|")
        if f"{sync}\n" not in outcome.done and is_sure == "False":
            outcome.given_back += 1
            continue
        outcome.replaced += 1
        if f"{save}\n" not in known:
            outcome.lost.append(line)


async def prove(seconds: float, rounds: int, folder: Path | None) -> int:
    """Every style, several times; returns how many saves were lost."""
    sys.stdout.write(f"{HEADER}\n")
    lost = 0
    for style in STYLES:
        for _ in range(rounds):
            outcome = await race(style, seconds, folder)
            lost += len(outcome.lost)
            sys.stdout.write(f"{outcome}\n")
            sys.stdout.flush()
    return lost


def main() -> int:
    """Exit code 1 if a save was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="on the disk to be tried")
    arguments = parser.parse_args()
    try:
        lost = asyncio.run(prove(arguments.seconds, arguments.rounds, arguments.folder))
    except FolderError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{lost} saves lost\n")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
