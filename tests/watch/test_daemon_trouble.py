"""Daemon: what it does while a service, a token or a wiki fails, and whom it tells."""

import pytest

from tests.sync.virtual import START_S
from tests.watch.watched import AWAY, HOUR_S, Watch, gaps, watched
from wikisync.errors import (
    AuthenticationFailed,
    FolderError,
    Halted,
    PermissionDenied,
    RateLimited,
    StateError,
)
from wikisync.workspace import failures, runner
from wikisync.workspace.failures import LASTING_TRIES, Condition
from wikisync.workspace.runner import CycleOutcome, ScanScope


@watched(*(f"wiki-{number}" for number in range(10)))
async def test_lost_service_is_told_once_and_tried_by_one_wiki_alone(
    watch: Watch,
) -> None:
    for work in watch.works:
        work.failure = AWAY
    await watch.at(HOUR_S)
    assert watch.told_service == ["offline"]
    assert watch.told == []
    tries = sorted(at for work in watch.works for at, _ in work.cycles)
    assert len(tries) < 80, "an hour of at most five minutes between two tries"
    assert max(gaps(tries)) <= failures.BACK_OFF_MAX_S + 1
    assert set(map(watch.runner.condition_of, watch.runner.wikis.values())) == {
        Condition.OFFLINE
    }


@watched("a", "b", "c")
async def test_service_that_is_back_after_an_hour_is_told_once_and_all_wikis_go_on(
    watch: Watch,
) -> None:
    await watch.at(10)
    for work in watch.works:
        work.failure = AWAY
    watch.runner.request_cycle()
    await watch.at(HOUR_S)
    for work in watch.works:
        work.failure = None
        work.cycles.clear()
    await watch.at(HOUR_S + failures.BACK_OFF_MAX_S + 60)
    assert watch.told_service == ["offline", "back"]
    assert all(work.cycles for work in watch.works)
    assert set(map(watch.runner.condition_of, watch.runner.wikis.values())) == {
        Condition.IN_SYNC
    }


@watched()
async def test_save_while_the_service_is_away_is_carried_over_when_it_is_back(
    watch: Watch,
) -> None:
    await watch.at(10)
    watch.works[0].failure = AWAY
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(12)
    assert watch.runner.outage is not None
    watch.works[0].failure = None
    watch.works[0].cycles.clear()
    await watch.at(30)
    assert watch.works[0].cycles[0][1] is ScanScope.WIKI, "it has to ask the service"


@watched()
async def test_hint_that_fails_tells_that_the_service_is_away(watch: Watch) -> None:
    await watch.at(10)
    watch.works[0].failure = AWAY
    await watch.at(20)
    assert watch.told_service == ["offline"]
    watch.works[0].failure = None
    await watch.at(60)
    assert watch.told_service == ["offline", "back"], "nobody asked, but it did"


def limited(wait_s: float, *, is_everywhere: bool) -> RateLimited:
    error = RateLimited("too many", url="https://x.example", retry_after_s=wait_s)
    error.is_everywhere = is_everywhere
    return error


@watched("a", "b")
async def test_limit_of_the_token_makes_all_wikis_wait_as_long_as_the_service_says(
    watch: Watch,
) -> None:
    watch.works[0].outcomes = [limited(200, is_everywhere=True)]
    await watch.at(199)
    assert sum(len(work.cycles) for work in watch.works) <= 2
    assert watch.told_service == ["limited"]
    await watch.at(240)
    assert all(len(work.cycles) >= 2 for work in watch.works)
    assert watch.told_service == ["limited", "back"]


@watched("ill", "well")
async def test_limit_that_one_wiki_met_makes_it_wait_alone(watch: Watch) -> None:
    ill, well = watch.works
    ill.outcomes = [limited(200, is_everywhere=False)] * 9
    await watch.at(5)
    assert ("ill", Condition.LIMITED, "too many") in watch.told
    watch.runner.request_cycle("well", ScanScope.FOLDER)
    await watch.at(10)
    assert len(well.cycles) >= 2
    await watch.at(199)
    assert len(ill.cycles) == 1
    await watch.at(210)
    assert len(ill.cycles) == 2
    assert watch.told_service == []


