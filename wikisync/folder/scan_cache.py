"""What the files of a folder held at the last scan, for the next process.

A cache and never a decision (``docs/sync.md`` "Scanning the folder"): who finds a file
as it was then need not read it again.  It is believed only on the same disk, since the
same start of the machine (after a loss of power a file's times can be older than its
text), and for as long as one process believes its own scans.  Whatever is wrong with
it, all files are read; a checksum shows it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from wikisync import __version__
from wikisync.decoding import msgpack_decoder
from wikisync.file_status import FileStatus
from wikisync.model import PageState
from wikisync.private import make_private_folder, private_opener, read_private_file

BYTES_MAX = 64 * 1024 * 1024
"""A larger file is not ours."""
SUM_BYTES = 4
"""Of the checksum, with which the file begins."""
T = TypeVar("T")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class SeenFile(msgspec.Struct, array_like=True, frozen=True):
    """What a page's file holds, and the file status under which it does."""

    status: FileStatus
    state: PageState


class Scanned(msgspec.Struct, array_like=True, frozen=True):
    """A scan of all files of one folder."""

    read_all_at: float
    """When every file was last read, in seconds since 1970."""
    files: Mapping[str, SeenFile]
    """By path."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    version: str
    """Of the program: another one may read names and files in another way."""
    boot: str
    disk: int
    folder: int
    """Inode of the wiki's folder."""
    value: msgspec.Raw


_SCANS = msgpack_decoder(Scanned)
_KEPT = msgpack_decoder(_Kept)


class ScanCache:
    """Keeps the last scan of one folder in a file of ours."""

    def __init__(self, root: Path, file: Path, *, is_kept: bool = True) -> None:
        self._kept = FolderCache(root, file, is_kept=is_kept)

    def recall(self) -> Scanned | None:
        """The last scan; None where there is none that can be believed."""
        return self._kept.recall(_SCANS)

    def keep(self, read_all_at: float, files: Mapping[str, SeenFile]) -> None:
        """Replace what was kept; where that cannot be, the next scan reads more."""
        self._kept.keep(Scanned(read_all_at, files))


class FolderCache:
    """Keeps a value about the files of one folder in a file of ours."""

    def __init__(self, root: Path, file: Path, *, is_kept: bool = True) -> None:
        """Make a cache; one that is not kept only says what was kept before."""
        self._root = root
        self._file = file
        self._is_kept = is_kept

    def recall(self, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
        """The last value; None where there is none that can be believed."""
        with suppress(OSError, msgspec.MsgspecError):
            made = memoryview(read_private_file(self._file, BYTES_MAX))
            checksum, content = made[:SUM_BYTES], made[SUM_BYTES:]
            if checksum != _sum(content):
                return None
            kept = _KEPT.decode(content)
            if (kept.version, kept.boot, kept.disk, kept.folder) == self._place():
                return decoder.decode(kept.value)
        return None

    def keep(self, value: object) -> None:
        """Replace what was kept, where that can be."""
        if not self._is_kept:
            return
        made = self._file.with_name(f"{self._file.name}.{os.getpid()}.tmp")
        with suppress(OSError):
            raw = msgspec.Raw(msgspec.msgpack.encode(value))
            content = msgspec.msgpack.encode(_Kept(*self._place(), raw))
            make_private_folder(made.parent)
            try:
                # in one step and without fsync: it ends with the machine
                with open(made, "wb", opener=private_opener) as file:
                    file.write(_sum(content) + content)
                made.replace(self._file)
            finally:
                made.unlink(missing_ok=True)

    def _place(self) -> tuple[str, str, int, int]:
        """Where and when a value holds.

        Raises:
            OSError: the folder is not there.
        """
        status = self._root.stat()
        return __version__, _boot(), status.st_dev, status.st_ino


def _sum(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(SUM_BYTES, "big")


def _boot() -> str:
    """This start of the machine; the same for all where it has no name."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return ""
