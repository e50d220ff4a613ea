"""Which names are taken on the wiki while a plan grows.

Pure.  The one part of a decision that hangs on the decisions before it: a rename on the
wiki takes the pages below along, and two new names must not be one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from wikisync.core.model import Slug, Snapshot, folders_above, path_of_title


class RemoteNames:
    """The names of one wiki, with the renames planned so far.

    The service finds ``home`` where ``Home`` was asked for (Q5), and a rename moves
    every page below the renamed one along (Q4).
    Each table is made when it is first asked: an edit needs none of the large ones.
    """

    def __init__(self, remote: Snapshot) -> None:
        self._remote = remote
        # ``_was`` has each page once, by the name it has after the renames so far; for
        # the pages that were renamed ``_now`` is its inverse.  ``_taken`` counts those
        # names, those of new pages and the unreadable ones, by what the service takes
        # for one name.
        self._now: dict[Slug, Slug] = {}

    @cached_property
    def _was(self) -> dict[Slug, Slug]:
        return {slug: slug for slug in self._remote.pages}

    @cached_property
    def _taken(self) -> Counter[str]:
        remote = self._remote
        return Counter(map(_key, {*remote.pages, *remote.unreadable}))

    @cached_property
    def _cases(self) -> Counter[str]:
        return Counter(map(str.casefold, self._remote.pages))

    @cached_property
    def _below(self) -> Counter[str]:
        below: Counter[str] = Counter()
        for slug in self._remote.pages:
            below.update(folders_above(slug))
        return below

    def now(self, slug: Slug) -> Slug:
        """The name a page has after the renames planned so far."""
        return self._now.get(slug, slug)

    def is_twin(self, slug: Slug) -> bool:
        """Whether asking the wiki for this page may give another one (Q5)."""
        return self._cases[slug.casefold()] > 1

    def take(self, slug: Slug) -> bool:
        """Take a name for a new page; False where it is not free."""
        key = _key(slug)
        if self._taken[key]:
            return False
        self._taken[key] += 1
        return True

    def was(self, name: Slug) -> Slug:
        """The name that the page of this name has before any rename."""
        return self._was[name]

    def moves_of(self, slug: Slug, target: Slug) -> Mapping[Slug, Slug] | None:
        """What a rename does to the page and those below it: old name to new.

        None where a name is not free, or where a folder would go into itself.
        """
        carried = self._carried(slug)
        if carried and target.startswith(f"{slug}/"):
            return None
        moves = {slug: target}
        moves |= {one: Slug(target + one[len(slug) :]) for one in carried}
        leaving = Counter(map(_key, moves))
        arriving = Counter(map(_key, moves.values()))
        # names that move away make room, also for each other: ``a`` may become ``A``
        for key, count in arriving.items():
            if count + self._taken[key] - leaving[key] > 1:
                return None
        return moves

    def _carried(self, slug: Slug) -> list[Slug]:
        if not self._below[slug]:
            return []
        return [one for one in self._was if one.startswith(f"{slug}/")]

    def rename(self, moves: Mapping[Slug, Slug]) -> None:
        """Note what ``moves_of`` found."""
        self._taken.subtract(Counter(map(_key, moves)))
        self._taken.update(map(_key, moves.values()))
        was = {old: self._was.pop(old) for old in moves}
        for old, new in moves.items():
            self._was[new] = was[old]
            self._now[was[old]] = new
            self._below.subtract(Counter(folders_above(old)))
            self._below.update(folders_above(new))


def _key(slug: str) -> str:
    """What the service takes for one name."""
    return unicodedata.normalize("NFC", path_of_title(slug).casefold())
