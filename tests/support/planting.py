"""A folder with files that an import from it would run."""

from collections.abc import Iterable
from pathlib import Path

PLANTED = (
    *("html", "nh3", "msgspec", "sitecustomize", "usercustomize", "wikisync"),
    *("json", "typing", "contextlib", "signal", "struct", "string", "random"),
    *("click", "aiohttp", "jinja2", "docutils", "pygments", "comrak", "pygit2"),
    *("quickjs", "py_mini_racer", "asciidoc3", "rich", "encodings", "runpy"),
)
"""Modules of Python, of libraries and of ours; ``wikisync`` is a package."""
_LEAVE_A_MARK = """\
from pathlib import Path
Path({mark!r}).touch()
raise SystemExit("planted {name} ran")
"""


class Trap:
    """Planted modules that leave a mark when they are run."""

    def __init__(self, folder: Path, names: Iterable[str] = PLANTED) -> None:
        self.folder = folder
        self._marks = folder.with_name(f"{folder.name}-marks")
        folder.mkdir()
        self._marks.mkdir()
        for name in names:
            text = _LEAVE_A_MARK.format(mark=str(self._marks / name), name=name)
            self._file(name).parent.mkdir(exist_ok=True)
            self._file(name).write_text(text)

    def _file(self, name: str) -> Path:
        is_package = name == "wikisync"
        return self.folder / (f"{name}/__init__.py" if is_package else f"{name}.py")

    def disarm(self, *names: str) -> None:
        """Take some of them away."""
        for name in names:
            self._file(name).unlink()
            if name == "wikisync":
                self._file(name).parent.rmdir()

    def spring(self) -> set[str]:
        """The names that ran until now; they are forgotten."""
        ran = {mark.name for mark in self._marks.iterdir()}
        for name in ran:
            (self._marks / name).unlink()
        return ran

    def check(self) -> None:
        """Nothing ran."""
        assert self.spring() == set()
