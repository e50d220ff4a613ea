"""How far pages are on their way to the service, as a preview shows it.  Pure.

Only the sync daemon knows; a preview takes it from whoever runs both, through the
one protocol below.  Alone, it knows of nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from wikisync.model import Slug, WikiOwner

StateName = Literal["pushed", "waiting", "held"]


class PageStatus(Struct, frozen=True):
    """How far one page is."""

    state: StateName
    """``pushed``: the service has it; ``waiting``: it is on its way; ``held``: it
    stays here until a person decides."""
    note: str = ""
    """Why, for a person; empty where there is nothing to say."""


class PageStates(Protocol):
    """Where a preview learns how far pages are."""

    def current(self, owner: WikiOwner) -> Mapping[Slug, PageStatus]:
        """The pages of a wiki that something is known of; asked in the event loop."""
        ...

    def changes(self) -> AsyncIterator[None]:
        """One item whenever some page's status is another one; may end."""
        ...


class NoStates:
    """Nobody carries pages to the service."""

    def current(self, owner: WikiOwner) -> Mapping[Slug, PageStatus]:  # noqa: ARG002
        """Nothing is known of any page."""
        return {}

    async def changes(self) -> AsyncIterator[None]:
        """Nothing ever changes."""
        nothing: tuple[None, ...] = ()
        for item in nothing:
            yield item
