"""What files hold, read only where their status changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from wikisync import file_status
from wikisync.file_status import status_of
from wikisync.folder import contents
from wikisync.model import LooseFile, digest_of


def files_there(
    root: Path, known: Mapping[str, LooseFile | None]
) -> dict[str, LooseFile]:
    """The files as they are found after a list of the folder."""
    listed = {
        path.name: status_of(path.lstat())
        for path in root.iterdir()
        if path.is_file() and not path.is_symlink()
    }
    return contents.files_there(root, known, listed)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "red.png").write_bytes(b"red")
    return tmp_path


def test_file_is_there_with_what_it_holds(root: Path) -> None:
    found = files_there(root, {"red.png": None, "missing.png": None})
    assert found.keys() == {"red.png"}
    assert (found["red.png"].digest, found["red.png"].size) == (digest_of(b"red"), 3)


def test_file_that_changed_just_now_is_read_again(root: Path) -> None:
    """It may change once more and show the same times."""
    (before,) = files_there(root, {"red.png": None}).values()
    assert not before.stamp
    forged = LooseFile("red.png", digest_of(b"forged"), 3, before.stamp)
    assert files_there(root, {"red.png": forged}) == {"red.png": before}


@pytest.fixture
def known(root: Path, monkeypatch: pytest.MonkeyPatch) -> LooseFile:
    """The file as found when it was old, but for another digest."""
    monkeypatch.setattr(file_status, "SETTLED_NS", -1)
    (found,) = files_there(root, {"red.png": None}).values()
    return LooseFile("red.png", digest_of(b"forged"), 3, found.stamp)


def test_file_with_the_same_status_is_not_read_again(
    root: Path, known: LooseFile
) -> None:
    assert files_there(root, {"red.png": known})["red.png"] is known


def test_file_with_another_status_is_read(root: Path, known: LooseFile) -> None:
    (root / "blue.png").write_bytes(b"blu")
    (root / "blue.png").replace(root / "red.png")
    assert files_there(root, {"red.png": known})["red.png"].digest == digest_of(b"blu")


def test_links_and_folders_are_no_files(root: Path) -> None:
    (root / "link.png").symlink_to(root / "red.png")
    (root / "folder.png").mkdir()
    assert not files_there(root, {"link.png": None, "folder.png": None})


def test_link_that_took_the_place_of_a_listed_file_is_not_followed(root: Path) -> None:
    """Between the list and the look anything may happen."""
    listed = {"red.png": status_of((root / "red.png").lstat())}
    secret = root.parent / f"{root.name}-secret"
    secret.write_bytes(b"secret")
    (root / "red.png").unlink()
    (root / "red.png").symlink_to(secret)
    assert not contents.files_there(root, {"red.png": None}, listed)
