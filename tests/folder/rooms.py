"""A wiki's folder with one page and its limbo, for programs that save at any moment."""

import time
from pathlib import Path
from typing import NoReturn

import pytest

from wikisync.core.model import digest_of
from wikisync.folder.index import FolderIndex
from wikisync.folder.limbo import LATE_S, Limbo, LimboBatch
from wikisync.folder.pages import PageFolder
from wikisync.folder.swap import FileWrite, FolderWriter, OwnFolders
from wikisync.folder.trash import Trash

OLD, NEW, SAVED = b"old\n", b"new\n", b"saved\n"


def private_beside(root: Path) -> Path:
    """A private folder of this wiki's folder alone, outside of it."""
    private = root.parent / f"{root.name}.own"
    private.mkdir(exist_ok=True)
    return private


def page_folder(root: Path) -> PageFolder:
    """The pages in a folder of which nothing is known yet."""
    return PageFolder(OwnFolders.of(root, private_beside(root)), FolderIndex(root))


class Room:
    """A wiki's folder with one page, its limbo, and a clock to turn."""

    def __init__(self, place: Path) -> None:
        self.private = place / ".wikisync"
        self.root = place / "wiki"
        self.page = self.root / "home.md"
        self.private.mkdir()
        self.root.mkdir()
        self.page.write_bytes(OLD)
        self.passed_s = 0.0
        self.limbo = self.opened()
        self.trash = Trash(self.private / "trash")

    def opened(self) -> Limbo:
        """The limbo as a new process sees it."""
        return Limbo(self.private / "limbo", clock=lambda: time.time() + self.passed_s)

    def replace(self) -> None:
        with FolderWriter(self.root, limbo=self.limbo) as writer:
            (error,) = writer.write_many(
                [FileWrite("home.md", NEW, expected=digest_of(OLD))]
            )
        if error is not None:
            raise error

    def remove(self) -> None:
        with FolderWriter(self.root, limbo=self.limbo, trash=self.trash) as writer:
            writer.remove("home.md", expected=digest_of(OLD))

    def wait(self, seconds: float = LATE_S + 0.1) -> None:
        self.passed_s += seconds

    def late(self) -> list[bytes]:
        return [late.content for late in self.opened().late_saves()]

    def files(self) -> list[str]:
        place = self.private / "limbo"
        return sorted(path.name for path in place.iterdir()) if place.exists() else []


class Crash(BaseException):
    """The process ends here."""


def crash(monkeypatch: pytest.MonkeyPatch) -> NoReturn:
    """End the process, which clears nothing up."""
    monkeypatch.setattr(LimboBatch, "clear", lambda _: None)
    raise Crash
