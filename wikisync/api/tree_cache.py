"""The trees of a wiki's commit that the last scan saw, in memory and in a file.

The file is a cache: without it, or where it is damaged, the list of pages is read once
more.  What a scan adds is appended, and the file is written anew when more of it is
outdated than not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.api.packs import id_of
from wikisync.api.trees import reachable, require_whole
from wikisync.core.decoding import msgpack_decoder
from wikisync.core.git_trees import TreeMissing
from wikisync.core.system.private import (
    make_private_folder,
    private_opener,
    read_private_file,
)

log = logging.getLogger(__name__)

FILE_BYTES_MAX = 256 * 1024 * 1024
GARBAGE_BYTES_MIN = 256 * 1024
"""Less than this of outdated trees is never removed."""
_LENGTH = 4


class _Step(Struct, frozen=True, array_like=True):
    """One commit, and those of its trees that no earlier step has."""

    head: str
    root: bytes
    trees: Mapping[bytes, bytes]


_STEP = msgpack_decoder(_Step)


class TreeCache:
    """The trees of one commit of a wiki."""

    def __init__(self, file: Path | None = None, *, is_kept: bool = True) -> None:
        """Name the file; nothing is read.

        Without a file the trees are in memory alone; one that is not kept is read and
        left as it is.
        """
        self._file = file
        self._is_kept = is_kept and file is not None
        self._is_loaded = file is None
        self._loading = threading.Lock()
        self.head = ""
        """The commit; empty where none is known."""
        self.root = b""
        self.trees: dict[bytes, bytes] = {}
        """Those of the commit, and some of earlier ones."""
        self._live_bytes = self._bytes = 0
        """Of the trees when the file was last written anew, and of all of it."""
        self._is_sound = False
        """Whether the file is such that something may be appended."""

    def load(self, head: str) -> bytes:
        """The id of the tree of this commit, from memory or from the file.

        Raises:
            TreeMissing: it is in neither.
        """
        with self._loading:  # single reads of one scan ask at the same time
            if not self._is_loaded:
                self._read(head)
                self._is_loaded = True
        if not head or self.head != head:
            raise TreeMissing(f"the trees of {head or 'no commit'} are not here")
        return self.root

    def take(self, head: str, root: bytes | None, more: Mapping[bytes, bytes]) -> None:
        """Keep the trees of a commit.

        The root is None where it did not come; ``more`` are those that are not here
        yet.

        Raises:
            TreeMissing: they are not all of its trees.
        """
        fresh = {one: more[one] for one in more.keys() - self.trees.keys()}
        root = require_whole(self.trees | fresh, root, fresh)
        size = sum(map(len, fresh.values()))
        room = 2 * self._live_bytes + GARBAGE_BYTES_MIN
        is_anew = not (self.head and self._is_sound) or self._bytes + size > room
        trees = self.trees | fresh
        if is_anew:
            trees = fresh = reachable(trees, root)
            self._live_bytes = size = sum(map(len, trees.values()))
            self._bytes = 0
        self._bytes += size
        self.head, self.root, self.trees = head, root, trees
        self._is_sound = True
        if self._file is not None and self._is_kept:
            try:
                _write(self._file, _Step(head, root, fresh), is_anew=is_anew)
            except OSError as error:
                log.info("%s cannot be written: %s", self._file, error)
                self._is_sound = False

    def forget(self) -> None:
        """Keep nothing; the file is written anew by the next commit."""
        self.head, self.root, self.trees = "", b"", {}
        self._is_loaded, self._is_sound = True, False

    def _read(self, head: str) -> None:
        assert self._file is not None, "there is nothing to read"
        try:
            content = read_private_file(self._file, FILE_BYTES_MAX)
        except OSError:
            return
        at, trees = 0, dict[bytes, bytes]()
        while at < len(content):
            end = at + _LENGTH + int.from_bytes(content[at : at + _LENGTH])
            try:
                step = _STEP.decode(content[at + _LENGTH : end])
            except msgspec.DecodeError:
                return
            size = sum(map(len, step.trees.values()))
            self._live_bytes = self._live_bytes or size
            self._bytes += size
            trees |= step.trees
            at = end
            if step.head == head and _are_whole(trees):
                self.head, self.root, self.trees = head, step.root, trees
        self._is_sound = True


def _are_whole(trees: Mapping[bytes, bytes]) -> bool:
    return all(id_of(b"tree", trees[one], len(one)) == one for one in trees)


def _write(file: Path, step: _Step, *, is_anew: bool) -> None:
    content = msgspec.msgpack.encode(step)
    frame = len(content).to_bytes(_LENGTH) + content
    if not is_anew:
        with open(file, "ab", opener=private_opener) as stream:
            stream.write(frame)
        return
    make_private_folder(file.parent)
    made = file.with_suffix(".new")
    with suppress(FileNotFoundError):
        made.unlink()
    try:
        with open(made, "wb", opener=private_opener) as stream:
            stream.write(frame)
        made.replace(file)
    except OSError:
        with suppress(OSError):
            made.unlink()
        raise
