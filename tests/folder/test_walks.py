import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wikisync.errors import FolderError
from wikisync.folder.index import FolderIndex


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "wiki"
    (root / "dir" / "deep").mkdir(parents=True)
    for name in ("home.md", "dir/a.md", "dir/deep/b.md"):
        (root / name).write_text("text\n")
    return root


def overwrite_keeping_times(folder: Path) -> None:
    path = folder / "dir/a.md"
    status = path.stat()
    path.write_text("twxt\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(folder: Path) -> None:
    (folder / "new").write_text("text\n")
    (folder / "new").replace(folder / "home.md")


def save_both(folder: Path) -> None:
    replace(folder)
    overwrite_keeping_times(folder)


def save_and_remove(folder: Path) -> None:
    replace(folder)
    (folder / "dir/a.md").unlink()


def walked(folder: Path) -> FolderIndex:
    index = FolderIndex(folder)
    index.saved_since()
    return index


BOTH = {"home.md", "dir/a.md"}
SAVES: list[tuple[Callable[[Path], object], set[str]]] = [
    (lambda folder: (folder / "dir/deep/b.md").write_text("two\n"), {"dir/deep/b.md"}),
    (overwrite_keeping_times, {"dir/a.md"}),
    (replace, {"home.md"}),
    (save_both, BOTH),
]
CHANGES: list[Callable[[Path], object]] = [
    lambda folder: (folder / "c.md").touch(),
    lambda folder: (folder / "home.md").unlink(),
    lambda folder: (folder / "home.md").rename(folder / "dir/home.md"),
    lambda folder: (folder / ".wikisyncignore").write_text("dir/\n"),
    lambda folder: (folder / "dir/.a.md.swp").touch(),
    lambda folder: (folder / "dir/.#a.md").symlink_to("user@host.1"),
    lambda folder: (folder / "c").symlink_to("home.md"),
    save_and_remove,
]


@pytest.mark.parametrize(("change", "saved"), SAVES)
def test_files_that_were_saved_are_named(
    folder: Path, change: Callable[[Path], object], saved: set[str]
) -> None:
    index = walked(folder)
    change(folder)
    assert index.saved_since() == frozenset(saved)


@pytest.mark.parametrize("change", CHANGES)
def test_every_other_change_is_one_of_the_whole_folder(
    folder: Path, change: Callable[[Path], object]
) -> None:
    index = walked(folder)
    change(folder)
    assert index.saved_since() is None


def test_nothing_is_known_without_a_walk_before(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert FolderIndex(folder).saved_since() is None
    assert FolderIndex(tmp_path / "empty").saved_since() is None


def test_reading_is_no_change(folder: Path) -> None:
    (folder / ".home.md.swp").touch()
    index = walked(folder)
    (folder / "home.md").read_text()
    (folder / ".home.md.swp").write_text("what an editor notes while it is typed\n")
    (folder / ".hidden").touch()
    (folder / ".git").mkdir()
    (folder / ".git" / "x").touch()
    assert index.saved_since() == frozenset()


def test_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "out").symlink_to(tmp_path)
    index = walked(folder)
    (tmp_path / "elsewhere").touch()
    assert index.saved_since() == frozenset()


def test_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"cannot list .*: it does not exist"):
        FolderIndex(tmp_path / "none").saved_since()
