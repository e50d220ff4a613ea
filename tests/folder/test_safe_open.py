import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wikisync.errors import FolderError
from wikisync.folder import safe_open


def test_missing_root_says_that_its_disk_may_be_away(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="does not exist") as caught:
        safe_open.opened_root(tmp_path / "gone").__enter__()
    assert "disk" in str(caught.value.hint)
    assert "wikisync adopt, then wikisync sync" in str(caught.value.hint)


def test_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "wiki").write_text("x")
    with pytest.raises(FolderError, match="wiki is not a folder"):
        safe_open.opened_root(tmp_path / "wiki").__enter__()


def test_root_may_be_a_link_because_a_person_chose_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "wiki").symlink_to("real")
    with safe_open.opened_root(tmp_path / "wiki") as root:
        assert os.fstat(root).st_ino == (tmp_path / "real").stat().st_ino


def test_folders_are_made_on_the_way_and_told(tmp_path: Path) -> None:
    made: set[tuple[str, ...]] = set()
    with safe_open.opened_root(tmp_path) as root:
        os.close(safe_open.open_folder(root, ["a", "b"], made=made))
        os.close(safe_open.open_folder(root, ["a", "c"], made=made))
    assert made == {("a",), ("a", "b"), ("a", "c")}
    assert (tmp_path / "a" / "b").is_dir()


def test_folder_that_is_missing_is_not_made_unasked(tmp_path: Path) -> None:
    with safe_open.opened_root(tmp_path) as root, pytest.raises(FileNotFoundError):
        safe_open.open_folder(root, ["a"])
    assert not (tmp_path / "a").exists()


def test_file_in_a_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with (
        safe_open.opened_root(tmp_path) as root,
        pytest.raises(FolderError, match="cannot open a: a file is in the folder's"),
    ):
        safe_open.open_folder(root, ["a", "b"], made=set())


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    (tmp_path / "link").symlink_to("/")
    with safe_open.opened_root(tmp_path) as root:
        with pytest.raises(FolderError):
            safe_open.open_folder(root, ["link"])
        with pytest.raises(FolderError):
            safe_open.open_file(root, "link", "link")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    path.with_name("secret").write_text("x")
    path.symlink_to("secret")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (link, r"home\.md is a symbolic link"),
        (Path.mkdir, r"home\.md: a folder is in the file's place"),
        (pipe, "not a regular file"),
    ],
)
def test_what_is_no_file_is_named_and_neither_read_nor_replaced(
    tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    """No writer of a pipe is waited for."""
    make(tmp_path / "home.md")
    with safe_open.opened_root(tmp_path) as root:
        for asked in (safe_open.open_file, safe_open.file_status):
            with pytest.raises(FolderError, match=words) as refused:
                asked(root, "home.md", "home.md")
            assert refused.value.hint


def test_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.md").write_bytes(b"x" * 200_000)
    with (
        safe_open.opened_root(tmp_path) as root,
        safe_open.Folders(root) as folders,
        safe_open.opened_file(folders, "a/b.md") as descriptor,
    ):
        assert len(safe_open.read_all(descriptor, "a/b.md")) == 200_000


@pytest.mark.parametrize("code", safe_open._WORDS)
def test_each_error_of_a_disk_has_a_next_step(code: int) -> None:
    assert safe_open.folder_error("read", "a.md", OSError(code, "")).hint


def test_refusal_names_the_user_whose_file_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a folder may not be looked into, the owner of that folder."""
    refused = OSError(errno.EACCES, "Permission denied")
    own = safe_open.folder_error("read", f"{tmp_path}/ws/lock", refused)
    assert own.hint == "check the permissions of it and of its folder"
    user = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: user + 1)
    theirs = safe_open.folder_error("read", f"{tmp_path}/ws/lock", refused)
    assert f"belongs to another user (uid {user}): run this" in str(theirs.hint)


def test_folder_stays_open_for_its_neighbours_and_is_closed_at_the_end(
    tmp_path: Path,
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    (tmp_path / "a").mkdir()
    with safe_open.opened_root(tmp_path) as root, safe_open.Folders(root) as folders:
        first = folders.open(["a"], makes=False)
        assert folders.open(["a"], makes=False) == first
        folders.open(["b"], makes=True)
    assert folders.touched == {("a",), ("b",), ()}
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_file_that_has_more_than_its_status_says_is_not_read_to_its_end() -> None:
    """Such as one that grows meanwhile; those of the kernel say 0."""
    with pytest.raises(FolderError, match="status is larger than 0 KiB"):
        safe_open.read_below(Path("/proc"), f"{os.getpid()}/status", 100)
