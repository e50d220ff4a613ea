"""The folder as a person edits it: the replica with limbo, trash and settling."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.folder.prove_swap import STYLES, race
from wikisync.core.model import ConflictFile, Format, Page, Slug, digest_of
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.clashes import Folding
from wikisync.folder.limbo import LATE_S
from wikisync.folder.replica import FolderReplica
from wikisync.folder.trash import Trash

HOME = Slug("home")
OLD = digest_of("old")


class Desk:
    """A workspace with one wiki, and a clock that tests turn."""

    def __init__(self, place: Path, *, settle_s: float = 0.0) -> None:
        self.root = place / "handbook"
        self.private = place / ".wikisync"
        self.root.mkdir()
        self.private.mkdir()
        self.passed_s = 0.0
        self.waits: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.settle_s = settle_s
        self.replica = self.opened()

    def opened(self) -> FolderReplica:
        """The folder as a new process sees it."""
        return FolderReplica(
            self.root, settle_s=self.settle_s, clock=self.now, sleep=self.sleep
        )

    def now(self) -> float:
        return time.time() + self.passed_s

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passed_s += seconds
        self.meanwhile()

    def put(self, path: str, text: str = "old") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    @property
    def files(self) -> dict[str, str]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(p.relative_to(self.root)): p.read_text() for p in found}

    def trashed(self) -> list[tuple[str, str]]:
        trash = Trash(self.private / "trash", wiki="handbook")
        return [(entry.path, entry.why) for entry in trash.entries()]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def patient(tmp_path: Path) -> Desk:
    """One that waits until files that were just saved are left alone."""
    return Desk(tmp_path, settle_s=0.3)


def page(slug: str, text: str) -> Page:
    return Page(Slug(slug), Format.MARKDOWN, text)


@pytest.mark.parametrize("style", STYLES)
async def test_no_save_of_a_busy_editor_is_lost(style: str) -> None:
    """The short form of ``tests.folder.prove_swap``, without a disk in the way."""
    memory = Path("/dev/shm")
    outcome = await race(style, 0.4, memory if memory.is_dir() else None)
    assert outcome.saves > 0
    assert outcome.lost == []


# -- what a look tells ---------------------------------------------------------------


async def test_identity_stays_through_a_rename(desk: Desk) -> None:
    desk.put("home.md")
    desk.put("plain.md")
    pages = (await desk.replica.snapshot()).pages
    before = pages[HOME].identity
    assert "" != before != pages[Slug("plain")].identity
    await desk.replica.move(HOME, Slug("new"), expected=OLD)
    assert (await desk.replica.snapshot()).pages[Slug("new")].identity == before


@pytest.mark.parametrize(
    "lock", [".#home.md", ".home.md.swp", "~$home.md", ".~lock.home.md#"]
)
async def test_page_open_in_an_editor_is_busy(desk: Desk, lock: str) -> None:
    desk.put("dir/home.md")
    desk.put(f"dir/{lock}")
    seen = await desk.replica.snapshot()
    assert seen.busy == {"dir/home": f"dir/{lock}"}
    assert set(seen.pages) == {"dir/home"}


async def test_lock_that_is_a_link_without_a_target_counts(desk: Desk) -> None:
    """Emacs makes such links."""
    desk.put("home.md")
    (desk.root / ".#home.md").symlink_to("ann@host.1:2")
    seen = await desk.replica.snapshot()
    assert seen.busy == {"home": ".#home.md"}
    assert seen.problems == ()


# -- settling ------------------------------------------------------------------------


async def test_scan_waits_for_a_file_that_was_just_saved(patient: Desk) -> None:
    patient.put("home.md")
    assert set((await patient.replica.snapshot()).pages) == {"home"}
    assert len(patient.waits) == 1
    assert 0 < patient.waits[0] <= 0.3
    await patient.replica.snapshot()
    assert len(patient.waits) == 1


async def test_file_that_was_scanned_already_is_not_waited_for(patient: Desk) -> None:
    patient.put("home.md")
    await patient.replica.snapshot()
    patient.waits.clear()
    patient.passed_s = 0.0
    assert (await patient.replica.snapshot()).pages
    assert patient.waits == []


async def test_clock_that_was_set_back_holds_no_scan_up(patient: Desk) -> None:
    def set_back() -> None:
        patient.passed_s -= 3600

    patient.put("home.md")
    patient.meanwhile = set_back
    assert (await patient.replica.snapshot()).pages
    assert sum(patient.waits) <= 2.0


async def test_scan_waits_longer_for_an_empty_file(patient: Desk) -> None:
    patient.put("home.md", "")
    await patient.replica.snapshot()
    assert 1.5 < sum(patient.waits) <= 2.0


async def test_scan_waits_longer_for_a_file_that_lost_half(patient: Desk) -> None:
    file = patient.put("home.md", "x" * 100)
    await patient.replica.snapshot()
    patient.waits.clear()
    patient.passed_s = 0.0
    file.write_text("x" * 49)
    await patient.replica.snapshot()
    assert 1.5 < sum(patient.waits) <= 2.0


async def test_scan_waits_no_longer_for_a_file_that_changes_all_the_time(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, settle_s=10.0)
    file = desk.put("home.md", "0")
    desk.meanwhile = lambda: file.write_text(file.read_text() + "x")
    assert (await desk.replica.snapshot()).pages[HOME]
    assert 1.9 < sum(desk.waits) < 2.1


async def test_our_own_writes_are_not_waited_for(patient: Desk) -> None:
    await patient.replica.write(page("home", "old"), expected=None)
    await patient.replica.write(page("home", "new"), expected=OLD)
    await patient.replica.write(page("b", "old"), expected=None)
    await patient.replica.move(Slug("b"), Slug("c"), expected=OLD)
    seen = await patient.replica.snapshot()
    assert set(seen.pages) == {"home", "c"}
    assert patient.waits == []


async def test_other_coroutines_go_on_while_a_scan_waits(patient: Desk) -> None:
    patient.put("home.md")
    asleep, wake = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        asleep.set()
        await wake.wait()
        await patient.sleep(seconds)

    replica = FolderReplica(patient.root, settle_s=0.3, clock=patient.now, sleep=sleep)
    async with asyncio.TaskGroup() as group:
        scanning = group.create_task(replica.snapshot())
        await asleep.wait()
        await replica.write(page("b", "x"), expected=None)
        wake.set()
    assert set(scanning.result().pages) == {"home", "b"}


# -- renames -------------------------------------------------------------------------


async def test_page_keeps_its_own_extension(desk: Desk) -> None:
    desk.put("Old Page.markdown")
    await desk.replica.move(Slug("Old Page"), Slug("dir/new"), expected=OLD)
    assert desk.files == {"dir/new.markdown": "old"}
    assert (await desk.replica.read(Slug("dir/new"))).content == "old"


async def test_conflict_file_moves_along(desk: Desk) -> None:
    desk.put("home.md")
    await desk.replica.write_conflict(HOME, Format.MARKDOWN, "both")
    await desk.replica.move(HOME, Slug("dir/new"), expected=OLD)
    assert desk.files == {"dir/new.md": "old", "dir/new.conflict.md": "both"}
    found = await desk.replica.conflict_file(Slug("dir/new"))
    assert found == ConflictFile("dir/new.conflict.md", "both")


async def test_name_is_free_after_its_page_moved(desk: Desk) -> None:
    desk.put("a.md", "A")
    desk.put("b.md", "B")
    await desk.replica.snapshot()
    await desk.replica.move(Slug("a"), Slug("x"), expected=digest_of("A"))
    await desk.replica.move(Slug("b"), Slug("a"), expected=digest_of("B"))
    await desk.replica.move(Slug("x"), Slug("b"), expected=digest_of("A"))
    assert desk.files == {"a.md": "B", "b.md": "A"}


async def test_page_whose_name_changes_in_case_only_gets_no_mark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding = Folding(case=True)
    monkeypatch.setattr("wikisync.folder.pages.probe_folding", lambda _: folding)
    desk.put("Home.md")
    await desk.replica.move(Slug("Home"), HOME, expected=OLD)
    assert desk.files == {"home.md": "old"}


async def test_name_of_a_page_in_another_format_is_taken(desk: Desk) -> None:
    desk.put("a.md")
    desk.put("b.org", "B")
    with pytest.raises(PreconditionFailed, match="b exists already"):
        await desk.replica.move(Slug("a"), Slug("b"), expected=OLD)
    assert desk.files == {"a.md": "old", "b.org": "B"}


async def test_page_may_not_move_where_patterns_hide_it(desk: Desk) -> None:
    desk.put(".wikisyncignore", "drafts/\n")
    desk.put("home.md")
    await desk.replica.snapshot()
    with pytest.raises(FolderError, match="excluded from the sync"):
        await desk.replica.move(HOME, Slug("drafts/a"), expected=OLD)
    assert desk.files["home.md"] == "old"


# -- what leaves the folder ----------------------------------------------------------


async def test_deleted_page_is_in_the_trash(desk: Desk) -> None:
    desk.put("dir/home.md")
    await desk.replica.delete(Slug("dir/home"), expected=OLD)
    assert desk.files == {}
    assert not (desk.root / "dir").exists()
    assert desk.trashed() == [("dir/home.md", "deleted on the wiki")]


async def test_page_in_another_format_leaves_its_old_file_in_the_trash(
    desk: Desk,
) -> None:
    desk.put("home.md")
    new = Page(HOME, Format.ORG, "* new")
    await desk.replica.write(new, expected=OLD)
    assert desk.files == {"home.org": "* new"}
    assert desk.trashed() == [("home.md", "its format changed")]


async def test_late_save_is_told_after_a_restart_until_it_is_acknowledged(
    desk: Desk,
) -> None:
    file = desk.put("dir/home.md")
    with file.open("r+b") as editor:
        await desk.replica.write(page("dir/home", "new"), expected=OLD)
        editor.write(b"saved")
    desk.passed_s += LATE_S + 0.1
    replica = desk.opened()
    (late,) = await replica.late_saves()
    assert (late.slug, late.text) == ("dir/home", "saved")
    await replica.acknowledge(late)
    assert await replica.late_saves() == []
    assert await desk.opened().late_saves() == []


async def test_late_save_that_is_no_text_goes_to_the_trash(desk: Desk) -> None:
    file = desk.put("home.md")
    with file.open("r+b") as editor:
        await desk.replica.write(page("home", "new"), expected=OLD)
        editor.write(b"\xff\xfe\x00")
    desk.passed_s += LATE_S + 0.1
    for _ in range(2):
        (late,) = await desk.replica.late_saves()
        assert (late.slug, late.text) == ("home.md", None)
    assert desk.trashed() == [("home.md", "saved while the page was replaced")]
    await desk.replica.acknowledge(late)
    assert await desk.replica.late_saves() == []
    assert list((desk.private / "limbo" / "handbook").iterdir()) == []


async def test_text_is_kept_where_its_page_was(desk: Desk) -> None:
    desk.put("home.org")
    await desk.replica.keep(HOME, "theirs", "replaced")
    await desk.replica.keep(Slug("a:b"), "theirs", "replaced")
    assert sorted(desk.trashed()) == [
        ("a%3Ab.md", "replaced"),
        ("home.org", "replaced"),
    ]


async def test_text_that_was_kept_before_is_there_once(desk: Desk) -> None:
    desk.put("home.org")
    for is_again in (False, True, True):
        await desk.replica.keep(HOME, "theirs", "replaced", is_again=is_again)
    assert desk.trashed() == [("home.org", "replaced")]


# -- conflict files ------------------------------------------------------------------


async def test_conflict_file_lies_beside_its_page_and_is_no_page(desk: Desk) -> None:
    desk.put("dir/Home.markdown")
    path = await desk.replica.write_conflict(Slug("dir/Home"), Format.MARKDOWN, "both")
    assert path == "dir/Home.conflict.markdown"
    assert set((await desk.replica.snapshot()).pages) == {"dir/Home"}
    found = await desk.replica.conflict_file(Slug("dir/Home"))
    assert found == ConflictFile(path, "both")
    (desk.root / "dir/.Home.conflict.markdown.swp").touch()
    found = await desk.replica.conflict_file(Slug("dir/Home"))
    assert found == ConflictFile(path, "both", "dir/.Home.conflict.markdown.swp")


async def test_conflict_of_a_page_without_a_file_has_its_format(desk: Desk) -> None:
    path = await desk.replica.write_conflict(HOME, Format.ORG, "both")
    assert await desk.replica.conflict_file(HOME) == ConflictFile(path, "both")
    await desk.replica.remove_conflict(HOME)
    assert desk.files == {}


async def test_no_conflict_file_is_none(desk: Desk) -> None:
    assert await desk.replica.conflict_file(HOME) is None
    await desk.replica.remove_conflict(HOME)


async def test_older_conflict_text_is_in_the_trash(desk: Desk) -> None:
    desk.put("home.md")
    for text in ("one", "one", "two"):
        await desk.replica.write_conflict(HOME, Format.MARKDOWN, text)
    await desk.replica.remove_conflict(HOME)
    assert desk.files == {"home.md": "old"}
    assert desk.trashed() == [
        ("home.conflict.md", "the conflict is over"),
        ("home.conflict.md", "the conflict changed"),
    ]


async def test_conflict_file_that_is_a_link_is_not_followed(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("theirs")
    (desk.root / "home.conflict.md").symlink_to(tmp_path / "outside")
    with pytest.raises(FolderError, match="is a symbolic link"):
        await desk.replica.write_conflict(HOME, Format.MARKDOWN, "both")
    with pytest.raises(FolderError, match="is a symbolic link"):
        await desk.replica.conflict_file(HOME)
    assert (tmp_path / "outside").read_text() == "theirs"


async def test_conflict_file_that_is_not_text_is_an_error(desk: Desk) -> None:
    (desk.root / "home.conflict.md").write_bytes(b"\xff")
    with pytest.raises(FolderError, match="is not UTF-8"):
        await desk.replica.conflict_file(HOME)


# -- what is kept out ----------------------------------------------------------------


async def test_page_that_becomes_ignored_is_untracked_and_not_gone(desk: Desk) -> None:
    desk.put("home.md")
    desk.put("drafts/a.md")
    await desk.replica.snapshot()
    desk.put(".wikisyncignore", "home.md\ndrafts/\n")
    seen = await desk.replica.snapshot()
    assert seen.pages == {}
    assert HOME in seen.unreadable
    assert seen.problems == ()
    known = [(Slug(s), Format.MARKDOWN) for s in ("home", "drafts/a", "b", "drafts/b")]
    assert await desk.replica.untracked(known) == {"home", "drafts/a", "drafts/b"}


async def test_ignored_page_is_not_written(desk: Desk) -> None:
    desk.put(".wikisyncignore", "drafts/\n")
    await desk.replica.snapshot()
    with pytest.raises(FolderError, match="excluded from the sync"):
        await desk.replica.write(page("drafts/a", "x"), expected=None)
    await desk.replica.write(page("a", "x"), expected=None)
    assert set(desk.files) == {".wikisyncignore", "a.md"}


async def test_ignore_file_that_cannot_be_read_stops_the_scan(desk: Desk) -> None:
    """Or drafts would be uploaded."""
    (desk.root / ".wikisyncignore").write_bytes(b"\xff")
    with pytest.raises(FolderError, match="is not UTF-8"):
        await desk.replica.snapshot()
    (desk.root / ".wikisyncignore").write_bytes(b"x" * 100_000)
    with pytest.raises(FolderError, match="is larger than"):
        await desk.replica.snapshot()


async def test_pattern_that_is_none_is_told(desk: Desk) -> None:
    desk.put(".wikisyncignore", "!\n")
    (problem,) = (await desk.replica.snapshot()).problems
    assert problem.subject == ".wikisyncignore, line 1"


async def test_page_behind_a_link_is_not_gone(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("theirs")
    (desk.root / "dir").symlink_to(outside)
    (desk.root / "home.md").symlink_to(outside / "a.md")
    seen = await desk.replica.snapshot()
    assert seen.pages == {}
    assert HOME in seen.unreadable
    assert [p.code for p in seen.problems] == ["link-ignored"] * 2
    known = [(Slug("dir/a"), Format.MARKDOWN), (Slug("b"), Format.MARKDOWN)]
    assert await desk.replica.untracked(known) == {"dir/a"}


async def test_link_that_is_ignored_is_not_told(desk: Desk, tmp_path: Path) -> None:
    (desk.root / "link.md").symlink_to(tmp_path / "outside")
    desk.put(".wikisyncignore", "link.md\n")
    assert (await desk.replica.snapshot()).problems == ()


async def test_page_whose_place_a_folder_has_is_not_gone(desk: Desk) -> None:
    desk.put("home.md/inner.md")
    seen = await desk.replica.snapshot()
    assert set(seen.pages) == {"home.md/inner"}
    assert HOME in seen.unreadable


async def test_page_in_a_folder_that_cannot_be_listed_is_not_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("closed/a.md")
    closed = (desk.root / "closed").stat().st_ino
    scandir = os.scandir

    def refuse(descriptor: int) -> object:
        if os.fstat(descriptor).st_ino == closed:
            raise PermissionError(13, "Permission denied")
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", refuse)
    seen = await desk.replica.snapshot()
    assert not seen.is_complete
    (problem,) = seen.problems
    assert (problem.code, problem.subject) == ("folder-unreadable", "closed")
    known = [(Slug("closed/a"), Format.MARKDOWN)]
    assert await desk.replica.untracked(known) == {"closed/a"}


async def test_attention_page_of_ours_is_no_page_and_no_page_takes_its_name(
    desk: Desk,
) -> None:
    desk.put("WIKISYNC-ATTENTION.md")
    assert (await desk.replica.snapshot()).pages == {}
    await desk.replica.write(page("WIKISYNC-ATTENTION", "theirs"), expected=None)
    assert set((await desk.replica.snapshot()).pages) == {"WIKISYNC-ATTENTION"}
    assert desk.files["WIKISYNC-ATTENTION.md"] == "old"
