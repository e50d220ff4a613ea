"""The trees of a wiki's commit that the last scan saw, in memory and in a file."""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from wikisync.api.trees import id_of, reachable, require_whole
from wikisync.core.decoding import msgpack_decoder
from wikisync.core.git_trees import TreeMissing
from wikisync.core.system.private import (
    make_private_folder,
    private_opener,
    read_private_file,
)

log = logging.getLogger(__name__)

FILE_BYTES_MAX = 256 * 1024 * 1024
COMMITS_KEPT = 8
"""The newest ones: a process that is ended goes on from an earlier one than it saw."""


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
                _write(self._file, _Kept(self._roots, self.trees))
            except OSError as error:
                log.info("%s cannot be written: %s", self._file, error)

    def forget(self) -> None:
        """Keep nothing; the file is written anew by the next commit."""
        self.head, self.root, self.trees, self._roots = "", b"", {}, {}
        self._is_loaded = True

    def _read(self, head: str) -> None:
        assert self._file is not None, "there is nothing to read"
        try:
            content = read_private_file(self._file, FILE_BYTES_MAX)
        except OSError:
            return
        try:
            kept = _KEPT.decode(content)
        except msgspec.DecodeError:
            return
        trees = kept.trees
        if head in kept.roots and all(
            id_of(b"tree", trees[one], len(one)) == one for one in trees
        ):
            self.head, self.root = head, kept.roots[head]
            self.trees, self._roots = trees, kept.roots


def _write(file: Path, kept: _Kept) -> None:
    make_private_folder(file.parent)
    made = file.with_suffix(".new")
    with suppress(FileNotFoundError):
        made.unlink()
    try:
        with open(made, "wb", opener=private_opener) as stream:
            stream.write(msgspec.msgpack.encode(kept))
        made.replace(file)
    except OSError:
        with suppress(OSError):
            made.unlink()
        raise
