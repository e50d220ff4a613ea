"""What a runner runs: the protocol between it and a wiki's cycles, as values (pure)."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum, auto
from typing import Protocol

from msgspec import Struct


class ScanScope(IntEnum):
    """Which sides a cycle has to scan; the wider is the greater."""

    FOLDER = auto()
    """Something changed here; the wiki is taken as it was last seen."""
    WIKI = auto()
    """Something changed on the wiki, or may have."""
    EVERYTHING = auto()
    """Time for a whole scan, or a person asked."""


class CycleOutcome(Struct, frozen=True):
    """What the runner needs to know of one cycle."""

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


class WikiWork(Protocol):
    """What is done for one wiki."""

    @property
    def name(self) -> str:
        """How messages call the wiki, such as by its folder in the workspace."""
        ...

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        ...

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        """Remember what the next cycle has to scan, as ``request_cycle`` says."""
        ...

    async def cycle(self, scope: ScanScope) -> CycleOutcome:
        """Run one cycle."""
        ...
