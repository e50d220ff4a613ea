"""The limbo on disks that cannot swap names, and on those without hard links."""

import errno
import os
from pathlib import Path

import pytest

from tests.folder.rooms import NEW, SAVED, Crash, Room
from tests.support.plain_disk import no_links
from wikisync.core.system.libc import NotSupported
from wikisync.errors import PreconditionFailed
from wikisync.folder import limbo as limbo_module


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


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


def test_late_save_is_found_on_a_disk_that_cannot_swap(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
    with room.page.open("r+b") as editor:
        room.replace()
        editor.write(SAVED)
    room.wait()
    assert room.late() == [SAVED]


def test_late_save_is_found_where_the_page_had_a_second_name(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limbo_module, "swap_names", no_swap)
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

    def crash(*_args: object, **_kwargs: object) -> None:
        monkeypatch.setattr(limbo_module.LimboBatch, "clear", lambda _: None)
        raise Crash

    monkeypatch.setattr(os, "replace", crash)
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
        monkeypatch.setattr(limbo_module.LimboBatch, "clear", lambda _: None)
        raise Crash

    with room.page.open("r+b") as editor:
        monkeypatch.setattr(os, "replace", replace_and_crash)
        with pytest.raises(Crash):
            room.replace()
        editor.write(SAVED)
    assert room.page.read_bytes() == NEW
    room.wait()
    assert room.late() == [SAVED]
