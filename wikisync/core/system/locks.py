"""Locks against other processes, on files and folders that are open.

The system frees them with the process, so there is no stale lock.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def lock(descriptor: int) -> None:
    """Lock what is open until it is closed; BlockingIOError if another has it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(descriptor: int) -> None:
    """Let another process lock what stays open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def close_locked(descriptor: int) -> None:
    """Close what is locked, and let another process lock it at once.

    Closing alone would not do: a child that another thread starts has a copy of the
    descriptor until it runs its own program, and the lock lasts as long as any copy.
    """
    with suppress(OSError):  # a disk without locks
        unlock(descriptor)
    os.close(descriptor)


def is_locked(descriptor: int) -> bool:
    """Whether another process has locked what is open; OSError on a lockless disk."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    unlock(descriptor)
    return False


def open_locked_folder(folder: Path, *, follows_links: bool = True) -> int:
    """A folder, open and locked until it is closed; raises as ``lock``."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(folder, flags if follows_links else flags | os.O_NOFOLLOW)
    try:
        lock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def locked_folder(folder: Path) -> Iterator[int]:
    """The same for a block."""
    descriptor = open_locked_folder(folder)
    try:
        yield descriptor
    finally:
        close_locked(descriptor)
