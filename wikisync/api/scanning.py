"""Looking at a whole wiki: the list, what has to be read singly, and big wikis.

A look is one request, the list with content.  What that list cannot be trusted
with is read singly: texts of a mebibyte and more, which the service may cut, and
texts that are absent (Q9).  Big wikis are looked at in turns.

Read next: ``look``, what a list is worth; ``rotation``, whose turn it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct

from wikisync.api.known import KnownPages
from wikisync.api.rotation import ROTATION_BYTES_MIN, Rotation
from wikisync.api.scan import Scan, whole_page
from wikisync.api.wikis import PageList, Wiki
from wikisync.errors import (
    AuthenticationFailed,
    ProtocolViolation,
    RateLimited,
    RefusedInFront,
    RemoteError,
    Unavailable,
)
from wikisync.model import Page, Slug, Snapshot

READS_MAX = 8
UNAVAILABLE_MAX = 5
"""Single reads that may fail in a row before the service counts as gone."""


class Scanning:
    """Looks at one wiki, each knowing what the one before saw."""

    def __init__(
        self,
        wiki: Wiki,
        known: KnownPages,
        *,
        reads_max: int = READS_MAX,
        rotation_bytes_min: int = ROTATION_BYTES_MIN,
    ) -> None:
        """Args: ``known`` and those of ``WikiReplica``."""
        self._wiki = wiki
        self._known = known
        self._reads_max = reads_max
        self._rotation_bytes_min = rotation_bytes_min
        self.awaited: frozenset[Slug] = frozenset()

    @property
    def is_in_turns(self) -> bool:
        """Whether the next look is at a part of the pages."""
        return self._known.rotation is not None

    @property
    def oldest_s(self) -> float:
        """How long ago the page was looked at that waits the longest."""
        rotation = self._known.rotation
        return rotation.oldest_s(self._now()) if rotation else 0.0

    async def snapshot(self) -> Snapshot:
        """What the wiki holds.

        Raises:
            RemoteError: the list cannot be had.
        """
        if self._known.rotation is not None:
            return await self._scan_in_turns(self._known.rotation)
        listed, is_whole = await self._list()
        if listed is None:
            return self._known.unchanged()
        scan = Scan.at(listed.pages, listed.odd)
        await self._read_singly(scan, scan.single)
        seen = scan.snapshot(listed.etag if is_whole else None)
        size = sum(state.size or 0 for state in seen.pages.values())
        is_big = not is_whole or size >= self._rotation_bytes_min
        self._known.take(seen, in_turns=is_big)
        return seen

    async def _list(self) -> tuple[PageList | None, bool]:
        """The list with content; without, where the service cannot give it whole.

        Some proxies cut or time out on a big wiki's list; single reads take longer,
        but come through.

        Returns:
            The list, or None where nothing changed; and whether it is the whole one.
        """
        known = self._known.tag or None
        try:
            return await self._wiki.poll_pages(known, with_content=True), True
        except RefusedInFront:
            raise  # whatever is asked
        except (Unavailable, ProtocolViolation) as error:
            try:
                return await self._wiki.poll_pages(), False
            except RemoteError:
                raise error from error.__cause__

    async def _scan_in_turns(self, rotation: Rotation) -> Snapshot:
        listed = await self._wiki.poll_pages()
        assert listed is not None, "unchanged since nothing"
        scan = Scan.at(listed.pages, listed.odd)
        rotation.forget(
            [s for s, one in rotation.seen.items() if scan.differs(one.state)]
        )
        turns = rotation.take_turns(scan.formats.keys(), self.awaited, self._now())
        await self._read_singly(scan, turns)
        for slug, one in rotation.seen.items():
            if slug not in scan.pages and slug not in scan.unreadable:
                scan.pages[slug] = one.state
        if scan.is_complete and rotation.size < self._rotation_bytes_min // 2:
            # it became small: the next look is at everything at once
            self._known.rotation = None
        return scan.snapshot(None)

    async def _read_singly(self, scan: Scan, slugs: Sequence[Slug]) -> None:
        waiting = iter(slugs)
        failures = _Failures()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._reads_max, len(slugs))):
                group.create_task(self._read_some(waiting, scan, failures))
        if failures.fatal is not None:
            raise failures.fatal

    async def _read_some(
        self, waiting: Iterable[Slug], scan: Scan, failures: _Failures
    ) -> None:
        for slug in waiting:
            if failures.fatal is not None:
                return
            try:
                page = await self._read_anew(slug)
            except RemoteError as error:
                failures.note(error)
                scan.unreadable.add(slug)
                scan.fail("page-unreadable", slug, error.message, error.hint or "")
                continue
            failures.in_row = 0
            if page is not None:
                whole = Page(slug, scan.formats[slug], page.content, page.title)
                scan.add(whole)
                self._known.note_read(scan.pages[slug], page.etag)

    async def _read_anew(self, slug: Slug) -> _Read | None:
        """A page, or None where the service says that it is as it was seen."""
        rotation = self._known.rotation
        seen = rotation.seen.get(slug) if rotation else None
        listed = await self._wiki.poll_page(slug, seen.etag if seen else None)
        if listed is None:
            assert rotation is not None, "only a page seen before is asked about"
            rotation.note_same(slug, self._now())
            return None
        record, etag = listed
        page = whole_page(record, slug, self._wiki.owner, self._wiki.web_url)
        return _Read(page.content, page.title, etag)

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
