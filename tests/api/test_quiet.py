"""Which requests wait after a limit, and how long."""

from __future__ import annotations

import time

import pytest

from tests.api.faketime import FakeTime
from wikisync.api.answers import Purpose
from wikisync.api.quiet import Area, Quiet, shown_time
from wikisync.api.request import Request

READ = Purpose("read page home", "page", "project", "docs/a")
WRITE = Purpose("edit page home", "page", "project", "docs/a", is_write=True)
FILE = Purpose("read attachment", "attachment", "project", "docs/a")
UPLOAD = Purpose("upload", "attachment", "project", "docs/a", is_write=True)
READS_A, READS_B = Area("reads", "project docs/a"), Area("reads", "project docs/b")
CHANGES_A, GIT, FILES = Area("changes", "project docs/a"), Area("git"), Area("files")
DAY_S = 86_400.0


@pytest.fixture
def quiet(time: FakeTime) -> Quiet:
    return Quiet(time.clock, 900.0, wall=time.clock)


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


def test_limit_holds_back_its_own_area(quiet: Quiet) -> None:
    quiet.note(CHANGES_A, 60.0)

    assert quiet.wait_of(CHANGES_A) is not None
    for other in (READS_A, READS_B, GIT, FILES, Area("changes", "project docs/b")):
        assert quiet.wait_of(other) is None


def test_one_request_is_made_after_the_longest_wait(
    quiet: Quiet, time: FakeTime
) -> None:
    quiet.note(GIT, DAY_S)
    time.now += 899.0
    assert quiet.wait_of(GIT) is not None
    time.now += 1.0
    assert quiet.wait_of(GIT) is None
    assert quiet.waits(), "it is not known to be over"
    quiet.note_answer(GIT)
    assert quiet.waits() == []


def test_answer_to_a_request_of_before_ends_no_limit(quiet: Quiet) -> None:
    quiet.note(GIT, 60.0)
    quiet.note_answer(GIT)

    assert quiet.wait_of(GIT) is not None


def test_person_who_knows_better_ends_all_waiting(quiet: Quiet) -> None:
    quiet.note(GIT, 60.0)
    quiet.forget()

    assert quiet.wait_of(GIT) is None
    assert quiet.waits() == []


def test_end_that_was_asked_for_first_is_told_until_it_is_over(
    quiet: Quiet, time: FakeTime
) -> None:
    quiet.note(GIT, DAY_S)
    (first,) = quiet.waits()
    time.now += 900.0
    quiet.note(GIT, DAY_S)
    (second,) = quiet.waits()

    assert (second.ends_at, second.asked_s) == (first.ends_at, first.asked_s)
    assert second.until == time.now + 900.0
    time.now += DAY_S
    quiet.note(GIT, 60.0)
    assert quiet.waits()[0].ends_at == time.now + 60.0


@pytest.mark.parametrize("area", [READS_A, CHANGES_A, Area("reads")])
def test_reads_of_two_wikis_are_the_whole_api(quiet: Quiet, area: Area) -> None:
    quiet.note(READS_A, 60.0)
    assert not quiet.is_everywhere(area)
    quiet.note(READS_B, 90.0)

    assert quiet.is_everywhere(area)
    wait = quiet.wait_of(area)
    assert wait is not None
    assert (wait.what, wait.until) == ("requests", 1090.0)
    assert quiet.wait_of(GIT) is None
    assert not quiet.is_everywhere(FILES)


def test_first_limit_of_two_that_is_over_lets_the_other_wait_alone(
    quiet: Quiet, time: FakeTime
) -> None:
    quiet.note(READS_A, 60.0)
    quiet.note(READS_B, 90.0)
    time.now += 60.0

    assert quiet.wait_of(READS_A) is None
    wait = quiet.wait_of(READS_B)
    assert wait is not None
    assert wait.what == "reads of project docs/b"


def test_time_of_another_day_is_shown_with_it() -> None:
    now = time.time()
    assert len(shown_time(now + 60)) == len("14:05")
    assert len(shown_time(now + 2 * DAY_S)) == len("2026-11-21 14:05")
