"""The long proof of the planner: ``make prove-plan``.

Every world of up to two pages, then random schedules: one wiki perturbed twice, the
plan carried out in any order, again and again until nothing is left to do.  Each
must come to rest, be equal but for what is held, lose no token, and delete nothing
that nobody deleted.  A failure names its seed; the same seed gives it again.

    python -m tests.sync.prove_plan [--schedules 100000] [--first-seed 0]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from tests.sync import exhaustive
from tests.sync.world import Rest, run_schedule

T = TypeVar("T")
SCHEDULES = 100_000
FAILURES_SHOWN_MAX = 10


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="prove the planner")
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--first-seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.schedules)
    failures = prove_worlds() + prove_schedules(seeds)
    for failure in failures[:FAILURES_SHOWN_MAX]:
        say(f"FAILED {failure}")
    say(f"{len(failures)} failures")
    return 1 if failures else 0


def prove_worlds() -> list[str]:
    """Every world of up to two pages."""
    start = time.monotonic()
    rounds: Counter[int] = Counter()
    failures = []
    for number, world in enumerate(exhaustive.worlds()):
        result = attempt(partial(exhaustive.prove, world))
        if isinstance(result, int):
            rounds[result] += 1
        else:
            failures.append(f"world {number}: {result}")
    spent_s = time.monotonic() - start
    say(
        f"worlds of up to 2 pages: {rounds.total():,} of"
        f" {rounds.total() + len(failures):,} good,"
        f" at most {max(rounds)} rounds to rest, {spent_s:.1f} s"
    )
    return failures


def prove_schedules(seeds: range) -> list[str]:
    """One schedule per seed."""
    start = time.monotonic()
    rests: list[Rest] = []
    failures = []
    for seed in seeds:
        result = attempt(partial(run_schedule, random.Random(seed)))
        if isinstance(result, Rest):
            rests.append(result)
        else:
            failures.append(f"seed {seed}: {result}")
    spent_s = time.monotonic() - start
    say(
        f"random schedules: {len(rests):,} of {len(seeds):,} good, seeds"
        f" {seeds.start} to {seeds.stop - 1}, {total(rests, lambda r: r.edits):,} acts"
        f" of people, {total(rests, lambda r: r.deletions):,} deletions,"
        f" {total(rests, lambda r: r.held):,} pages held, at most"
        f" {max((r.rounds for r in rests), default=0)} rounds to rest, {spent_s:.1f} s"
    )
    return failures


def attempt(prove: Callable[[], T]) -> T | str:
    try:
        return prove()
    except AssertionError as failure:
        return str(failure)


def total(rests: Iterable[Rest], figure: Callable[[Rest], int]) -> int:
    return sum(map(figure, rests))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
