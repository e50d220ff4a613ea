"""``make prove-sim``: thousands of schedules of the real engine, and what was lost.

    python -m tests.sync.prove_sim [--schedules 2000] [--first-seed 0]

So many schedules run in each weather.  In three of them the engine can only guess: the
wiki is set back to a backup and tells no commit; a push takes back a commit that was
never told, and is edited on; or persons save from windows with an older text.  So what
it hides in the history or in the trash is counted there and no failure.
"Over the wire" has the engine's own client between the engine and the
service, with every outcome that a network can have.  One seed is one schedule; the
seeds of bad ones are printed, and ``--trace SEED --weather NAME`` prints a schedule
step by step.  "troubled" counts the cycles, six in a schedule, that met a fault.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.sync.persons import Weather
from tests.sync.schedules import Verdict, run_schedule

WEATHERS: Mapping[str, Weather] = {
    "extreme contention": Weather(crash=0.01),
    "light traffic": Weather(person=0.025, fault=0.4, crash=0.01, cancel=0.005),
    "odd texts and names": Weather(crash=0.01, odd=0.4),
    "front matter": Weather(crash=0.01, metadata=0.3),
    "pictures": Weather(crash=0.01, pictures=0.4),
    "records lost beside pictures": Weather(
        person=0.02, fault=0.02, crash=0.005, pictures=0.5, lost=0.5
    ),
    "over the wire": Weather(
        fault=0.4, crash=0.005, odd=0.2, pictures=0.2, is_wired=True
    ),
    "over the wire, by git": Weather(
        person=0.1, fault=0.15, crash=0.005, odd=0.2, is_wired=True, has_git=True
    ),
    "pushed over, by git": Weather(
        person=0.1, fault=0.0, force=0.6, is_wired=True, has_git=True
    ),
    "two folders": Weather(
        person=0.1, crash=0.005, cancel=0.005, odd=0.1, pictures=0.1, folders=2
    ),
    "appending programs": Weather(person=0.12, crash=0.01, programs=0.4),
    "conflict files": Weather(crash=0.005, conflicts=0.3),
    "disks that come and go": Weather(person=0.1, crash=0.005, disks=0.15),
    "spellings": Weather(
        person=0.15, fault=0.3, crash=0.01, spellings=0.3, is_wired=True
    ),
    "contents elsewhere": Weather(person=0.08, fault=0.1, crash=0.005, elsewhere=0.6),
    "wiki set back": Weather(person=0.1, crash=0.005, rewind=0.03),
    "last commit pushed over": Weather(person=0.1, fault=0.0, force=0.6),
    "pushed over, HEAD not told": Weather(person=0.1, fault=0.0, force=0.6, untold=0.5),
    "names taken again": Weather(
        person=0.1, fault=0.1, crash=0.005, taken=0.7, is_wired=True, folders=2
    ),
    "older copies of the folder": Weather(
        person=0.08, fault=0.05, crash=0.002, older=0.25, web=0.3, length=3
    ),
    "syncs taken back": Weather(crash=0.01, undo=0.6, revert=0.2),
    "saves": Weather(
        person=0.03, fault=0.03, crash=0.002, saves=0.8, web=0.1, length=4
    ),
    "texts used again": Weather(
        person=0.1, fault=0.05, crash=0.005, again=0.5, pictures=0.2, length=3
    ),
    "rights and clocks": Weather(
        person=0.1, fault=0.1, crash=0.005, rights=0.2, clock=0.5, is_wired=True
    ),
    "old editor windows": Weather(crash=0.01, stale=0.3, late=0.3),
}
COLUMNS = (
    "edits",
    "faults",
    "troubled",
    "crashes",
    "cancels",
    "conflicts",
    "lost",
    "unexplained",
    "only in trash",
    "in the window",
    "different",
    "mixed",
    "late writes",
    "restless",
    "most rounds",
    "with the person",
)


def counts_of(verdict: Verdict) -> Counter[str]:
    """One schedule as numbers that can be added up."""
    return Counter(
        {
            "edits": verdict.edits,
            "faults": verdict.faults,
            "troubled": verdict.troubled,
            "crashes": verdict.crashes,
            "cancels": verdict.cancels,
            "conflicts": verdict.conflicts,
            "lost": len(verdict.lost),
            "unexplained": len(verdict.unexplained),
            "only in trash": len(verdict.in_trash),
            "in the window": len(verdict.in_history),
            "different": len(verdict.different),
            "mixed": len(verdict.mixed),
            "late writes": verdict.late_writes,
            "restless": verdict.is_restless,
        }
    )


def tally(verdicts: Iterable[Verdict]) -> tuple[Counter[str], list[int]]:
    """The sum of many schedules, and the seeds of the bad ones."""
    total: Counter[str] = Counter()
    bad: list[int] = []
    rounds = all_rounds = 0
    for verdict in verdicts:
        total += counts_of(verdict)
        rounds = max(rounds, verdict.rounds)
        all_rounds = max(all_rounds, verdict.all_rounds)
        if verdict.is_bad:
            bad.append(verdict.seed)
    total["most rounds"] = rounds
    total["with the person"] = all_rounds
    return total, bad


def is_a_guess(weather: Weather) -> bool:
    """Whether the engine can only guess: then texts may be in the trash alone."""
    return weather.stale > 0 or weather.rewind > 0 or weather.untold > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=2_000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trace", type=int)
    parser.add_argument("--weather", choices=WEATHERS, default="extreme contention")
    options = parser.parse_args()
    if options.trace is not None:
        verdict = run_schedule(options.trace, WEATHERS[options.weather])
        print("\n".join(verdict.trace))
        return int(verdict.is_bad)
    seeds = range(options.first_seed, options.first_seed + options.schedules)
    failed = False
    print("| weather | schedules | " + " | ".join(COLUMNS) + " | s |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name, weather in WEATHERS.items():
        started = time.perf_counter()
        with ProcessPoolExecutor() as pool:
            total, bad = tally(
                pool.map(partial(run_schedule, weather=weather), seeds, chunksize=50)
            )
        cells = [f"{total[column]:,}" for column in COLUMNS]
        took_s = time.perf_counter() - started
        print(f"| {name} | {len(seeds):,} | {' | '.join(cells)} | {took_s:.0f} |")
        if is_a_guess(weather):
            failed |= bool(total["lost"] or total["different"] or total["mixed"])
        elif bad:
            failed = True
        if bad:
            print(f"  seeds to look at: {bad[:20]}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
