"""When a request is made again, and after what pause.

A request that changes nothing is repeated after failures that may pass.  One
that writes is repeated only after a 429, which says that it was not carried
out.  Sleep, random and clock are parameters.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from wikisync.api.settings import ClientSettings
from wikisync.errors import RateLimited, RemoteError

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

log = logging.getLogger(__name__)

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]
Random = Callable[[], float]
Clock = Callable[[], float]


class PassingFailure(Exception):
    """A failure that may be over when the request is made again.

    Never leaves the client: who catches it raises its ``error``.
    """

    def __init__(self, error: RemoteError, *, after_s: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.after_s = after_s
        """Pause that the service asked for, in seconds."""


def spread() -> float:
    """A random number from 0.0 to 1.0; most commands never pause and need none."""
    from random import random

    return random()


async def repeated(
    attempt: Callable[[], Awaitable[T]],
    settings: ClientSettings,
    *,
    is_write: bool,
    sleep: Sleep,
    random: Random,
    clock: Clock,
) -> T:
    """Make attempts until one succeeds, or no further one is allowed.

    Raises:
        PassingFailure: the last of them.
    """
    started = clock()
    try:
        return await attempt()
    except PassingFailure as failure:
        failures = [failure]

    async def next_attempt() -> T:
        # the loop counts the attempt that was made without it
        if failures:
            raise failures.pop()
        return await attempt()

    loop = _retrying(settings, started, is_write, sleep, random, clock)
    return await loop(next_attempt)


def _retrying(
    settings: ClientSettings,
    started: float,
    is_write: bool,
    sleep: Sleep,
    random: Random,
    clock: Clock,
) -> AsyncRetrying:
    """A retry loop for an operation that began at this time."""
    # loaded by what failed once: it costs a short command more than its requests do
    from tenacity import AsyncRetrying
    from tenacity.retry import retry_if_exception

    def may_repeat(failure: BaseException) -> bool:
        if not isinstance(failure, PassingFailure):
            return False
        return not is_write or isinstance(failure.error, RateLimited)

    def pause(state: RetryCallState) -> float:
        return pause_s(_failure(state), state.attempt_number, settings, random)

    def is_enough(state: RetryCallState) -> bool:
        after_s = _failure(state).after_s or 0.0
        return (
            state.attempt_number >= settings.attempts_max
            or after_s > settings.rate_limit_pause_max_s
            or clock() - started + state.upcoming_sleep > settings.deadline_s
        )

    return AsyncRetrying(
        sleep=sleep,
        wait=pause,
        stop=is_enough,
        retry=retry_if_exception(may_repeat),
        before_sleep=_tell,
        reraise=True,
    )


def pause_s(
    failure: PassingFailure, attempt: int, settings: ClientSettings, random: Random
) -> float:
    """Seconds to wait after the attempt with this number, counted from 1.

    What the service asks for is the least; a random part on top keeps many
    requests from coming back in the same moment.  Without a wish of the
    service it is exponential back-off with full jitter, any value from zero
    up to the doubled limit.
    """
    limit = min(
        settings.retry_delay_max_s, settings.retry_delay_s * 2.0 ** (attempt - 1)
    )
    jitter = limit * random()
    if failure.after_s is not None:
        return failure.after_s + jitter
    if isinstance(failure.error, RateLimited):
        window = min(settings.rate_limit_pause_s, settings.rate_limit_pause_max_s)
        return window + jitter
    return jitter


def parse_retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds the service asks to wait: RFC 9110 10.2.3, both syntaxes.

    A date is measured from the answer's own ``Date``, so that a wrong clock on
    either side does no harm; ``now`` serves where that is absent.

    Returns:
        None where the header is absent or makes no sense; never negative.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = _parse_date(text)
    if moment is None:
        return None
    answered = _parse_date(headers.get("date", "")) or now
    return max(0.0, (moment - answered).total_seconds())


def _parse_date(text: str) -> datetime | None:
    # loaded by what failed once, as above
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _failure(state: RetryCallState) -> PassingFailure:
    outcome = state.outcome
    assert outcome is not None, "asked before the first attempt ended"
    failure = outcome.exception()
    assert isinstance(failure, PassingFailure), "only these are repeated"
    return failure


def _tell(state: RetryCallState) -> None:
    log.debug(
        "attempt %d failed, asking again in %.1f s: %s",
        state.attempt_number,
        state.upcoming_sleep,
        _failure(state).error.message,
    )
