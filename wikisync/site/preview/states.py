"""How far pages are on their way to the service, as a preview shows it.  Pure.

Only the sync daemon knows; a preview takes it from the program that runs both.  A
preview alone knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from wikisync.core.model import Slug, WikiOwner

StateName = Literal["pushed", "waiting", "held"]


class PageStatus(Struct, frozen=True):
    """How far one page is."""

    state: StateName
    """``pushed``: the service has it; ``waiting``: it is on its way; ``held``: it
    stays here until a person decides."""
    note: str = ""
    """Why, for a person; empty where there is nothing to say."""


class PageStates:
    """How far pages are: nothing is known, unless a program overrides ``current``."""

    def __init__(self) -> None:
        """Nobody is notified yet."""
        self.wake: Callable[[], None] = lambda: None
        """Called whenever some page's status is another one; the preview sets it."""

    def current(self, owner: WikiOwner) -> Mapping[Slug, PageStatus]:  # noqa: ARG002
        """The pages of a wiki that something is known of; asked in the event loop."""
        return {}

    def wiki(self, owner: WikiOwner) -> PageStatus | None:  # noqa: ARG002
        """How far a wiki is as a whole; None while nobody knows."""
        return None
