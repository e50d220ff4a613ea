"""Tables that are files of the package, beside the module that reads them.  Pure."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]


def packaged_text(package: str, name: str) -> str:
    """The whole file of a package of ours."""
    # importlib.resources takes a tenth of the time in which a worker starts
    return _ROOT.joinpath(*package.split(".")[1:], name).read_text("utf-8")


def packaged_toml(package: str, name: str) -> dict[str, Any]:
    """A file of a package as the tables that it holds."""
    return tomllib.loads(packaged_text(package, name))


def packaged_rows(package: str, name: str) -> Iterator[list[str]]:
    """The words of each line; ``# `` begins a comment line."""
    for line in packaged_text(package, name).split("\n"):
        if line and not line.startswith("# "):
            yield line.split(" ")
