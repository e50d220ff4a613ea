"""``make prove-instances``: what real instances do, and what becomes of it.

    python -m tests.instances.prove_instances [--only WORDS] [--at-once 3]

Each case is played with real commands against the embedded service behind a proxy
that bends its answers.  The table says of each case what was seen, and whether that
was good, poor, wrong or harmful (``stage``); the exit code is 1 unless all are good.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
import time
import traceback
from collections import Counter

from tests.instances.cases import CASES, Case, Result, play
from tests.instances.stage import Verdict

PARTS = ("in_front", "rights", "identity", "versions", "machine", "exports")
CASE_S = 900.0
"""A case that takes longer is wrong."""
AT_ONCE = 3


def all_cases() -> list[Case]:
    """Every case, in the order of the parts."""
    for part in PARTS:
        importlib.import_module(f"tests.instances.{part}")
    return CASES


async def play_bounded(case: Case) -> Result:
    """Play a case; one that breaks or does not end is wrong."""
    try:
        async with asyncio.timeout(CASE_S):
            return await play(case)
    except TimeoutError:
        return Result(case, f"no end within {CASE_S:.0f} s", Verdict.WRONG)
    except Exception as error:  # noqa: BLE001 - one broken case hides no other
        at = traceback.extract_tb(error.__traceback__)[-1]
        seen = f"{type(error).__name__}: {error} ({at.name}, line {at.lineno})"
        return Result(case, seen, Verdict.WRONG)


async def prove(cases: list[Case], at_once: int) -> list[Result]:
    """Play the cases, so many at once, and print each as it ends in their order."""
    free = asyncio.Semaphore(at_once)

    async def one(case: Case) -> Result:
        async with free:
            return await play_bounded(case)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(case)) for case in cases]
        results = []
        for task in tasks:
            results.append(await task)
            print_row(results[-1])
    return results


def print_row(result: Result) -> None:
    """One line of the table."""
    case, verdict = result.case, result.verdict.name.lower()
    seen = result.seen.replace("|", "/").replace("\n", " ")
    print(f"| {case.part} | {case.name} | {seen} | {verdict} |", flush=True)


def main() -> int:
    """Play all cases, or those whose names have these words."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    chosen = parser.parse_args()
    cases = [
        case
        for case in all_cases()
        if chosen.only.lower() in f"{case.part}: {case.name}".lower()
    ]
    print("| part | case | seen | verdict |\n|---|---|---|---|")
    began = time.monotonic()
    results = asyncio.run(prove(cases, chosen.at_once))
    counts = Counter(result.verdict.name.lower() for result in results)
    told = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    print(f"\n{len(results)} cases in {time.monotonic() - began:.0f} s: {told}")
    return 0 if results and set(counts) == {"good"} else 1


if __name__ == "__main__":
    sys.exit(main())
