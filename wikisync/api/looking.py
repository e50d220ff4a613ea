"""Looking at a whole wiki: the list, what has to be read singly, and big wikis.

A look is one request, the list with content.  What that list cannot be trusted
with is read singly: texts of a mebibyte and more, which the service may cut, and
texts that are absent (Q9).  Big wikis are looked at in turns.

Read next: ``look``, what a list is worth; ``rotation``, whose turn it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from wikisync.api.look import Look, state_of, whole_page
from wikisync.api.rotation import ROTATION_BYTES_MIN, Rotation
from wikisync.api.wikis import PageList, Wiki
from wikisync.errors import (
    AuthenticationFailed,
    ProtocolViolation,
    RateLimited,
    RefusedInFront,
    RemoteError,
    Unavailable,
)
from wikisync.model import Page, PageState, Slug, Snapshot

READS_MAX = 8
UNAVAILABLE_MAX = 5
"""Single reads that may fail in a row before the service counts as gone."""


class Looking:
    """Looks at one wiki, each knowing what the one before saw."""

    def __init__(
        self,
        wiki: Wiki,
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
        reads_max: int = READS_MAX,
        rotation_bytes_min: int = ROTATION_BYTES_MIN,
    ) -> None:
        """Args: those of ``WikiReplica``."""
        self._wiki = wiki
        self._tag = tag
        self._known = pages
        self._names: frozenset[str] | None = None
        """Of the pages known, without their case; None where they are to be counted."""
        self._reads_max = reads_max
        self._rotation_bytes_min = rotation_bytes_min
        self._rotation: Rotation | None = None
        self.awaited: frozenset[Slug] = frozenset()

    @property
    def is_in_turns(self) -> bool:
        """Whether the next look is at a part of the pages."""
        return self._rotation is not None

    @property
    def oldest_s(self) -> float:
        """How long ago the page was looked at that waits the longest."""
        return self._rotation.oldest_s(self._now()) if self._rotation else 0.0

    async def snapshot(self) -> Snapshot:
        """What the wiki holds.

        Raises:
            RemoteError: the list cannot be had.
        """
        if self._rotation is not None:
            return await self._look_in_turns(self._rotation)
        listed, is_whole = await self._list()
        if listed is None:
            return Snapshot(pages=self._known or {}, tag=self._tag)
        look = Look.at(listed.pages, listed.odd)
        await self._read_singly(look, look.single)
        seen = look.snapshot(listed.etag if is_whole else None)
        self._known, self._tag, self._names = seen.pages, seen.tag, None
        size = sum(state.size or 0 for state in seen.pages.values())
        if not is_whole or size >= self._rotation_bytes_min:
            self._rotation = Rotation.after(seen.pages, self._now())
        return seen

    def is_free(self, slug: Slug) -> bool:
        """Whether the last look saw no page that the service takes for this one.

        It finds pages whatever their case (Q5).  False also where there was no look.
        """
        if self._known is None:
            return False
        if self._names is None:
            self._names = frozenset(name.casefold() for name in self._known)
        return slug.casefold() not in self._names

    async def _list(self) -> tuple[PageList | None, bool]:
        """The list with content; without, where the service cannot give it whole.

        Some proxies cut or time out on a big wiki's list; single reads take longer,
        but come through.

        Returns:
            The list, or None where nothing changed; and whether it is the whole one.
        """
        known = self._tag if self._known is not None else ""
        try:
            return await self._wiki.poll_pages(known or None, with_content=True), True
        except RefusedInFront:
            raise  # whatever is asked
        except (Unavailable, ProtocolViolation) as error:
            try:
                return await self._wiki.poll_pages(), False
            except RemoteError:
                raise error from error.__cause__

    async def _look_in_turns(self, rotation: Rotation) -> Snapshot:
        listed = await self._wiki.poll_pages()
        assert listed is not None, "unchanged since nothing"
        look = Look.at(listed.pages, listed.odd)
        rotation.forget(
            [s for s, one in rotation.seen.items() if look.differs(one.state)]
        )
        turns = rotation.take_turns(look.formats.keys(), self.awaited, self._now())
        await self._read_singly(look, turns)
        for slug, one in rotation.seen.items():
            if slug not in look.pages and slug not in look.unreadable:
                look.pages[slug] = one.state
        if look.is_complete and rotation.size < self._rotation_bytes_min // 2:
            # it became small: the next look is at everything at once
            self._rotation = None
        return look.snapshot(None)

    async def _read_singly(self, look: Look, slugs: Sequence[Slug]) -> None:
        waiting = iter(slugs)
        failures = _Failures()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._reads_max, len(slugs))):
                group.create_task(self._read_some(waiting, look, failures))
        if failures.fatal is not None:
            raise failures.fatal

    async def _read_some(
        self, waiting: Iterable[Slug], look: Look, failures: _Failures
    ) -> None:
        for slug in waiting:
            if failures.fatal is not None:
                return
            try:
                page = await self._read_anew(slug)
            except RemoteError as error:
                failures.note(error)
                look.unreadable.add(slug)
                look.fail("page-unreadable", slug, error.message, error.hint or "")
                continue
            failures.in_row = 0
            if page is not None:
                whole = Page(slug, look.formats[slug], page.content, page.title)
                look.add(whole)
                self._note(look.pages[slug], page.etag)

    async def _read_anew(self, slug: Slug) -> _Read | None:
        """A page, or None where the service says that it is as it was seen."""
        seen = self._rotation.seen.get(slug) if self._rotation else None
        listed = await self._wiki.poll_page(slug, seen.etag if seen else None)
        if listed is None:
            assert self._rotation is not None
            self._rotation.note_same(slug, self._now())
            return None
        record, etag = listed
        page = whole_page(record, slug, self._wiki.owner, self._wiki.web_url)
        return _Read(page.content, page.title, etag)

    def note_there(self, slug: Slug) -> None:
        """A page was read; if the last look did not list it, that is looked at anew.

        A list that lacks what is there is wrong, and "nothing changed" would keep it.
        """
        if self._known is not None and slug not in self._known:
            self._tag = ""

    def note_written(self, page: Page, identity: str) -> None:
        """A page was written by us, and the service says that it is this now."""
        self._note(state_of(page, identity), None)

    def note_gone(self, slug: Slug) -> None:
        """A page was renamed or removed by us, maybe with the pages below."""
        if self._rotation is not None:
            below = f"{slug}/"
            gone = [s for s in self._rotation.seen if s == slug or s.startswith(below)]
            self._rotation.forget(gone)

    def _note(self, state: PageState, etag: str | None) -> None:
        if self._rotation is not None:
            self._rotation.note(state, etag, self._now())

    def _now(self) -> float:
        return self._wiki.client.now()


class _Read(Struct, frozen=True):
    """What a single read of a look gave."""

    content: str
    title: str
    etag: str | None


class _Failures(Struct):
    """Failures of the single reads of one look."""

    in_row: int = 0
    fatal: RemoteError | None = None

    def note(self, error: RemoteError) -> None:
        """One page that cannot be read is a problem; a service that is gone ends it."""
        self.in_row += isinstance(error, Unavailable)
        refused = isinstance(error, AuthenticationFailed | RateLimited)
        if refused or self.in_row >= UNAVAILABLE_MAX:
            self.fatal = self.fatal or error
