"""What the page files of a folder held at the last look, for the next process.

A cache and never a decision (``sync.md`` 3.1): who finds a file as it was then need
not read it again.  It is believed only on the same disk, since the same start of
the machine (after a loss of power a file's times can be older than its text), and
for as long as one process believes its own looks.  Whatever is wrong with it, all
files are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

VERSION = 1
BYTES_MAX = 64 * 1024 * 1024
"""A larger file is not ours."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")

FileStatus = tuple[int, int, int, int]
"""Size, times of the last change of content and of anything, and inode."""


class SeenFile(NamedTuple):
    """A page file and what it held under this status."""

    path: str
    status: FileStatus
    digest: str
    folded: str | None
    """Digest of the folded text; None where that is the text."""
    identity: str


class Looked(NamedTuple):
    """A look at all files of one folder."""

    read_all_at: float
    """When every file was last read, in seconds since 1970."""
    files: Mapping[str, SeenFile]
    """By path."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    version: int
    boot: str
    disk: int
    folder: int
    """Inode of the wiki's folder."""
    read_all_at: float
    files: list[SeenFile]


class LookCache:
    """Keeps the last look at one folder in a file of ours."""

    def __init__(self, root: Path, file: Path) -> None:
        self._root = root
        self._file = file

    def recall(self) -> Looked | None:
        """The last look; None where there is none that can be believed."""
        with suppress(OSError, msgspec.MsgspecError):
            if self._file.stat().st_size > BYTES_MAX:
                return None
            kept = msgspec.msgpack.decode(self._file.read_bytes(), type=_Kept)
            if (kept.version, kept.boot, kept.disk, kept.folder) == self._place():
                return Looked(
                    kept.read_all_at, {file.path: file for file in kept.files}
                )
        return None

    def keep(self, read_all_at: float, files: Iterable[SeenFile]) -> None:
        """Replace what was kept; where that cannot be, the next look reads more."""
        made = self._file.with_name(f"{self._file.name}.{os.getpid()}.tmp")
        with suppress(OSError):
            content = msgspec.msgpack.encode(
                _Kept(*self._place(), read_all_at, list(files))
            )
            made.parent.mkdir(parents=True, exist_ok=True)
            try:
                # in one step and not brought to the disk: it ends with the machine
                made.write_bytes(content)
                made.replace(self._file)
            finally:
                made.unlink(missing_ok=True)

    def _place(self) -> tuple[int, str, int, int]:
        """Where and when a look holds.

        Raises:
            OSError: the folder is not there.
        """
        status = self._root.stat()
        return VERSION, _boot(), status.st_dev, status.st_ino


def _boot() -> str:
    """This start of the machine; the same for all where it has no name."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return ""
