"""Cycles that look at nothing of the folder but the files that were saved."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.pair import Pair, paired
from wikisync.core.model import Format, PageState, Slug, Snapshot, digest_of
from wikisync.folder.pages import PageFolder
from wikisync.sync.decide.ledger import Side
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.run.deciding import is_saved_enough
from wikisync.sync.run.parts import CycleOptions, CycleResult

HOME, PLAN = Slug("home"), Slug("plan")
TEXT = digest_of("text")
STATES = {slug: PageState(slug, Format.MARKDOWN, TEXT) for slug in (HOME, PLAN)}
BASE = {slug: BasePage(slug, Format.MARKDOWN, TEXT, TEXT) for slug in STATES}
HERE = Snapshot(STATES, is_partial=True)
THERE = Snapshot(STATES, is_remembered=True)
ONE = {HOME: STATES[HOME]}
REST = {PLAN: STATES[PLAN]}
OTHER = digest_of("other")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """Two pages in sync, and a wiki that is taken as it was last seen."""
    async with paired(tmp_path) as pair:
        await pair.edit(HOME, "home\n")
        await pair.edit(PLAN, "plan\n")
        await pair.cycle()
        await pair.cycle()
        yield pair


async def after_saving(pair: Pair, *names: str) -> CycleResult:
    """A cycle that is told of these files."""
    pair.remote.is_remembering = pair.remote.keeps_files = True
    options = CycleOptions(saved=frozenset(f"{name}.md" for name in names))
    return await pair.cycle(options)


def refuse_scans(patched: pytest.MonkeyPatch) -> None:
    def scan(_folder: PageFolder) -> None:
        raise AssertionError("the whole folder was scanned")

    patched.setattr(PageFolder, "rescan", scan)


async def test_a_save_is_pushed_without_a_scan_of_the_folder(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_scans(monkeypatch)
    for text in ("home, better\n", "home, best of all\n"):
        pair.save(HOME, text)
        assert (await after_saving(pair, HOME)).pushed == 1
        assert await pair.wiki_texts() == {HOME: text, PLAN: "plan\n"}


async def test_a_wiki_without_news_takes_no_scan_of_the_folder(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its newest commit may be our own."""
    pair.save(HOME, "home, better\n")
    await after_saving(pair, HOME)
    refuse_scans(monkeypatch)
    pair.save(PLAN, "plan, better\n")
    pair.remote.is_remembering = False
    result = await pair.cycle(CycleOptions(saved=frozenset({"plan.md"})))
    assert result.pushed == 1
    assert (await pair.cycle(CycleOptions(saved=frozenset()))).is_quiet
    assert await pair.wiki_texts() == pair.texts()


@pytest.mark.parametrize("told", [["new"], [HOME, "new"]])
async def test_a_new_page_takes_a_whole_scan(pair: Pair, told: list[str]) -> None:
    pair.save("new", "new\n")
    pair.save(PLAN, "plan, better\n")
    assert (await after_saving(pair, *told)).pushed == 2


async def test_an_absence_counts_only_where_it_is_looked_for(pair: Pair) -> None:
    """The file is back, and only the event that says so is missing."""
    pair.remove(HOME)
    await pair.cycle()
    pair.save(HOME, "home\n")
    pair.now += 60
    pair.save(PLAN, "plan, better\n")
    await after_saving(pair, PLAN)
    assert not pair.known.sightings(Side.LOCAL)
    assert await pair.wiki_texts() == {HOME: "home\n", PLAN: "plan, better\n"}


async def test_a_file_that_lost_half_takes_a_whole_scan(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.save(HOME, "h")
    refuse_scans(monkeypatch)
    with pytest.raises(AssertionError, match="whole folder"):
        await after_saving(pair, HOME)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (HERE, Snapshot({HOME: replace(STATES[HOME], digest=OTHER), **REST})),
        (HERE, Snapshot({HOME: replace(STATES[HOME], format=Format.ORG), **REST})),
        (HERE, Snapshot({HOME: replace(STATES[HOME], identity="7"), **REST})),
        (HERE, replace(THERE, is_complete=False)),
        (HERE, replace(THERE, unreadable=frozenset({HOME}))),
        (HERE, replace(THERE, pages=ONE)),
        (replace(HERE, is_complete=False), THERE),
        (replace(HERE, pages=ONE), THERE),
        (replace(HERE, unreadable=frozenset({Slug("new")})), THERE),
        (replace(HERE, pages=ONE), replace(THERE, pages=ONE)),
    ],
)
def test_only_new_texts_of_pages_on_both_sides_need_no_more(
    here: Snapshot, there: Snapshot
) -> None:
    assert is_saved_enough(BASE, HERE, THERE)
    assert is_saved_enough(BASE, HERE, replace(THERE, is_remembered=False))
    assert not is_saved_enough(BASE, here, there)
