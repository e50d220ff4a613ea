"""Daemon: when it looks at what, and how wikis take turns."""

import asyncio

import pytest

from tests.sync.virtual import START_S
from tests.watch.watched import AWAY, HOUR_S, Watch, Work, gaps, hear, watched
from wikisync.errors import AuthenticationFailed, FolderError
from wikisync.watch import triggers
from wikisync.workspace import failures, runner
from wikisync.workspace.failures import Condition
from wikisync.workspace.runner import CYCLE, CycleOutcome, ScanScope


@watched()
async def test_first_cycle_scans_at_everything_at_once(watch: Watch) -> None:
    await watch.at(1)
    assert watch.works[0].cycles == [(0.0, ScanScope.EVERYTHING)]
    assert watch.told == [("docs", Condition.IN_SYNC, "")]


@watched()
async def test_save_is_carried_over_at_once_whatever_else_is_waited_for(
    watch: Watch,
) -> None:
    await watch.at(5)
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(5.01)
    assert watch.works[0].cycles[-1] == (5.0, ScanScope.FOLDER)


@watched()
async def test_several_reasons_are_one_cycle_for_the_widest(watch: Watch) -> None:
    watch.works[0].takes_s = 2.0
    await watch.at(1)
    watch.runner.request_cycle("docs", ScanScope.WIKI)
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(6)
    assert watch.works[0].scopes[1:] == [ScanScope.WIKI]


@watched()
async def test_every_wiki_is_scanned_whole_every_ten_minutes(watch: Watch) -> None:
    await watch.at(HOUR_S)
    whole = watch.works[0].whole_scans
    assert 5 <= len(whole) <= 7
    assert max(gaps(whole)) < runner.FULL_SCAN_S + 60


@watched()
async def test_saves_without_end_do_not_put_off_the_whole_scan(watch: Watch) -> None:
    while watch.loop.time() < START_S + 1300:
        watch.runner.request_cycle("docs", ScanScope.FOLDER)
        await asyncio.sleep(1)
    whole = watch.works[0].whole_scans
    assert len(whole) >= 2


@watched()
async def test_hints_grow_rarer_while_nothing_happens_and_frequent_again_with_a_save(
    watch: Watch,
) -> None:
    work = watch.works[0]
    await watch.at(HOUR_S)
    assert 5 <= work.hints[0] <= 15
    assert all(15 <= gap <= 18 for gap in gaps(work.hints)[-200:])
    assert len(set(gaps(work.hints)[-5:])) == 5, "without jitter all come together"
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    seen = len(work.hints)
    await watch.at(HOUR_S + 6)
    assert len(work.hints) == seen + 1


async def take_edits(watch: Watch, edited: list[Work], idle_s: float) -> None:
    """Have each edit be taken within 20 seconds, with what a look takes."""
    for work in edited:
        work.takes_s = 1.0
    await watch.at(idle_s)
    for number in range(40):
        began = watch.loop.time() - START_S
        for work in edited:
            work.mark = f"edit {number}"
        await watch.at(began + 20)
        for work in edited:
            scans = [at for at, scope in work.cycles if scope is not ScanScope.FOLDER]
            assert any(began < at <= began + 20 - work.takes_s for at in scans)


IDLE_S = [1.0, 30.0, 90.0, HOUR_S, 8 * HOUR_S]
"""Also hours in which nothing happened."""


@pytest.mark.parametrize("idle_s", IDLE_S)
@watched("a", "b", "c")
async def test_edit_is_taken_within_twenty_seconds(watch: Watch, idle_s: float) -> None:
    await take_edits(watch, watch.works, idle_s)


@pytest.mark.parametrize("idle_s", IDLE_S)
@watched("a", "b", "c", "d", is_listed=True)
async def test_edit_of_a_listed_wiki_is_taken_within_twenty_seconds(
    watch: Watch, idle_s: float
) -> None:
    await take_edits(watch, watch.works[:1], idle_s)


@watched("small", "large")
async def test_large_wiki_is_not_scanned_all_the_time_while_it_is_edited(
    watch: Watch,
) -> None:
    """Each of its own pushes moves the wiki, and the next hint makes it look."""
    _small, large = watch.works
    large.takes_s = 0.25
    await watch.at(60)
    for second in range(600):
        for work in watch.works:
            work.mark = str(second)
            watch.runner.request_cycle(work.name, ScanScope.FOLDER)
        await watch.at(60 + second)
    busy = [len([at for at in one.hints if at > 60]) for one in watch.works]
    assert busy[0] > 600 / 7
    assert 600 / 15 < busy[1] < 600 / 12