@pytest.mark.parametrize("is_everywhere", [True, False])
@watched()
async def test_one_try_is_made_however_long_the_service_asks_to_wait(
    watch: Watch, is_everywhere: bool
) -> None:
    work = watch.works[0]
    work.outcomes = [limited(3e9, is_everywhere=is_everywhere)] * 3
    await watch.at(3 * failures.REFUSED_RETRY_S + 60)
    assert [round(wait_s) for wait_s in gaps([at for at, _ in work.cycles[:4]])] == [
        failures.REFUSED_RETRY_S
    ] * 3
    assert watch.runner.wikis["docs"].condition is Condition.IN_SYNC


@watched()
async def test_hint_that_met_a_limit_is_no_trouble_of_the_service(watch: Watch) -> None:
    await watch.at(10)
    watch.works[0].failure = limited(600, is_everywhere=False)
    await watch.at(60)
    assert watch.told_service == []
    assert watch.runner.wikis["docs"].has_hints


@watched("ill", "well")
async def test_wiki_whose_requests_alone_fail_does_not_keep_the_others_waiting(
    watch: Watch,
) -> None:
    ill, well = watch.works
    ill.failure = AWAY
    for second in range(1200):
        watch.runner.request_cycle("well", ScanScope.FOLDER)
        await watch.at(second)
    late = [at for at, _ in well.cycles if at > 600]
    assert len(late) > 400
    assert max(gaps(late)) <= 10


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (AWAY, Condition.FAILING),
        (AuthenticationFailed("401", url="https://x.example"), Condition.REFUSED),
    ],
)
@watched("ill", "well", is_away=False)
async def test_wiki_that_fails_while_the_service_answers_is_its_own_trouble(
    watch: Watch, error: Exception, condition: Condition
) -> None:
    """The service is never away, and the others are carried as promptly as ever."""
    ill, well = watch.works
    ill.failure = error
    for second in range(1200):
        watch.runner.request_cycle("well", ScanScope.FOLDER)
        await watch.at(second)
        assert watch.runner.outage is None
    assert max(gaps([at for at, _ in well.cycles])) <= 2
    assert watch.told_service == []
    assert len(ill.cycles) >= LASTING_TRIES - 1
    wiki_status = watch.runner.wikis["ill"]
    assert wiki_status.condition is condition


@watched("ill", "well", is_away=False)
async def test_wiki_that_fails_three_times_while_the_service_answers_says_so_once(
    watch: Watch,
) -> None:
    watch.works[0].failure = AWAY
    await watch.at(HOUR_S)
    problems = [problem for name, _, problem in watch.told if name == "ill"]
    message = "the service does not answer"
    assert problems == [
        message,
        f"{message}; 3 attempts in a row failed, although the service is reachable",
    ]


@watched("a", "b", "c")
async def test_refused_token_is_told_once_and_tried_again_after_a_quarter_of_an_hour(
    watch: Watch,
) -> None:
    for work in watch.works:
        work.failure = AuthenticationFailed("no", url="https://x.example")
    await watch.at(failures.REFUSED_RETRY_S - 1)
    assert watch.told_service == ["refused"]
    assert sum(len(work.cycles) for work in watch.works) == 3
    for work in watch.works:
        work.failure = None
    await watch.at(failures.REFUSED_RETRY_S + 10)
    assert watch.told_service == ["refused", "back"]


