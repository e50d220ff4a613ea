"""Every test plays a program that saves at the worst moment."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.folder.rooms import NEW, OLD, SAVED, Crash, Room, crash
from tests.support.plain_disk import no_links
from wikisync.core.model import digest_of
from wikisync.core.system.libc import NotSupported, swap_names
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import limbo as limbo_module
from wikisync.folder.disk import put_back
from wikisync.folder.limbo import ORPHAN_S
from wikisync.folder.swap import FileWrite, FolderWriter
from wikisync.folder.trash import Trash


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def at_swap(
    room: Room,
    monkeypatch: pytest.MonkeyPatch,
    *saves: Callable[[], object],
    after: bool = False,
) -> list[str]:
    """Do one thing before, or after, each swap of names; the last ones plainly.

    Returns:
        The names that were swapped, which grow with each swap.
    """
    room.limbo.can_swap = True
    waiting = list(saves)
    swapped: list[str] = []

    def swap(source_folder: int, source: str, target_folder: int, name: str) -> None:
        swapped.append(name)
        save = waiting.pop(0) if waiting else None
        if save and not after:
            save()
        swap_names(source_folder, source, target_folder, name)
        if save and after:
            save()

    monkeypatch.setattr(limbo_module, "swap_names", swap)
    return swapped


def save_by_rename(page: Path, content: bytes) -> None:
    fresh = page.with_name(".fresh")
    fresh.write_bytes(content)
    fresh.replace(page)


def test_page_is_replaced_and_the_old_text_is_no_late_save(room: Room) -> None:
    room.replace()
    assert room.page.read_bytes() == NEW
    assert room.late() == []
    room.wait()
    assert room.late() == []
    assert room.files() == []


def test_new_page_and_replaced_page_are_written_together(room: Room) -> None:
    writes = [
        FileWrite("home.md", NEW, expected=digest_of(OLD)),
        FileWrite("fresh.md", NEW, expected=None),
    ]
    with FolderWriter(room.root, limbo=room.limbo) as writer:
        assert writer.write_many(writes) == [None, None]
    assert room.page.read_bytes() == (room.root / "fresh.md").read_bytes() == NEW


def test_new_pages_alone_need_no_limbo(room: Room) -> None:
    with FolderWriter(room.root, limbo=room.limbo) as writer:
        writer.write_many([FileWrite("fresh.md", NEW, expected=None)])
    assert not (room.private / "limbo").exists()


def test_permissions_of_the_page_are_kept(room: Room) -> None:
    room.page.chmod(0o440)
    room.replace()
    assert room.page.stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize("save", [Path.write_bytes, save_by_rename])
def test_text_saved_right_before_the_swap_goes_back_in(
    room: Room, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path, bytes], object]
) -> None:
    at_swap(room, monkeypatch, partial(save, room.page, SAVED))
    with pytest.raises(PreconditionFailed, match=r"home\.md was changed"):
        room.replace()
    assert room.page.read_bytes() == SAVED
    room.wait()
    assert room.late() == []
    assert room.files() == []


@pytest.mark.parametrize(
    ("save", "newest"),
    [
        (Path.write_bytes, b"newest\n"),
        (save_by_rename, b"newest\n"),
        # the very text that was put in looks like ours
        (save_by_rename, NEW),
    ],
)
def test_text_saved_over_ours_while_another_goes_back_stays_in_the_page(
    room: Room,
    monkeypatch: pytest.MonkeyPatch,
    save: Callable[[Path, bytes], object],
    newest: bytes,
) -> None:
    """The newest save is in the page, the one before it is a late save."""
    first = partial(save_by_rename, room.page, SAVED)
    swapped = at_swap(room, monkeypatch, first, partial(save, room.page, newest))
    with pytest.raises(PreconditionFailed):
        room.replace()
    assert len(swapped) == 3
    assert room.page.read_bytes() == newest
    room.wait()
    assert room.late() == [SAVED]


def test_program_that_never_stops_saving_loses_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(1000))

    def save() -> None:
        save_by_rename(room.page, b"save %d\n" % next(numbers))

    at_swap(room, monkeypatch, *[save] * 1000)
    with pytest.raises(PreconditionFailed):
        room.replace()
    last = next(numbers) - 1
    room.wait()
    found = {room.page.read_bytes(), *room.late()}
    assert b"save %d\n" % last in found


def test_page_removed_while_a_save_goes_back_is_there_again(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_swap(room, monkeypatch, lambda: room.page.write_bytes(SAVED), room.page.unlink)
    with pytest.raises(PreconditionFailed):
        room.replace()
    assert room.page.read_bytes() == SAVED


def test_page_removed_right_before_the_swap_is_not_made_again(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_swap(room, monkeypatch, room.page.unlink)
    with pytest.raises(PreconditionFailed, match=r"home\.md is gone"):
        room.replace()
    assert list(room.root.iterdir()) == []
    assert room.files() == []


def test_link_put_in_the_pages_place_goes_back_in(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = room.private.parent / "outside"
    outside.write_bytes(OLD)

    def link() -> None:
        room.page.unlink()
        room.page.symlink_to(outside)

    at_swap(room, monkeypatch, link)
    with pytest.raises(PreconditionFailed):
        room.replace()
    assert room.page.is_symlink()
    assert outside.read_bytes() == OLD


def test_folder_put_in_the_pages_place_goes_back_in(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:

    def folder() -> None:
        room.page.unlink()
        room.page.mkdir()
        (room.page / "inner").write_bytes(SAVED)

    at_swap(room, monkeypatch, folder)
    with pytest.raises(PreconditionFailed):
        room.replace()
    assert (room.page / "inner").read_bytes() == SAVED


def test_save_into_the_file_that_was_open_is_a_late_save(room: Room) -> None:
    with room.page.open("r+b") as editor:
        room.replace()
        editor.write(SAVED)
    assert room.page.read_bytes() == NEW
    (late,) = room.opened().late_saves()
    assert (late.path, late.content) == ("home.md", SAVED)
    assert late.before == digest_of(OLD)


def test_late_save_that_is_saved_over_once_more_is_given_again(room: Room) -> None:
    with room.page.open("r+b", buffering=0) as editor:
        room.replace()
        editor.write(SAVED)
        room.wait()
        (late,) = room.opened().late_saves()
        os.pwrite(editor.fileno(), b"again\n", 0)
        room.opened().acknowledge(late.id)
    room.wait()
    (again,) = room.opened().late_saves()
    assert (again.path, again.content) == ("home.md", b"again\n")


# -- removals ------------------------------------------------------------------------


def test_text_saved_right_before_a_removal_comes_back(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Trash.keep

    def keep_and_save(*args: object) -> object:
        kept = keep(*args)  # type: ignore[arg-type]
        save_by_rename(room.page, SAVED)
        return kept

    monkeypatch.setattr(Trash, "keep", keep_and_save)
    with pytest.raises(PreconditionFailed):
        room.remove()
    assert room.page.read_bytes() == SAVED
    assert room.trash.entries() == ()
    assert room.files() == []


def test_page_removed_right_before_it_is_taken_is_gone(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = limbo_module.LimboBatch.take

    def remove_and_take(batch: limbo_module.LimboBatch, *args: int | str) -> None:
        room.page.unlink()
        take(batch, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(limbo_module.LimboBatch, "take", remove_and_take)
    with pytest.raises(PreconditionFailed, match="is gone"):
        room.remove()
    assert room.files() == []


def test_text_that_cannot_come_back_from_a_removal_is_a_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two saves right before and after the page was taken: neither is lost."""
    take = limbo_module.LimboBatch.take

    def save_and_take(batch: limbo_module.LimboBatch, *args: int | str) -> None:
        save_by_rename(room.page, SAVED)
        take(batch, *args)  # type: ignore[arg-type]

    def save_and_put_back(*args: int | str) -> None:
        room.page.write_bytes(NEW)
        put_back(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(limbo_module.LimboBatch, "take", save_and_take)
    monkeypatch.setattr(limbo_module, "put_back", save_and_put_back)
    with pytest.raises(PreconditionFailed):
        room.remove()
    assert room.page.read_bytes() == NEW
    room.wait()
    assert room.late() == [SAVED]


# -- crashes -------------------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True])
def test_crash_at_the_swap_leaves_one_text_and_no_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    at_swap(room, monkeypatch, partial(crash, monkeypatch), after=after)
    with pytest.raises(Crash):
        room.replace()
    assert room.page.read_bytes() == (NEW if after else OLD)
    room.wait()
    assert room.late() == []
    assert room.files() == []


def test_save_that_came_out_right_before_a_crash_is_a_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.limbo.can_swap = True

    def swap_and_crash(*args: int | str) -> None:
        room.page.write_bytes(SAVED)
        swap_names(*args)  # type: ignore[arg-type]
        crash(monkeypatch)

    monkeypatch.setattr(limbo_module, "swap_names", swap_and_crash)
    with pytest.raises(Crash):
        room.replace()
    room.wait()
    assert room.late() == [SAVED]


def test_half_written_file_of_a_crash_is_no_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a record no name was touched, so nothing of a person's is here."""
    monkeypatch.setattr(limbo_module.LimboBatch, "seal", lambda _: crash(monkeypatch))
    with pytest.raises(Crash):
        room.replace()
    assert len(room.files()) == 1
    room.wait()
    assert room.late() == []
    assert len(room.files()) == 1
    room.wait(ORPHAN_S)
    assert room.late() == []
    assert room.files() == []


def test_text_and_record_are_brought_to_the_disk_before_any_name_is_touched(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, synced = os.fsync, []

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    seen: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", note)
    at_swap(room, monkeypatch, lambda: seen.append(list(synced)))
    room.replace()
    ((text, record, folder),) = seen
    assert text.endswith("-0")
    assert record.startswith("record-")
    assert folder == "limbo"
    assert synced[3:] == ["wiki"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}', '{"x": [1]}'])
def test_record_that_is_damaged_loses_no_text(room: Room, content: str) -> None:
    with room.page.open("r+b") as editor:
        room.replace()
        editor.write(SAVED)
    (record,) = (room.private / "limbo").glob("*.json")
    record.write_text(content)
    room.wait()
    (late,) = room.opened().late_saves()
    assert late.content == SAVED
    room.opened().acknowledge(late.id)
    assert room.late() == []


def test_full_disk_while_the_record_is_written_changes_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(limbo_module, "_write_record", full)
    with pytest.raises(FolderError, match="the disk is full"):
        room.replace()
    assert room.page.read_bytes() == OLD
    assert room.files() == []


def test_limbo_that_cannot_be_scanned_into_is_named(room: Room) -> None:
    (room.private / "limbo").write_text("somebody's file")
    with pytest.raises(FolderError, match="limbo"):
        room.late()


def test_swapping_is_tried_once_for_a_folder(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def swap(source_folder: int, source: str, target_folder: int, name: str) -> None:
        calls.append(name)
        swap_names(source_folder, source, target_folder, name)

    monkeypatch.setattr(limbo_module, "swap_names", swap)
    room.replace()
    room.page.write_bytes(OLD)
    room.replace()
    assert calls[1:] == ["home.md", "home.md"]


# -- disks that cannot swap names, or have no links ------------------------------------


def no_swap(*_args: object) -> None:
    raise NotSupported(errno.EINVAL, "Invalid argument")


@pytest.fixture(params=["links", "no links"])
def plain_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
    if request.param == "no links":
        monkeypatch.setattr(os, "link", no_links)
    return str(request.param)


def test_page_is_replaced_on_a_disk_that_cannot_swap(
    room: Room, plain_disk: str
) -> None:
    room.replace()
    assert plain_disk
    assert room.limbo.can_swap is False
    assert room.page.read_bytes() == NEW
    room.wait()
    assert room.late() == []
    assert room.files() == []


def test_edited_page_stays_on_a_disk_that_cannot_swap(
    room: Room, plain_disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = limbo_module.LimboBatch.swap

    def save_and_swap(batch: limbo_module.LimboBatch, *args: int | str) -> None:
        room.page.write_bytes(SAVED)
        swap(batch, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(limbo_module.LimboBatch, "swap", save_and_swap)
    with pytest.raises(PreconditionFailed):
        room.replace()
    assert plain_disk
    assert room.page.read_bytes() == SAVED
    assert room.files() == []


@pytest.mark.parametrize("has_second_name", [False, True])
def test_late_save_is_found_on_a_disk_that_cannot_swap(
    room: Room, monkeypatch: pytest.MonkeyPatch, *, has_second_name: bool
) -> None:
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
    if has_second_name:
        os.link(room.page, room.private / "a person's own link")
    with room.page.open("r+b") as editor:
        room.replace()
        editor.write(SAVED)
    room.wait()
    assert room.late() == [SAVED]


def test_crash_before_the_replacement_leaves_the_page_to_its_person(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file aside is the page's own then; an edit of it is no late save."""
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
    monkeypatch.setattr(os, "replace", lambda *_, **__: crash(monkeypatch))
    with pytest.raises(Crash):
        room.replace()
    room.page.write_bytes(SAVED)
    room.wait()
    assert room.late() == []
    assert room.page.read_bytes() == SAVED
    assert room.files() == []


def test_save_after_a_crash_at_the_replacement_is_a_late_save(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file aside has no other name any more: what is saved into it is here only."""
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
    replace = os.replace

    def replace_and_crash(*args: object, **folders: object) -> None:
        replace(*args, **folders)  # type: ignore[arg-type]
        crash(monkeypatch)

    with room.page.open("r+b") as editor:
        monkeypatch.setattr(os, "replace", replace_and_crash)
        with pytest.raises(Crash):
            room.replace()
        editor.write(SAVED)
    assert room.page.read_bytes() == NEW
    room.wait()
    assert room.late() == [SAVED]
