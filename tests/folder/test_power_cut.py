"""After a power cut at any moment each page is the old or the new one, never half."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.power_cut import Disk, State, Synced, recorded
from wikisync.core.model import digest_of
from wikisync.folder.swap import FileWrite, FolderWriter, OwnFolders

OLD, NEW = b"the old text of the page\n" * 20, b"the new text of the page\n" * 30
HOME, GUIDE = "wiki/home.md", "wiki/guide/first.md"

Writing = Callable[[], FolderWriter]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with two pages."""
    (tmp_path / "wiki/guide").mkdir(parents=True)
    for own in ("tmp", "limbo", "trash"):
        (tmp_path / ".wikisync" / own).mkdir(parents=True)
    for path in (HOME, GUIDE):
        (tmp_path / path).write_bytes(OLD)
    return tmp_path


@pytest.fixture(params=["our own", "two ways"])
def writing(place: Path, request: pytest.FixtureRequest) -> Writing:
    """A writer of files of ours, or of a folder that a person edits."""
    if request.param == "two ways":
        return OwnFolders.of(place / "wiki").writer
    return lambda: FolderWriter(place / "wiki", temporary=place / ".wikisync/tmp")


def texts_in(state: State, folder: str) -> list[bytes]:
    return [content for path, content in state.items() if path.startswith(folder)]


def states(disk: Disk) -> Iterator[State]:
    assert len(disk.calls) > 1, "nothing was recorded"
    return disk.cuts()


def test_a_replaced_page_is_old_or_new_and_new_when_the_write_is_done(
    place: Path, writing: Writing
) -> None:
    with recorded(place) as disk, writing() as writer:
        writer.write_many([FileWrite("home.md", NEW, digest_of(OLD))])
    assert {state.get(HOME) for state in states(disk)} == {OLD, NEW}
    assert {state.get(HOME) for state in disk._states(disk.calls)} == {NEW}


def test_a_new_page_is_whole_or_not_there(place: Path, writing: Writing) -> None:
    with recorded(place) as disk, writing() as writer:
        writer.write_many([FileWrite("new/page.md", NEW, None)])
    assert {state.get("wiki/new/page.md") for state in states(disk)} == {None, NEW}


def test_many_pages_at_once_are_old_or_new(place: Path, writing: Writing) -> None:
    """They are brought to the disk in one go, by another way."""
    for number in range(12):
        (place / f"wiki/page-{number}.md").write_bytes(OLD)
    writes = [
        FileWrite(f"page-{number}.md", NEW, digest_of(OLD)) for number in range(12)
    ]
    with recorded(place) as disk, writing() as writer:
        writer.write_many(writes)
    assert Synced() in disk.calls
    for state in states(disk):
        found = {state.get(f"wiki/page-{number}.md") for number in range(12)}
        assert found <= {OLD, NEW}


def test_a_removed_page_is_in_the_folder_or_in_the_trash(place: Path) -> None:
    with recorded(place) as disk, OwnFolders.of(place / "wiki").writer() as writer:
        writer.remove("home.md", expected=digest_of(OLD), why="deleted on the wiki")
    for state in states(disk):
        assert state.get(HOME) in {OLD, None}
        assert state.get(HOME) == OLD or OLD in texts_in(state, ".wikisync/trash")


def test_a_renamed_page_has_one_of_its_names(place: Path) -> None:
    with recorded(place) as disk, OwnFolders.of(place / "wiki").writer() as writer:
        writer.move("home.md", "guide/home.md", expected=digest_of(OLD))
    for state in states(disk):
        found = [state.get(HOME), state.get("wiki/guide/home.md")]
        assert OLD in found
        assert set(found) <= {OLD, None}


def test_no_other_page_is_touched(place: Path) -> None:
    with recorded(place) as disk, OwnFolders.of(place / "wiki").writer() as writer:
        writer.write_many([FileWrite("home.md", NEW, digest_of(OLD))])
        writer.remove("home.md", expected=digest_of(NEW), why="deleted on the wiki")
    assert {state.get(GUIDE) for state in states(disk)} == {OLD}


def test_without_fsync_the_model_sees_half_a_page(
    place: Path, writing: Writing
) -> None:
    """The proof proves something: the same calls without the waits would lose."""
    with recorded(place) as disk, writing() as writer:
        writer.write_many([FileWrite("home.md", NEW, digest_of(OLD))])
    careless = replace(
        disk, calls=[call for call in disk.calls if not isinstance(call, Synced)]
    )
    found = {state.get(HOME) for state in careless.cuts()}
    assert {b"", NEW[: len(NEW) // 2]} <= found
