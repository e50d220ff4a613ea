"""Which program makes the pages: part of every cache key, never of a page.

An installed wikisync differs from the next by its version, but a checkout does
not; so every file of the code counts with its content, and of the libraries that make
HTML the version.  No path and no time counts: a cache that was made on another
machine, or in another folder, is as good.  A new key costs one rebuild, a missed one
stale pages.
"""

import hashlib
import importlib.util
import os
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from wikisync.core.version import __version__

_PACKAGE = Path(__file__).resolve().parent.parent
_PARTS = ("markup", "site", "vendor")
_LIBRARIES = {
    "markdown_it": "markdown_it_py",
    "quickjs": "quickjs_ng",
    **{name: name for name in ("comrak", "nh3", "pygments", "docutils", "jinja2")},
    **{name: name for name in ("latex2mathml", "math_core", "merman", "markupsafe")},
}
"""Name of each module to that of its distribution, as it stands in site-packages."""


def hash_of(*values: object) -> bytes:
    """A hash of what something is made from, by its ``repr``; 32 bytes."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()


@cache
def program_fingerprint() -> bytes:
    """Hash of the code that turns pages into files; 32 bytes."""
    # the texts of the search are packed by it, which its versions do differently
    lines = [__version__, f"zlib {zlib.ZLIB_RUNTIME_VERSION}"]
    lines += [line for part in _PARTS for line in _code(part)]
    lines += [f"{name} {_installed(name)}" for name in _LIBRARIES.items()]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).digest()


def _code(part: str) -> Iterator[str]:
    """A line for each file below a folder, tables too; it may be missing."""
    for folder, folders, names in os.walk(_PACKAGE / part):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(folder, name)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            yield f"{path.relative_to(_PACKAGE).as_posix()} {digest}"


def _installed(library: tuple[str, str]) -> str:
    """Version of a library, by the folder beside it; without one its size and time."""
    module, distribution = library
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return "absent"
    places = spec.submodule_search_locations or [spec.origin]
    beginning = f"{distribution}-"
    for name in sorted(_names_in(Path(places[0]).parent)):
        if name.lower().startswith(beginning) and name.endswith(".dist-info"):
            return name
    found = os.lstat(spec.origin)
    return f"{found.st_size} {found.st_mtime_ns}"


@cache
def _names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]
