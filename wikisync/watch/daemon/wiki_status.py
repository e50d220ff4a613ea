"""How the wikis of a daemon fare: what it keeps of each between two cycles.

Values for ``schedule``, ``hints`` and ``daemon``, which alone change them, and for
whoever shows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum, auto

from msgspec import Struct, field

from wikisync.errors import WikisyncError


class Why(Enum):
    """What a cycle is asked for; it says which sides have to be scanned."""

    FOLDER = auto()
    """Something changed here; the wiki is taken as it was last seen."""
    WIKI = auto()
    """Something changed on the wiki, or may have."""
    EVERYTHING = auto()
    """Time for a whole scan, or a person asked."""


class RemoteHint(Struct, frozen=True):
    """What a service says cheaply of a wiki's state."""

    mark: str
    """Another one than before: the wiki may have moved."""
    is_costly: bool = False
    """Whether it took an answer of some kilobytes."""
    is_exact: bool = False
    """Whether the same one means that the wiki is the same."""


class CycleOutcome(Struct, frozen=True):
    """What the daemon needs to know of one cycle."""

    is_quiet: bool
    has_more: bool = False
    next_scan_s: float | None = None
    needs_person: bool = False
    problem: str = ""
    """What kept a part of it back; it is tried again, ever more rarely."""
    hint: str = ""
    """What a person does about that."""
    open_here: str = ""
    """Pages that wait until an editor here closes them; empty for none."""


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
    """The service wants fewer requests."""
    REFUSED = "refused"
    FAILING = "failing"
    PAUSED = "paused"


class WikiStatus(Struct):
    """One wiki as the daemon sees it; times are of the daemon's clock."""

    name: str
    condition: Condition = Condition.STARTING
    is_working: bool = False
    """A cycle is under way."""
    asked: set[Why] = field(default_factory=lambda: {Why.EVERYTHING})
    asked_at: float = 0.0
    """Since when, where it is asked."""
    began_at: float = 0.0
    """When its last cycles began."""
    not_before: float = 0.0
    """No cycle starts earlier: the wiki is in trouble."""
    failures: int = 0
    """In a row."""
    failure: WikisyncError | None = None
    """Why the last of them failed."""
    failing_since: float = 0.0
    """When the first of them failed."""
    full_scan: float = float("-inf")
    """When the whole wiki was last scanned."""
    scan_s: float = 0.0
    """How long the cycles with that scan took."""
    due_at: float = float("inf")
    """When a cycle is due without being asked."""
    last_good_at: float | None = None
    unsettled: int = 0
    """Cycles in a row that left a problem."""
    outcome: CycleOutcome | None = None
    """Of the last cycle that ended well."""
    mark: str | None = None
    """The last hint."""
    has_hints: bool = True
    """Whether the service gives marks of this wiki."""
    has_costly_hints: bool = False
    has_exact_hints: bool = False
    moved_at: float = 0.0
    """When something happened last."""
    heard_at: float = float("-inf")
    """When a webhook last reported an edit."""
    has_hooks: bool = False
    """Whether webhooks report what hints find."""
    is_listed: bool = False
    """Whether a list of active projects shows what hints find."""
    listed_since: float = float("inf")
    """Since when it does."""
    listed_at: float = float("-inf")
    """When the list last had it as active ..."""
    is_due: bool = False
    """... of which no hint was asked for since."""
    unlisted_since: float | None = None
    """When a hint found a move that the list does not have yet."""
    hinted_at: float = float("-inf")
    """When the last hint came."""
    hint_s: float = 0.0
    """How long to wait for the next hint; 0: as short as may be."""
    quickened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the wait for the next hint may be too long."""
    problem: str = ""
    hint: str = ""
    """What a person can do about the problem."""
    cycles: int = 0

    @property
    def is_paused(self) -> bool:
        """Whether it was paused when that was last checked."""
        return self.condition is Condition.PAUSED

    def waits_since(self) -> float:
        """When it began to wait for a cycle, or will."""
        return min(self.asked_at, self.due_at) if self.asked else self.due_at


class Outage(Struct):
    """Why no wiki of the service can be worked on."""

    condition: Condition
    """Offline, limited or refused."""
    problem: str
    hint: str
    since: float
    failed_at: float
    """When it was tried last; what began earlier says nothing of now."""
    until: float
    """When it is tried again."""
    failures: int
    """In a row."""
    before: Mapping[str, Condition]
    """The condition of each wiki when it began."""
