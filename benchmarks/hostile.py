"""What pages that never end cost a build that has sound pages to show.

    python benchmarks/hostile.py [--full]

A hundred sound pages are built alone, then with one page of 100 KB (or less, where
less does) for each known text that docutils, Asciidoctor or the sanitiser takes very
long for, then once more with nothing to do.  Memory is the highest sum of what all
processes of a build held at a time.  With ``--full`` each hostile page gets its whole
time, however many they are: that takes minutes, and shows the memory at its worst.

The exit code is 1 where a sound page became its source, a build with nothing to do
took more than 2 s of the processor, attempts took more than their budget and a third
of it, or memory went over 500 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from measured import WIKISYNC

SIZE = 100_000
SOUND_PAGES = 100
MEMORY_MB_MAX = 500
BUDGET_S, FULL_S = 60, 86_400
SAMPLE_S = 0.02
NOTICE = "markup-notice"
CONFIG = """\
[service]
url = "https://gitlab.example.com"
[[wiki]]
project = "docs/handbook"
folder = "wiki"
[site]
output = "site"
slow_pages_seconds = {seconds}
"""


def repeated(text: str, before: str = "", after: str = "") -> str:
    """A text as often as it takes."""
    return before + text * (SIZE // len(text)) + after


def numbered(text: str, after: str = "") -> str:
    """A text with a number in it, as often as it takes."""
    return "".join(text.format(n) for n in range(SIZE // (len(text) + 2))) + after


def doubling() -> str:
    """Substitutions that each name the one before twice."""
    lines = [f".. |a{n}| replace:: |a{n - 1}| |a{n - 1}|\n\n" for n in range(1, 40)]
    return ".. |a0| replace:: x\n\n" + "".join(lines) + "|a39|\n"


def boxes() -> str:
    """A grid table in a grid table and so on."""
    box = ["x"]
    while len(box) * len(box[0]) < SIZE:
        edge = f"+{'-' * (len(box[0]) + 2)}+"
        box = [edge, *(f"| {line} |" for line in box), edge]
    return "\n".join(box) + "\n"


def columns() -> str:
    """A simple table of many columns."""
    edge = " ".join(["="] * (SIZE // 6))
    return f"{edge}\n{edge.replace('=', 'a')}\n{edge}\n"


HOSTILE: Mapping[str, str] = {
    "substitutions.rst": doubling(),
    "boxes.rst": boxes(),
    "classes.rst": repeated(".. class:: x\n\n"),
    "transitions.rst": repeated("a\n\n----\n\n"),
    "target-notes.rst": numbered(".. _a{}: http://x\n\n.. target-notes::\n\n"),
    "contents.rst": repeated(".. contents::\n\nA\n=\n\n"),
    "numbers.rst": repeated(".. sectnum::\n\nA\n=\n\n"),
    "targets.rst": numbered(".. _t{}:\n\n", "x\n"),
    "columns.rst": columns(),
    "anonymous.rst": repeated("`a`__\n\n__ x\n\n"),
    "headings.adoc": repeated("== A\n\nx\n\n"),
    "cells.adoc": "|===\n9999999*|a\n|===\n",
    "columns.adoc": '[cols="9999999*"]\n|===\n|a\n|===\n',
    "quotes.adoc": repeated('"a\n', ",===\n", ",===\n"),
    "references.adoc": repeated("xref:a[b "),
    "callouts.adoc": repeated("a <1>\n", "----\n", "----\n") + repeated("<1> a\n"),
    "tables.adoc": repeated("a|* b\n", "|===\n", "|===\n"),
    "attributes.adoc": repeated(":a: {a}x\n"),
    "block-quotes.adoc": repeated("> ", "", "a\n"),
    "attributes.md": "<p " + numbered("a{}=1 ", ">x</p>\n"),
}


class Built(NamedTuple):
    """One run of the command."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    sources: int
    """Pages that are shown as source."""


def main() -> int:
    if sys.argv[1:] not in ([], ["--full"]):
        print(__doc__, file=sys.stderr)
        return 2
    seconds = FULL_S if sys.argv[1:] else BUDGET_S
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        (place / "wiki").mkdir()
        (place / "wikisync.toml").write_text(CONFIG.format(seconds=seconds))
        for number in range(SOUND_PAGES):
            suffix, text = sound(number)
            (place / "wiki" / f"sound-{number}.{suffix}").write_text(text)
        print(f"{'build':<26}{'s':>8}{'cpu s':>8}{'MB':>8}{'as source':>11}")
        alone = shown("sound pages", place)
        for file, text in HOSTILE.items():
            (place / "wiki" / f"bad-{file}").write_text(text)
        hostile = shown(f"{len(HOSTILE)} hostile ones more", place)
        again = shown("nothing to do", place)
        spoilt = sources(place, "sound-*.html")
    is_good = (
        not spoilt
        and again.cpu_seconds < 2
        and max(hostile.peak_mb, again.peak_mb) < MEMORY_MB_MAX
        and hostile.cpu_seconds - alone.cpu_seconds < seconds * 4 / 3
    )
    return 0 if is_good else 1


def sound(number: int) -> tuple[str, str]:
    """A page that anybody may have written, in one of three formats."""
    text = f"Words *of* page {number}, and some more of them.\n\n" * 20
    match number % 3:
        case 0:
            return "md", f"# Page {number}\n\n{text}"
        case 1:
            return "rst", f"Page {number}\n{'=' * 12}\n\n{text}"
        case _:
            return "adoc", f"= Page {number}\n\n{text}"


def shown(name: str, place: Path) -> Built:
    """Build, and print the line."""
    built = build(place)
    print(
        f"{name:<26}{built.seconds:>8.1f}{built.cpu_seconds:>8.1f}"
        f"{built.peak_mb:>8.0f}{built.sources:>11}",
        flush=True,
    )
    return built


def build(place: Path) -> Built:
    """Run ``wikisync build`` and watch its processes."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    began, used = time.perf_counter(), os.times()
    process = subprocess.Popen(
        [WIKISYNC, "build", str(place)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = 0.0
    is_over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(SAMPLE_S):
            peak = max(peak, sum(map(held_mb, family(process.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    is_over.set()
    watcher.join()
    now = os.times()
    cpu = now.children_user + now.children_system
    cpu -= used.children_user + used.children_system
    seconds = time.perf_counter() - began
    return Built(seconds, cpu, peak, sources(place, "*.html"))


def sources(place: Path, pattern: str) -> int:
    """Pages of the site that are shown as source."""
    return sum(NOTICE in path.read_text() for path in (place / "site").glob(pattern))


def family(pid: int) -> set[int]:
    """A process and all below it."""
    found = {pid}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            found |= family(int(child))
    return found


def held_mb(pid: int) -> float:
    """Memory that a process holds now; 0 of one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    held = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(held[0]) / 1024 if held else 0.0


if __name__ == "__main__":
    sys.exit(main())
