"""What a person asked of a cycle (pure)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Protocol

from msgspec import Struct

from wikisync.core.model import Page, Slug
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import ALL_KINDS, BatchKind

READS_MAX = 8
"""Reads in flight for one wiki."""
REMOTE_SPAN_S = 60.0


class LinkedPages(Protocol):
    """Pages whose texts differ by their links to files of the folder."""

    @property
    def unmet(self) -> Mapping[Slug, Sequence[str]]:
        """Ways of links to files that were not here when their pages were sent."""
        ...

    async def outdated(self) -> frozenset[Slug]:
        """Pages whose attachments here are other ones than the wiki's."""
        ...

    async def recognised(self, here: Page, slug: Slug) -> Page | None:
        """A page of the wiki as the folder writes it, if it is that one.

        Nothing is known of its links; those to files are compared by the files.
        """
        ...


Confirm = Callable[[], Awaitable[None]]
"""Raises where the wiki that was read is not the one that is meant."""


class FolderMatch(Enum):
    """What the folder is, compared with that of the last cycle."""

    SAME = auto()
    ADOPTED = auto()
    """Both sides are taken as they are: what one of them lacks was not deleted."""
    SHARED = auto()
    """Another machine used folder and base last: what is missing here may be on its
    way, so each deletion waits for a cycle without another machine between."""
    OTHER = auto()
    """It may be an older copy: it is adopted, and what differs in it is no edit of what
    was agreed on, and waits for a person."""

    @property
    def is_new(self) -> bool:
        """Whether what is missing on either side says nothing."""
        return self in {FolderMatch.ADOPTED, FolderMatch.OTHER}


class Patience(Struct, frozen=True):
    """When something that was seen again and again is certain."""

    remote_scans: int = 3
    """A page is surely gone from the wiki if so many complete lists lack it ..."""
    remote_span_s: float = REMOTE_SPAN_S
    """... from the first to the last of them."""
    local_scans: int = 2
    """A file is surely gone if so many scans of the folder lack it ..."""
    local_span_s: float = 10.0
    """... from the first to the last of them."""
    editor_span_s: float = 600.0
    """How long a page may be open in an editor before a person is notified."""


class CycleOptions(Struct, frozen=True):
    """What a person asked of a cycle."""

    direction: Direction = Direction.BOTH
    pages: frozenset[Slug] | None = None
    """Only these pages, or all."""
    saved: frozenset[str] | None = None
    """Files of the folder that were saved since the last cycle, where nothing else is
    known to have happened to it: a scan of them may be enough.  None where anything may
    have happened."""
    folder: FolderMatch = FolderMatch.SAME
    tries_again: bool = False
    """Send once more what the service refused: its rights may be others by now."""
    allows_emptying: bool = False
    """A person's yes to all removals here that the safety stop would hold."""
    is_undoable: bool = True
    """What it does can be taken back by an undo."""
    waits: bool = False
    """The run goes on when an absence is certain, and its sync with it."""
    patience: Patience = Patience()
    reads_max: int = READS_MAX

    @property
    def is_partial(self) -> bool:
        """Whether some differences are left alone because nobody asked for them."""
        return self.pages is not None or self.direction is not Direction.BOTH

    @property
    def stops(self) -> frozenset[BatchKind]:
        """What the safety stop holds until a person says yes."""
        emptying = {BatchKind.DELETES_HERE} if self.allows_emptying else set()
        return ALL_KINDS - emptying

    def writes_here(self, slug: Slug) -> bool:
        """Whether the folder may be written for this page."""
        is_asked = self.pages is None or slug in self.pages
        return is_asked and self.direction is not Direction.PUSH
