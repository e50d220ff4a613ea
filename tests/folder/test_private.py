from __future__ import annotations

from pathlib import Path

import pytest

from wikisync.folder.private import private_folder


def test_workspace_holds_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    (tmp_path / "wiki").mkdir()
    assert private_folder(tmp_path / "wiki", "tmp") == tmp_path / ".wikisync/tmp"


def test_folder_that_is_not_made_yet_counts_as_where_it_will_be(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    place = private_folder(tmp_path / "a/b", "tmp", private=tmp_path / ".wikisync")
    assert place == tmp_path / ".wikisync/tmp"


def test_folder_without_a_workspace_holds_it_itself(tmp_path: Path) -> None:
    assert private_folder(tmp_path, "trash") == tmp_path / ".wikisync/trash"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second disk")
def test_folder_on_another_disk_holds_it_itself(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    other = Path("/dev/shm")
    assert other.stat().st_dev != tmp_path.stat().st_dev
    place = private_folder(other, "tmp", private=tmp_path / ".wikisync")
    assert place == other / ".wikisync/tmp"
