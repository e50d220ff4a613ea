"""Conflict files on a real disk beside a real wiki (``sync.md`` 3.4)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.pair import Pair, paired
from wikisync.model import Slug, digest_of
from wikisync.sync.conflict import Clash, has_marker, read_bundle
from wikisync.sync.deciding import ExchangeOptions
from wikisync.sync.ledger import Edit
from wikisync.sync.narrowing import Direction

PULL = ExchangeOptions(direction=Direction.PULL)
PUSH = ExchangeOptions(direction=Direction.PUSH)
BASE = "# Home\n\nfirst\n\nlast\n"
MINE = "# Home\n\nfirst, mine\n\nlast\n"
THEIRS = "# Home\n\nfirst, theirs\n\nlast\n"
BOTH = "# Home\n\nfirst, mine and theirs\n\nlast\n"


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """A page that was edited in one line on both sides, and held for it."""
    async with paired(tmp_path, {"home": BASE, "other": "other\n"}) as opened:
        await opened.rest()
        opened.save("home", MINE)
        await opened.edit("home", THEIRS)
        await opened.rest()
        yield opened


def bundle_of(pair: Pair) -> Path:
    return pair.folder / "home.conflict.md"


async def test_a_clash_touches_neither_side_and_shows_both_texts(pair: Pair) -> None:
    assert pair.texts()["home"] == MINE
    assert (await pair.wiki_texts())["home"] == THEIRS
    shown = read_bundle(bundle_of(pair).read_text())
    clashes = [piece for piece in shown.pieces if isinstance(piece, Clash)]
    assert [(one.local, one.remote) for one in clashes] == [
        ("first, mine\n", "first, theirs\n")
    ]


async def test_other_pages_go_on_while_one_is_held(pair: Pair) -> None:
    pair.save("other", "edited\n")
    result = await pair.rest()
    assert (await pair.wiki_texts())["other"] == "edited\n"
    assert [one.slug for one in result.held] == ["home"]


async def test_a_conflict_file_is_no_page(pair: Pair) -> None:
    assert set(await pair.wiki_texts()) == {"home", "other"}
    assert not any(has_marker(text) for text in (await pair.wiki_texts()).values())


async def test_saved_without_marker_lines_it_becomes_the_page(pair: Pair) -> None:
    bundle_of(pair).write_text(BOTH)
    result = await pair.rest()
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == BOTH
    assert not bundle_of(pair).exists()
    assert not result.held


async def test_the_wikis_text_that_a_settlement_replaces_is_kept(pair: Pair) -> None:
    bundle_of(pair).write_text(MINE)
    await pair.rest()
    trash = pair.private / "trash"
    kept = [path.read_bytes() for path in trash.rglob("*") if path.is_file()]
    assert any(THEIRS.encode() in content for content in kept)


async def test_half_settled_it_waits(pair: Pair) -> None:
    text = bundle_of(pair).read_text()
    bundle_of(pair).write_text(text + "a thought\n")
    result = await pair.rest()
    assert bundle_of(pair).read_text() == text + "a thought\n"
    assert [one.slug for one in result.held] == ["home"]


async def test_a_broken_marker_line_is_told_and_nothing_is_sent(pair: Pair) -> None:
    text = bundle_of(pair).read_text()
    bundle_of(pair).write_text(text.replace("1 of 1: end %%%%", "1 of 1: ende"))
    result = await pair.cycle()
    assert [one.code for one in result.problems] == ["conflict-unclear"]
    assert (await pair.wiki_texts())["home"] == THEIRS


async def test_deleted_it_is_hidden_and_the_page_stays_held(pair: Pair) -> None:
    bundle_of(pair).unlink()
    result = await pair.rest()
    assert not bundle_of(pair).exists()
    assert [(one.slug, one.has_bundle) for one in result.held] == [("home", False)]


async def test_a_page_made_equal_to_the_wikis_is_settled(pair: Pair) -> None:
    pair.save("home", THEIRS)
    result = await pair.rest()
    assert not result.held
    assert not bundle_of(pair).exists()


async def test_a_page_taken_back_on_both_sides_is_settled(pair: Pair) -> None:
    """Then the plan has nothing to do, and the conflict file is all that is left."""
    pair.save("home", BASE)
    await pair.edit("home", BASE)
    result = await pair.rest()
    assert result.plan.actions == ()
    assert not bundle_of(pair).exists()


async def test_a_page_edited_beside_it_brings_it_up_to_date(pair: Pair) -> None:
    pair.save("home", MINE.replace("mine", "mine, later"))
    await pair.rest()
    assert "first, mine, later" in bundle_of(pair).read_text()


async def test_a_wiki_edited_beside_it_brings_it_up_to_date(pair: Pair) -> None:
    await pair.edit("home", THEIRS.replace("theirs", "theirs, later"))
    await pair.rest()
    assert "first, theirs, later" in bundle_of(pair).read_text()


async def test_a_begun_settlement_is_never_written_over(pair: Pair) -> None:
    begun = bundle_of(pair).read_text() + "begun\n"
    bundle_of(pair).write_text(begun)
    await pair.edit("home", THEIRS.replace("theirs", "theirs, later"))
    await pair.rest()
    assert bundle_of(pair).read_text() == begun


async def test_settled_while_the_page_was_edited_elsewhere_keeps_both(
    pair: Pair,
) -> None:
    pair.save("home", MINE.replace("last", "last, later"))
    bundle_of(pair).write_text(BOTH)
    await pair.rest()
    wanted = BOTH.replace("last", "last, later")
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == wanted


async def test_settled_while_the_same_line_was_edited_asks_again(pair: Pair) -> None:
    pair.save("home", MINE.replace("mine", "mine, later"))
    bundle_of(pair).write_text(BOTH)
    result = await pair.cycle()
    assert "conflict-again" in {one.code for one in result.problems}
    await pair.rest()
    shown = bundle_of(pair).read_text()
    assert "first, mine and theirs" in shown
    assert "first, mine, later" in shown


async def test_what_was_asked_again_is_settled_by_saving_it(pair: Pair) -> None:
    pair.save("home", MINE.replace("mine", "mine, later"))
    bundle_of(pair).write_text(BOTH)
    await pair.rest()
    settled = BOTH.replace("theirs", "theirs, later")
    bundle_of(pair).write_text(settled)
    await pair.rest()
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == settled


async def test_settled_while_the_wiki_was_edited_merges_that_too(pair: Pair) -> None:
    await pair.edit("home", THEIRS.replace("last", "last, on the wiki"))
    bundle_of(pair).write_text(BOTH)
    await pair.rest()
    wanted = BOTH.replace("last", "last, on the wiki")
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"] == wanted


async def test_a_restart_remembers_what_is_held(pair: Pair) -> None:
    before = bundle_of(pair).read_text()
    pair.restart()
    result = await pair.rest()
    assert [one.slug for one in result.held] == ["home"]
    assert bundle_of(pair).read_text() == before


async def test_pages_made_on_both_sides_are_shown_side_by_side(pair: Pair) -> None:
    pair.save("fresh", "same\nmine\n")
    await pair.edit("fresh", "same\ntheirs\n")
    result = await pair.rest()
    assert "fresh" in {one.slug for one in result.held}
    shown = (pair.folder / "fresh.conflict.md").read_text()
    assert "mine" in shown
    assert "theirs" in shown


async def test_settled_while_the_page_was_renamed_keeps_no_cycle_busy(
    pair: Pair,
) -> None:
    """It waits: another cycle at once would find no more than this one."""
    (pair.folder / "home.md").unlink()
    bundle_of(pair).write_text(BOTH)
    result = await pair.cycle(ExchangeOptions(direction=Direction.PUSH))
    assert not result.has_more
    await pair.rest()
    assert pair.texts()["home"] == (await pair.wiki_texts())["home"]


# -- who wrote it, and when --------------------------------------------------------


def label_of(pair: Pair) -> str:
    lines = bundle_of(pair).read_text().splitlines()
    return next(line for line in lines if "on the wiki" in line)


def minute(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


async def test_the_wikis_text_says_when_it_was_seen_first(pair: Pair) -> None:
    at = pair.known.bundles()[Slug("home")].at
    assert label_of(pair).endswith(f" on the wiki, seen {minute(at)} %%%%")
    pair.now += 3600
    pair.save("home", MINE.replace("mine", "mine, later"))
    await pair.rest()
    assert label_of(pair).endswith(f" on the wiki, seen {minute(at)} %%%%")


async def test_the_wikis_text_says_who_wrote_it_where_that_was_told(
    pair: Pair,
) -> None:
    later = THEIRS.replace("theirs", "theirs, later")
    edit = Edit(digest_of(later), "Ann %%%% Example", pair.now + 60)
    pair.known.note_edits({Slug("home"): edit})
    await pair.edit("home", later)
    await pair.rest()
    told = f" on the wiki, Ann Example, {minute(edit.at)} %%%%"
    assert label_of(pair).endswith(told)
    assert read_bundle(bundle_of(pair).read_text()).problem == ""


async def test_who_wrote_another_text_is_not_said_to_have_written_this_one(
    pair: Pair,
) -> None:
    edit = Edit(digest_of("another"), "Ann", pair.now)
    pair.known.note_edits({Slug("home"): edit})
    await pair.edit("home", THEIRS.replace("theirs", "theirs, later"))
    await pair.rest()
    assert "Ann" not in label_of(pair)


async def test_label_that_changes_alone_leaves_a_begun_settlement(pair: Pair) -> None:
    begun = bundle_of(pair).read_text() + "begun\n"
    bundle_of(pair).write_text(begun)
    edit = Edit(digest_of(THEIRS), "Ann", pair.now)
    pair.known.note_edits({Slug("home"): edit})
    await pair.rest()
    assert bundle_of(pair).read_text() == begun


# -- a dry run ---------------------------------------------------------------------


@pytest.mark.parametrize("less", [ExchangeOptions(), PULL, PUSH])
@pytest.mark.parametrize("settled", [BOTH, MINE, THEIRS, BASE])
@pytest.mark.parametrize(
    ("here", "there"),
    [
        (MINE, THEIRS),
        (MINE, THEIRS.replace("last", "last, on the wiki")),
        (MINE, THEIRS.replace("theirs", "theirs, later")),
        (MINE.replace("last", "last, here"), THEIRS),
        (MINE.replace("mine", "mine, later"), THEIRS),
    ],
)
async def test_a_dry_run_takes_settled_conflict_files_as_the_run_does(
    pair: Pair, here: str, there: str, settled: str, less: ExchangeOptions
) -> None:
    pair.save("home", here)
    await pair.edit("home", there)
    bundle_of(pair).write_text(settled)
    files = {path: path.read_bytes() for path in pair.folder.iterdir()}
    dry = await pair.cycle(replace(less, is_dry_run=True))
    assert {path: path.read_bytes() for path in pair.folder.iterdir()} == files
    run = await pair.cycle(less)
    assert (dry.plan, dry.problems) == (run.plan, run.problems)


# -- renamed while it is held ------------------------------------------------------


def rename_here(pair: Pair) -> None:
    (pair.folder / "home.md").rename(pair.folder / "start.md")


async def test_a_begun_settlement_follows_its_page(pair: Pair) -> None:
    begun = bundle_of(pair).read_text() + "begun\n"
    bundle_of(pair).write_text(begun)
    rename_here(pair)
    result = await pair.rest()
    assert (pair.folder / "start.conflict.md").read_text() == begun
    assert not bundle_of(pair).exists()
    assert [(one.slug, one.has_bundle) for one in result.held] == [("start", True)]


async def test_a_settled_page_that_was_renamed_is_carried(pair: Pair) -> None:
    bundle_of(pair).write_text(BOTH)
    rename_here(pair)
    result = await pair.rest()
    assert pair.texts() == await pair.wiki_texts()
    assert pair.texts() == {"start": BOTH, "other": "other\n"}
    assert result.held == ()


@pytest.mark.parametrize(
    "less", [PULL, ExchangeOptions(pages=frozenset({Slug("other")}))]
)
async def test_a_begun_settlement_stays_where_its_rename_is_left_out(
    pair: Pair, less: ExchangeOptions
) -> None:
    begun = bundle_of(pair).read_text() + "begun\n"
    bundle_of(pair).write_text(begun)
    rename_here(pair)
    await pair.rest(less)
    assert bundle_of(pair).read_text() == begun
    await pair.rest()
    assert (pair.folder / "start.conflict.md").read_text() == begun


async def test_a_begun_settlement_stays_where_its_rename_is_refused(
    pair: Pair,
) -> None:
    begun = bundle_of(pair).read_text() + "begun\n"
    bundle_of(pair).write_text(begun)
    (pair.folder / "home.md").rename(pair.folder / f"{'q' * 250}.md")
    await pair.cycle()
    assert bundle_of(pair).read_text() == begun
    assert len(list(pair.folder.glob("*.conflict.md"))) == 1
