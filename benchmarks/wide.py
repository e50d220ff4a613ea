"""What hundreds of small wikis in one workspace cost, beside what they may cost.

    python benchmarks/wide.py [--wikis 300 500] [--pages 20] [--idle-s 120]
        [--round-trip 0.0] [--warm-s 720]

The embedded service runs in a process of its own, and this process stands between it
and the commands: it counts requests and can delay each by a round trip.  For each
number of wikis, all in one group: a clone, a sync with nothing to do, and a watch at
rest.  A watch rests when each wiki's first hint has come, which takes 11 minutes.

Prints one row per measurement: seconds, of the processor, requests, and the target
where there is one.  Of the watch: requests a minute and the processor's share, each
with the whole scans that come at rest, one per wiki in 6 hours, whose cost is that of
the scans a person asks for; its memory; and how long an edit of an idle wiki takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from deep import cpu_of, peak_of, watching
from far import Line
from measured import Run, run_command, serving

PROJECT = "local/wiki-{:03d}"
SCANS_A_DAY = 4
"""Whole scans of a wiki at rest."""
EDIT_WAIT_S = 60.0
TARGETS = {
    ("no-op", 300): "2 cpu s; 15 s at 150 ms",
    ("at rest", 300): "2 % of a core",
    ("at rest", 500): "60 a minute",
    ("edit there to folder", 300): "20 s",
    ("edit there to folder", 500): "20 s",
}


@dataclass(frozen=True)
class Bench:
    """So many wikis behind a line that counts."""

    count: int
    line: Line
    url: str
    token: str
    root: Path

    async def run(self, what: str, *words: str) -> None:
        """Run a command, and print what it cost."""
        self.line.begin()
        run = await asyncio.to_thread(run_command, words, self.token)
        self.row(what, run, f"{self.line.requests}")

    def row(self, what: str, run: Run, requests: str) -> None:
        """Print a measurement beside its target."""
        target = TARGETS.get((what, self.count), "")
        print(
            f"| {what} | {self.count} | {run.seconds:.1f} | {run.cpu_seconds:.2f}"
            f" | {run.peak_mb:.0f} | {requests} | {target} |",
            flush=True,
        )

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the service as another person, past the line."""
        request = urllib.request.Request(
            f"{self.line.target}/api/v4{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"PRIVATE-TOKEN": self.token, "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wikis", type=int, nargs="+", default=[300, 500])
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--idle-s", type=float, default=120.0)
    parser.add_argument("--warm-s", type=float, default=720.0)
    parser.add_argument("--round-trip", type=float, default=0.0)
    options = parser.parse_args()
    print("| what | wikis | s | cpu s | MB | requests | target |")
    print("|---|--:|--:|--:|--:|--:|---|")
    for count in options.wikis:
        with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
            place = Path(name)
            (place / "wiki").mkdir()
            (place / "wiki/home.md").write_text("# Home\n")
            with serving(place / "wiki") as (url, token):
                asyncio.run(measure(place, url, token, count, options))


async def measure(
    place: Path, target: str, token: str, count: int, options: argparse.Namespace
) -> None:
    """All rows of so many wikis."""
    line = Line(target, options.round_trip, 0.0)
    server = web.ServerRunner(web.Server(line.answer))
    await server.setup()
    await web.TCPSite(server, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{server.addresses[0][1]}"
    bench = Bench(count, line, url, token, place / "all")
    try:
        await asyncio.to_thread(fill, bench, options.pages)
        bench.root.mkdir()
        wikis = (f'[[wiki]]\nproject = "{PROJECT.format(n)}"\n' for n in range(count))
        settings = f'[service]\nurl = "{url}"\n{"".join(wikis)}'
        (bench.root / "wikisync.toml").write_text(settings)
        sync = ("sync", "-C", str(bench.root))
        await bench.run("clone", *sync)
        await bench.run("sync after it", *sync)
        await bench.run("no-op", *sync)
        await rest(bench, options)
    finally:
        await server.cleanup()


def fill(bench: Bench, pages: int) -> None:
    """Make the wikis, as other people did."""
    group = bench.ask("GET", "/groups/local")["id"]
    for number in range(bench.count):
        name = PROJECT.format(number).partition("/")[2]
        body = {"name": name, "path": name, "namespace_id": group}
        project = bench.ask("POST", "/projects", body)["id"]
        for page in range(pages):
            text = f"# Page {page}\n\n" + f"Line {number} of {page}.\n" * 20
            page_body = {"title": f"page-{page}", "content": text}
            bench.ask("POST", f"/projects/{project}/wikis", page_body)


async def rest(bench: Bench, options: argparse.Namespace) -> None:
    """A watch in which nothing happens, and then one edit of a wiki."""
    watch = watching(bench.root, bench.token)
    process = await asyncio.to_thread(watch.__enter__)
    try:
        await asyncio.sleep(options.warm_s)
        bench.line.begin()
        cpu, began = cpu_of(process), time.monotonic()
        await asyncio.sleep(options.idle_s)
        passed = time.monotonic() - began
        requests, used = bench.line.requests, cpu_of(process) - cpu
        edited = await asyncio.to_thread(edit, bench)
        bench.row("edit there to folder", Run(edited, 0.0, peak_of(process)), "")
        bench.line.begin()
        cpu = cpu_of(process)
        (bench.root / ".wikisync/ask").touch()
        before = -1
        while before != bench.line.requests:
            before = bench.line.requests
            await asyncio.sleep(5.0)
        scans_s = 86_400 / SCANS_A_DAY
        share = used / passed + (cpu_of(process) - cpu) / scans_s
        minute = requests / passed + bench.line.requests / scans_s
        print(
            f"| at rest | {bench.count} | | {share * 100:.2f} % of a core"
            f" | {peak_of(process):.0f} | {minute * 60:.1f} a minute"
            f" | {TARGETS.get(('at rest', bench.count), '')} |",
            flush=True,
        )
    finally:
        await asyncio.to_thread(watch.__exit__, None, None, None)


def edit(bench: Bench) -> float:
    """Edit a page of an idle wiki; seconds until it is in its folder."""
    path = PROJECT.format(bench.count // 2)
    file = bench.root / path.partition("/")[2] / "page-1.md"
    text = f"{file.read_text()}Edited at {time.time()}.\n"
    body = {"title": "page-1", "content": text}
    bench.ask("PUT", f"/projects/{path.replace('/', '%2F')}/wikis/page-1", body)
    began = time.monotonic()
    while file.read_text() != text:
        assert time.monotonic() - began < EDIT_WAIT_S, os.strerror(62)
        time.sleep(0.05)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
