from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.api.faketime import FakeTime, budget_at
from wikisync.api.answers import Purpose
from wikisync.api.budget import TransientFailure, pause_s
from wikisync.api.pace import parse_retry_after
from wikisync.api.request import Request
from wikisync.api.routes import Method
from wikisync.api.settings import ClientSettings
from wikisync.errors import (
    NoAnswerInTime,
    NotFound,
    RateLimited,
    RefusedInFront,
    RemoteError,
    Unavailable,
)

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


async def test_refusal_is_no_attempt(time: FakeTime) -> None:
    """The budget makes its pause before the request is made again."""
    limited = TransientFailure(LIMITED, after_s=1.0)
    attempts = Attempts(*[limited] * 20, *[TransientFailure(LATE)] * 4)

    assert await attempt(attempts, time) == "done"
    assert time.slept == [0.25, 0.5, 1.0, 2.0]


class Attempts:
    """Fails with each error in turn, then succeeds; counts."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def attempt(
    attempts: Attempts,
    time: FakeTime,
    *,
    is_write: bool = False,
    waits: bool = True,
    late_attempts_max: int | None = None,
    settings: ClientSettings | None = None,
) -> str:
    method: Method = "PUT" if is_write else "GET"
    request = Request(
        method,
        "/api/v4/version",
        Purpose("read"),
        waits=waits,
        late_attempts_max=late_attempts_max,
    )
    budget = budget_at(time.clock, sleep=time.sleep, settings=settings)
    return await budget.repeated(request, attempts)


async def test_a_read_is_repeated_until_it_succeeds(time: FakeTime) -> None:
    attempts = Attempts(TransientFailure(LATE), TransientFailure(LATE))

    assert await attempt(attempts, time) == "done"
    assert time.slept == [0.25, 0.5]


async def test_a_read_is_given_up_after_its_last_attempt(time: FakeTime) -> None:
    attempts = Attempts(*[TransientFailure(LATE)] * 9)

    with pytest.raises(TransientFailure):
        await attempt(attempts, time)

    assert attempts.count == 5


async def test_an_operation_is_given_up_when_its_time_is_over(time: FakeTime) -> None:
    attempts = Attempts(*[TransientFailure(LATE, after_s=40.0)] * 9)

    with pytest.raises(TransientFailure):
        await attempt(attempts, time, settings=ClientSettings(deadline_s=100.0))

    assert time.slept == [40.25, 40.5]


async def test_a_pause_longer_than_allowed_is_not_begun(time: FakeTime) -> None:
    attempts = Attempts(TransientFailure(LIMITED, after_s=301.0))

    with pytest.raises(TransientFailure):
        await attempt(attempts, time)

    assert time.slept == []


@pytest.mark.parametrize("error", [NotFound("gone"), ValueError("ours")])
async def test_what_will_not_pass_is_not_repeated(
    error: Exception, time: FakeTime
) -> None:
    attempts = Attempts(error)

    with pytest.raises(type(error)):
        await attempt(attempts, time)

    assert attempts.count == 1


@pytest.mark.parametrize(("error", "count"), [(LATE, 1), (LIMITED, 2)])
async def test_a_write_is_repeated_only_where_it_was_not_carried_out(
    error: RemoteError, count: int, time: FakeTime
) -> None:
    attempts = Attempts(TransientFailure(error, after_s=1.0), TransientFailure(LATE))

    with pytest.raises(TransientFailure):
        await attempt(attempts, time, is_write=True)

    assert attempts.count == count


@pytest.mark.parametrize(
    ("settings", "waits"),
    [(ClientSettings(rate_limit_pause_max_s=20.0), True), (ClientSettings(), False)],
)
async def test_a_usual_pause_that_is_too_long_is_not_made(
    settings: ClientSettings, waits: bool, time: FakeTime
) -> None:
    with pytest.raises(TransientFailure):
        await attempt(
            Attempts(TransientFailure(LIMITED, after_s=60.0)),
            time,
            waits=waits,
            settings=settings,
        )

    assert time.slept == []


async def test_what_a_gateway_refuses_is_asked_twice(time: FakeTime) -> None:
    attempts = Attempts(*[TransientFailure(RefusedInFront("blocked"))] * 9)

    with pytest.raises(TransientFailure):
        await attempt(attempts, time)

    assert attempts.count == 2


@pytest.mark.parametrize(("most", "count"), [(None, 2), (1, 1), (9, 5)])
async def test_what_gets_no_answer_in_time_is_not_asked_five_times(
    most: int | None, count: int, time: FakeTime
) -> None:
    """Each attempt takes a minute."""
    attempts = Attempts(*[TransientFailure(NoAnswerInTime("silent"))] * 9)

    with pytest.raises(TransientFailure):
        await attempt(attempts, time, late_attempts_max=most)

    assert attempts.count == count
