"""Families whose attacks the tests have in full: they are run, counted and timed."""

import asyncio
import sys
import xml.etree.ElementTree as ET  # - of what pytest wrote
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.security.proof import Row

ROOT = Path(__file__).resolve().parents[2]
Family = Callable[[Path], Awaitable[Row]]


def by_tests(title: str, *modules: str, only: str = "") -> Family:
    """A family that holds where each of its tests passes and none is skipped.

    Args:
        title: of the row.
        modules: below ``tests``.
        only: Which of their tests, as ``pytest -k`` takes it; all if empty.
    """

    async def run(root: Path) -> Row:
        report = root / "report.xml"
        chosen = ["-k", only] if only else []
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--basetemp", str(root / "tests"), "--junitxml", str(report), *chosen),
            *(f"tests/{module}" for module in modules),
            cwd=ROOT,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        code = await process.wait()
        row = Row(title)
        if report.exists():
            _count(row, report)
        if code and not row.through:
            row.through.append(f"pytest ended with {code}")
        return row

    return run


def _count(row: Row, report: Path) -> None:
    for case in ET.parse(report).iter("testcase"):
        is_held = all(
            case.find(kind) is None for kind in ("failure", "error", "skipped")
        )
        name = f"{case.get('classname')}.{case.get('name')}"
        row.note(name, float(case.get("time", "0")), is_held=is_held)
