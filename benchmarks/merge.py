"""How long a three-way merge of one page takes.

    python benchmarks/merge.py [--repeat 7]

Pages are made up: prose of different lines, a table of rows that repeat, and a
page that both sides edited all over.  Prints one row per page: its lines, how many
places each side changed, milliseconds of processor time (median and slowest), how
it came out.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from wikisync.merging.merge import merge

VOCABULARY = """
wiki page folder service state plan cycle base snapshot reader writer table query
index server client token group project branch commit change merge the of to and in
"""
WORDS = VOCABULARY.split()
SEED = 7


@dataclass(frozen=True, slots=True)
class Case:
    """A page and two edits of it."""

    name: str
    lines: int
    edits: int
    repeats: int = 0
    """How many different lines there are; 0: every line is its own."""


CASES = (
    Case("prose", 120, 4),
    Case("prose", 1_000, 10),
    Case("prose", 5_000, 50),
    Case("edited all over", 1_000, 200),
    Case("edited all over", 5_000, 1_000),
    Case("rows that repeat", 1_000, 10, repeats=30),
    Case("rows that repeat", 5_000, 50, repeats=30),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    print("| page | lines | edits a side | median ms | slowest ms | result |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        print(row(case, repeat))


def row(case: Case, repeat: int) -> str:
    """Merge one page a few times and say how it went."""
    rng = random.Random(SEED)
    base = [line(rng, case.repeats) for _ in range(case.lines)]
    places = rng.sample(range(case.lines), 2 * case.edits)
    local = edited(base, places[: case.edits], rng)
    remote = edited(base, places[case.edits :], rng)
    texts = ["".join(text) for text in (base, local, remote)]
    spent_ms = []
    for _ in range(repeat):
        start = time.process_time()
        merged = merge(texts[0], texts[1], texts[2])
        spent_ms.append((time.process_time() - start) * 1000)
    result = "clean" if merged.text is not None else "held"
    return (
        f"| {case.name} | {case.lines:,} | {case.edits:,}"
        f" | {statistics.median(spent_ms):.1f} | {max(spent_ms):.1f} | {result} |"
    )


def line(rng: random.Random, repeats: int) -> str:
    if repeats:
        return f"| row {rng.randrange(repeats)} | cell |\n"
    return " ".join(rng.choices(WORDS, k=10)).capitalize() + ".\n"


def edited(base: Sequence[str], places: Sequence[int], rng: random.Random) -> list[str]:
    """The page with a line changed, inserted or removed at each place."""
    text = list(base)
    for place in sorted(places, reverse=True):
        new = [f"edited {rng.random()}\n"]
        text[place : place + rng.choice((0, 1))] = rng.choice((new, new, []))
    return text


if __name__ == "__main__":
    main()
