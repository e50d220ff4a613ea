import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wikisync.core.model import Digest, digest_of
from wikisync.errors import FolderError, PlaceTaken, PreconditionFailed
from wikisync.folder.swap import FileWrite, FolderWriter, OwnFolders, write_atomically


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A wiki's folder inside a workspace."""
    (tmp_path / ".wikisync").mkdir()
    (tmp_path / "wiki").mkdir()
    return tmp_path / "wiki"


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def full_disk(*_args: object, **_kwargs: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def power_cut(*_args: object, **_kwargs: object) -> int:
    raise KeyboardInterrupt


def test_file_is_written_with_its_folders_and_nothing_else_is_left(root: Path) -> None:
    write_atomically(root, "a/b/home.md", b"text\r\n")
    assert files_below(root.parent) == {"wiki/a/b/home.md": b"text\r\n"}
    assert [path.name for path in root.parent.iterdir()].count(".wikisync") == 1
    assert list((root.parent / ".wikisync").iterdir()) == []


def test_outside_a_workspace_nothing_is_left_either(tmp_path: Path) -> None:
    write_atomically(tmp_path, "home.md", b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["home.md"]


def test_temporary_folder_may_be_chosen(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with FolderWriter(root, temporary=tmp_path / "mine") as writer:
        assert len(list((tmp_path / "mine").iterdir())) == 1
        writer.write_many([FileWrite("home.md", b"text")])
    assert list((tmp_path / "mine").iterdir()) == []


def test_expected_text_is_replaced(root: Path) -> None:
    write_atomically(root, "home.md", b"old")
    write_atomically(root, "home.md", b"new", expected=digest_of(b"old"))
    assert files_below(root) == {"home.md": b"new"}


@pytest.mark.parametrize(
    ("there", "expected", "problem"),
    [
        ({"wiki/home.md": b"edited"}, digest_of(b"old"), r"home\.md was changed"),
        ({}, digest_of(b"old"), r"home\.md is gone"),
        ({"wiki/home.md": b"theirs"}, None, r"home\.md already exists"),
    ],
)
def test_what_is_not_expected_stays(
    root: Path, there: dict[str, bytes], expected: Digest | None, problem: str
) -> None:
    for path, content in there.items():
        (root.parent / path).write_bytes(content)
    with pytest.raises(PreconditionFailed, match=problem):
        write_atomically(root, "home.md", b"new", expected=expected)
    assert files_below(root.parent) == there


def test_text_saved_while_ours_is_made_ready_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look is right before the swap, not when the write begins."""
    write_atomically(root, "home.md", b"old")
    fsync = os.fsync

    def save_meanwhile(descriptor: int) -> None:
        (root / "home.md").write_bytes(b"saved")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", save_meanwhile)
    with pytest.raises(PreconditionFailed):
        write_atomically(root, "home.md", b"new", expected=digest_of(b"old"))
    assert files_below(root) == {"home.md": b"saved"}


def test_new_file_does_not_replace_one_made_after_the_scan(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def make_meanwhile(*args: str, **kwargs: Any) -> None:
        (root / "home.md").write_bytes(b"theirs")
        link(*args, **kwargs)

    monkeypatch.setattr(os, "link", make_meanwhile)
    with pytest.raises(PreconditionFailed, match=r"home\.md already exists"):
        write_atomically(root, "home.md", b"new", expected=None)
    assert files_below(root) == {"home.md": b"theirs"}


def test_new_file_is_made_on_a_disk_without_hard_links(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: str, **_kwargs: int) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_atomically(root, "home.md", b"new", expected=None)
    assert files_below(root.parent) == {"wiki/home.md": b"new"}


@pytest.mark.parametrize(
    "path", ["link/home.md", "link.md", "link/x/home.md", "a/link/x/home.md"]
)
def test_nothing_is_written_through_a_link(root: Path, path: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "target").write_bytes(b"theirs")
    (root / "a").mkdir()
    (root / "link").symlink_to(outside)
    (root / "a/link").symlink_to(outside)
    (root / "link.md").symlink_to(outside / "target")
    with pytest.raises(FolderError, match=r"link.* is a symbolic link") as caught:
        write_atomically(root, path, b"ours")
    assert caught.value.path.startswith(("link", "a/link"))
    assert files_below(outside) == {"target": b"theirs"}


@pytest.mark.parametrize(
    "path", ["", "../x.md", "a/../x.md", "/tmp/x.md", "a//x.md", "a/", "./a", "a\x00b"]
)
def test_nothing_is_written_outside(root: Path, path: str) -> None:
    with pytest.raises(FolderError, match="not a path inside the folder"):
        write_atomically(root, path, b"ours")
    assert files_below(root.parent) == {}


def test_name_that_the_disk_does_not_take_is_an_error(root: Path) -> None:
    with pytest.raises(FolderError, match="the name is too long"):
        write_atomically(root, "x" * 256, b"ours")


def test_one_bad_file_does_not_stop_the_others(root: Path) -> None:
    (root / "b.md").mkdir()
    with FolderWriter(root) as writer:
        results = writer.write_many(
            [
                FileWrite("c.md", b"c"),
                FileWrite("b.md", b"b"),
                FileWrite("a.md", b"a", expected=digest_of(b"old")),
                FileWrite("d/d.md", b"d", expected=None),
            ]
        )
    kinds = [type(result) for result in results]
    assert kinds == [type(None), PlaceTaken, PreconditionFailed, type(None)]
    assert files_below(root.parent) == {"wiki/c.md": b"c", "wiki/d/d.md": b"d"}


def test_many_files_are_brought_to_the_disk_in_one_go(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full_disk)
    files = [FileWrite(f"d{i}/{i}.md", b"x") for i in range(40)]
    with FolderWriter(root) as writer:
        assert writer.write_many(files) == [None] * 40


def test_many_files_are_written_where_the_system_cannot_do_that(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "fsync", synced.append)
    with FolderWriter(root) as writer:
        writer.write_many([FileWrite(f"d{i}/{i}.md", b"x") for i in range(10)])
    assert len(synced) == 10 + 10 + 1
    assert len(files_below(root)) == 10


def test_file_and_its_folders_are_brought_to_the_disk(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", note)
    write_atomically(root, "a/b/home.md", b"x")
    assert len(synced) == 4
    assert synced[1:] == ["b", "a", "wiki"]


def test_full_disk_leaves_the_old_text_and_nothing_half_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(root, "home.md", b"old")
    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(FolderError) as caught:
        write_atomically(root, "home.md", b"new")
    monkeypatch.undo()
    assert caught.value.message == "cannot write home.md: the disk is full"
    assert (caught.value.path, bool(caught.value.hint)) == ("home.md", True)
    assert files_below(root.parent) == {"wiki/home.md": b"old"}


def test_full_disk_ends_the_batch_before_any_file_has_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def second_fails(descriptor: int, content: bytes) -> int:
        return full_disk() if b"b" in bytes(content) else write(descriptor, content)

    monkeypatch.setattr(os, "write", second_fails)
    with FolderWriter(root) as writer, pytest.raises(FolderError, match=r"b\.md"):
        writer.write_many([FileWrite("a.md", b"a"), FileWrite("b.md", b"b")])
    assert files_below(root.parent) == {}


def test_disk_that_fills_while_names_are_given_ends_the_batch(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FolderWriter(root) as writer:
        monkeypatch.setattr(os, "mkdir", full_disk)
        with pytest.raises(FolderError, match="disk is full"):
            writer.write_many([FileWrite("a.md", b"a"), FileWrite("b/b.md", b"b")])
    assert files_below(root.parent) == {"wiki/a.md": b"a"}


def test_disk_that_takes_a_few_bytes_at_once_gets_them_all(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, rest: write(fd, rest[:3]))
    write_atomically(root, "home.md", b"0123456789")
    assert files_below(root) == {"home.md": b"0123456789"}


def test_real_limit_on_file_size_is_an_error_that_names_the_file(root: Path) -> None:
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from wikisync.errors import FolderError\n"
        "from wikisync.folder.swap import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_atomically(Path(sys.argv[1]), 'big.md', bytes(5000))\n"
        "except FolderError as error: print(error.message)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(root)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == (
        "cannot write big.md: the file is larger than allowed here"
    )
    assert files_below(root.parent) == {}


@pytest.mark.parametrize("step", ["open", "write", "fsync", "fchmod", "replace"])
def test_crash_before_the_swap_leaves_the_old_text(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write_atomically(root, "home.md", b"old")
    with FolderWriter(root) as writer, monkeypatch.context() as patch:
        patch.setattr(os, step, power_cut)
        with pytest.raises(KeyboardInterrupt):
            writer.write_many([FileWrite("home.md", b"new")])
    assert files_below(root.parent) == {"wiki/home.md": b"old"}


def test_killed_writer_leaves_the_old_text_and_the_next_one_cleans_up(
    root: Path,
) -> None:
    write_atomically(root, "home.md", b"old")
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from wikisync.folder.swap import write_atomically\n"
        "os.replace = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomically(Path(sys.argv[1]), 'home.md', b'new')\n"
    )
    run = subprocess.run([sys.executable, "-c", script, str(root)], check=False)
    left = files_below(root.parent)
    assert run.returncode == -9
    assert left.pop("wiki/home.md") == b"old"
    assert list(left.values()) == [b"new"]
    write_atomically(root, "other.md", b"x")
    assert files_below(root.parent) == {"wiki/home.md": b"old", "wiki/other.md": b"x"}


def test_files_of_a_living_writer_are_left_alone(root: Path) -> None:
    with FolderWriter(root) as first, first.open_stream("u/a.bin") as stream:
        stream.write(b"one ")
        write_atomically(root, "b.md", b"b")
        stream.write(b"two")
        assert files_below(root) == {"b.md": b"b"}
        stream.finish()
    assert files_below(root) == {"u/a.bin": b"one two", "b.md": b"b"}


def test_link_among_temporary_files_is_not_cleaned_through(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"theirs")
    place = root.parent / ".wikisync" / "tmp"
    place.mkdir()
    (place / "0123456789abcdef").symlink_to(outside)
    write_atomically(root, "home.md", b"x")
    assert files_below(outside) == {"keep": b"theirs"}


def test_stream_without_an_end_never_was(root: Path) -> None:
    with FolderWriter(root) as writer, writer.open_stream("a.bin") as stream:
        stream.write(b"half")
    assert files_below(root.parent) == {}


def test_removing_takes_folders_that_are_truly_empty_and_never_the_root(
    root: Path,
) -> None:
    write_atomically(root, "a/b/c.md", b"x")
    write_atomically(root, "a/d.md", b"y")
    with OwnFolders.of(root).writer() as writer:
        writer.remove("a/b/c.md", expected=digest_of(b"x"))
        assert not (root / "a" / "b").exists()
        assert files_below(root) == {"a/d.md": b"y"}
        writer.remove("a/d.md", expected=digest_of(b"y"))
    assert list(root.iterdir()) == []


def test_folder_with_an_ignored_file_is_not_removed(root: Path) -> None:
    write_atomically(root, "a/b.md", b"x")
    (root / "a" / ".notes").write_bytes(b"mine")
    with OwnFolders.of(root).writer() as writer:
        writer.remove("a/b.md", expected=digest_of(b"x"))
    assert files_below(root) == {"a/.notes": b"mine"}


def test_file_that_cannot_be_removed_is_an_error_that_names_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def refused(name: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if name == "home.md":
            full_disk()
        rename(name, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    write_atomically(root, "a/home.md", b"text")
    with OwnFolders.of(root).writer() as writer, monkeypatch.context() as broken:
        broken.setattr(os, "rename", refused)
        with pytest.raises(FolderError, match=r"^cannot remove a/home\.md: "):
            writer.remove("a/home.md", expected=digest_of(b"text"))
    assert files_below(root) == {"a/home.md": b"text"}


def test_file_that_cannot_be_renamed_is_an_error_and_leaves_no_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(root, "home.md", b"text")
    monkeypatch.setattr("wikisync.folder.swap.rename_to_free", full_disk)
    with (
        OwnFolders.of(root).writer() as writer,
        pytest.raises(FolderError, match=r"^cannot rename home\.md: "),
    ):
        writer.move("home.md", "b/c/home.md", expected=digest_of(b"text"))
    assert [path.name for path in root.iterdir()] == ["home.md"]


@pytest.mark.parametrize("path", ["home.md", "gone.md", "gone/home.md"])
def test_text_that_is_not_expected_is_not_removed(root: Path, path: str) -> None:
    write_atomically(root, "home.md", b"edited")
    with OwnFolders.of(root).writer() as writer, pytest.raises(PreconditionFailed):
        writer.remove(path, expected=digest_of(b"old"))
    assert files_below(root) == {"home.md": b"edited"}


def test_missing_root_is_not_made(tmp_path: Path) -> None:
    """An unmounted disk must not be filled with pages underneath."""
    with pytest.raises(FolderError, match="does not exist"):
        write_atomically(tmp_path / "gone", "home.md", b"x")
    assert list(tmp_path.iterdir()) == []


def test_place_for_temporary_files_that_cannot_be_made_is_named(root: Path) -> None:
    (root.parent / ".wikisync" / "tmp").write_bytes(b"theirs")
    with pytest.raises(FolderError, match=r"temporary files in .*/\.wikisync/tmp"):
        write_atomically(root, "home.md", b"x")
