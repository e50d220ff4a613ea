"""Conflict files on a real disk beside a real wiki (``docs/sync.md`` "Conflicts")."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.clash import (
    BASE,
    BOTH,
    MINE,
    THEIRS,
    begin,
    clashing,
    conflict_file_of,
    rename_here,
)
from tests.support.copies import Copies
from tests.support.pair import Pair
from wikisync.core.model import Slug, digest_of
from wikisync.merging.conflict import Clash, read_conflict_file
from wikisync.sync.base import database
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import unpack
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.run.parts import CycleOptions

PULL = CycleOptions(direction=Direction.PULL)
PUSH = CycleOptions(direction=Direction.PUSH)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with clashing(tmp_path) as opened:
        yield opened


async def test_a_clash_touches_neither_side_and_shows_both_texts(pair: Pair) -> None:
    assert pair.texts()["home"] == MINE
    assert (await pair.wiki_texts())["home"] == THEIRS
    shown = read_conflict_file(conflict_file_of(pair).read_text())
    clashes = [piece for piece in shown.pieces if isinstance(piece, Clash)]
    assert [(one.local, one.remote) for one in clashes] == [
        ("first, mine\n", "first, theirs\n")
    ]


async def test_saved_without_marker_lines_it_becomes_the_page(pair: Pair) -> None:
    conflict_file_of(pair).write_text(BOTH)
    result = await pair.rest()
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == BOTH
    assert not conflict_file_of(pair).exists()
    assert not result.held


async def test_the_wikis_text_that_a_settlement_replaces_is_kept(pair: Pair) -> None:
    conflict_file_of(pair).write_text(MINE)
    await pair.rest()
    trash = pair.private / "trash"
    kept = [path.read_bytes() for path in trash.rglob("*") if path.is_file()]
    assert any(THEIRS.encode() in content for content in kept)


async def test_a_broken_marker_line_is_told_and_nothing_is_sent(pair: Pair) -> None:
    text = conflict_file_of(pair).read_text()
    conflict_file_of(pair).write_text(text.replace("1 of 1: end %%%%", "1 of 1: ende"))
    result = await pair.cycle()
    assert [one.code for one in result.problems] == ["conflict-unclear"]
    assert (await pair.wiki_texts())["home"] == THEIRS


async def test_deleted_it_is_hidden_and_the_page_stays_held(pair: Pair) -> None:
    conflict_file_of(pair).unlink()
    result = await pair.rest()
    assert not conflict_file_of(pair).exists()
    assert [(one.slug, one.conflict_file) for one in result.held] == [("home", "")]


async def test_a_page_taken_back_on_both_sides_is_settled(pair: Pair) -> None:
    """Then the plan has nothing to do, and the conflict file is all that is left."""
    pair.save("home", BASE)
    await pair.edit("home", BASE)
    result = await pair.rest()
    assert result.plan.actions == ()
    assert not conflict_file_of(pair).exists()


async def test_a_begun_settlement_is_never_written_over(pair: Pair) -> None:
    begun = begin(pair)
    await pair.edit("home", THEIRS.replace("theirs", "theirs, later"))
    await pair.rest()
    assert conflict_file_of(pair).read_text() == begun


async def test_settled_while_the_page_was_edited_elsewhere_keeps_both(
    pair: Pair,
) -> None:
    pair.save("home", MINE.replace("last", "last, later"))
    conflict_file_of(pair).write_text(BOTH)
    await pair.rest()
    wanted = BOTH.replace("last", "last, later")
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == wanted


async def test_settled_while_the_same_line_was_edited_asks_again(pair: Pair) -> None:
    pair.save("home", MINE.replace("mine", "mine, later"))
    conflict_file_of(pair).write_text(BOTH)
    result = await pair.cycle()
    assert "conflict-again" in {one.code for one in result.problems}
    await pair.rest()
    shown = conflict_file_of(pair).read_text()
    assert "first, mine and theirs" in shown
    assert "first, mine, later" in shown


async def test_what_was_asked_again_is_settled_by_saving_it(pair: Pair) -> None:
    pair.save("home", MINE.replace("mine", "mine, later"))
    conflict_file_of(pair).write_text(BOTH)
    await pair.rest()
    settled = BOTH.replace("theirs", "theirs, later")
    conflict_file_of(pair).write_text(settled)
    await pair.rest()
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == settled


# -- who wrote it, and when --------------------------------------------------------


def label_of(pair: Pair) -> str:
    lines = conflict_file_of(pair).read_text().splitlines()
    return next(line for line in lines if "on the wiki" in line)


def minute(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


async def test_the_wikis_text_says_when_it_was_seen_first(pair: Pair) -> None:
    at = pair.known.conflict_files()[Slug("home")].at
    assert label_of(pair).endswith(f" on the wiki, seen {minute(at)} %%%%")
    pair.now += 3600
    pair.save("home", MINE.replace("mine", "mine, later"))
    await pair.rest()
    assert label_of(pair).endswith(f" on the wiki, seen {minute(at)} %%%%")


# -- a dry run ---------------------------------------------------------------------


HELD = (MINE, THEIRS)
LATER = (
    (MINE, THEIRS.replace("theirs", "theirs, later")),
    (MINE.replace("mine", "mine, later"), THEIRS),
)
BESIDE = (
    (MINE, THEIRS.replace("last", "last, on the wiki")),
    (MINE.replace("last", "last, here"), THEIRS),
)


@pytest.mark.parametrize("settled", [BOTH, MINE, THEIRS, BASE])
@pytest.mark.parametrize(
    ("here", "there", "less"),
    [
        *((*texts, CycleOptions()) for texts in (HELD, *LATER, *BESIDE)),
        *((*texts, less) for texts in LATER for less in (PULL, PUSH)),
    ],
)
async def test_a_dry_run_takes_settled_conflict_files_as_the_run_does(
    pair: Pair, here: str, there: str, settled: str, less: CycleOptions
) -> None:
    pair.save("home", here)
    await pair.edit("home", there)
    conflict_file_of(pair).write_text(settled)
    files = {path: path.read_bytes() for path in pair.folder.iterdir()}
    dry = await pair.plan(less)
    assert {path: path.read_bytes() for path in pair.folder.iterdir()} == files
    run = await pair.cycle(less)
    assert (dry.plan, dry.problems) == (run.plan, run.problems)


# -- renamed while it is held ------------------------------------------------------


async def test_a_settlement_is_never_taken_for_that_of_a_page_that_gets_the_name(
    state: State,
) -> None:
    """Its own page is gone on both sides; what was saved is in the trash."""
    copies = Copies(state, {"other": "other\n"})
    copies.there.identities = {Slug("home"): "1", Slug("other"): "2"}
    await copies.rest()
    copies.here.put("home", MINE)
    copies.there.put("home", THEIRS)
    copies.here.put("other", "other, mine\n")
    copies.there.put("other", "other, theirs\n")
    await copies.cycle()
    assert set(copies.here.conflicts) == {"home", "other"}
    copies.here.conflicts[Slug("home")] = BOTH
    copies.here.remove("home")
    for slug in ("home", "other"):
        copies.there.remove(slug)
    copies.there.put("home", "other, theirs\n")
    copies.there.identities[Slug("home")] = "2"
    await copies.rest()
    assert copies.here.texts() == {"home": "other, mine\n"}
    assert copies.there.texts() == {"home": "other, theirs\n"}
    (clash,) = read_conflict_file(copies.here.conflicts[Slug("home")]).pieces
    assert isinstance(clash, Clash)
    assert (clash.local, clash.remote) == ("other, mine\n", "other, theirs\n")


async def test_a_begun_settlement_follows_its_page(pair: Pair) -> None:
    begun = begin(pair)
    rename_here(pair)
    result = await pair.rest()
    assert (pair.folder / "start.conflict.md").read_text() == begun
    assert not conflict_file_of(pair).exists()
    assert [one.conflict_file for one in result.held] == ["start.conflict.md"]


async def test_a_settled_page_that_was_renamed_is_carried(pair: Pair) -> None:
    conflict_file_of(pair).write_text(BOTH)
    rename_here(pair)
    await pair.rest()
    assert pair.texts() == {"start": BOTH, "other": "other\n"}


@pytest.mark.parametrize("less", [PULL, CycleOptions(pages=frozenset({Slug("other")}))])
async def test_a_begun_settlement_stays_where_its_rename_is_left_out(
    pair: Pair, less: CycleOptions
) -> None:
    begun = begin(pair)
    rename_here(pair)
    await pair.rest(less)
    assert conflict_file_of(pair).read_text() == begun
    await pair.rest()
    assert (pair.folder / "start.conflict.md").read_text() == begun


# -- settled, and its page is elsewhere -----------------------------------------------


async def _nothing(_pair: Pair, _slug: str) -> None:
    pass


async def _edited(pair: Pair, slug: str) -> None:
    await pair.edit(slug, THEIRS + "\nmore\n")


async def _deleted(pair: Pair, slug: str) -> None:
    await pair.erase(slug)


async def _renamed(pair: Pair, slug: str) -> None:
    await pair.remote.move(Slug(slug), Slug("there"), expected=digest_of(THEIRS))


def _remove(page: Path, _conflict_file: Path) -> None:
    page.unlink()


def _rename(page: Path, _conflict_file: Path) -> None:
    page.rename(page.with_name("here.md"))


def _move(page: Path, conflict_file: Path) -> None:
    """With its conflict file, as with the folder of both."""
    (page.parent / "folder").mkdir()
    page.rename(page.parent / "folder" / page.name)
    conflict_file.rename(page.parent / "folder" / conflict_file.name)


async def _create(pair: Pair) -> Path:
    """A page that both sides created with different texts."""
    pair.save("home", THEIRS)
    pair.save("new", MINE)
    await pair.edit("new", THEIRS)
    await pair.rest()
    return pair.folder / "new.md"


async def _edit(pair: Pair) -> Path:
    """A page that both sides edited."""
    return pair.folder / "home.md"


@pytest.mark.parametrize("held", [_edit, _create])
@pytest.mark.parametrize("act", [_remove, _rename, _move])
@pytest.mark.parametrize("elsewhere", [_nothing, _edited, _deleted, _renamed])
async def test_a_settled_text_becomes_a_page_whatever_became_of_its_own(
    pair: Pair,
    held: Callable[[Pair], Awaitable[Path]],
    act: Callable[[Path, Path], None],
    elsewhere: Callable[[Pair, str], Awaitable[None]],
) -> None:
    page = await held(pair)
    conflict_file = page.with_suffix(".conflict.md")
    conflict_file.write_text(BOTH)
    act(page, conflict_file)
    await elsewhere(pair, page.stem)
    await pair.rest()
    assert (await pair.rest()).problems == ()
    here = pair.texts()
    assert any("first, mine and theirs" in text for text in here.values()), here
    assert (await pair.wiki_texts()) == here
    assert list(pair.folder.rglob("*.conflict.md")) == []


async def test_work_in_a_conflict_file_that_becomes_no_page_is_named_and_kept(
    pair: Pair,
) -> None:
    page = await _create(pair)
    conflict = page.with_suffix(".conflict.md")
    begun = conflict.read_text() + "begun\n"
    conflict.write_text(begun)
    page.unlink()
    result = await pair.cycle()
    assert [(one.code, one.subject) for one in result.problems] == [
        ("conflict-over", "new")
    ]
    assert pair.texts()["new"] == THEIRS
    assert not conflict.exists()
    trash = (pair.private / "trash").rglob("new.conflict.md")
    assert begun in [path.read_text() for path in trash]


# -- open in an editor ---------------------------------------------------------------


@pytest.fixture
def lock(pair: Pair) -> Path:
    """What vim leaves while it has the conflict file open."""
    path = pair.folder / ".home.conflict.md.swp"
    path.touch()
    return path


async def test_conflict_file_that_is_open_is_taken_when_it_is_closed(
    pair: Pair, lock: Path
) -> None:
    conflict_file_of(pair).write_text(BOTH)
    result = await pair.rest()
    assert pair.texts()["home"] == MINE
    assert conflict_file_of(pair).read_text() == BOTH
    (problem,) = result.problems
    assert problem.code == "conflict-open"
    assert ".home.conflict.md.swp" in problem.message
    lock.unlink()
    result = await pair.rest()
    assert result.problems == ()
    assert await pair.wiki_texts() == pair.texts() == {"home": BOTH, "other": "other\n"}
    assert not conflict_file_of(pair).exists()


async def test_conflict_file_that_is_open_is_not_written_anew(
    pair: Pair, lock: Path
) -> None:
    before = conflict_file_of(pair).read_text()
    await pair.edit("home", THEIRS.replace("theirs", "of others"))
    result = await pair.rest()
    assert [one.conflict_file for one in result.held] == ["home.conflict.md"]
    assert conflict_file_of(pair).read_text() == before
    lock.unlink()
    await pair.rest()
    assert "first, of others" in conflict_file_of(pair).read_text()


async def test_conflict_file_that_is_open_is_not_removed(
    pair: Pair, lock: Path
) -> None:
    """Its conflict is over: the page was made equal on both sides."""
    pair.save("home", THEIRS)
    result = await pair.rest()
    assert [one.code for one in result.problems] == ["conflict-open"]
    assert conflict_file_of(pair).exists()
    lock.unlink()
    result = await pair.rest()
    assert result.problems == ()
    assert not conflict_file_of(pair).exists()


async def test_held_pages_read_their_own_records_alone(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cycle of 1,000 held pages decompressed a million records."""
    names = [f"page{number}" for number in range(24)]
    for name in names:
        pair.save(name, BASE)
    await pair.rest()
    for name in names:
        pair.save(name, MINE)
        await pair.edit(name, THEIRS)
    await pair.rest()
    read: list[bytes] = []

    def noted(packed: bytes) -> str:
        read.append(packed)
        return unpack(packed)

    monkeypatch.setattr(database, "unpack", noted)
    result = await pair.cycle()

    assert len(result.held) == len(names) + 1
    # two texts of each, for some questions about all of them
    assert len(read) <= 2 * len(result.held) * 12
