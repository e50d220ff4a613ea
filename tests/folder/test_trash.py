import errno
import os
from pathlib import Path

import pytest

from wikisync.core.model import Slug, digest_of
from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.folder.limbo import Limbo
from wikisync.folder.swap import FolderWriter
from wikisync.folder.trash import KEPT_DAYS, PURGE_EVERY_S, Trash

DAY_S = 86_400.0
OUTSIDE = (
    '{"wiki": "handbook", "path": "a", "why": "", "at": 1, "size": 1, "file": "%s"}'
)
NOON = 1_795_262_400.0
"""2026-11-21 12:00:00 UTC."""


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def trash(tmp_path: Path, clock: Clock) -> Trash:
    return Trash(tmp_path / "trash", wiki="handbook", clock=clock)


def keep(trash: Trash, file: Path, path: str = "") -> None:
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        trash.keep(folder, file.name, path or file.name, "why")
    finally:
        os.close(folder)


def files_below(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.name for path in found)


def test_text_is_kept_with_why_and_when(trash: Trash) -> None:
    kept = trash.put("dir/home.md", b"text", "deleted on the wiki")
    assert trash.entries() == (kept,)
    assert (kept.path, kept.why) == ("dir/home.md", "deleted on the wiki")
    assert kept.at == NOON
    assert (kept.slug, kept.size, kept.wiki) == ("dir/home", 4, "handbook")
    assert trash.read(kept) == b"text"


def test_text_that_is_there_is_not_kept_twice(trash: Trash) -> None:
    first = trash.put("home.md", b"text", "why")
    assert trash.put_once("home.md", b"text", "why") == first
    others = {
        trash.put_once("home.md", b"tex!", "why"),
        trash.put_once("a.md", b"x", "y"),
    }
    assert set(trash.entries()) == {first, *others}
    trash.drop(first)
    assert trash.put_once("home.md", b"text", "why") != first
    assert len(trash.entries(path="home.md")) == 2


def test_text_whose_copy_somebody_took_out_is_kept_anew(
    trash: Trash, tmp_path: Path
) -> None:
    taken = trash.put("home.md", b"text", "why")
    (tmp_path / "trash" / taken.id / "home.md").unlink()
    kept = trash.put_once("home.md", b"text", "why")
    assert trash.read(kept) == b"text"


def test_trash_that_is_a_link_is_not_taken_for_empty_and_takes_nothing(
    trash: Trash, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "trash").symlink_to(tmp_path / "outside")
    with pytest.raises(FolderError, match="is a symbolic link"):
        trash.entries()
    with pytest.raises(FolderError, match="is a symbolic link"):
        trash.put("a.md", b"text", "why")
    assert list((tmp_path / "outside").iterdir()) == []


def test_person_finds_the_file_under_its_date_and_name(
    trash: Trash, tmp_path: Path
) -> None:
    kept = trash.put("dir/home.md", b"text", "why")
    assert kept.id.startswith("2026-11-21/120000-")
    assert (tmp_path / "trash" / kept.id / "home.md").read_bytes() == b"text"
    assert (
        '"when": "2026-11-21T12:00:00+00:00"'
        in (tmp_path / "trash" / kept.id / "why.json").read_text()
    )


def test_file_is_kept_before_it_goes(trash: Trash, tmp_path: Path) -> None:
    (tmp_path / "home.md").write_bytes(b"text")
    keep(trash, tmp_path / "home.md")
    assert (tmp_path / "home.md").read_bytes() == b"text"
    assert trash.read(trash.entries()[0]) == b"text"


def test_file_is_copied_where_there_are_no_hard_links(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "home.md").write_bytes(b"text")
    keep(trash, tmp_path / "home.md")
    (tmp_path / "home.md").write_bytes(b"other")
    assert trash.read(trash.entries()[0]) == b"text"


def test_entries_are_listed_by_path_and_page_the_newest_first(
    trash: Trash, clock: Clock
) -> None:
    for number, path in enumerate(("a.md", "b.md", "a.org", "a.md")):
        clock.now = NOON + number * DAY_S
        trash.put(path, str(number).encode(), "why")
    assert [trash.read(e) for e in trash.entries()] == [b"3", b"2", b"1", b"0"]
    assert [trash.read(e) for e in trash.entries(path="a.md")] == [b"3", b"0"]
    assert [trash.read(e) for e in trash.entries(slug=Slug("a"))] == [b"3", b"2", b"0"]


def test_wikis_of_a_workspace_do_not_see_each_others_pages(
    trash: Trash, tmp_path: Path
) -> None:
    other = Trash(tmp_path / "trash", wiki="other")
    trash.put("a.md", b"x", "why")
    assert other.entries() == ()


@pytest.mark.parametrize("path", ["why.json", "a/why.json"])
def test_file_by_the_name_of_the_record_is_kept_too(trash: Trash, path: str) -> None:
    kept = trash.put(path, b"mine", "why")
    assert trash.read(kept) == b"mine"


def test_old_entries_go_by_themselves(trash: Trash, clock: Clock) -> None:
    trash.put("old.md", b"x", "why")
    clock.now += KEPT_DAYS * DAY_S + 1
    trash.put("new.md", b"x", "why")
    clock.now += DAY_S
    trash.put("newest.md", b"x", "why")
    assert [entry.path for entry in trash.entries()] == ["newest.md", "new.md"]