@watched()
async def test_wiki_that_moved_gets_a_scan_the_wiki(watch: Watch) -> None:
    await watch.at(200)
    cycles = len(watch.works[0].cycles)
    watch.works[0].mark = "2"
    await watch.at(200 + 18)
    assert watch.works[0].scopes[cycles:] == [ScanScope.WIKI]


@watched()
async def test_wiki_that_moved_before_the_first_hint_is_scanned_again(
    watch: Watch,
) -> None:
    """Otherwise its edits would wait for the next whole look."""
    await watch.at(20)
    assert watch.works[0].scopes == [ScanScope.EVERYTHING, ScanScope.WIKI]


@watched()
async def test_wiki_without_hints_is_scanned_rarer_and_rarer(watch: Watch) -> None:
    work = watch.works[0]
    work.mark = None
    await watch.at(HOUR_S)
    scans = gaps([at for at, _ in work.cycles][2:])
    assert 60 * 0.8 <= scans[0] <= 120 * 1.2
    assert max(scans[-3:]) >= 300
    assert max(scans) <= runner.FULL_SCAN_S + 30


@watched()
async def test_wiki_that_had_no_hints_for_a_time_has_them_again(watch: Watch) -> None:
    work = watch.works[0]
    work.mark = None
    await watch.at(HOUR_S)
    work.mark = "1"
    await watch.at(2 * HOUR_S)
    assert len(gaps(work.hints)) > 20
    assert gaps(work.hints)[-1] <= 18


@watched()
async def test_scan_finds_what_events_lost(watch: Watch) -> None:
    await watch.at(20)
    watch.works[0].differs = True
    cycles = len(watch.works[0].cycles)
    await watch.at(20 + 36)
    assert ScanScope.FOLDER in watch.works[0].scopes[cycles:]


@pytest.mark.parametrize("failure", [FolderError("gone"), ValueError("ours")])
@watched()
async def test_scan_that_fails_leads_to_a_cycle_that_says_so(
    watch: Watch, failure: Exception
) -> None:
    await watch.at(20)
    watch.works[0].scan_failure = failure
    cycles = len(watch.works[0].cycles)
    await watch.at(60)
    assert len(watch.works[0].cycles) > cycles


@watched()
async def test_machine_that_slept_scans_at_everything_when_it_wakes(
    watch: Watch,
) -> None:
    watch.works[0].failure = AuthenticationFailed("no", url="https://x.example")
    await watch.at(10)
    watch.works[0].failure = None
    watch.works[0].cycles.clear()
    watch.wall_ahead_s = 8 * HOUR_S
    await watch.at(10 + triggers.WAKE_SCAN_S + 1)
    assert watch.works[0].cycles[0][1] is ScanScope.EVERYTHING
    await watch.at(60)
    assert len(watch.works[0].whole_scans) == 1, "one look is enough"


@pytest.mark.parametrize("step_s", [-8 * HOUR_S, 3.0, -3.0])
@watched()
async def test_clock_that_was_set_back_or_a_little_is_nothing_to_scan_for(
    watch: Watch, step_s: float
) -> None:
    await watch.at(40)
    cycles = len(watch.works[0].cycles)
    watch.wall_ahead_s = step_s
    await watch.at(50)
    assert len(watch.works[0].cycles) == cycles


@watched()
async def test_paused_wiki_is_left_alone_without_a_busy_wait(watch: Watch) -> None:
    work = watch.works[0]
    asked = 0

    def is_paused(_work: Work) -> bool:
        nonlocal asked
        asked += 1
        return True

    type(work).is_paused = property(is_paused)  # type: ignore[assignment]
    try:
        watch.runner.request_cycle("docs", ScanScope.FOLDER)
        await watch.at(HOUR_S)
    finally:
        type(work).is_paused = False
    assert work.cycles == []
    assert work.hints == []
    assert asked < 2000
    assert watch.told == [("docs", Condition.PAUSED, "")]


@watched()
async def test_resumed_wiki_is_scanned_within_seconds(watch: Watch) -> None:
    work = watch.works[0]
    await watch.at(10)
    work.is_paused = True
    await watch.at(100)
    assert watch.runner.wikis["docs"].condition is Condition.PAUSED
    work.cycles.clear()
    work.is_paused = False
    await watch.at(100 + runner.PAUSE_SCAN_S + 1)
    assert work.scopes == [ScanScope.EVERYTHING]


@watched("slow", "quick")
async def test_slow_wiki_keeps_no_other_waiting(watch: Watch) -> None:
    slow, quick = watch.works
    slow.takes_s = 1800.0
    await watch.at(10)
    watch.runner.request_cycle("quick", ScanScope.FOLDER)
    await watch.at(11)
    assert (10.0, ScanScope.FOLDER) in quick.cycles
    assert len(slow.cycles) == 1


