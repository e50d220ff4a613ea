import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.plain_disk import make_folding, make_plain
from wikisync.core.model import digest_of
from wikisync.core.system.libc import NotSupported, rename_to_free
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import swap as swap_module
from wikisync.folder.limbo import Limbo
from wikisync.folder.swap import FolderWriter

TEXT = b"text\n"
SAVED = b"saved\n"


class Room:
    def __init__(self, place: Path) -> None:
        self.root = place / "wiki"
        (self.root / "dir").mkdir(parents=True)
        (self.root / "dir/old.md").write_bytes(TEXT)
        self.limbo = Limbo(place / "limbo", clock=lambda: time.time() + 10)

    def move(self, old: str = "dir/old.md", new: str = "new.md") -> None:
        with FolderWriter(self.root, limbo=self.limbo) as writer:
            writer.move(old, new, expected=digest_of(TEXT))

    @property
    def files(self) -> dict[str, bytes]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(p.relative_to(self.root)): p.read_bytes() for p in found}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture(params=["in one step", "with links", "plain"])
def any_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise NotSupported(22, "Invalid argument")

    if request.param == "plain":
        make_plain(monkeypatch)
    if request.param == "with links":
        monkeypatch.setattr(swap_module, "rename_to_free", refuse)


def before_rename(monkeypatch: pytest.MonkeyPatch, save: Callable[[], object]) -> None:
    def rename(source_folder: int, source: str, target_folder: int, name: str) -> None:
        save()
        rename_to_free(source_folder, source, target_folder, name)

    monkeypatch.setattr(swap_module, "rename_to_free", rename)


@pytest.mark.usefixtures("any_disk")
def test_file_moves_and_leaves_no_empty_folder(room: Room) -> None:
    room.move(new="a/b/new.md")
    assert room.files == {"a/b/new.md": TEXT}
    assert not (room.root / "dir").exists()


@pytest.mark.usefixtures("any_disk")
def test_name_that_is_taken_is_refused(room: Room) -> None:
    (room.root / "new.md").write_bytes(b"theirs")
    with pytest.raises(PreconditionFailed, match=r"new\.md exists already"):
        room.move()
    assert room.files == {"dir/old.md": TEXT, "new.md": b"theirs"}


@pytest.mark.usefixtures("any_disk")
def test_file_that_was_edited_or_is_gone_stays(room: Room) -> None:
    (room.root / "dir/old.md").write_bytes(SAVED)
    with pytest.raises(PreconditionFailed, match="was changed"):
        room.move(new="made/new.md")
    with pytest.raises(PreconditionFailed, match="is gone"):
        room.move(old="dir/other.md")
    assert room.files == {"dir/old.md": SAVED}
    assert not (room.root / "made").exists()


def test_save_right_before_the_rename_goes_back(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_rename(monkeypatch, lambda: (room.root / "dir/old.md").write_bytes(SAVED))
    with pytest.raises(PreconditionFailed, match="was changed"):
        room.move()
    assert room.files == {"dir/old.md": SAVED}


def test_save_that_cannot_go_back_is_a_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = room.root / "dir/old.md"

    def rename(*args: int | str) -> None:
        old.write_bytes(SAVED)
        rename_to_free(*args)  # type: ignore[arg-type]
        old.write_bytes(b"newest\n")

    monkeypatch.setattr(swap_module, "rename_to_free", rename)
    with pytest.raises(PreconditionFailed, match="was changed"):
        room.move()
    assert room.files == {"dir/old.md": b"newest\n"}
    assert [late.content for late in room.limbo.late_saves()] == [SAVED]


def test_save_between_link_and_removal_stays_under_the_old_name(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> None:
        raise NotSupported(22, "Invalid argument")

    def link_and_save(*args: str, **kwargs: int) -> None:
        link(*args, **kwargs)  # type: ignore[arg-type]
        fresh = room.root / "dir/fresh"
        fresh.write_bytes(SAVED)
        fresh.replace(room.root / "dir/old.md")

    link = os.link
    monkeypatch.setattr(swap_module, "rename_to_free", refuse)
    monkeypatch.setattr(os, "link", link_and_save)
    with pytest.raises(PreconditionFailed):
        room.move()
    monkeypatch.undo()
    assert room.files == {"dir/old.md": SAVED}


def test_names_that_the_disk_takes_for_one_are_renamed(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the inode numbers differ, as on a disk by FUSE."""
    make_folding(monkeypatch)
    room.move(new="dir/Old.md")
    monkeypatch.undo()
    assert room.files == {"dir/Old.md": TEXT}


def test_name_that_the_disk_finds_for_another_file_is_refused(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same name in another folder, and of another name in the same one."""
    for taken in ("old.md", "dir/new.md"):
        (room.root / taken).write_bytes(b"theirs")
    make_folding(monkeypatch)
    for new in ("OLD.md", "dir/New.md"):
        with pytest.raises(PreconditionFailed, match="exists already"):
            room.move(new=new)
    monkeypatch.undo()
    theirs = {"old.md": b"theirs", "dir/new.md": b"theirs"}
    assert room.files == {"dir/old.md": TEXT, **theirs}


def test_names_that_only_differ_in_case_are_two_where_the_disk_says_so(
    room: Room,
) -> None:
    (room.root / "dir/Old.md").write_bytes(TEXT)
    with pytest.raises(PreconditionFailed, match="exists already"):
        room.move(new="dir/Old.md")
    assert room.files == {"dir/old.md": TEXT, "dir/Old.md": TEXT}


def test_two_names_of_one_file_are_two_files(room: Room) -> None:
    os.link(room.root / "dir/old.md", room.root / "new.md")
    with pytest.raises(PreconditionFailed, match="exists already"):
        room.move()
    assert len(room.files) == 2


def test_link_is_neither_moved_nor_replaced(room: Room) -> None:
    (room.root / "link.md").symlink_to(room.root / "dir/old.md")
    with pytest.raises(FolderError, match="is a symbolic link"):
        room.move(old="link.md")
    with pytest.raises(FolderError, match="is a symbolic link"):
        room.move(new="link.md")
