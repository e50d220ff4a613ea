"""Absence is not deletion: sightings, the control read, and the time between."""

from pathlib import Path

import pytest

from tests.support.copies import Copies, rested
from tests.support.pair import paired
from wikisync.core.model import Slug, digest_of
from wikisync.errors import NotFound, Unavailable
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Sighting
from wikisync.sync.decide.plan import SkipReason
from wikisync.sync.run.parts import CycleOptions, Patience
from wikisync.sync.run.removals import is_certain, seen_again

HOME = Slug("home")
PAGES = {"home": "one\n", "other": "other\n", "third": "third\n"}


@pytest.fixture
async def copies(state: State) -> Copies:
    return await rested(state, PAGES)


def test_a_clock_that_was_set_back_starts_the_count_anew() -> None:
    assert seen_again({HOME: Sighting(2, 100.0, 130.0)}, {HOME}, 50.0) == {
        HOME: Sighting(1, 50.0, 50.0)
    }


def test_neither_scans_nor_time_alone_are_certain() -> None:
    assert not is_certain(Sighting(2, 0.0, 3600.0), 3, 60.0)
    assert not is_certain(Sighting(8, 0.0, 59.0), 3, 60.0)


async def test_a_page_gone_from_the_wiki_goes_at_the_third_scan(copies: Copies) -> None:
    copies.there.remove("home")
    first, second, third = [await copies.cycle() for _ in range(3)]
    assert (first.removed, second.removed, third.removed) == (0, 0, 1)
    assert first.next_scan_s is not None
    assert [text for _, text, _ in copies.here.trash] == ["one\n"]


async def test_no_scan_is_waited_for_where_a_person_decides(state: State) -> None:
    copies = await rested(state, {f"page{number}": "text\n" for number in range(20)})
    for slug in [*copies.there.pages]:
        copies.there.remove(slug)
    result = await copies.cycle()
    assert result.batches
    assert result.next_scan_s is None


async def test_a_page_that_the_list_lacks_and_the_wiki_still_has_stays(
    copies: Copies,
) -> None:
    """Half of a list looks like deletions."""
    page = copies.there.pages[HOME]
    snapshot = copies.there.snapshot

    async def half() -> object:
        copies.there.pages.pop(HOME)
        seen = await snapshot()
        copies.there.pages[HOME] = page
        return seen

    copies.there.snapshot = half  # type: ignore[method-assign,assignment]
    for _ in range(6):
        result = await copies.cycle()
        assert [one.code for one in result.problems] == ["absence-doubted"]
    assert copies.here.changes == []


async def test_a_wiki_that_denies_everything_is_not_believed(copies: Copies) -> None:
    """The control read: a page on the list must answer."""
    copies.there.remove("home")

    copies.there.fail("read", NotFound("404 for everything"))
    await copies.cycles(6)
    assert copies.here.changes == []


async def test_an_ignored_page_is_deleted_nowhere(copies: Copies) -> None:
    """Its file is gone from the look, not from the disk."""
    copies.here.remove("home")
    copies.here.ignored = frozenset({HOME})
    await copies.rest()
    assert "home" in copies.there.texts()


async def test_nothing_is_removed_in_a_cycle_with_an_error(copies: Copies) -> None:
    at_once = CycleOptions(
        patience=Patience(
            remote_scans=1, remote_span_s=0.0, local_scans=1, local_span_s=0.0
        )
    )
    copies.there.remove("home")
    copies.here.put("other", "edited\n")

    copies.there.fail("write other", Unavailable("no answer"))
    result = await copies.cycle(at_once)
    assert not result.removed
    assert not result.has_more
    copies.there.before = copies.here.before
    assert (await copies.cycle(at_once)).removed == 1


async def test_a_page_that_may_be_a_new_one_that_cannot_be_read_stays(
    copies: Copies,
) -> None:
    """It was renamed, and saved in another encoding, between two looks."""
    await copies.here.move(HOME, Slug("start"), expected=digest_of("one\n"))
    copies.here.unreadable = frozenset({Slug("start")})
    result = await copies.cycles(4)
    assert [(one.slug, one.reason) for one in result.plan.skipped] == [
        (HOME, SkipReason.MAY_BE_UNREAD),
        (Slug("start"), SkipReason.UNREADABLE_HERE),
    ]
    copies.here.unreadable = frozenset()
    await copies.rest()
    assert copies.texts().keys() == {"start", "other", "third"}
    assert any(entry.startswith("move home start") for entry in copies.there.log)


async def test_so_does_one_that_the_wiki_s_list_lacked_at_that_scan(
    copies: Copies,
) -> None:
    await copies.here.move(HOME, Slug("start"), expected=digest_of("one\n"))
    copies.here.unreadable = frozenset({Slug("start")})
    page = copies.there.pages.pop(HOME)
    copies.there.is_complete = False
    await copies.cycle()
    copies.there.pages[HOME], copies.there.is_complete = page, True
    await copies.cycles(4)
    assert "home" in copies.there.texts()
    copies.here.unreadable = frozenset()
    await copies.rest()
    assert copies.texts().keys() == {"start", "other", "third"}


async def test_a_page_that_is_kept_out_of_the_sync_keeps_no_removal_back(
    tmp_path: Path,
) -> None:
    async with paired(tmp_path, PAGES) as pair:
        await pair.rest()
        (pair.folder / ".wikisyncignore").write_text("draft.md\n")
        pair.save("draft", "mine\n")
        pair.remove("home")
        for _ in range(3):
            await pair.cycle()
        assert "home" not in await pair.wiki_texts()
