"""Which requests wait after a limit or a failure, and how long."""

import time
from datetime import UTC, datetime

import pytest

from tests.api.faketime import FakeTime, budget_at
from wikisync.api.budget import (
    Area,
    Budget,
    TransientFailure,
    parse_retry_after,
    pause_s,
    shown_time,
)
from wikisync.api.exchange import Purpose, Request
from wikisync.api.refusals import in_words
from wikisync.api.settings import ClientSettings
from wikisync.errors import RateLimited, Unavailable

READ = Purpose("read page home", "page", "project", "docs/a")
WRITE = Purpose("edit page home", "page", "project", "docs/a", is_write=True)
FILE = Purpose("read attachment", "attachment", "project", "docs/a")
UPLOAD = Purpose("upload", "attachment", "project", "docs/a", is_write=True)
READS_A = Area("reads", "project docs/a")
CHANGES_A, GIT, FILES = Area("changes", "project docs/a"), Area("git"), Area("files")
DAY_S = 86_400.0


@pytest.fixture
def budget(time: FakeTime) -> Budget:
    return budget_at(time.clock)


@pytest.mark.parametrize(
    ("request_", "area"),
    [
        (Request("GET", "/", READ), READS_A),
        (Request("PUT", "/", WRITE), CHANGES_A),
        (Request("POST", "/", UPLOAD), CHANGES_A),
        (Request("GET", "/", FILE), FILES),
        (Request("GET", "/", FILE, is_git=True), GIT),
        (Request("GET", "/", Purpose("read the version")), Area("reads")),
    ],
)
def test_requests_that_share_a_limit(request_: Request, area: Area) -> None:
    assert Area.of(request_) == area


def test_answer_to_a_request_of_before_ends_no_limit(budget: Budget) -> None:
    budget.note_refusal(GIT, 60.0, 0.0)
    budget.note_answer(GIT)

    assert budget.wait_of(GIT) is not None


def test_end_that_was_asked_for_first_is_told_until_it_is_over(
    budget: Budget, time: FakeTime
) -> None:
    budget.note_refusal(GIT, DAY_S, 0.0)
    (first,) = budget.waits()
    time.now += 900.0
    budget.note_refusal(GIT, DAY_S, 0.0)
    (second,) = budget.waits()

    assert (second.ends_at, second.asked_s) == (first.ends_at, first.asked_s)
    assert second.until == time.now + 900.0
    time.now += DAY_S
    budget.note_refusal(GIT, 60.0, 0.0)
    assert budget.waits()[0].ends_at == time.now + 60.0


def test_time_of_another_day_is_shown_with_it() -> None:
    now = time.time()
    assert len(shown_time(now + 60)) == len("14:05")
    assert len(shown_time(now + 2 * DAY_S)) == len("2026-11-21 14:05")


NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LATE = Unavailable("late")
LIMITED = RateLimited("too many")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 12:01:30", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("Thu, 99 Jan 2026 12:01:30 GMT", None),
    ],
)
def test_both_syntaxes_of_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": text}, now=NOON) == seconds


def test_a_date_is_measured_from_the_clock_of_the_service() -> None:
    headers = {
        "retry-after": "Thu, 01 Jan 2026 03:00:30 GMT",
        "date": "Thu, 01 Jan 2026 03:00:00 GMT",
    }

    assert parse_retry_after(headers, now=NOON) == 30.0


@pytest.mark.parametrize(
    ("attempt", "limit_s"), [(1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (500, 30.0)]
)
def test_back_off_doubles_up_to_its_limit_with_full_jitter(
    attempt: int, limit_s: float
) -> None:
    failure, settings = TransientFailure(LATE), ClientSettings()

    assert pause_s(failure, attempt, settings, lambda: 0.0) == 0.0
    assert pause_s(failure, attempt, settings, lambda: 1.0) == limit_s


@pytest.mark.parametrize(
    ("failure", "least_s", "most_s"),
    [
        (TransientFailure(LATE, after_s=3.0), 3.0, 3.5),
        (TransientFailure(LATE, after_s=0.0), 0.0, 0.5),
        # the budget spreads what waits for a limit
        (TransientFailure(LIMITED, after_s=3.0), 3.0, 3.0),
    ],
)
def test_the_wish_of_the_service_is_the_least_pause(
    failure: TransientFailure, least_s: float, most_s: float
) -> None:
    settings = ClientSettings()

    assert pause_s(failure, 1, settings, lambda: 0.0) == least_s
    assert pause_s(failure, 1, settings, lambda: 1.0) == most_s


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (7.4, "7 s"),
        (119, "119 s"),
        (120, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (100_000, "28 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_time_to_wait_is_told_in_a_unit_that_fits(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
