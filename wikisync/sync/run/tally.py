"""The tally of one cycle, which everybody who carries out adds to."""

from __future__ import annotations

import logging

from msgspec import Struct, field

from wikisync.errors import WikisyncError
from wikisync.model import Problem, Slug

log = logging.getLogger(__name__)


class Tally(Struct):
    """What one cycle did so far; counts pages."""

    pulled: int = 0
    pushed: int = 0
    merged: int = 0
    renamed: int = 0
    removed: int = 0
    superseded: int = 0
    """Pages that changed while their turn came; the next cycle decides anew."""
    problems: list[Problem] = field(default_factory=list)
    """Errors; nothing is removed in a cycle that had one."""
    told: list[Problem] = field(default_factory=list)
    """What a person has to look at, and is no error: the page waits for them."""
    refused: set[Slug] = field(default_factory=set)
    """Pages that the service did not take; from the next cycle on they are held."""
    lost_names: set[Slug] = field(default_factory=set)
    """New names of pages whose rename failed; nothing follows it."""
    given_names: dict[Slug, Slug] = field(default_factory=dict)
    """What the service called pages instead of their new names, which are lost."""

    def fail(
        self,
        code: str,
        slug: str,
        message: str,
        hint: str | None = None,
        *,
        is_once: bool = False,
    ) -> None:
        """Note an error with one page; the other ones go on, but for removals."""
        log.info("problem with %s: %s", slug, message)
        self.problems.append(Problem(code, slug, message, hint or "", is_once))

    def tell(
        self,
        code: str,
        slug: str,
        message: str,
        hint: str | None = None,
        *,
        is_once: bool = False,
    ) -> None:
        """Note what a person has to do about a page that waits for them."""
        log.info("waiting: %s: %s", slug, message)
        self.told.append(Problem(code, slug, message, hint or "", is_once))

    def overtake(self, slug: Slug, error: WikisyncError) -> None:
        """Note a page that someone changed meanwhile."""
        log.info("decide anew about %s: %s", slug, error.message)
        self.superseded += 1
