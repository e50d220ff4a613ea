"""What is in the place of a conflict file, or cannot go away from it."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.support import clash
from tests.support.copies import Copies
from tests.support.pair import Pair
from wikisync.core.model import Slug
from wikisync.errors import FolderError, PreconditionFailed, WikisyncError
from wikisync.sync.base.state import State


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with clash.clashing(tmp_path) as opened:
        yield opened


def put_link(place: Path) -> None:
    place.symlink_to(place.parent.parent / "outside")


def put_link_to_file(place: Path) -> None:
    (place.parent.parent / "outside").write_text("outside\n")
    put_link(place)


IN_THE_WAY = pytest.mark.parametrize(
    "put", [put_link, put_link_to_file, Path.mkdir, os.mkfifo]
)


def forget_conflict(pair: Pair) -> None:
    """As if this had been in the place before both sides were edited."""
    pair.known.drop_conflict_file(Slug("home"))


def take_place(pair: Pair, put: Callable[[Path], None]) -> None:
    """Something else comes where the conflict file was."""
    clash.conflict_file_of(pair).unlink()
    put(clash.conflict_file_of(pair))


def scans_of(pair: Pair) -> tuple[int, list[str]]:
    """What is in the place of the conflict file, and beside the wiki's folder."""
    mode = clash.conflict_file_of(pair).lstat().st_mode
    return mode, sorted(path.name for path in pair.root.iterdir())


@IN_THE_WAY
@pytest.mark.parametrize("forget", [Pair.restart, forget_conflict])
async def test_what_is_in_its_place_is_named_and_other_pages_go_on(
    pair: Pair, put: Callable[[Path], None], forget: Callable[[Pair], None]
) -> None:
    """A problem would keep every removal back, for as long as it is there."""
    take_place(pair, put)
    forget(pair)
    before = scans_of(pair)
    pair.remove("other")
    result = await pair.rest()
    (held,) = result.held
    assert "home.conflict.md" in held.detail
    assert (held.conflict_file, held.step) == ("", "move home.conflict.md away")
    assert result.problems == ()
    assert set(await pair.wiki_texts()) == {"home"}
    assert scans_of(pair) == before


async def test_file_that_comes_into_its_place_is_no_settlement(pair: Pair) -> None:
    """Nobody was shown what clashes; it may be what the link led to."""
    take_place(pair, put_link)
    await pair.rest()
    clash.conflict_file_of(pair).unlink()
    clash.conflict_file_of(pair).write_text("some notes\n")
    await pair.rest()
    assert pair.texts()["home"] == clash.MINE
    assert "first, theirs" in clash.conflict_file_of(pair).read_text()
    trashed = (pair.private / "trash").rglob("*")
    assert "some notes\n" in {one.read_text() for one in trashed if one.is_file()}


@IN_THE_WAY
async def test_page_that_is_renamed_has_its_conflict_file_there(
    pair: Pair, put: Callable[[Path], None]
) -> None:
    take_place(pair, put)
    await pair.rest()
    before = scans_of(pair)
    clash.rename_here(pair)
    result = await pair.rest()
    assert [one.conflict_file for one in result.held] == ["start.conflict.md"]
    assert "first, theirs" in (pair.folder / "start.conflict.md").read_text()
    assert scans_of(pair) == before


@pytest.mark.parametrize(
    ("error", "codes"),
    [
        (FolderError("permission denied"), ["conflict-unclear"]),
        (PreconditionFailed("saved in the same moment"), []),
    ],
)
async def test_conflict_file_that_cannot_be_removed_keeps_no_other_page_back(
    state: State, error: WikisyncError, codes: list[str]
) -> None:
    copies = Copies(state, {"home": clash.BASE, "other": "other\n"})
    copies.here.put("home", clash.MINE)
    copies.there.put("home", clash.THEIRS)
    await copies.rest()
    copies.here.put("home", clash.THEIRS)
    copies.here.put("other", "edited\n")
    copies.here.fail("remove_conflict home", error)
    result = await copies.cycle()
    assert [one.code for one in result.problems] == codes
    assert copies.there.texts()["other"] == "edited\n"
    copies.here.before = copies.there.before
    await copies.rest()
    assert (copies.here.conflicts, copies.known.conflict_files()) == ({}, {})
