"""What is known of a wiki's pages between two looks.

The last look's pages with their mark, and what was read and written since.  ``looking``
fills it and begins its next look with it; ``writing`` adds what it did.  Neither knows
of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wikisync.api.rotation import Rotation
from wikisync.api.scan import state_of
from wikisync.model import Page, PageState, Slug, Snapshot


class KnownPages:
    """The pages of one wiki, as far as they were seen."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
    ) -> None:
        """Begin with what an earlier look saw, if there was one.

        Args:
            clock: seconds since any moment.
            tag: the mark of that look, or empty.
            pages: what it saw.
        """
        self._clock = clock
        self._tag = tag
        self._pages = pages
        self._names: frozenset[str] | None = None
        """Of the pages, without their case; None where they are to be counted."""
        self.rotation: Rotation | None = None
        """Whose turn it is, where the wiki is looked at in turns."""

    @property
    def tag(self) -> str:
        """The mark to ask with whether anything changed; empty where all is to come."""
        return self._tag if self._pages is not None else ""

    def unchanged(self) -> Snapshot:
        """The pages, where the service says that nothing changed."""
        return Snapshot(pages=self._pages or {}, tag=self._tag)

    def take(self, seen: Snapshot, *, in_turns: bool) -> None:
        """Keep what a look at all pages saw; the next ones may go in turns."""
        self._pages, self._tag, self._names = seen.pages, seen.tag, None
        if in_turns:
            self.rotation = Rotation.after(seen.pages, self._clock())

    def is_free(self, slug: Slug) -> bool:
        """Whether the last look saw no page that the service takes for this one.

        It finds pages whatever their case (Q5).  False also where there was no look.
        """
        if self._pages is None:
            return False
        if self._names is None:
            self._names = frozenset(name.casefold() for name in self._pages)
        return slug.casefold() not in self._names

    def note_there(self, slug: Slug) -> None:
        """A page was read; if the last look did not list it, that is looked at anew.

        A list that lacks what is there is wrong, and "nothing changed" would keep it.
        """
        if self._pages is not None and slug not in self._pages:
            self._tag = ""

    def note_written(self, page: Page, identity: str) -> None:
        """A page was written by us, and the service says that it is this now."""
        self.note_read(state_of(page, identity), None)

    def note_gone(self, slug: Slug) -> None:
        """A page was renamed or removed by us, maybe with the pages below."""
        if self.rotation is not None:
            below = f"{slug}/"
            gone = [s for s in self.rotation.seen if s == slug or s.startswith(below)]
            self.rotation.forget(gone)

    def note_read(self, state: PageState, etag: str | None) -> None:
        """A page was read singly, with this entity tag."""
        if self.rotation is not None:
            self.rotation.note(state, etag, self._clock())
