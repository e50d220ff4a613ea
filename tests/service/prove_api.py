"""``make fuzz-api``: requests made from the description of the API, and their answers.

    python -m tests.service.prove_api [--seed 1] [--examples 60]

Schemathesis reads ``/api/v4/openapi.json`` of a service that runs here and sends each
operation what the description allows, and what it does not, as an administrator, as a
user and as a stranger.  No answer may be a failure of the service, and each has the
status, the type, the headers and the fields that are described; the exit code is 1
where one has not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.service import EmbeddedService, embedded_service

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
ROLES = ("admin", "user", "stranger")
PROJECTS = 12
FAILURES_SHOWN = 20


async def fill(service: EmbeddedService) -> str:
    """What ``fuzz_hooks`` names, and the token of a user who may do some of it."""
    pages = {"home": "# Home\n", "guide/start": "[[home]]", "_sidebar": "x"}
    token = await service.add_user("writer")
    await service.add_group("docs", pages, visibility="public")
    await service.add_group("team")
    for number in range(1, PROJECTS + 1):
        visibility = ("public", "internal", "private")[number % 3]
        path = f"docs/project-{number}"
        await service.add_project(path, pages, visibility=visibility)
        await service.add_code(path, {"README.md": b"# x\n", "a.py": b"pass\n"})
        await service.add_member(path, "writer", (30, 40, 50)[number % 3])
    await service.add_project("writer/own", pages)
    return token


async def fuzz(role: str, seed: int, examples: int, folder: Path) -> Counter[str]:
    """Send everything as somebody; statuses, and checks that failed, counted."""
    async with embedded_service(folder) as service:
        tokens = {"user": await fill(service), "admin": service.token}
        token = tokens.get(role)
        report = folder / "report"
        words = [
            *("run", f"{service.url}/api/v4/openapi.json"),
            *("--phases", "coverage,fuzzing", "--seed", str(seed)),
            *("--checks", ",".join(CHECKS), "--max-examples", str(examples)),
            *("--report", "ndjson", "--report-ndjson-path", str(report)),
            *("--continue-on-failure", "--no-color", "--max-redirects", "0"),
            *("--suppress-health-check", "all", "--generation-database", "none"),
            *(("--header", f"PRIVATE-TOKEN: {token}") if token else ()),
        ]
        here = Path(__file__)
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("schemathesis"),
            *words,
            cwd=folder,
            env=os.environ
            | {"SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": str(here.parent)},
            stdout=(folder / "output").open("wb"),
            stderr=asyncio.subprocess.STDOUT,
        )
        status = await process.wait()
    counts = count(report)
    if status not in {0, 1} or not counts["requests"]:
        counts["broken runs"] += 1
        print((folder / "output").read_text(errors="replace"))
    return counts


def count(report: Path) -> Counter[str]:
    """What was asked and answered, from the report of a run."""
    counts: Counter[str] = Counter()
    for recorder in recorders(report):
        counts["operations"] += recorder["label"] not in counts
        counts[recorder["label"]] += 1
        for interaction in recorder["interactions"].values():
            status = (interaction["response"] or {}).get("status_code", 0)
            counts["requests"] += 1
            counts[f"{status // 100}xx"] += 1
        for checks in recorder["checks"].values():
            for failed in (check for check in checks if check["status"] != "success"):
                counts["failed"] += 1
                if counts["failed"] <= FAILURES_SHOWN:
                    print(f"{recorder['label']}: {json.dumps(failed)[:600]}")
    return counts


def recorders(report: Path) -> Iterator[dict[str, Any]]:
    """What was recorded of each operation and phase."""
    with report.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if "ScenarioFinished" in event:
                yield event["ScenarioFinished"]["recorder"]


async def main(seed: int, examples: int) -> int:
    """Fuzz in every role and print the table."""
    columns = ("operations", "requests", "2xx", "3xx", "4xx", "5xx", "0xx", "failed")
    print(f"| seed {seed} | {' | '.join(columns)} | seconds |")
    print("|---|" + "--:|" * (len(columns) + 1))
    bad = 0
    for role in ROLES:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            counts = await fuzz(role, seed, examples, Path(folder))
        told = " | ".join(f"{counts[name]:,}" for name in columns)
        print(f"| {role} | {told} | {time.monotonic() - began:.0f} |", flush=True)
        bad += sum(counts[name] for name in ("5xx", "0xx", "failed", "broken runs"))
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=60)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.seed, options.examples)))
