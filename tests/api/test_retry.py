from datetime import UTC, datetime

import pytest

from wikisync.api.budget import TransientFailure, parse_retry_after, pause_s
from wikisync.api.refusals import in_words
from wikisync.api.settings import ClientSettings
from wikisync.errors import RateLimited, Unavailable

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
