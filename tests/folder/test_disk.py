import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikisync.core.system import libc
from wikisync.folder.disk import put_back


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_two_files_swap_their_names(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    inode = (tmp_path / "a").stat().st_ino
    libc.swap_names(folder, "a", folder, "b")
    assert texts(tmp_path) == {"a": "B", "b": "A"}
    assert (tmp_path / "b").stat().st_ino == inode


def test_file_that_is_gone_is_not_swapped(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    with pytest.raises(FileNotFoundError):
        libc.swap_names(folder, "a", folder, "b")
    assert texts(tmp_path) == {"a": "A"}


def test_name_that_is_taken_is_not_taken_again(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    for rename in (libc.rename_to_free, put_back):
        with pytest.raises(FileExistsError):
            rename(folder, "a", folder, "b")
    assert texts(tmp_path) == {"a": "A", "b": "B"}


def test_free_name_is_taken(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    libc.rename_to_free(folder, "a", folder, "b")
    assert texts(tmp_path) == {"b": "A"}


def test_folders_swap_their_paths(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "below" / "other"
    one.mkdir()
    other.mkdir(parents=True)
    (one / "a").touch()
    libc.swap_paths(one, other)
    assert [path.name for path in other.iterdir()] == ["a"]
    with pytest.raises(FileNotFoundError):
        libc.swap_paths(one, tmp_path / "none")


def test_system_without_the_calls_says_so(
    folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    with pytest.raises(libc.NotSupported):
        libc.swap_names(folder, "a", folder, "b")


@pytest.mark.parametrize("has_links", [True, False])
def test_file_is_put_back_where_the_calls_are_missing(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(sys, "platform", "plan9")
    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_text("A")
    put_back(folder, "a", folder, "b")
    assert texts(tmp_path) == {"b": "A"}
    (tmp_path / "a").write_text("later")
    with pytest.raises(FileExistsError):
        put_back(folder, "a", folder, "b")
    assert texts(tmp_path) == {"a": "later", "b": "A"}


# -- what a file is known by -----------------------------------------------------------


def identity(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return libc.identity_of(descriptor)
    finally:
        os.close(descriptor)


def test_file_is_known_by_any_name_and_with_any_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = identity(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "b").write_text("other")
    assert before == identity(tmp_path / "b") != ""


def test_new_file_in_the_place_of_a_removed_one_is_another(tmp_path: Path) -> None:
    """Most disks give it the same inode."""
    seen: set[str] = set()
    for _ in range(20):
        (tmp_path / "a").write_text("x")
        seen.add(identity(tmp_path / "a"))
        (tmp_path / "a").unlink()
    assert len(seen) == 20


def test_disk_that_knows_no_births_vouches_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")
    monkeypatch.setattr(libc, "_INODE_AND_BIRTH", 0x100)
    monkeypatch.setattr(libc, "_BIRTH", 1 << 30)
    assert identity(tmp_path / "a") == ""
    monkeypatch.setattr(libc, "_statx", lambda: None)
    assert identity(tmp_path / "a") == ""
    monkeypatch.setattr(sys, "platform", "plan9")
    assert identity(tmp_path / "a") == ""
