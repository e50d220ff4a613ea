"""Which program makes the pages: part of every cache key, never of a page.

An installed wikisync differs from the next by its version, but a checkout does
not; so the code itself is hashed, and of the libraries that make HTML the place
and time of installation.  A new key costs one rebuild, a missed one stale pages.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_PARTS = ("markup", "site", "vendor")
_LIBRARIES = (
    "markdown_it",
    "mdit_py_plugins",
    "comrak",
    "nh3",
    "pygments",
    "docutils",
    "quickjs",
    "latex2mathml",
    "jinja2",
    "markupsafe",
)


@cache
def program_fingerprint() -> bytes:
    """Hash of the code that turns pages into files; 32 bytes."""
    digest = hashlib.sha256()
    for part in _PARTS:
        for path in sorted((_PACKAGE / part).rglob("*")):
            if path.suffix in {".py", ".js", ".json", ".txt"}:
                digest.update(path.relative_to(_PACKAGE).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    for name in _LIBRARIES:
        digest.update(f"{name} {_installed(name)}".encode())
    return digest.digest()


def _installed(name: str) -> str:
    """Place, size and time of a library; it is not imported for that."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return "absent"
    found = os.lstat(spec.origin)
    return f"{spec.origin} {found.st_size} {found.st_mtime_ns}"
