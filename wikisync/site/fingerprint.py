"""Which program makes the pages: part of every cache key, never of a page.

An installed wikisync differs from the next by its version, but a checkout does
not; so every file of the code counts with its size and time, and of the libraries
that make HTML the place and time of installation.  Files whose time tells nothing,
because an image was made with one time for all, count with their content.  A new
key costs one rebuild, a missed one stale pages.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from wikisync import __version__

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


_SUFFIXES = (".py", ".js", ".json", ".txt")
_TOLD_NS = 366 * 86_400 * 1_000_000_000
"""Times up to this one, a year after the epoch, tell nothing of a file."""


@cache
def program_fingerprint() -> bytes:
    """Hash of the code that turns pages into files; 32 bytes."""
    lines = [f"{__version__} {_PACKAGE}"]
    lines += [line for part in _PARTS for line in _code(_PACKAGE / part)]
    lines += [f"{name} {_installed(name)}" for name in _LIBRARIES]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).digest()


def _code(folder: Path) -> Iterator[str]:
    """A line for each file of code in and below a folder, which may be missing."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(_SUFFIXES):
                continue
            path = Path(place, name)
            found = path.stat()
            told = str(found.st_mtime_ns)
            if found.st_mtime_ns <= _TOLD_NS:
                told = hashlib.sha256(path.read_bytes()).hexdigest()
            yield f"{path} {found.st_size} {told}"


def _installed(name: str) -> str:
    """Place, size and time of a library; it is not imported for that."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return "absent"
    found = os.lstat(spec.origin)
    return f"{spec.origin} {found.st_size} {found.st_mtime_ns}"
