"""Records of wikis, and what a folder had of another wiki in between.  Pure.

What is remembered of a wiki is its *record*.  A record is never removed because an id
differs: it is set aside, and can be used again.  Which record is whose,
``workspace.identity`` says.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from wikisync.errors import Halted
from wikisync.model import Slug, Snapshot, WikiOwner
from wikisync.sync.decide.plan import BasePage


class WikiRecord(Struct, frozen=True):
    """What distinguishes one record from another."""

    number: int
    service_url: str
    owner: WikiOwner
    """By its path when it was last synced."""
    folder: str
    """In the workspace; empty where that was not noted."""
    remote_id: str
    is_in_use: bool
    """Whether it is the one for its address."""
    pages: int
    last_good_at: float | None

    def __str__(self) -> str:
        return f"{self.owner} (id {self.remote_id or 'unknown'}) at {self.service_url}"


def other_error(owner: WikiOwner, known_id: str, new_id: str, hint: str) -> Halted:
    """What is said where a wiki that was found by its path is another one."""
    return Halted(
        f"{owner.full_path} is another {owner.kind} now (id {new_id}, not {known_id});"
        " nothing was changed",
        hint=hint,
    )


class Between(Struct, frozen=True):
    """What the folder had of another wiki, since it was last synced with this one."""

    base: Mapping[Slug, BasePage]
    """What it agreed on with that one."""
    left_out: frozenset[Slug]
    """Pages that were here, and not put there."""

    def not_ours(
        self, base: Mapping[Slug, BasePage], here: Snapshot
    ) -> frozenset[Slug]:
        """Pages whose state here may come from there, and not from a person.

        Args:
            base: What was agreed on with this wiki.
            here: The folder now.
        """
        seen = here.pages.keys() | here.unreadable | self.left_out
        return frozenset(
            slug
            for slug, page in base.items()
            if (
                self.base[slug].local != page.local
                if slug in self.base
                else slug not in seen
            )
        )
