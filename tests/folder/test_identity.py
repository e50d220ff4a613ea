"""Which folder a wiki has, whatever is in it and whatever it is called."""

import shutil
from pathlib import Path

import pytest

from wikisync.errors import FolderError
from wikisync.folder import workspace as place_module
from wikisync.folder.workspace import FolderIdentity, current_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "handbook"
    made.mkdir()
    (made / "home.md").write_text("one\n")
    return made


def test_a_folder_stays_the_same_whatever_is_saved_in_it(folder: Path) -> None:
    before = current_folder(folder)
    (folder / "guide.md").write_text("a guide\n")
    now = current_folder(folder, before)
    assert now != before
    assert now.is_same_folder(before)
    assert FolderIdentity.parse(str(now)) == now


def test_a_folder_in_the_place_of_another_is_another(folder: Path) -> None:
    before = current_folder(folder)
    shutil.copytree(folder, folder.parent / "copy")
    folder.rename(folder.parent / "away")
    (folder.parent / "copy").rename(folder)
    assert not current_folder(folder, before).is_same_folder(before)


def test_a_folder_removed_and_copied_back_is_another(folder: Path) -> None:
    """Most disks give it the same inode; so its birth is asked for."""
    before = current_folder(folder)
    shutil.copytree(folder, folder.parent / "copy")
    shutil.rmtree(folder)
    shutil.copytree(folder.parent / "copy", folder)
    assert not current_folder(folder, before).is_same_folder(before)


def test_where_nothing_changed_no_birth_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes a library, and most syncs find nothing to do."""
    before = current_folder(folder)
    monkeypatch.delattr(place_module, "identity_of")
    assert current_folder(folder, before) is before


def test_another_disk_is_another_place(folder: Path) -> None:
    before = current_folder(folder)
    other = FolderIdentity(
        before.disk + 1, before.inode, before.changed_ns, before.birth
    )
    assert not current_folder(folder, other).is_same_folder(other)


def test_a_disk_that_knows_no_births_is_known_by_its_inodes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_module, "identity_of", lambda _descriptor: "")
    before = current_folder(folder)
    (folder.parent / "other").mkdir()
    assert current_folder(folder).is_same_folder(before)
    assert not current_folder(folder.parent / "other").is_same_folder(before)


def test_a_missing_folder_is_no_place(folder: Path) -> None:
    with pytest.raises(FolderError, match="does not exist"):
        current_folder(folder.parent / "gone")


@pytest.mark.parametrize("text", ["", "[]", "{}", '"x"'])
def test_a_place_that_is_none_is_none(text: str) -> None:
    assert FolderIdentity.parse(text) is None
