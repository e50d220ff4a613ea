"""What one wiki of thousands of pages costs, beside the figures that it may cost.

    python benchmarks/deep.py [--pages 3000 10000] [--page-bytes 2048] [--repeat 5]
        [--attachments 0]

For each size: a clone, a sync with nothing to do, an edit on the wiki that comes
down, an edit here that goes up, and a save under ``wikisync watch`` until the wiki
has it.  Prints one row per measurement: seconds (median), of the processor (median),
peak memory, and the target where there is one.  Of a save the processor's time is
that of the watch until a second after the wiki has it.  With attachments, so many
small ones are spread over the pages.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measured import WIKISYNC, Run, run_command, serving
from pull import PAGES_PER_FOLDER, generate

SAVE_WAIT_S = 60.0
SETTLE_S = 4.0
"""Between two saves, and after a start, so that each is a save by itself."""
REST_SHARE = 0.05
"""Of a core, by a watch at rest; one of hundreds of wikis always does something."""
TARGETS_S = {
    ("no-op", 1_000): "2 cpu s, 50,000 attachments",
    ("save to wiki", 1_000): "2 s, 50,000 attachments",
    ("no-op", 10_000): "0.4 s",
    ("edit up", 10_000): "0.8 s",
    ("save to wiki", 10_000): "0.1 cpu s",
    ("save to wiki", 30_000): "1 s",
    ("save to wiki", 100_000): "2 s",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[3_000, 10_000])
    parser.add_argument("--page-bytes", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--attachments", type=int, default=0)
    options = parser.parse_args()
    print("| what | pages | s | cpu s | MB | target |")
    print("|---|--:|--:|--:|--:|---|")
    for pages in options.pages:
        with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
            measure(Path(name), pages, options)


def measure(place: Path, pages: int, options: argparse.Namespace) -> None:
    """All rows of one size."""
    generate(place / "wiki", pages, options.page_bytes)
    attach(place / "wiki", options.attachments)
    with serving(place / "wiki") as (url, token):
        root = place / "clone"
        clone = ["clone", url, "--project", "local/wiki", str(root)]
        row("clone", pages, [run_command(clone, token)])
        sync = ["sync", "-C", str(root)]
        run_command(sync, token)
        times = range(options.repeat)
        row("no-op", pages, [run_command(sync, token) for _ in times])
        slug = f"part-{pages // 2 // PAGES_PER_FOLDER:03d}/page-{pages // 2}"
        wiki, file = Wiki(url, token, slug), root / "wiki" / f"{slug}.md"
        runs = []
        for number in times:
            wiki.edit(f"down {number}\n")
            runs.append(run_command(sync, token))
        row("web edit down", pages, runs)
        runs = []
        for number in times:
            append(file, f"up {number}\n")
            runs.append(run_command(sync, token))
        row("edit up", pages, runs)
        with watching(root, token) as watch:
            saves = [save(watch, wiki, file, f"save {number}\n") for number in times]
        row("save to wiki", pages, saves)


def attach(folder: Path, count: int) -> None:
    """Put so many small attachments on the pages of a folder, each linked once."""
    pages = sorted(folder.rglob("*.md"))
    for number in range(count):
        file = folder / f"uploads/{number:032x}/picture-{number}.png"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"\x89PNG\r\n" + number.to_bytes(200, "big"))
        append(pages[number % len(pages)], f"\n![p]({file.relative_to(folder)})\n")


def row(what: str, pages: int, runs: Sequence[Run]) -> None:
    """Print a measurement beside its target."""
    seconds = statistics.median(run.seconds for run in runs)
    cpu = statistics.median(run.cpu_seconds for run in runs)
    peak = max(run.peak_mb for run in runs)
    target = TARGETS_S.get((what, pages), "")
    print(
        f"| {what} | {pages:,} | {seconds:.2f} | {cpu:.2f} | {peak:.0f} | {target} |",
        flush=True,
    )


class Wiki:
    """One page of the wiki, as another person reads and edits it."""

    def __init__(self, url: str, token: str, slug: str) -> None:
        page = slug.replace("/", "%2F")
        self._url = f"{url}/api/v4/projects/local%2Fwiki/wikis/{page}"
        self._headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}

    def text(self) -> str:
        """What it says now."""
        return str(self._ask("GET", None)["content"])

    def edit(self, line: str) -> None:
        """Add a line."""
        self._ask("PUT", {"content": self.text() + line})

    def _ask(self, method: str, body: dict[str, str] | None) -> Any:
        request = urllib.request.Request(
            self._url,
            data=None if body is None else json.dumps(body).encode(),
            headers=self._headers,
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


def append(file: Path, line: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)


@contextmanager
def watching(root: Path, token: str) -> Iterator[subprocess.Popen[bytes]]:
    """A watch that has come to rest."""
    process = subprocess.Popen(
        [WIKISYNC, "--quiet", "watch", "-C", str(root)],
        env={**os.environ, "WIKISYNC_TOKEN": token},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        before, now = 0.0, cpu_of(process)
        while before == 0 or now - before > REST_SHARE * SETTLE_S:
            time.sleep(SETTLE_S)
            before, now = now, cpu_of(process)
        yield process
    finally:
        process.terminate()
        process.wait()


def save(watch: subprocess.Popen[bytes], wiki: Wiki, file: Path, line: str) -> Run:
    """From a save to the wiki, and what the watch took for it."""
    time.sleep(SETTLE_S)
    before, started = cpu_of(watch), time.perf_counter()
    append(file, line)
    while not wiki.text().endswith(line):
        assert time.perf_counter() - started < SAVE_WAIT_S, "the save did not arrive"
        time.sleep(0.02)
    seconds = time.perf_counter() - started
    time.sleep(1.0)
    return Run(seconds, cpu_of(watch) - before, peak_of(watch))


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Seconds of the processor that a process has used."""
    text = Path(f"/proc/{process.pid}/stat").read_text()
    fields = text.rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_of(process: subprocess.Popen[bytes]) -> float:
    """The most memory that a process has used, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
