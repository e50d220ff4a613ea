"""What a daemon does for one wiki, and that no failure of it ends the daemon."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection
from contextvars import ContextVar
from typing import Protocol, TypeVar

from wikisync.errors import WikisyncError
from wikisync.watch.daemon.wiki_status import CycleOutcome, RemoteHint, Why

log = logging.getLogger(__name__)

CYCLE: ContextVar[str] = ContextVar("cycle", default="")
"""Which cycle a line of the log belongs to."""

PROBLEM_CHARS_MAX = 500

T = TypeVar("T")


class WikiWork(Protocol):
    """What the daemon does for one wiki; a watch has the real parts."""

    @property
    def name(self) -> str:
        """How messages call the wiki: its folder in the workspace."""
        ...

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        ...

    async def cycle(self, why: Why) -> CycleOutcome:
        """Run one cycle."""
        ...

    async def scan(self) -> bool:
        """Whether the folder differs from what the last cycle scanned."""
        ...

    async def hint(self) -> RemoteHint | None:
        """A cheap mark of the wiki's state; None where the service has none."""
        ...

    async def note_unchanged(self) -> None:
        """Note that the wiki is as the last cycle saw it."""
        ...


class ActivityList(Protocol):
    """One request that says in which of several wikis something happened."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def wikis(self) -> Collection[str]:
        """The names of the wikis that it has."""
        ...

    async def active(self) -> Collection[str]:
        """Those of them in which something happened since it was asked before.

        Raises:
            WikisyncError: the service gives no such list.
        """
        ...


async def guarded(name: str, work: Awaitable[T]) -> T:
    """Work whose every failure is an error for people.

    Args:
        name: What is worked on.
        work: Whatever runs for months beside the cycles, or is one.

    Raises:
        WikisyncError: its own, or one that says what went wrong with us.
    """
    try:
        return await work
    except WikisyncError:
        raise
    except Exception as exc:
        # the one place that may: a fault of ours must not end the daemon
        log.exception("work on %s failed", name)
        said = f"{type(exc).__name__}: {exc}"[:PROBLEM_CHARS_MAX]
        raise WikisyncError(
            f"work on {name} failed: {said}",
            hint="this is a fault of wikisync; the log says where",
        ) from exc
