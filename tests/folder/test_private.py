from pathlib import Path

import pytest

from wikisync.core.system.private import make_private_folder
from wikisync.errors import FolderError
from wikisync.folder.private import (
    OWN_CHARS_MAX,
    own_folder,
    private_folder,
    wiki_private_folder,
)


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


def test_folder_on_another_disk_holds_it_itself(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    disk = tmp_path.stat().st_dev
    known = [Path("/dev/shm"), Path(__file__).parent, Path("/")]
    other = next((one for one in known if one.stat().st_dev != disk), None)
    if other is None:
        pytest.skip("needs a second disk")
    place = private_folder(other, "tmp", private=tmp_path / ".wikisync")
    assert place == other / ".wikisync/tmp"


def test_wikis_whose_long_paths_end_alike_share_nothing(tmp_path: Path) -> None:
    """A late save in a limbo of both would be taken for one of the other wiki."""
    name = "知識庫" * 10
    private = tmp_path / ".wikisync"
    private.mkdir()
    places = [
        wiki_private_folder(tmp_path / team / name, "limbo", private=private)
        for team in ("red", "blue")
    ]
    assert places[0] != places[1]
    assert [len(place.name) for place in places] == [OWN_CHARS_MAX] * 2


def test_folder_that_another_writer_removes_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of writers at the same time, one that ends removes the folders of all."""
    folder, mkdir = tmp_path / ".wikisync/tmp", Path.mkdir
    make_private_folder(folder)

    def meet_it_and_lose_it(path: Path, mode: int) -> None:
        monkeypatch.undo()
        try:
            mkdir(path, mode)
        except FileExistsError:
            path.rmdir()
            raise

    monkeypatch.setattr(Path, "mkdir", meet_it_and_lose_it)
    make_private_folder(folder)
    assert folder.is_dir()


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_folder_whose_name_is_taken_is_not_made(tmp_path: Path, kind: str) -> None:
    parent = tmp_path / "tmp"
    if kind == "file":
        parent.write_text("text")
    else:
        parent.symlink_to("nowhere")
    said = "something else has this name"
    with pytest.raises(FolderError, match=said), own_folder(parent):
        raise AssertionError