@pytest.mark.parametrize(
    ("error", "condition", "wait_s"),
    [
        (
            PermissionDenied("no", url="https://x.example"),
            Condition.REFUSED,
            failures.REFUSED_RETRY_S,
        ),
        (Halted("emptied"), Condition.NEEDS_PERSON, failures.BACK_OFF_MAX_S),
        (FolderError("gone"), Condition.FAILING, failures.BACK_OFF_MIN_S),
        (StateError("damaged"), Condition.FAILING, failures.BACK_OFF_MIN_S),
        (ZeroDivisionError("ours"), Condition.FAILING, failures.BACK_OFF_MIN_S),
    ],
)
@watched("ill", "well")
async def test_wiki_in_trouble_waits_alone(
    watch: Watch, error: Exception, condition: Condition, wait_s: float
) -> None:
    ill, well = watch.works
    ill.outcomes = [error] * 50
    await watch.at(1)
    assert ("ill", condition) in [told[:2] for told in watch.told]
    ill.cycles.clear()
    watch.runner.request_cycle("well", ScanScope.FOLDER)
    await watch.at(wait_s - 0.1)
    assert ill.cycles == []
    assert len(well.cycles) >= 2
    await watch.at(wait_s + 2 * failures.BACK_OFF_MIN_S + 1)
    assert ill.cycles


@watched()
async def test_failures_in_a_row_wait_longer_and_longer_and_a_success_forgets_them(
    watch: Watch,
) -> None:
    work = watch.works[0]
    work.outcomes = [FolderError("gone")] * 12
    await watch.at(HOUR_S)
    waits = gaps([at for at, _ in work.cycles[:13]])
    assert max(waits[:2]) < 10
    assert max(waits) > 60
    assert max(waits) <= failures.BACK_OFF_MAX_S + 1
    assert watch.runner.wikis["docs"].failures == 0


@watched()
async def test_retry_forgets_all_waiting(watch: Watch) -> None:
    watch.works[0].failure = AuthenticationFailed("no", url="https://x.example")
    await watch.at(10)
    watch.works[0].failure = None
    watch.runner.retry()
    await watch.at(11)
    assert watch.told_service == ["refused", "back"]


@watched()
async def test_retry_forgets_what_one_wiki_waits_for(watch: Watch) -> None:
    watch.works[0].outcomes = [Halted("emptied")]
    await watch.at(10)
    watch.runner.retry()
    await watch.at(11)
    assert watch.told[-1][1] is Condition.IN_SYNC


@watched("a", "b", "c", "d")
async def test_wikis_that_fail_together_are_one_failure_of_the_service(
    watch: Watch,
) -> None:
    for work in watch.works:
        work.failure = AWAY
    await watch.at(1)
    assert watch.runner.outage is not None
    assert watch.runner.outage.failures == 1


@watched()
async def test_page_that_could_not_be_carried_over_is_tried_again_ever_more_rarely(
    watch: Watch,
) -> None:
    work = watch.works[0]
    await watch.at(30)
    work.cycles.clear()
    work.outcomes = [CycleOutcome(is_quiet=True, problem="503", hint="wait")] * 8
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(33)
    wiki_status = watch.runner.wikis["docs"]
    assert (wiki_status.problem, wiki_status.hint) == ("503", "wait")
    await watch.at(HOUR_S)
    tries = gaps([at for at, _ in work.cycles[:9]])
    assert tries[0] <= failures.BACK_OFF_MIN_S * 2 + 1
    assert max(tries) > 20
    assert ("docs", Condition.PARTLY, "503") in watch.told
    assert watch.told[-1] == ("docs", Condition.IN_SYNC, "")


@watched()
async def test_cycle_that_hangs_is_ended_and_is_no_trouble_of_the_service(
    watch: Watch,
) -> None:
    watch.works[0].takes_s = 10 * HOUR_S
    await watch.at(runner.CYCLE_TIMEOUT_S + 1)
    assert watch.told == [
        ("docs", Condition.FAILING, "a cycle of docs took longer than 60 minutes")
    ]
    assert watch.told_service == []


