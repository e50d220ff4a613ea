"""Errors with single pages, on real parts: what they keep back, and for how long."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.pair import Pair, paired
from tests.support.quirks import Quirk
from wikisync.core.model import Page, Problem, Slug, Snapshot, digest_of
from wikisync.errors import ProtocolViolation
from wikisync.sync.decide.plan import DeleteLocal, Plan, SkipReason
from wikisync.sync.run.removals import put_off

PAGES = {"home": "one\n", "guide": "a guide\n", "notes": "notes\n", "old": "old\n"}
WRONG = Problem("page-unwritable", "home", "read-only")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """All in sync, but for a page whose absence on the wiki is nearly certain."""
    async with paired(tmp_path, PAGES) as made:
        await made.rest()
        await made.erase("old")
        await made.cycle()
        await made.cycle()
        yield made


async def blocked(pair: Pair, text: str = "old\nand more\n") -> None:
    """A page of the wiki cannot be written: a file is in its folder's place."""
    (pair.folder / "plans").write_text("a list\n")
    await pair.edit("plans/2027", text)


async def test_lasting_error_asks_for_no_further_cycle_at_once(pair: Pair) -> None:
    """A watch would spin, and a sync run eight rounds, on what nothing changes."""
    await blocked(pair)
    result = await pair.cycle()
    assert not result.has_more
    assert [one.code for one in result.problems] == [
        "page-unwritable",
        "removals-postponed",
    ]
    assert [(one.slug, one.reason) for one in result.plan.skipped] == [
        (Slug("old"), SkipReason.TROUBLE)
    ]
    assert "old" in pair.texts()


async def test_removal_goes_through_once_the_refused_page_is_held(pair: Pair) -> None:
    """From then on nothing is sent, so no cycle has an error any more."""
    pair.service.quirks = frozenset({Quirk.RESERVED_TITLES})
    pair.remove("notes")
    await pair.cycle()
    pair.save("templates", "our templates\n")
    refused = await pair.cycle()
    assert [one.subject for one in refused.problems] == ["templates"]
    held = await pair.cycle()
    assert [one.slug for one in held.held] == ["templates"]
    assert "notes" not in await pair.wiki_texts()
    assert not held.has_more


async def test_page_that_cannot_be_written_keeps_no_other_removal_back(
    pair: Pair,
) -> None:
    """No page of a wiki with one page of 50 MB was ever removed."""
    await blocked(pair, "soon\n")
    pair.remove("notes")
    result = await pair.cycle()
    assert [one.subject for one in result.problems] == ["plans/2027"]
    assert "old" not in pair.texts()
    await pair.cycle()
    await pair.cycle()
    assert set(await pair.wiki_texts()) == {"home", "guide", "plans/2027"}
    good_at = pair.known.memory.health.last_good_at
    assert good_at is not None
    assert good_at > pair.now - 60


async def test_page_whose_text_cannot_be_known_keeps_back_what_went_with_it(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been renamed into the one that cannot be read; later ones not."""
    unread = Slug("big")
    read = pair.remote.read

    async def refuse(slug: Slug) -> Page:
        if slug == unread:
            raise ProtocolViolation("the page is too large")
        return await read(slug)

    async def bare() -> Snapshot:
        seen = await snapshot()
        return replace(seen, texts={})

    snapshot = pair.remote.snapshot
    monkeypatch.setattr(pair.remote, "read", refuse)
    monkeypatch.setattr(pair.remote, "snapshot", bare)
    await pair.edit("big", "nobody knows\n")
    await pair.erase("guide")
    for _ in range(4):
        await pair.cycle()
    await pair.erase("notes")
    for _ in range(4):
        result = await pair.cycle()

    assert pair.texts().keys() == {"home", "guide", "old"}
    assert [(one.slug, one.reason) for one in result.plan.skipped] == [
        (Slug("guide"), SkipReason.TROUBLE),
        (Slug("old"), SkipReason.TROUBLE),
    ]


def test_sentence_names_the_first_few_removals_and_each_error_once() -> None:
    names = [Slug(f"p{number}") for number in range(5)]
    removals = Plan(tuple(DeleteLocal(name, digest_of("")) for name in names))
    _, (problem,) = put_off(removals, {name: [WRONG] for name in names})
    assert str(problem) == (
        "5 pages: their deletion waits until the problems with home are fixed"
        " (p0, p1, p2 and 2 more)"
    )


async def test_removal_that_fails_is_in_no_other_removals_way(pair: Pair) -> None:
    """Each one is tried, and a dry run says so."""
    (pair.private / "trash").write_text("a file\n")
    result = await pair.cycle()
    assert [one.subject for one in result.problems] == ["old"]
    scanned = await pair.plan()
    assert [one.slug for one in scanned.plan.removals] == ["old"]
    assert [one.subject for one in scanned.problems] == ["old"]