def test_clock_that_jumps_empties_nothing(trash: Trash, clock: Clock) -> None:
    trash.put("a.md", b"x", "why")
    clock.now += 3650 * DAY_S
    trash.put("b.md", b"x", "why")
    clock.now += 2 * PURGE_EVERY_S
    trash.put("c.md", b"x", "why")
    clock.now -= 3650 * DAY_S
    trash.put("d.md", b"x", "why")
    trash.purge()
    assert sorted(entry.path for entry in trash.entries()) == [
        *("a.md", "b.md", "c.md", "d.md")
    ]


def test_entries_stay_until_they_are_old(trash: Trash, clock: Clock) -> None:
    trash.put("old.md", b"x", "why")
    clock.now += KEPT_DAYS * DAY_S - PURGE_EVERY_S
    trash.put("new.md", b"x", "why")
    assert len(trash.entries()) == 2


def test_oldest_go_first_when_there_is_too_much(
    trash: Trash, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.folder.trash.KEPT_BYTES", 10)
    for name in ("a.md", "b.md", "c.md"):
        trash.put(name, b"1234", "why")
        clock.now += 1
    assert [entry.path for entry in trash.entries()] == ["c.md", "b.md"]
    assert files_below(tmp_path / "trash").count("why.json") == 2


def test_full_disk_is_a_clear_error_and_leaves_nothing(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(FolderError, match=r"a\.md: the disk is full"):
        trash.put("a.md", b"text", "why")
    monkeypatch.undo()
    assert files_below(tmp_path) == []
    assert trash.entries() == ()


def test_copy_is_on_the_disk_before_the_page_goes(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "wiki"
    root.mkdir()
    (root / "home.md").write_bytes(b"text")
    fsync = os.fsync
    synced: list[tuple[str, bool]] = []

    def note(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        synced.append((name, (root / "home.md").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    writing = FolderWriter(root, limbo=Limbo(tmp_path / "limbo"), trash=trash)
    with writing as writer:
        writer.remove("home.md", expected=digest_of(b"text"))
    while_there = [name for name, is_there in synced if is_there]
    assert {"home.md", "why.json", "2026-11-21"} <= set(while_there)
    assert synced[-1] == ("wiki", False)


def test_full_disk_removes_no_page(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full for the trash alone: the record of the limbo just found its place."""

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    root = tmp_path / "wiki"
    root.mkdir()
    (root / "home.md").write_bytes(b"text")
    monkeypatch.setattr("wikisync.folder.trash.write_new", full)
    writing = FolderWriter(root, limbo=Limbo(tmp_path / "limbo"), trash=trash)
    with writing as writer, pytest.raises(FolderError, match="disk is full") as caught:
        writer.remove("home.md", expected=digest_of(b"text"))
    assert isinstance(caught.value.__cause__, OSError)
    assert (root / "home.md").read_bytes() == b"text"
    assert files_below(tmp_path / "trash") == []


def test_file_that_is_gone_is_not_kept(trash: Trash, tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match=r"home\.md is gone"):
        keep(trash, tmp_path / "home.md")
    assert trash.entries() == ()
    assert not list((tmp_path / "trash").glob("*/*"))


def test_link_is_not_followed(trash: Trash, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "home.md").symlink_to(tmp_path / "secret")
    with pytest.raises(FolderError, match="is a symbolic link"):
        keep(trash, tmp_path / "home.md")
    assert trash.entries() == ()


@pytest.mark.parametrize(
    "record", ["", "{}", "[]", *(OUTSIDE % file for file in ("../../x", "..", ".", ""))]
)
def test_damaged_record_hides_its_entry_alone(
    trash: Trash, tmp_path: Path, record: str
) -> None:
    kept = trash.put("a.md", b"x", "why")
    trash.put("b.md", b"y", "why")
    (tmp_path / "trash" / kept.id / "why.json").write_text(record)
    assert [entry.path for entry in trash.entries()] == ["b.md"]


def test_stray_files_in_the_trash_are_left_alone(trash: Trash, tmp_path: Path) -> None:
    trash.put("a.md", b"x", "why")
    (tmp_path / "trash" / "notes.txt").write_text("mine")
    assert len(trash.entries()) == 1
    trash.purge()
    assert (tmp_path / "trash" / "notes.txt").read_text() == "mine"


def test_entry_that_is_gone_is_not_found(trash: Trash) -> None:
    kept = trash.put("a.md", b"x", "why")
    trash.drop(kept)
    with pytest.raises(NotFound, match=r"a\.md is not in the trash"):
        trash.read(kept)


def test_empty_trash_has_no_entries(trash: Trash) -> None:
    assert trash.entries() == ()
    assert trash.purge() == 0


def test_long_reason_is_cut(trash: Trash) -> None:
    assert len(trash.put("a.md", b"x", "w" * 5000).why) < 1000


@pytest.mark.parametrize("made", ["2026-11-21", "120000-"], ids=["day", "entry"])
def test_text_is_kept_though_another_wiki_removes_the_folder_of_the_day(
    trash: Trash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """The trash of every wiki removes it with the last entry of the day."""
    day, mkdir = tmp_path / "trash/2026-11-21", os.mkdir

    def meet_another(name: str | Path, mode: int, *, dir_fd: int | None = None) -> None:
        if str(name).startswith(made):
            monkeypatch.undo()
            day.mkdir(exist_ok=True)
            day.rmdir()
        if name != made:
            mkdir(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", meet_another)
    kept = trash.put("home.md", b"text", "why")
    assert os.mkdir is mkdir
    assert trash.read(kept) == b"text"
