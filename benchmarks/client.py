"""How fast the client walks a large service: every project, typed, one by one.

    python benchmarks/client.py [--projects 100000]

The embedded service runs in a process of its own.  Prints one row per walk:
records, seconds, records a second, and the client's own processor time, which
is what is left where the service is no bottleneck.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from service import fill

if TYPE_CHECKING:
    from wikisync.api.client import Listing
    from wikisync.contract.project_schema import ProjectRecord


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--projects", type=int, default=100_000)
    parser.add_argument("--serve", type=Path)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve, options.projects))
        return 0
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as folder:
        command = [sys.executable, __file__, "--serve", folder]
        command += ["--projects", str(options.projects)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as service:
            assert service.stdin is not None
            assert service.stdout is not None
            told = json.loads(service.stdout.readline())
            asyncio.run(measure(told["url"], told["token"], options.projects))
            service.stdin.close()
    return 0


async def serve(folder: Path, projects: int) -> None:
    """Fill a service, then run it until stdin is closed."""
    from wikisync.service.server import running_service
    from wikisync.service.tables import Tables

    async with running_service(folder) as running:
        person = await running.records.ask(Tables.add_user, "dana")
        await running.records.ask(fill, projects, person.id)
        told = {"url": running.url, "token": running.first_token}
        print(json.dumps(told), flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def measure(url: str, token: str, count: int) -> None:
    """Walk in each way, and print the table."""
    from wikisync.api.client import Client
    from wikisync.api.projects import Projects

    print(f"{'walk':<42}{'records':>9}{'s':>8}{'records/s':>11}{'client cpu s':>14}")
    async with Client(url, token) as client:
        projects = Projects(client)
        ways = {
            "by keyset, simple view": projects.list_projects(
                pagination="keyset", order_by="id", sort="asc", simple=True
            ),
            "by keyset, full view": projects.list_projects(
                pagination="keyset", order_by="id", sort="asc"
            ),
            "by offset, then keyset, full view": projects.list_projects(
                order_by="id", sort="asc"
            ),
        }
        for name, listing in ways.items():
            assert await walk(name, listing) == count


async def walk(name: str, listing: Listing[ProjectRecord]) -> int:
    """Walk a list and print its row."""
    count, started, cpu = 0, time.perf_counter(), time.process_time()
    async for _project in listing:
        count += 1
    seconds = time.perf_counter() - started
    cpu = time.process_time() - cpu
    print(f"{name:<42}{count:>9}{seconds:>8.2f}{count / seconds:>11.0f}{cpu:>14.2f}")
    return count


if __name__ == "__main__":
    sys.exit(main())
