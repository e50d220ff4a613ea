"""What is known of a wiki's pages between two scans: the last one, reads, writes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.scan import Scan
from wikisync.api.trees import file_id
from wikisync.core.decoding import json_decoder
from wikisync.core.model import Digest, Page, PageState, Slug, Snapshot


class Mark(Struct, frozen=True, omit_defaults=True):
    """What the pages of a scan are as of; in text, the tag of its snapshot."""

    etag: str = ""
    """Of the list of pages with their texts."""
    head: str = ""
    """A commit: every page is as it was then or later.  Empty where git names none."""
    listed_at: int = 0
    """When the pages were last listed, in seconds since the epoch, if there is HEAD."""
    size: int | None = None
    """Of all texts together in bytes, where that is known."""
    is_too_large: bool = False
    """Whether the list with texts is larger than an answer may be."""
    late: dict[Slug, int] = {}
    """Pages whose text was not git's at that commit, and how often they were read."""

    @classmethod
    def parse(cls, tag: str) -> Mark:
        """From text; a mark that says nothing for any other."""
        try:
            return _MARK.decode(tag)
        except msgspec.DecodeError:
            return cls()

    def __str__(self) -> str:
        says_something = self.etag or self.head or self.is_too_large
        return msgspec.json.encode(self).decode() if says_something else ""


_MARK = json_decoder(Mark)


class _Written(Struct, frozen=True):
    state: PageState
    file: bytes
    """The id that git gives a file with this text."""


class KnownPages:
    """The pages of one wiki, as far as they were seen."""

    def __init__(
        self,
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
        again: Collection[Slug] = (),
    ) -> None:
        self.mark = Mark.parse(tag) if pages is not None else Mark()
        self._scanned = Snapshot(pages=pages or {}) if pages is not None else None
        self._names: Counter[str] | None = None
        """Of the pages, without their case; None where they are to be counted."""
        self.again = set(again)
        """Pages to be read at the next scan, whatever git says."""
        self._written: dict[Slug, _Written | None] = {}
        """Pages that we wrote since the mark; None for those that we removed."""
        self._is_plain = bool(tag)
        """Whether every page could be seen as it is."""

    @property
    def etag(self) -> str:
        """The ETag to ask with whether anything changed; empty where all is to come."""
        return "" if self.again or self.mark.late else self.mark.etag

    @property
    def pages(self) -> Mapping[Slug, PageState]:
        """What the last scan saw."""
        return self._scanned.pages if self._scanned is not None else {}

    @property
    def scanned(self) -> Snapshot:
        """What the last scan saw, without its texts."""
        return self._scanned or Snapshot(pages={})

    @property
    def listed_s(self) -> float:
        """How long ago the pages were listed; infinite where the clock went back."""
        passed_s = time.time() - self.mark.listed_at + 1
        return passed_s if passed_s >= 0 else float("inf")

    @property
    def suspects(self) -> frozenset[Slug]:
        """Pages that may be others than the last scan saw, whatever git says."""
        return frozenset(self.again | self._written.keys() | self.mark.late.keys())

    def unchanged(self, head: str) -> Snapshot:
        """The pages, where the service says that nothing changed since the list."""
        self.mark = self._listed(replace(self.mark, head=head))
        self._written = {}
        return self._tagged(self.scanned)

    def same(self) -> Snapshot:
        """The pages, where HEAD is the mark's and none of them is suspected."""
        return self._tagged(self.scanned)

    def take(self, scan: Scan, mark: Mark, *, is_listed: bool = False) -> Snapshot:
        """Keep what a scan of all pages saw, as of a mark, which comes back."""
        if is_listed:
            mark = self._listed(mark)
        seen = scan.snapshot()
        self.mark, self._names, self._is_plain = mark, None, scan.is_plain
        self._scanned, self._written = replace(seen, texts={}), {}
        self.again = set(seen.unreadable)
        return self._tagged(seen)

    def _listed(self, mark: Mark) -> Mark:
        """A mark of pages that were listed now; without git they always are."""
        return replace(mark, listed_at=int(time.time()) if mark.head else 0)

    def _tagged(self, seen: Snapshot) -> Snapshot:
        tag = str(self.mark) if self._is_plain else ""
        return replace(seen, tag=tag, head=self.mark.head)

    def written(self, slug: Slug, file: bytes) -> PageState | None:
        """A page as we wrote it, if that is what git's file of this id holds."""
        written = self._written.get(slug)
        is_same = written is not None and file and written.file == file
        return written.state if written is not None and is_same else None

    def namesakes(self, slug: Slug) -> int:
        """How many pages of the last scan the service takes for this one (Q5)."""
        if self._names is None:
            self._names = Counter(map(str.casefold, self.pages))
        return self._names[slug.casefold()]

    def is_free(self, slug: Slug) -> bool:
        """Whether the last scan saw no page that the service takes for this one."""
        return self._scanned is not None and not self.namesakes(slug)

    def note_there(self, slug: Slug, digest: Digest | None = None) -> None:
        """A page was read; one that the last scan saw otherwise is read once more.

        A list that lacks what is there is wrong, and "nothing changed" would keep it.
        """
        if self._scanned is None or slug in self._written:
            return
        before = self.pages.get(slug)
        if before is None or digest not in {None, before.digest}:
            self.again.add(slug)

    def note_written(self, page: Page, identity: str) -> None:
        """A page was written by us, and the service says that it is this now."""
        state = page.state(identity)
        file = file_id(page.content, len(self.mark.head) // 2)
        self._written[page.slug] = _Written(state, file)

    def note_gone(self, slug: Slug) -> None:
        """A page was renamed or removed by us, maybe with the pages below."""
        self._written[slug] = None
