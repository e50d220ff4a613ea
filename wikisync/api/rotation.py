"""Scanning a big wiki in turns: a few pages at each scan, all within an hour.

Pure.  The list with content of a big wiki is too much to ask for again and again, and
without content it shows no edit (``docs/sync.md`` "Listing the wiki").  So the list
without content shows what is there, and single reads go round: new pages and those that
move at once, then the ones that were not read for the longest time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import ceil

from msgspec import Struct, field

from wikisync.model import PageState, Slug

ROTATION_BYTES_MIN = 32 * 1024 * 1024
"""Texts of a wiki together from which on it is scanned in turns."""
ROTATION_S = 3600.0
"""Every page is read within this time."""
READS_MIN = 32
"""A scan reads at least so many pages, however soon it follows the last one."""
LATELY_S = 1800.0
"""A page that changed within this time may well change again: read at each scan."""


class Seen(Struct, frozen=True):
    """One page as it was last read."""

    state: PageState
    at: float
    """When it was read, in seconds of the client's clock."""
    changed_at: float
    etag: str | None = None
    """What the service marked it with, for "is it still this one?"."""


class Rotation(Struct):
    """Whose turn it is."""

    seen: dict[Slug, Seen] = field(default_factory=dict)
    scanned: float = 0.0
    """When the last scan began."""

    @classmethod
    def after(cls, pages: Mapping[Slug, PageState], now: float) -> Rotation:
        """All pages were read just now; none of them changed lately."""
        longest_ago = float("-inf")
        seen = {s: Seen(state, now, longest_ago) for s, state in pages.items()}
        return cls(seen, now)

    @property
    def size(self) -> int:
        """Of all texts together in bytes, as far as they were seen."""
        return sum(one.state.size or 0 for one in self.seen.values())

    def oldest_s(self, now: float) -> float:
        """How long ago the page was read that waits the longest."""
        return max((now - one.at for one in self.seen.values()), default=0.0)

    def take_turns(
        self, listed: Collection[Slug], first: Collection[Slug], now: float
    ) -> list[Slug]:
        """The pages to read in a scan that begins now, the most urgent first.

        Args:
            listed: Every page of the wiki; others are forgotten.
            first: Pages that somebody waits for.
            now: In seconds of the client's clock.
        """
        self.seen = {slug: one for slug, one in self.seen.items() if slug in listed}
        share = min((now - self.scanned) / ROTATION_S, 1.0)
        self.scanned = now
        fresh = [slug for slug in listed if slug not in self.seen]
        known = self.seen.items()
        urgent = [s for s, one in known if s in first or self._is_lively(one, now)]
        taken = {*fresh, *urgent}
        waiting = [(one.at, slug) for slug, one in known if slug not in taken]
        turns = max(READS_MIN, ceil(share * len(listed)))
        return [*fresh, *urgent, *(slug for _, slug in sorted(waiting)[:turns])]

    def note(self, state: PageState, etag: str | None, now: float) -> None:
        """A page was read, or written by us."""
        before = self.seen.get(state.slug)
        is_same = before is not None and before.state == state
        changed_at = before.changed_at if before and is_same else now
        self.seen[state.slug] = Seen(state, now, changed_at, etag)

    def note_same(self, slug: Slug, now: float) -> None:
        """The service says that a page is what it was."""
        before = self.seen[slug]
        self.seen[slug] = Seen(before.state, now, before.changed_at, before.etag)

    def forget(self, slugs: Iterable[Slug]) -> None:
        """These pages were renamed or removed: read them again."""
        for slug in slugs:
            self.seen.pop(slug, None)

    @staticmethod
    def _is_lively(one: Seen, now: float) -> bool:
        return now - one.changed_at < LATELY_S
