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
import random
import tempfile
from pathlib import Path

from measured import HEADER, run_command, serving

VOCABULARY = """
wiki page folder service state plan cycle base snapshot reader writer table query
index server client token group project branch commit change merge the of to and in
is for with that are from this has not every after before
"""
WORDS = VOCABULARY.split()
PAGES_PER_FOLDER = 100
SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--page-bytes", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        place = Path(name)
        generate(place / "wiki", arguments.pages, arguments.page_bytes)
        with serving(place / "wiki") as (url, token):
            measure(url, token, place, arguments)


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


def measure(url: str, token: str, place: Path, arguments: argparse.Namespace) -> None:
    print(f"{'':>13} {'first pull':^21} {'unchanged':^21}")
    print(f"{'pages':>8} {'run':>4} {HEADER} {HEADER}")
    for number in range(1, arguments.repeat + 1):
        folder = place / f"clone-{number}"
        command = ["clone", url, "--project", "local/wiki", str(folder)]
        first = run_command(command, token)
        assert len(list(folder.rglob("*.md"))) == arguments.pages
        again = run_command(command, token)
        print(f"{arguments.pages:>8} {number:>4} {first} {again}")


if __name__ == "__main__":
    main()