@watched(*(f"busy-{number}" for number in range(8)), "quiet")
async def test_busy_wikis_and_quiet_ones_take_turns(watch: Watch) -> None:
    """Whoever waits longest is next, however often the others are asked."""
    for work in watch.works:
        work.takes_s = 1.0
    await watch.at(20)
    *busy, quiet = watch.works
    quiet.cycles.clear()
    watch.runner.request_cycle("quiet", ScanScope.FOLDER)
    for second in range(20):
        for work in busy:
            watch.runner.request_cycle(work.name, ScanScope.FOLDER)
        watch.runner.request_cycle("quiet", ScanScope.FOLDER)
        await watch.at(20 + second * 0.5)
    assert quiet.cycles
    assert quiet.cycles[0][0] < 24


@watched()
async def test_pages_that_were_left_for_a_save_wait_for_nothing(watch: Watch) -> None:
    work = watch.works[0]
    await watch.at(25)
    work.cycles.clear()
    left = CycleOutcome(is_quiet=False, has_more=True, has_rest=True)
    work.outcomes = [left] * 20
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(28)
    assert len(work.cycles) > 20


@watched()
async def test_what_is_left_to_do_is_done_at_once_but_not_for_ever(
    watch: Watch,
) -> None:
    work = watch.works[0]
    await watch.at(25)
    work.cycles.clear()
    work.outcomes = [CycleOutcome(is_quiet=False, has_more=True)] * 20
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(26)
    assert len(work.cycles) == runner.ROUNDS_MAX
    assert set(work.scopes[1:]) == {ScanScope.EVERYTHING}
    await watch.at(26 + runner.RESTLESS_S)
    assert len(work.cycles) > runner.ROUNDS_MAX


@watched()
async def test_absence_that_must_be_seen_again_is_scanned_for_when_it_is_due(
    watch: Watch,
) -> None:
    work = watch.works[0]
    await watch.at(25)
    work.cycles.clear()
    work.outcomes = [CycleOutcome(is_quiet=True, next_scan_s=3.0)]
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(25 + 5)
    assert work.scopes == [ScanScope.FOLDER, ScanScope.EVERYTHING]


@watched()
async def test_each_cycle_has_an_id_of_its_own_in_the_log(watch: Watch) -> None:
    await watch.at(1)
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(2)
    assert watch.works[0].ids == ["docs#1", "docs#2"]
    assert CYCLE.get() == ""


@watched(*(f"wiki-{number}" for number in range(33)))
async def test_hints_of_many_wikis_that_nobody_edits_share_the_time(
    watch: Watch,
) -> None:
    await watch.at(HOUR_S)
    assert max(gaps(watch.works[0].hints)) <= 18
    began = HOUR_S + 60
    await watch.at(began)
    watch.works[0].mark = "2"
    await watch.at(began + HOUR_S - 60)
    asked = [sum(at > began for at in work.hints) for work in watch.works]
    assert asked[0] > 200, "it was edited"
    assert all(90 <= one <= 120 for one in asked[1:])
    assert sum(asked) < 7200 / 2


@watched()
async def test_hints_of_a_wiki_with_webhooks_that_work_are_rare(watch: Watch) -> None:
    work = watch.works[0]
    await watch.at(50)
    for number in range(6):
        work.mark = f"edited {number}"
        hear(watch, work.name)
        await watch.at(50 + 600 * (number + 1))
    hints = [at for at in work.hints if at > 100]
    assert 4 <= len(hints) <= 6
    assert min(gaps(hints)) >= 600
    work.mark = "pushed by git, of which no webhook tells"
    await watch.at(50 + 3600 + 2 * 720)
    seen = len(work.hints)
    await watch.at(50 + 3600 + 2 * 720 + 100)
    assert len(work.hints) - seen >= 5


@pytest.mark.parametrize("is_lost", [False, True])
@watched(*(f"wiki-{number}" for number in range(100)))
async def test_hints_of_a_hundred_wikis_are_spread_from_the_first_on(
    watch: Watch, is_lost: bool
) -> None:
    if is_lost:
        await watch.at(10)
        for work in watch.works:
            work.failure = AWAY
        watch.runner.request_cycle()
        await watch.at(HOUR_S)
        for work in watch.works:
            work.failure = None
        await watch.at(HOUR_S + failures.BACK_OFF_MAX_S + 60)
    began = watch.loop.time() - START_S
    await watch.at(began + 600)
    times = sorted(at for work in watch.works for at in work.hints if at > began)
    most = max(sum(start <= at < start + 1 for at in times) for start in times[::10])
    assert len(times) > 100 * 600 / 18
    assert most <= 35, "twenty a second would be even while all are quick"
