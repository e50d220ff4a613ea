"""What is known of a wiki between two scans: its pages, and the trees of a commit."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.scan import Scan
from wikisync.api.trees import file_id, id_of, reachable, require_whole
from wikisync.core import model
from wikisync.core.decoding import json_decoder, msgpack_decoder
from wikisync.core.git_trees import TreeMissing
from wikisync.core.system import private

log = logging.getLogger(__name__)

CACHE_BYTES_MAX = 256 * 1024 * 1024
COMMITS_KEPT = 8
"""The newest ones: a process that is ended goes on from an earlier one than it saw."""


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
    late: dict[model.Slug, int] = {}
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


class KnownPages:
    """The pages of one wiki, as far as they were seen."""

    def __init__(
        self,
        *,
        tag: str = "",
        pages: Mapping[model.Slug, model.PageState] | None = None,
        again: Collection[model.Slug] = (),
    ) -> None:
        self.mark = Mark.parse(tag) if pages is not None else Mark()
        self._scanned = model.Snapshot(pages=pages) if pages is not None else None
        self._names: Counter[str] | None = None
        """Of the pages, without their case; None where they are to be counted."""
        self.again = set(again)
        """Pages to be read at the next scan, whatever git says."""
        self._written: dict[model.Slug, tuple[model.PageState, bytes] | None] = {}
        """Pages that we wrote since the mark, each with the id that git gives a file
        with this text; None for those that we removed."""
        self._is_plain = bool(tag)
        """Whether every page could be seen as it is."""

    @property
    def etag(self) -> str:
        """The ETag to ask with whether anything changed; empty where all is to come."""
        return "" if self.again or self.mark.late else self.mark.etag

    @property
    def scanned(self) -> model.Snapshot:
        """What the last scan saw, without its texts."""
        return self._scanned or model.Snapshot(pages={})

    @property
    def listed_s(self) -> float:
        """How long ago the pages were listed; infinite where the clock went back."""
        passed_s = time.time() - self.mark.listed_at + 1
        return passed_s if passed_s >= 0 else float("inf")

    @property
    def suspects(self) -> frozenset[model.Slug]:
        """Pages that may be others than the last scan saw, whatever git says."""
        return frozenset(self.again | self._written.keys() | self.mark.late.keys())

    def unchanged(self, head: str) -> model.Snapshot:
        """The pages, where the service says that nothing changed since the list."""
        self.mark = self._listed(replace(self.mark, head=head))
        self._written = {}
        return self._tagged(self.scanned)

    def same(self) -> model.Snapshot:
        """The pages, where HEAD is the mark's and none of them is suspected."""
        return self._tagged(self.scanned)

    def take(
        self, scan: Scan, mark: Mark, *, is_listed: bool = False
    ) -> model.Snapshot:
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

    def _tagged(self, seen: model.Snapshot) -> model.Snapshot:
        tag = str(self.mark) if self._is_plain else ""
        return replace(seen, tag=tag, head=self.mark.head)

    def written(self, slug: model.Slug, file: bytes) -> model.PageState | None:
        """A page as we wrote it, if that is what git's file of this id holds."""
        state, own_file = self._written.get(slug) or (None, b"")
        return state if file and own_file == file else None

    def namesakes(self, slug: model.Slug) -> int:
        """How many pages of the last scan the service takes for this one (Q5)."""
        if self._names is None:
            self._names = Counter(map(str.casefold, self.scanned.pages))
        return self._names[slug.casefold()]

    def is_free(self, slug: model.Slug) -> bool:
        """Whether the last scan saw no page that the service takes for this one."""
        return self._scanned is not None and not self.namesakes(slug)

    def note_there(self, slug: model.Slug, digest: model.Digest | None = None) -> None:
        """A page was read; one that the last scan saw otherwise is read once more.

        A list that lacks what is there is wrong, and "nothing changed" would keep it.
        """
        if self._scanned is None or slug in self._written:
            return
        before = self.scanned.pages.get(slug)
        if before is None or digest not in {None, before.digest}:
            self.again.add(slug)

    def note_written(self, page: model.Page, identity: str) -> None:
        """A page was written by us, and the service says that it is this now."""
        state = page.state(identity)
        file = file_id(page.content, len(self.mark.head) // 2)
        self._written[page.slug] = state, file

    def note_gone(self, slug: model.Slug) -> None:
        """A page was renamed or removed by us, maybe with the pages below."""
        self._written[slug] = None


class _Kept(Struct, frozen=True, array_like=True):
    """Some commits, each with the id of its root, and their trees."""

    roots: dict[str, bytes]
    trees: dict[bytes, bytes]


_KEPT = msgpack_decoder(_Kept)


class TreeCache:
    """The trees of one commit of a wiki."""

    def __init__(self, file: Path | None = None, *, is_kept: bool = True) -> None:
        self._file = file
        self._is_kept = is_kept and file is not None
        self._is_loaded = file is None
        self._loading = threading.Lock()
        self.head = ""
        """The commit; empty where none is known."""
        self.root = b""
        self.trees: dict[bytes, bytes] = {}
        """Those of the commit, and of those before it."""
        self._roots: dict[str, bytes] = {}

    def load(self, head: str) -> bytes:
        """The id of the tree of this commit, from memory or file; or TreeMissing."""
        with self._loading:  # single reads of one scan ask at the same time
            if not self._is_loaded:
                self._read(head)
                self._is_loaded = True
        if not head or self.head != head:
            raise TreeMissing(f"the trees of {head or 'no commit'} are not here")
        return self.root

    def take(self, head: str, root: bytes | None, more: Mapping[bytes, bytes]) -> None:
        """Keep the trees of a commit; TreeMissing if ``more`` lacks new ones."""
        fresh = {one: more[one] for one in more.keys() - self.trees.keys()}
        root = require_whole(self.trees | fresh, root, fresh)
        newest = [one for one in self._roots if one != head][1 - COMMITS_KEPT :]
        roots = {one: self._roots[one] for one in newest} | {head: root}
        trees: dict[bytes, bytes] = {}
        for one in roots.values():
            trees |= reachable(self.trees | fresh, one)
        self.head, self.root, self.trees, self._roots = head, root, trees, roots
        if self._file is not None and self._is_kept:
            try:
                private.make_private_folder(self._file.parent)
                kept = _Kept(self._roots, self.trees)
                private.write_private_file(self._file, msgspec.msgpack.encode(kept))
            except OSError as error:
                log.info("%s cannot be written: %s", self._file, error)

    def _read(self, head: str) -> None:
        assert self._file is not None, "there is nothing to read"
        try:
            kept = _KEPT.decode(private.read_private_file(self._file, CACHE_BYTES_MAX))
        except (OSError, msgspec.DecodeError):
            return
        trees = kept.trees
        if head in kept.roots and all(
            id_of(b"tree", trees[one], len(one)) == one for one in trees
        ):
            self.head, self.root = head, kept.roots[head]
            self.trees, self._roots = trees, kept.roots
