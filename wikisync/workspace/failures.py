"""What an error of a wiki means: whose it is, whether it passes, when to try again.

Whether an error is that wiki's own or the whole service's, the smallest request that
needs nothing of any wiki says.  A person is called for what no waiting mends; whatever
is not named here needs a person: better too loud than not at all.
"""

import logging
import random
from collections.abc import Awaitable
from enum import Enum
from typing import Protocol, TypeVar

from wikisync import errors
from wikisync.core.model import Problem

log = logging.getLogger(__name__)

OF_SERVICE = (errors.AuthenticationFailed, errors.RateLimited, errors.Unavailable)
"""Errors met at one wiki that may as well be the whole service's."""
OWN_TROUBLE = (errors.AuthenticationFailed, errors.Unavailable)
"""Those of them that no waiting mends where the service answers all the same."""
TRANSIENT = (
    errors.PreconditionFailed,
    errors.RateLimited,
    errors.StateDamaged,
    errors.Unavailable,
)
TRANSIENT_PROBLEMS = frozenset(
    {
        "absence-doubted",
        # no text waits for it, and status names each
        "attachment-missing",
        "not-at-rest",
        "page-limited",
        "page-listed-twice",
        "page-unavailable",
        # a word of the command line, which its answer is for
        "page-unknown",
        "removals-postponed",
        # kept as plain text; only a newer wikisync knows better
        "unknown-format",
    }
)
LASTING_S = 4 * 3600.0
"""Longer than a journey or a maintenance; a person who writes here for half a day has
to know that nothing of it is on the wiki."""
LASTING_TRIES = 3
"""So often in a row a wiki fails while the service answers until a person is called."""
LASTING_HINT = (
    "ask the administrator of the service; until then, skip the wiki with exclude in"
    " [sync]"
)
BACK_OFF_MIN_S = 2.0
BACK_OFF_MAX_S = 300.0
REFUSED_RETRY_S = 900.0
"""After a refused token, and after whatever the service asks for at the most."""
RATE_LIMIT_S = 60.0
"""After "too many requests" that do not say how long to wait."""
PROBLEM_CHARS_MAX = 500

T = TypeVar("T")


class Condition(Enum):
    """The state of one wiki."""

    STARTING = "starting"
    IN_SYNC = "in sync"
    SYNCING = "syncing"
    """It was in sync, and a cycle of it takes long: what it found is not known yet."""
    PARTLY = "partly in sync"
    OPEN = "open in an editor"
    """In sync but for pages that wait until an editor here closes them."""
    NEEDS_PERSON = "needs a person"
    OFFLINE = "offline"
    LIMITED = "limited"
    REFUSED = "refused"
    FAILING = "failing"
    PAUSED = "paused"


class Service(Protocol):
    """A service that can be asked whether it answers at all."""

    @property
    def has_token(self) -> bool:
        """Whether it is asked with a token."""

    async def version(self) -> object:
        """The smallest request that needs nothing of any wiki."""


async def is_of_all(service: Service | None, error: errors.WikisyncError) -> bool:
    """Whether the other wikis of the service would meet this error, too."""
    if not isinstance(error, OF_SERVICE):
        return False
    if isinstance(error, errors.RateLimited):
        # the client knows whether several wikis met it
        return error.is_everywhere
    if service is None:
        return True
    try:
        await service.version()
    except errors.AuthenticationFailed:
        # without a token the service answers so, and it does answer
        return service.has_token
    except errors.RemoteError as met:
        return isinstance(met, errors.Unavailable | errors.RateLimited)
    return False


def condition_after(error: errors.WikisyncError, *, is_of_all: bool) -> Condition:
    """How a wiki is that met an error, or the service, whose error it was."""
    match error:
        case errors.AuthenticationFailed() | errors.PermissionDenied():
            return Condition.REFUSED
        case errors.RateLimited():
            return Condition.LIMITED
        case errors.Halted():
            return Condition.NEEDS_PERSON
    return Condition.OFFLINE if is_of_all else Condition.FAILING


def again_s(error: errors.WikisyncError, failures: int, chance: random.Random) -> float:
    """How long to wait after so many failures in a row, the last by this error."""
    match error:
        case errors.AuthenticationFailed() | errors.PermissionDenied():
            return REFUSED_RETRY_S
        case errors.RateLimited():
            # as it asks, but one try is made in time
            return min(error.retry_after_s or RATE_LIMIT_S, REFUSED_RETRY_S)
        case errors.Halted():
            return BACK_OFF_MAX_S
    return back_off_s(failures, chance)


def back_off_s(failures: int, chance: random.Random) -> float:
    """Full jitter below a limit that doubles, never less than the least."""
    limit = min(BACK_OFF_MAX_S, BACK_OFF_MIN_S * 2 ** min(failures, 16))
    return chance.uniform(BACK_OFF_MIN_S, limit)


def own_failure(error: errors.WikisyncError, tries: int) -> errors.WikisyncError:
    """What keeps one wiki back that failed so often while the service answers."""
    # the words are the same after each try, so that a person is called once
    if isinstance(error, OWN_TROUBLE) and tries >= LASTING_TRIES:
        return errors.SyncError(
            f"{error.message}; {LASTING_TRIES} attempts in a row failed, although the"
            " service is reachable",
            hint=LASTING_HINT,
        )
    return error


def is_transient(error: errors.WikisyncError) -> bool:
    """Whether it should go away without anybody's doing."""
    return isinstance(error, TRANSIENT)


def needs_person(problem: Problem) -> bool:
    """Whether it stays until somebody does something about it."""
    return problem.code not in TRANSIENT_PROBLEMS


async def guarded(name: str, work: Awaitable[T]) -> T:
    """Work whose every failure, also one of ours, is an error for people."""
    try:
        return await work
    except errors.WikisyncError:
        raise
    except Exception as exc:
        # the one place that may: a fault of ours must not end the runner
        log.exception("work on %s failed", name)
        said = f"{type(exc).__name__}: {exc}"[:PROBLEM_CHARS_MAX]
        raise errors.WikisyncError(
            f"work on {name} failed: {said}",
            hint="this is a fault of wikisync; the log says where",
        ) from exc
