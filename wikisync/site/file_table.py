"""The files of an output by path: a hundred thousand of them, each in a few bytes.

What is known of a file is one value of bytes in memory and in the cache.  As objects
of their own its parts would take three times as much.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from wikisync.core.model import Digest

_HEAD = struct.Struct("<QQI32s")
_TIMES = struct.Struct("<QQ")
"""Of a head, its beginning."""
_UNKNOWN = bytes(32)
"""Stands for no digest."""
_TIMES_END = 1 << 64


class FileState(Struct, frozen=True, gc=False):
    """One file; equal size and time mean equal bytes."""

    size: int
    """In bytes."""
    digest: Digest | None
    """None where nobody knows what the file holds."""
    mtime_ns: int = 0
    """As a build left it; 0 before that."""
    staged: int = 0
    """Number of the new content in staging, from 1; 0 where the file stays."""
    key: bytes = b""
    """Hash of what it was made from, as far as somebody asks for it."""


class FileTable:
    """Files by their output path, in the order in which they were set."""

    def __init__(
        self, packed: dict[str, bytes] | None = None, manifest: FileState | None = None
    ) -> None:
        """``packed`` is what ``changed_since`` of other tables gave."""
        self._packed = packed or {}
        self.manifest = manifest
        """The manifest itself, which names the others."""

    def __len__(self) -> int:
        """How many files there are, the manifest not counted."""
        return len(self._packed)

    def __iter__(self) -> Iterator[str]:
        """Their paths."""
        return iter(self._packed)

    def __contains__(self, path: str) -> bool:
        """Whether there is a file of this path."""
        return path in self._packed

    def __getitem__(self, path: str) -> FileState:
        """A file that is there."""
        return _unpacked(self._packed[path])

    def __setitem__(self, path: str, state: FileState) -> None:
        """Put a file, or what is known of it now."""
        digest = bytes.fromhex(state.digest) if state.digest else _UNKNOWN
        # a file whose time no clock of today has is read again
        time = state.mtime_ns if 0 < state.mtime_ns < _TIMES_END else 0
        head = _HEAD.pack(state.size, time, state.staged, digest)
        self._packed[path] = head + state.key

    def get(self, path: str) -> FileState | None:
        """A file, or None where there is none."""
        packed = self._packed.get(path)
        return None if packed is None else _unpacked(packed)

    def key(self, path: str) -> bytes | None:
        """What a file was made from; None where there is none."""
        packed = self._packed.get(path)
        return None if packed is None else packed[_HEAD.size :]

    def times(self) -> Iterator[tuple[str, int, int]]:
        """Each path with the size of its file in bytes, and the time."""
        for path, packed in self._packed.items():
            yield path, *_TIMES.unpack_from(packed)

    def times_of(self, path: str) -> tuple[int, int]:
        """The size in bytes of a file that is there, and the time."""
        return _TIMES.unpack_from(self._packed[path])

    def take(self, path: str, other: FileTable) -> None:
        """Put a file as another table has it."""
        self._packed[path] = other._packed[path]

    def discard(self, path: str) -> None:
        """Let go of a file, if it is there."""
        self._packed.pop(path, None)

    def named(self) -> Iterator[tuple[str, int, Digest | None]]:
        """Each path, sorted, with the size of its file in bytes, and the digest."""
        for path in sorted(self._packed):
            size, _, _, digest = _HEAD.unpack_from(self._packed[path])
            yield path, size, _digest(digest)

    def changed_since(self, last: FileTable) -> Iterator[tuple[str, bytes]]:
        """Each path with its file as bytes, where another table has it otherwise."""
        known = last._packed
        return (one for one in self._packed.items() if known.get(one[0]) != one[1])

    def checksum(self) -> int:
        """Of all files."""
        rows = [(path.encode(), self._packed[path]) for path in sorted(self._packed)]
        return zlib.crc32(b"".join(chain.from_iterable(rows)))


def _unpacked(packed: bytes) -> FileState:
    size, mtime_ns, staged, digest = _HEAD.unpack_from(packed)
    return FileState(size, _digest(digest), mtime_ns, staged, packed[_HEAD.size :])


def _digest(packed: bytes) -> Digest | None:
    return None if packed == _UNKNOWN else Digest(packed.hex())
