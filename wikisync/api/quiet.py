"""Where the service limits requests: which of them wait, and how long.

A limit that one address met says nothing of others: files, git, and the changes of one
wiki have limits of their own.  What two wikis met when they were read is the token's
limit, and all of the API waits.  However long the service asks to wait, one request is
made again after a while, which shows whether that still is so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.request import Request

DAY_S = 86_400.0


class Area(Struct, frozen=True):
    """Requests that share a limit."""

    sort: Literal["git", "files", "changes", "reads"]
    owner: str = ""
    """The project or group; empty for all, and for what is of none."""

    @classmethod
    def of(cls, request: Request) -> Area:
        """The one that a request belongs to."""
        purpose = request.purpose
        owner = f"{purpose.owner_kind} {purpose.owner}" if purpose.owner_kind else ""
        if request.is_git:
            return cls("git")
        if purpose.about == "attachment" and not request.is_write:
            return cls("files")
        return cls("changes" if request.is_write else "reads", owner)

    def __str__(self) -> str:
        return f"{self.sort} of {self.owner}" if self.owner else self.sort


class Wait(Struct, frozen=True):
    """What waits, and how long."""

    what: str
    asked_s: float
    """The pause that the service asked for when it limited them first."""
    asked_until: float
    """Its end, in seconds of the client's clock."""
    ends_at: float
    """The same in seconds since the epoch, for people."""
    until: float
    """When the next request is made, in seconds of the client's clock."""

    def __str__(self) -> str:
        return f"the service accepts no {self.what} until {shown_time(self.ends_at)}"


class Quiet:
    """The limits that requests met and that are not known to be over."""

    def __init__(
        self,
        clock: Callable[[], float],
        longest_s: float,
        *,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Note nothing yet.

        Args:
            clock: seconds since any moment.
            longest_s: how long a request waits at most for a try.
            wall: seconds since the epoch.
        """
        self._clock = clock
        self._wall = wall
        self._longest_s = longest_s
        self._waits: dict[Area, Wait] = {}

    def note(self, area: Area, pause_s: float) -> None:
        """A request was refused for a limit, with this pause asked for or usual."""
        now = self._clock()
        before = self._waits.get(area)
        if before is None or before.asked_until <= now:
            before = Wait(str(area), pause_s, now + pause_s, self._wall() + pause_s, 0)
        until = now + min(pause_s, self._longest_s)
        # one that says "wait a day" each time says nothing new
        self._waits[area] = replace(before, until=until)

    def note_answer(self, area: Area) -> None:
        """A request was answered: its limit is over, unless it was sent before that."""
        wait = self._waits.get(area)
        if wait is not None and wait.until <= self._clock():
            del self._waits[area]

    def forget(self) -> None:
        """Let every request be made now: a person knows better."""
        self._waits.clear()

    def wait_of(self, area: Area) -> Wait | None:
        """What a request of this area waits for now."""
        now = self._clock()
        waits = [self._waits[area]] if area in self._waits else []
        if self.is_everywhere(area):
            waits += [replace(wait, what="requests") for wait in self._of_reads()]
        waits = [wait for wait in waits if wait.until > now]
        return max(waits, key=lambda wait: wait.until, default=None)

    def is_everywhere(self, area: Area) -> bool:
        """Whether this area waits for what all wikis of the service wait for."""
        return area.sort in {"reads", "changes"} and len(self._of_reads()) > 1

    def waits(self) -> list[Wait]:
        """What is limited now, each with the first time that was asked for."""
        now = self._clock()
        return [
            wait
            for wait in self._waits.values()
            if max(wait.until, wait.asked_until) > now
        ]

    def _of_reads(self) -> list[Wait]:
        now = self._clock()
        return [
            wait
            for area, wait in self._waits.items()
            if area.sort == "reads" and wait.until > now
        ]


def shown_time(at: float) -> str:
    """A time of the epoch as a clock on this machine shows it, with its day if far."""
    moment = datetime.fromtimestamp(at)  # noqa: DTZ006 - a person's own time
    is_near = abs(at - time.time()) < DAY_S / 2
    return f"{moment:%H:%M}" if is_near else f"{moment:%Y-%m-%d %H:%M}"
