"""A map of all modules, made from the first lines of their docstrings.

python tools/codemap.py          (``make codemap``)
"""

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "wikisync"
ORDER = (
    "",
    "core",
    "contract",
    "config",
    "api",
    "folder",
    "sync",
    "markup",
    "site",
    "service",
    "workspace",
    "watch",
    "cli",
)
"""Packages in the order of the map, the top first; those below one follow it."""


def modules() -> Sequence[Path]:
    """Every module of the package but those that only name one."""
    names = {"__init__.py", "__main__.py"}
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name not in names)


def docstring_of(path: Path) -> str:
    """A module's docstring; empty without one."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def is_declared_pure(path: Path) -> bool:
    """A sentence ``Pure.`` (or ``Pure:``, ``Pure;``) stands in its docstring."""
    return re.search(r"(^|[.\s])Pure[.:;,]", docstring_of(path)) is not None


def codemap(paths: Iterable[Path]) -> str:
    """One heading for each package, one line for each of its modules."""
    by_package: dict[str, list[Path]] = {}
    for path in paths:
        package = path.parent.relative_to(PACKAGE).as_posix()
        by_package.setdefault("" if package == "." else package, []).append(path)
    parts: list[str] = []
    for package in sorted(by_package, key=_rank):
        about = _first_line(PACKAGE / package / "__init__.py")
        parts.append(f"### {package or 'wikisync'}\n\n{about}.\n")
        parts.append("".join(map(_line, by_package[package])))
    return "\n".join(parts)


def _rank(package: str) -> tuple[int, str]:
    top = package.partition("/")[0]
    return (ORDER.index(top) if top in ORDER else len(ORDER), package)


def _first_line(path: Path) -> str:
    first = re.sub(r"\s+Pure[.:;,].*", "", docstring_of(path).partition("\n")[0])
    return first.removesuffix(".").replace("``", "`")


def _line(path: Path) -> str:
    pure = " (pure)" if is_declared_pure(path) else ""
    name = path.relative_to(PACKAGE).as_posix()
    return f"- `{name}`: {_first_line(path)}{pure}\n"


if __name__ == "__main__":
    print(codemap(modules()), end="")
