"""When a request is made again, and after what pause.

A request that changes nothing is repeated after failures that may pass.  One
that writes is repeated only after a 429, which says that it was not carried
out; that is no attempt, and ``budget`` makes its pause.  Sleep, random and clock are
parameters.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TypeVar

from wikisync.api.settings import ClientSettings
from wikisync.errors import NoAnswerInTime, RateLimited, RefusedInFront, RemoteError

log = logging.getLogger(__name__)

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]
Random = Callable[[], float]
Clock = Callable[[], float]
NotifyPause = Callable[[float, str], None]
"""Called with the length of a pause in seconds, and why it is made."""


class TransientFailure(Exception):
    """A failure that may be over when the request is made again.

    Never leaves the client: who catches it raises its ``error``.
    """

    def __init__(self, error: RemoteError, *, after_s: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.after_s = after_s
        """Pause that the service asked for, in seconds; after a 429 the one to make."""


async def repeated(
    attempt: Callable[[], Awaitable[T]],
    settings: ClientSettings,
    *,
    is_write: bool,
    sleep: Sleep,
    random: Random,
    clock: Clock,
    late_attempts_max: int | None = None,
    waits: bool = True,
    notify: NotifyPause | None = None,
) -> T:
    """Make attempts until one succeeds, or no further one is allowed.

    Args:
        attempt: makes one.
        settings: how many, and how long the pauses between them may be.
        is_write: it is repeated only after a 429.
        sleep: waits.
        random: 0.0 to 1.0, spreads the pauses.
        clock: for the deadline.
        late_attempts_max: attempts where no answer comes in time; by default those
            of the settings.
        waits: whether a pause that the service asks for is made.
        notify: is called before each pause, with its length and its reason.

    Raises:
        TransientFailure: the last of them.
    """
    started = clock()
    refusals = 0
    late_max = (
        settings.late_attempts_max if late_attempts_max is None else late_attempts_max
    )
    for number in count(1):
        try:
            return await attempt()
        except TransientFailure as failure:
            is_limit = isinstance(failure.error, RateLimited)
            refusals += is_limit
            made = number - refusals
            pause = pause_s(failure, made, settings, random)
            wish_max_s = settings.rate_limit_pause_max_s if waits else 0.0
            attempts_max = _attempts_max(failure.error, settings, late_max)
            if (
                (not is_limit and (is_write or made >= attempts_max))
                or (failure.after_s or 0.0) > wish_max_s
                or clock() - started + pause > settings.deadline_s
            ):
                raise
            reason = failure.error.message
        log.debug(
            "attempt %d failed, asking again in %.1f s: %s", number, pause, reason
        )
        if notify is not None:
            notify(pause, reason)
        if not is_limit:
            await sleep(pause)
    raise AssertionError("the count has no end")


def _attempts_max(error: RemoteError, settings: ClientSettings, late_max: int) -> int:
    """How often a request is made that fails in this way."""
    attempts_max = settings.attempts_max
    if isinstance(error, NoAnswerInTime):
        return min(late_max, attempts_max)
    if isinstance(error, RefusedInFront):
        return min(settings.refused_attempts_max, attempts_max)
    return attempts_max


def pause_s(
    failure: TransientFailure, attempt: int, settings: ClientSettings, random: Random
) -> float:
    """Seconds to wait after the attempt with this number, counted from 1.

    What the service asks for is the least; a random part on top keeps many
    requests from coming back in the same moment.  Without a wish of the
    service it is exponential back-off with full jitter, any value from zero
    up to the doubled limit.
    """
    wish_s = failure.after_s or 0.0
    if isinstance(failure.error, RateLimited):
        return wish_s  # the budget spreads what waits for it
    limit = min(
        settings.retry_delay_max_s, settings.retry_delay_s * 2.0 ** (attempt - 1)
    )
    return wish_s + limit * random()


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
    moment = parse_date(text)
    if moment is None:
        return None
    answered = parse_date(headers.get("date", "")) or now
    return max(0.0, (moment - answered).total_seconds())


def parse_date(text: str) -> datetime | None:
    """A date of a header; None where it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
