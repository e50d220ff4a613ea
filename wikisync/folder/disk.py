"""All bytes of a file written, and on the disk."""

from __future__ import annotations

import os

from wikisync.folder.safe_open import folder_error


def write_all(descriptor: int, content: bytes, path: str) -> None:
    """Write all bytes, however few the disk takes at once.

    Raises:
        FolderError: the disk is full or the like.
    """
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except OSError as exc:
            raise folder_error("write", path, exc) from exc


def fsync_file(folder: int, name: str) -> None:
    """Wait until a file in an open folder is on the disk.

    Raises:
        OSError: the disk could not take it.
    """
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
