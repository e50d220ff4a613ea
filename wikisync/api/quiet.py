"""Where the service wants fewer requests: which of them wait, and how long.  Pure.

A limit that one address met says nothing of others: files, git, and the changes of one
wiki have limits of their own.  What two wikis met when they were read is the token's
limit, and all of the API waits.  However long the service asks to wait, one request is
made again after a while, which shows whether that still is so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from wikisync.api.request import Request


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
    """What waits, and how long; times are of the client's clock."""

    what: str
    asked_until: float
    """How long the service asked for when it limited them first."""
    until: float
    """When the next request is made."""


class Quiet:
    """The limits that requests met and that are not known to be over."""

    def __init__(self, clock: Callable[[], float], longest_s: float) -> None:
        """Args: ``longest_s`` is how long a request waits at most for a try."""
        self._clock = clock
        self._longest_s = longest_s
        self._waits: dict[Area, Wait] = {}

    def note(self, area: Area, pause_s: float) -> None:
        """A request was refused for a limit, with this pause asked for or usual."""
        now = self._clock()
        before = self._waits.get(area)
        is_on = before is not None and before.asked_until > now
        self._waits[area] = Wait(
            str(area),
            before.asked_until if before and is_on else now + pause_s,
            now + min(pause_s, self._longest_s),
        )

    def note_answer(self, area: Area) -> None:
        """A request was answered: its limit is over, unless it was sent before that."""
        wait = self._waits.get(area)
        if wait is not None and wait.until <= self._clock():
            del self._waits[area]

    def left_s(self, area: Area) -> float:
        """Seconds until a request may be made."""
        waits = [self._waits[area]] if area in self._waits else []
        if self.is_everywhere(area):
            waits += self._of_reads()
        return max((wait.until for wait in waits), default=0.0) - self._clock()

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
