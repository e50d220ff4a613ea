"""Daemon at rest: what many wikis cost in which nothing happens."""

import pytest

from tests.sync.virtual import START_S
from tests.watch.watched import AWAY, HOUR_S, Watch, gaps, hear, watched
from wikisync.core.system.parallel import WIKIS_AT_ONCE
from wikisync.errors import NotFound, RateLimited
from wikisync.watch import triggers
from wikisync.workspace import failures, runner
from wikisync.workspace.runner import CycleOutcome, ScanScope

NO_LIST = NotFound("no such group", url="https://gitlab.example.com")
LIMITED = RateLimited("slow down", url="https://gitlab.example.com", retry_after_s=None)
SCAN_REQUESTS = 3
"""Of one whole scan: where the wiki is, its newest commit, its pages."""


def times(watch: Watch) -> list[float]:
    """Of all hints."""
    return sorted(at for work in watch.works for at in work.hints)


@watched(*(f"wiki-{number}" for number in range(100)), is_listed=True)
async def test_five_hundred_wikis_of_a_group_take_less_than_a_request_a_second(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nothing changes here
    monkeypatch.setattr(triggers, "SCAN_INTERVAL_S", 20 * HOUR_S)
    began = 8 * HOUR_S
    await watch.at(began)
    await watch.at(began + 7 * HOUR_S)
    asked = sum(at > began for work in watch.works for at in work.hints)
    listed = sum(at > began for at in watch.listed.asked)
    scans = [at for work in watch.works for at, _ in work.cycles if at > began]
    assert scans, "nothing may depend on hints alone"
    of_each = (asked + SCAN_REQUESTS * len(scans)) / len(watch.works)
    assert (listed + 500 * of_each) / (7 * 60) < 60


@watched(*(f"wiki-{number}" for number in range(50)), is_listed=True)
async def test_listed_wikis_at_rest_are_quiet_from_the_start(watch: Watch) -> None:
    for work in watch.works:
        work.differs = True  # as the first scan of a folder says
    await watch.at(40)
    for work in watch.works:
        work.differs = False
    await watch.at(triggers.HOOKED_HINT_S)
    assert all(len(work.hints) == 1 for work in watch.works)
    assert max(sum(gap < 1 for gap in gaps(times(watch))), 0) <= 10
    scanned = sum(
        scope is ScanScope.WIKI for work in watch.works for _, scope in work.cycles
    )
    assert scanned <= WIKIS_AT_ONCE, "the list has what moved since"


@watched("edited", "other", is_listed=True)
async def test_wiki_that_somebody_edits_is_asked_often_and_then_rarer_and_rarer(
    watch: Watch,
) -> None:
    edited, other = watch.works
    await watch.at(2 * HOUR_S)
    edited.mark = "2"
    seen, seen_other = len(edited.hints), len(other.hints)
    await watch.at(3 * HOUR_S)
    waits = gaps(edited.hints[seen:])
    assert waits[0] < 10
    assert waits[-1] > 300
    assert len(other.hints) - seen_other <= 6


@watched("edited", "other", is_listed=True)
async def test_list_that_lacks_a_wiki_which_moved_is_trusted_for_none(
    watch: Watch,
) -> None:
    """Q14: on some versions edits do not count as activity."""
    edited, other = watch.works
    watch.listed.is_still = True
    await watch.at(700)
    edited.mark = "our own push"
    watch.runner.request_cycle("edited", ScanScope.FOLDER)
    began = 700 + 5 + triggers.LIST_LATE_S + 30
    await watch.at(began)
    assert other.cycles[-1][1] is ScanScope.WIKI, "it may have moved, too"
    await watch.at(began + 60)
    assert sum(at > began for at in other.hints) >= 3
    other.mark = "an edit there"
    await watch.at(began + 80)
    assert other.cycles[-1][0] > began + 60


@watched("edited", "other", is_listed=True)
async def test_list_that_is_a_little_late_is_trusted_on(watch: Watch) -> None:
    """The service notes a push by git in the background."""
    edited, other = watch.works
    await watch.at(700)
    seen = len(other.hints)
    watch.listed.is_still = True
    edited.mark = "pushed"
    watch.runner.request_cycle("edited", ScanScope.FOLDER)
    await watch.at(740)
    watch.listed.is_still = False
    await watch.at(1200)
    assert len(other.hints) - seen <= 1


@watched("edited", "other", is_listed=True)
async def test_mark_of_another_kind_is_no_move_that_the_list_lacks(
    watch: Watch,
) -> None:
    """Git is refused for a while, and the project's activity is the mark."""
    edited, other = watch.works
    watch.listed.is_still = True
    await watch.at(700)
    seen = len(other.hints)
    edited.is_exact, edited.mark = False, "2026-11-24"
    watch.runner.request_cycle("edited", ScanScope.FOLDER)
    await watch.at(1200)
    assert edited.cycles[-1][1] is ScanScope.WIKI
    assert len(other.hints) - seen <= 1


@pytest.mark.parametrize("is_first", [True, False])
@watched("a", "b", is_listed=True)
async def test_wikis_are_asked_one_by_one_where_the_service_has_no_list(
    watch: Watch, is_first: bool
) -> None:
    if not is_first:
        await watch.at(100)
    watch.listed.failure = NO_LIST
    if is_first:
        watch.listed.marks = {}
    began = watch.loop.time() - START_S + 20
    await watch.at(began + 600)
    for work in watch.works:
        assert sum(at > began for at in work.hints) >= 30
    assert len([at for at in watch.listed.asked if at > began]) <= 1


@pytest.mark.parametrize("failure", [AWAY, LIMITED])
@watched("a", "b", is_listed=True)
async def test_list_that_cannot_be_had_now_is_asked_for_again_soon(
    watch: Watch, failure: Exception
) -> None:
    work = watch.works[0]
    await watch.at(100)
    watch.listed.failure = failure
    await watch.at(120)
    work.mark = "edited meanwhile"
    watch.listed.failure = None
    began = 120 + failures.BACK_OFF_MAX_S
    await watch.at(began)
    scans = [at for at, scope in work.cycles if scope is ScanScope.WIKI and at > 120]
    assert scans
    assert scans[0] < 180


@watched("a", "moved", is_listed=True)
async def test_wiki_that_left_the_group_is_asked_by_itself(watch: Watch) -> None:
    moved = watch.works[1]
    await watch.at(100)
    watch.listed.works = watch.works[:1]
    seen = len(moved.hints)
    await watch.at(200)
    assert len(moved.hints) - seen >= 5


@watched("a", "b", is_listed=True)
async def test_list_is_asked_rarely_where_webhooks_tell_of_all(watch: Watch) -> None:
    await watch.at(100)
    for work in watch.works:
        hear(watch, work.name)
    await watch.at(120)
    seen = len(watch.listed.asked)
    await watch.at(120 + 590)
    assert len(watch.listed.asked) - seen <= 1


@watched("a", "b", is_listed=True)
async def test_active_wiki_is_asked_after_an_outage_that_came_between(
    watch: Watch,
) -> None:
    work = watch.works[0]
    await watch.at(100)
    work.mark = "edited"
    watch.listed.marks = {one.name: "0" for one in watch.works}
    for one in watch.works:
        one.failure = AWAY
    await watch.at(200)
    for one in watch.works:
        one.failure = None
    await watch.at(200 + failures.BACK_OFF_MAX_S)
    assert work.cycles[-1][0] < 200 + failures.BACK_OFF_MAX_S
    assert work.hints[-1] > 200


# -- whole scans -------------------------------------------------------------------


@watched()
async def test_whole_scans_grow_rarer_where_hints_are_exact_but_never_end(
    watch: Watch,
) -> None:
    work = watch.works[0]
    work.is_exact = True
    await watch.at(30 * HOUR_S)
    whole = gaps(work.whole_scans)
    assert whole[0] < 2 * runner.FULL_SCAN_S
    assert max(whole) <= runner.FULL_SCAN_MAX_S + 1
    assert min(whole[-2:]) > runner.FULL_SCAN_MAX_S - 1
    await watch.at(31 * HOUR_S)
    work.outcomes = [CycleOutcome(is_quiet=False)]
    watch.runner.request_cycle("docs", ScanScope.WIKI)
    began = 31 * HOUR_S + 60
    await watch.at(began + runner.FULL_SCAN_S)
    later = [scope for at, scope in work.cycles if at > began]
    assert ScanScope.EVERYTHING in later


@watched()
async def test_wiki_that_exact_hints_say_did_not_move_was_checked_then(
    watch: Watch,
) -> None:
    work = watch.works[0]
    work.is_exact = True
    await watch.at(8 * HOUR_S)
    status = watch.runner.wikis["docs"]
    assert status.last_good_at is not None
    assert watch.loop.time() - status.last_good_at < 20
    assert work.unchanged > 100


@pytest.mark.parametrize("is_exact", [True, False])
@watched()
async def test_wiki_is_not_called_checked_while_it_fails_or_is_not_asked_exactly(
    watch: Watch, is_exact: bool
) -> None:
    work = watch.works[0]
    work.is_exact = is_exact
    await watch.at(100)
    good_at = watch.runner.wikis["docs"].last_good_at
    if is_exact:
        work.outcomes = [CycleOutcome(is_quiet=True, problem="no")] * 100
        watch.runner.request_cycle("docs", ScanScope.FOLDER)
        await watch.at(110)
        work.unchanged = 0
        await watch.at(130)
    else:
        await watch.at(590)
        assert watch.runner.wikis["docs"].last_good_at == good_at
    assert work.unchanged == 0
