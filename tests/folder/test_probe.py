from pathlib import Path

import pytest

from wikisync.errors import FolderError
from wikisync.folder.clashes import Folding, probe_folding


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
