"""``make prove-crash``: the engine ended at every single step, and at random pairs.

    python -m tests.sync.prove_crash [--seeds 400] [--pairs 2000]

A schedule without crashes is counted first; then it runs once for each of its
steps, ending the process there.  A step is any read or write of the folder, the
wiki or the state.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.sync.persons import Weather
from tests.sync.prove_sim import tally
from tests.sync.schedules import Verdict, run_schedule, steps_of

QUIET = Weather(person=0.02, fault=0.0, pictures=0.3)


def crashed_everywhere(seed: int) -> list[Verdict]:
    """One schedule, ended at each of its steps in turn."""
    return list(_each_step(seed))


def _each_step(seed: int) -> Iterator[Verdict]:
    for step in range(1, steps_of(seed, QUIET) + 1):
        yield run_schedule(seed, QUIET, crash_at=step)


def crashed_twice(seed: int) -> Verdict:
    """One schedule, ended at two random steps."""
    chance = random.Random(seed)
    steps = steps_of(seed, QUIET)
    first = chance.randint(1, steps)
    return run_schedule(
        seed, QUIET, crash_at=first, then=first + chance.randint(1, steps)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=2_000)
    options = parser.parse_args()
    print("| crashes | runs | lost | unexplained | different | late writes | s |")
    print("|---|---|---|---|---|---|---|")
    failed = False
    with ProcessPoolExecutor() as pool:
        for name, runs in (
            (
                "at every step",
                (
                    verdict
                    for verdicts in pool.map(crashed_everywhere, range(options.seeds))
                    for verdict in verdicts
                ),
            ),
            (
                "at two steps",
                pool.map(crashed_twice, range(options.pairs), chunksize=20),
            ),
        ):
            started = time.perf_counter()
            verdicts = list(runs)
            total, bad = tally(verdicts)
            took_s = time.perf_counter() - started
            cells = [
                f"{total[column]:,}"
                for column in ("lost", "unexplained", "different", "late writes")
            ]
            print(
                f"| {name} | {len(verdicts):,} | {' | '.join(cells)} | {took_s:.0f} |"
            )
            if bad:
                failed = True
                print(f"  seeds to look at: {bad[:20]}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
