"""How a worker of ours begins, before anything but Python itself is imported.

``processes`` runs this file in isolated mode: ``python -I isolated.py START TARGET
[WORD ...]``.  START is JSON: ``package``, the folder of this package; ``path``, where
its libraries are; ``memory_bytes_max``, or null.  TARGET is the module, or the path of
the file, that is run with the words.  Isolated mode leaves out the current folder,
``PYTHONPATH`` and the site folder of the account; libraries that were installed there
are found because the parent says where.
"""

import gc
import importlib.machinery
import importlib.util
import json
import runpy
import sys
from contextlib import suppress
from pathlib import Path

PACKAGE = "wikisync"
OBJECTS_PER_COLLECTION = 10_000
"""New ones, before circles of them are looked for: a page has few, and many objects."""


def begin(start: str, target: str, *words: str) -> None:
    """Set limits and the import path, then run the target."""
    given = json.loads(start)
    limit_process(given["memory_bytes_max"])
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    # searched are the places of the parent, then those of this Python itself
    path = given["path"]
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]
    # the package is that of its folder, whatever else has its name
    folder = given["package"]
    finder = importlib.machinery.PathFinder
    spec = finder.find_spec(PACKAGE, [str(Path(folder).parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    sys.argv = [target, *words]
    if Path(target).is_absolute():
        runpy.run_path(target, run_name="__main__")
    else:
        runpy.run_module(target, run_name="__main__", alter_sys=True)


def limit_process(memory_bytes_max: int | None) -> None:
    """Let the system refuse what goes beyond; where it knows no such limit, nothing.

    What counts is memory that is written to, not addresses: engines reserve those by
    the gigabyte.  A process that ends badly leaves no file with pages in it.
    """
    try:
        import resource
    except ImportError:
        return
    limits = {resource.RLIMIT_CORE: 0}
    if memory_bytes_max is not None:
        limits[resource.RLIMIT_DATA] = memory_bytes_max
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)  # noqa: PLW2901
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, hard))


if __name__ == "__main__":
    begin(*sys.argv[1:])
