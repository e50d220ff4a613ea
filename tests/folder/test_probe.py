from pathlib import Path

import pytest

from tests.support.folding_disk import make_folding
from wikisync.errors import FolderError
from wikisync.folder.clashes import Folding, probe_folding, seen_folding


def test_usual_linux_disk_folds_nothing_and_nothing_is_left(tmp_path: Path) -> None:
    assert probe_folding(tmp_path) == Folding(case=False, unicode=False)
    assert list(tmp_path.iterdir()) == []


def test_disk_that_folds_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen through a disk that finds every name that was asked for."""
    monkeypatch.setattr(Path, "exists", lambda _path: True)
    assert probe_folding(tmp_path) == Folding(case=True, unicode=True)


def test_folder_that_takes_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="cannot write in"):
        probe_folding(tmp_path / "gone")


def test_probe_does_not_overwrite_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / ".wikisync-probe-00000000-a").write_text("mine")
    with pytest.raises(FolderError):
        probe_folding(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_names_that_are_there_tell_without_a_write(tmp_path: Path) -> None:
    for name in ("Home.md", "caf\u00e9.md", "3.14"):
        (tmp_path / name).touch()
    before = tmp_path.stat().st_mtime_ns
    assert seen_folding(tmp_path) == Folding(case=False, unicode=False)
    assert tmp_path.stat().st_mtime_ns == before


def test_disk_that_folds_tells_without_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the inode numbers of both spellings differ, as on a disk by FUSE."""
    (tmp_path / "Home.md").touch()
    make_folding(monkeypatch)
    assert seen_folding(tmp_path) == Folding(case=True, unicode=False)


@pytest.mark.parametrize(
    ("name", "other"), [("Home.md", "hOME.MD"), ("caf\u00e9", "cafe\u0301")]
)
def test_names_that_are_both_listed_are_two(
    tmp_path: Path, name: str, other: str
) -> None:
    """Also where they are two names of one file."""
    (tmp_path / name).touch()
    (tmp_path / other).hardlink_to(tmp_path / name)
    assert seen_folding(tmp_path) == Folding()


@pytest.mark.parametrize("name", ["caf\u00e9", "cafe\u0301"])
def test_disk_that_composes_accents_tells_without_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Seen through a disk that finds every name that was asked for."""
    (tmp_path / name).touch()
    monkeypatch.setattr("os.path.lexists", lambda _path: True)
    assert seen_folding(tmp_path).unicode
