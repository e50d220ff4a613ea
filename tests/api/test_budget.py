"""Which requests wait after a limit, and how long."""

import time

import pytest

from tests.api.faketime import FakeTime, budget_at
from wikisync.api.budget import Area, Budget, shown_time
from wikisync.api.exchange import Purpose, Request

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
