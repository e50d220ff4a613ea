"""Pages that were put in while a program kept the file before them open."""

import os
from pathlib import Path

import pytest

from tests.folder.rooms import NEW, OLD, SAVED, Room
from wikisync.core.model import digest_of
from wikisync.folder import limbo as limbo_module
from wikisync.folder import safe_open
from wikisync.folder.limbo import STREAM_S, UNTOLD_S
from wikisync.folder.safe_open import read_all


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_file_that_nobody_has_open_ends_at_once(room: Room) -> None:
    """Also one that somebody only reads: ten thousand of them cost nothing later."""
    with room.page.open("rb"):
        room.replace()
    assert room.files() == []


def test_what_a_program_appends_an_hour_later_is_a_late_save(room: Room) -> None:
    with room.page.open("ab", buffering=0) as program:
        room.replace()
        room.wait(3600)
        assert room.late() == []
        program.write(SAVED)
        assert room.late() == [OLD + SAVED]


def test_each_late_save_of_an_open_file_is_an_edit_of_the_one_before(
    room: Room,
) -> None:
    with room.page.open("ab", buffering=0) as program:
        room.replace()
        for _ in range(2):
            program.write(SAVED)
            room.wait()
            (late,) = room.opened().late_saves()
            room.opened().acknowledge(late.id)
            assert room.late() == []
    assert late.content == OLD + SAVED + SAVED
    assert late.before == digest_of(OLD + SAVED)
    assert room.late() == []
    assert room.files() == []


def test_file_that_is_being_written_to_is_waited_for(room: Room) -> None:
    """But not for ever: a log may get a line every second."""
    with room.page.open("ab", buffering=0) as program:
        room.replace()
        program.write(SAVED)
        assert room.late() == []
        (record,) = (room.private / "limbo").glob("*.json")
        began_at = record.stat().st_mtime - STREAM_S
        os.utime(record, (began_at, began_at))
        assert room.late() == [OLD + SAVED]


def test_open_file_that_was_not_written_to_is_not_read(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def note(descriptor: int, path: str) -> bytes:
        read.append(path)
        return read_all(descriptor, path)

    os.utime(room.page, (0, 0))
    with room.page.open("ab"):
        room.replace()
        monkeypatch.setattr(safe_open, "read_all", note)
        room.wait()
        assert room.late() == []
    assert [path.endswith(".json") for path in read] == [True]


def test_file_emptied_by_a_program_that_has_it_open_stays(room: Room) -> None:
    with room.page.open("r+b", buffering=0) as program:
        room.replace()
        program.truncate(0)
        room.wait()
        assert room.late() == []
        program.write(SAVED)
    assert room.late() == [SAVED]


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that does not tell who has a file open."""
    monkeypatch.setattr(limbo_module, "has_writer", lambda _: None)
    monkeypatch.setattr(limbo_module, "_PROCESSES", Path("/nowhere"))


@pytest.mark.usefixtures("untold")
def test_where_nobody_tells_a_file_stays_for_an_hour(room: Room) -> None:
    room.replace()
    room.wait(UNTOLD_S - 60)
    assert room.late() == []
    assert len(room.files()) == 2
    room.wait(120)
    assert room.late() == []
    assert room.files() == []


@pytest.mark.usefixtures("untold")
def test_where_nobody_tells_a_late_save_is_found_within_the_hour(room: Room) -> None:
    with room.page.open("ab", buffering=0) as program:
        room.replace()
        program.write(SAVED)
        room.wait()
        (late,) = room.opened().late_saves()
        room.opened().acknowledge(late.id)
        program.write(SAVED)
    room.wait()
    assert room.late() == [OLD + SAVED + SAVED]


def test_file_that_a_process_of_ours_shows_open_stays_beyond_the_hour(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a disk tells of no lease, the processes of this user still do."""
    monkeypatch.setattr(limbo_module, "has_writer", lambda _: None)
    with room.page.open("ab", buffering=0) as program:
        room.replace()
        room.wait(UNTOLD_S + 60)
        assert room.late() == []
        program.write(SAVED)
    room.wait(UNTOLD_S + 60)
    assert room.late() == [OLD + SAVED]


def test_program_that_opens_a_file_under_the_lease_does_not_end_us(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the signal that the system sends to whoever holds a lease."""
    import fcntl

    take = fcntl.fcntl

    def take_and_open(descriptor: int, command: int, value: int) -> int:
        taken = take(descriptor, command, value)
        if (command, value) == (fcntl.F_SETLEASE, fcntl.F_RDLCK):
            with pytest.raises(BlockingIOError):
                os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
        return taken

    monkeypatch.setattr(fcntl, "fcntl", take_and_open)
    room.replace()
    assert room.page.read_bytes() == NEW


def test_file_that_a_program_emptied_holds_nothing_to_lose(room: Room) -> None:
    with room.page.open("r+b") as editor:
        room.replace()
        editor.truncate()
    room.wait()
    assert room.late() == []
    assert room.files() == []


def test_clock_that_was_set_back_keeps_nothing_for_ever(room: Room) -> None:
    room.replace()
    room.wait(-3600)
    assert room.late() == []
    assert room.files() == []


def test_removed_page_is_scanned_again_too(room: Room) -> None:
    with room.page.open("r+b") as editor:
        room.remove()
        editor.write(SAVED)
    room.wait()
    assert room.late() == [SAVED]
