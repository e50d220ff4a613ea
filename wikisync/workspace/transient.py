"""Where the line is drawn between what passes by itself and what needs a person.  Pure.

A person is called for what no waiting mends: a refused token, missing rights, a wiki
or folder that is gone, a page that cannot be carried over as it is.  What mends itself
calls nobody, or soon nobody comes: a service that is away for a while, a page that was
superseded, an unusable state, which the next start replaces.  Only where an error that
should pass has lasted for hours is it reported as well.  Whatever is not named here
needs a person: better to report a new problem too loudly than not at all.
"""

from __future__ import annotations

from wikisync.errors import (
    PreconditionFailed,
    RateLimited,
    StateDamaged,
    Unavailable,
    WikisyncError,
)
from wikisync.model import Problem

LASTING_S = 4 * 3600.0
"""Longer than a journey or a maintenance; whoever writes here for half a day should
know that nothing of it is on the wiki."""

LASTING_TRIES = 3
"""So often in a row a wiki fails while the service answers until a person is called."""
LASTING_HINT = (
    "ask the administrator of the service; until then, skip the wiki with exclude in"
    " [sync]"
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


def is_transient(error: WikisyncError) -> bool:
    """Whether it should go away without anybody's doing."""
    return isinstance(
        error, PreconditionFailed | RateLimited | StateDamaged | Unavailable
    )


def needs_person(problem: Problem) -> bool:
    """Whether it stays until somebody does something about it."""
    return problem.code not in TRANSIENT_PROBLEMS


def lasting(problem: str) -> str:
    """What is said of a wiki that alone fails again and again.

    The words are the same after each try, so that a person is called once.
    """
    return (
        f"{problem}; {LASTING_TRIES} attempts in a row failed, although the service"
        " is reachable"
    )
