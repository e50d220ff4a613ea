"""How long it takes, and how much memory, to pull a wiki into an empty folder.

A wiki of generated pages is put into the embedded service, which runs in a
process of its own; ``wikisync clone`` then runs as a person would run it.

    python benchmarks/pull.py [--pages 10000] [--page-bytes 2048] [--repeat 3]

Prints one row per run: seconds from start to exit of the command, seconds of
processor time, peak resident memory; then the same for a second run, which finds
everything unchanged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

VOCABULARY = """
wiki page folder service state plan cycle base snapshot reader writer table query
index server client token group project branch commit change merge the of to and in
is for with that are from this has not every after before
"""
WORDS = VOCABULARY.split()
PAGES_PER_FOLDER = 100
SEED = 7


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def main() -> None:
    arguments = parse_arguments()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        generate(place / "wiki", arguments.pages, arguments.page_bytes)
        service = start_service(place)
        try:
            measure(place, service, arguments)
        finally:
            service.terminate()
            service.wait()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--page-bytes", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def generate(folder: Path, pages: int, page_bytes: int) -> None:
    """Pages of random words, the same for the same arguments."""
    chance = random.Random(SEED)
    for number in range(pages):
        path = folder / f"part-{number // PAGES_PER_FOLDER:03d}" / f"page-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_text(chance, number, page_bytes), encoding="utf-8")


def page_text(chance: random.Random, number: int, page_bytes: int) -> str:
    lines = [f"# Page {number}", ""]
    size = 0
    while size < page_bytes:
        line = " ".join(chance.choices(WORDS, k=12))
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)[:page_bytes] + "\n"


def start_service(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, "--serve", str(place)],
        stdout=subprocess.PIPE,
        text=True,
    )


async def serve(place: Path) -> None:
    """Serve the generated wiki; the first line printed is URL and token."""
    from wikisync.service.server import running_service

    async with running_service(place / "data") as running:
        await running.load_folder(place / "wiki")
        print(running.url, running.first_token, flush=True)
        await asyncio.Event().wait()


def measure(
    place: Path, service: subprocess.Popen[str], arguments: argparse.Namespace
) -> None:
    assert service.stdout is not None
    url, token = service.stdout.readline().split()
    print(f"{'':>13} {'first pull':^19} {'unchanged':^19}")
    print(f"{'pages':>8} {'run':>4}" + f" {'s':>7} {'cpu':>5} {'MB':>5}" * 2)
    for number in range(1, arguments.repeat + 1):
        folder = place / f"clone-{number}"
        first = clone(url, token, folder)
        assert len(list(folder.rglob("*.md"))) == arguments.pages
        again = clone(url, token, folder)
        print(f"{arguments.pages:>8} {number:>4} {shown(first)} {shown(again)}")


def clone(url: str, token: str, folder: Path) -> Run:
    command = [sys.executable, "-m", "wikisync", "clone", url]
    command += ["--project", "local/wiki", str(folder)]
    environment = {**os.environ, "WIKISYNC_TOKEN": token}
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    assert status == 0, f"the command ended with status {status}"
    process.returncode = 0
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def shown(run: Run) -> str:
    return f"{run.seconds:>7.2f} {run.cpu_seconds:>5.2f} {run.peak_mb:>5.0f}"


if __name__ == "__main__":
    main()