@watched()
async def test_wiki_whose_cycle_hangs_is_not_called_in_sync_until_it_ends(
    watch: Watch,
) -> None:
    """A service that takes a request and is silent is offline only after minutes."""
    await watch.at(10)
    watch.works[0].takes_s = 100.0
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(10 + runner.LONG_CYCLE_S - 1)
    assert [condition for _, condition, _ in watch.told] == [Condition.IN_SYNC]
    await watch.at(10 + runner.LONG_CYCLE_S + 1)
    assert watch.told[-1] == ("docs", Condition.SYNCING, "")
    await watch.at(120)
    assert watch.told == [
        ("docs", Condition.IN_SYNC, ""),
        ("docs", Condition.SYNCING, ""),
        ("docs", Condition.IN_SYNC, ""),
    ]


@watched()
async def test_long_cycle_hides_nothing_that_is_known_of_its_wiki(watch: Watch) -> None:
    waits = CycleOutcome(is_quiet=True, needs_person=True)
    watch.works[0].outcomes = [waits, waits]
    await watch.at(10)
    watch.works[0].takes_s = 100.0
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(60)
    status = watch.runner.wikis["docs"]
    assert status.is_working
    assert status.condition is Condition.NEEDS_PERSON


@watched()
async def test_wiki_that_hung_when_the_service_went_away_is_in_sync_when_it_is_back(
    watch: Watch,
) -> None:
    await watch.at(10)
    watch.works[0].takes_s, watch.works[0].failure = 100.0, AWAY
    watch.runner.request_cycle("docs", ScanScope.FOLDER)
    await watch.at(120)
    assert watch.runner.condition_of(watch.runner.wikis["docs"]) is Condition.OFFLINE
    watch.works[0].takes_s, watch.works[0].failure = 0.1, None
    await watch.at(HOUR_S)
    assert watch.told_service == ["offline", "back"]
    assert watch.told[-1] == ("docs", Condition.IN_SYNC, "")


async def fail_to_tell(_work: object, _outcome: CycleOutcome) -> None:
    raise FolderError("cannot write WIKISYNC-ATTENTION.md")


@watched(after_cycle=fail_to_tell)
async def test_trouble_in_telling_leaves_the_wiki_in_sync(watch: Watch) -> None:
    await watch.at(1)
    assert watch.told == [("docs", Condition.IN_SYNC, "")]


@watched()
async def test_since_when_a_wiki_fails_is_known_until_it_goes_well(
    watch: Watch,
) -> None:
    """Whichever of its errors came last: that is how long a person waits already."""
    await watch.at(10)
    watch.works[0].failure = FolderError("gone")
    watch.runner.request_cycle()
    await watch.at(30)
    watch.works[0].failure = AWAY
    await watch.at(60)
    wiki_status = watch.runner.wikis["docs"]
    assert wiki_status.failure is AWAY
    assert 10 < wiki_status.failing_since - START_S < 11
    watch.works[0].failure = None
    await watch.at(60 + 2 * failures.BACK_OFF_MAX_S)
    assert wiki_status.failure is None


@watched()
async def test_another_problem_of_the_same_wiki_is_told(watch: Watch) -> None:
    watch.works[0].outcomes = [FolderError("gone"), FolderError("read-only")]
    await watch.at(20)
    problems = [problem for _, _, problem in watch.told]
    assert problems == ["gone", "read-only", ""]


@watched()
async def test_wiki_that_needs_a_person_still_does_after_the_service_was_away(
    watch: Watch,
) -> None:
    held = CycleOutcome(is_quiet=True, needs_person=True)
    watch.works[0].outcomes = [held, AWAY, held, held, held]
    await watch.at(1)
    watch.runner.request_cycle("docs")
    await watch.at(1.2)
    assert watch.runner.condition_of(watch.runner.wikis["docs"]) is Condition.OFFLINE
    await watch.at(30)
    assert watch.told == [("docs", Condition.NEEDS_PERSON, "")]
