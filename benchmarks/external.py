"""How long ``wikisync check --external`` takes for 1,000 links to a server of faults.

    python benchmarks/external.py [--links 1000]

Of twenty links, ten answer, two are moved, and one each hangs, is lost, is busy once,
knows no HEAD, is missing, fails, sends noise, and leads round in a circle.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.faulty_server import faulty_server
from wikisync.core.messages import Progress
from wikisync.workspace.external import check_addresses

FAULTS = ("hang", "lost", "busy", "nohead", "404", "500", "noise", "loop")
MIX = ("ok",) * 10 + ("moved",) * 2 + FAULTS
TARGET_S = 60.0


async def measured(links: int) -> tuple[float, Counter[str]]:
    async with faulty_server() as server:
        addresses = [f"{server.url}/{MIX[at % len(MIX)]}/{at}" for at in range(links)]
        with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as cache:
            start = time.monotonic()
            found = await check_addresses(addresses, (), Path(cache), Progress())
            return time.monotonic() - start, Counter(
                one.reason or "answers" for one in found.values()
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=1_000)
    options = parser.parse_args()
    seconds, found = asyncio.run(measured(options.links))
    print("| links | s | target | found |")
    print("|--:|--:|--:|---|")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
    print(f"| {options.links:,} | {seconds:.1f} | {TARGET_S:.0f} | {kinds} |")


if __name__ == "__main__":
    main()
