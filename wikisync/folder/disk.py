"""Bringing bytes to the disk, all of them, and waiting until they are there."""

from __future__ import annotations

import os
import sys

from wikisync.folder.descent import folder_error


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


def sync_disk(descriptor: int) -> bool:
    """Bring a whole file system to the disk, where the system can do that.

    For thousands of files it is one journal commit instead of one each.

    Raises:
        OSError: the disk could not take it.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # for who writes: a look at a folder needs no such call

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    if syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return True
