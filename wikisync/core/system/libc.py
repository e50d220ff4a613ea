"""What the C library can do and Python has no function for, by ``ctypes``."""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

_RENAMES = {"linux": ("renameat2", 2, 1), "darwin": ("renameatx_np", 2, 4)}
"""Platform to the call's name and its flags for swapping and for a free name."""
_REFUSALS = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_EMPTY_PATH = 0x1000
_INODE_AND_BIRTH = 0x100 | 0x800
_BIRTH = 0x800
_STATX_BYTES = 256
_MASK = struct.Struct("=I")
_INODE = struct.Struct("=Q")
_TIME = struct.Struct("=qI")
_INODE_AT, _BIRTH_AT = 32, 80

_IN_DELETE_SELF = 0x400


class NotSupported(OSError):
    """This disk or system cannot do it in one step."""


# Names ----------------------------------------------------------------------------


def swap_names(source_folder: int, source: str, target_folder: int, name: str) -> None:
    """Give two files or folders, in open folders of one disk, each other's name."""
    _rename("swap", source_folder, source, target_folder, name)


def rename_to_free(
    source_folder: int, source: str, target_folder: int, name: str
) -> None:
    """Rename a file to a name that nothing has (FileExistsError); or NotSupported."""
    _rename("free", source_folder, source, target_folder, name)


def swap_paths(one: Path, other: Path) -> None:
    """``swap_names`` of two paths, whose folders are opened for it."""
    source = os.open(one.parent, _FOLDER)
    try:
        target = os.open(other.parent, _FOLDER)
        try:
            swap_names(source, one.name, target, other.name)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _rename(what: str, source_folder: int, source: str, target: int, name: str) -> None:
    found = _renaming(sys.platform)
    if found is None:
        raise NotSupported(errno.ENOSYS, os.strerror(errno.ENOSYS))
    function, flags = found
    ctypes.set_errno(0)
    result = function(
        source_folder, os.fsencode(source), target, os.fsencode(name), flags[what]
    )
    if result == 0:
        return
    code = ctypes.get_errno()
    if code in _REFUSALS:
        raise NotSupported(code, os.strerror(code))
    raise OSError(code, os.strerror(code), name)


@cache
def _renaming(platform: str) -> tuple[Callable[..., int], dict[str, int]] | None:
    if platform not in _RENAMES:
        return None
    name, swap, free = _RENAMES[platform]
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    place = [ctypes.c_int, ctypes.c_char_p]
    function.argtypes = [*place, *place, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function, {"swap": swap, "free": free}


# Attributes -----------------------------------------------------------------------

_COPY_ACCESS_AND_ATTRIBUTES = 0x1 | 0x4
"""macOS: the access list and extended attributes, and neither times nor content."""


def copy_attributes(old: int, new: int) -> None:
    """Copy access list and extended attributes (tags) between open files on macOS."""
    copy = getattr(ctypes.CDLL(None, use_errno=True), "fcopyfile", None)
    if copy is not None and copy(old, new, None, _COPY_ACCESS_AND_ATTRIBUTES) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


# Births ---------------------------------------------------------------------------


def identity_of(descriptor: int) -> str:
    """What an open file stays known by when it is renamed, and no other ever has.

    The inode alone will not do: most disks give the number of a removed file to the
    next new one, so a page that was deleted and another that was made would look like
    one that was renamed.  The moment of the file's birth distinguishes them; empty
    where the disk does not know it.
    """
    if sys.platform != "linux":
        status = os.fstat(descriptor)
        born = getattr(status, "st_birthtime", 0.0)
        return _identity(status.st_ino, int(born * 1e9)) if born else ""
    statx = _statx()
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx is None or statx(descriptor, b"", _EMPTY_PATH, _INODE_AND_BIRTH, buffer):
        return ""
    (mask,) = _MASK.unpack_from(buffer)
    if not mask & _BIRTH:
        return ""
    (inode,) = _INODE.unpack_from(buffer, _INODE_AT)
    seconds, nanoseconds = _TIME.unpack_from(buffer, _BIRTH_AT)
    return _identity(inode, seconds * 1_000_000_000 + nanoseconds)


def _identity(inode: int, born_ns: int) -> str:
    return f"{inode:x}:{born_ns:x}"


@cache
def _statx() -> Callable[..., int] | None:
    function: Callable[..., int] | None = getattr(ctypes.CDLL(None), "statx", None)
    if function is None:
        return None
    function.argtypes = [  # type: ignore[attr-defined]
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_char_p,
    ]
    function.restype = ctypes.c_int  # type: ignore[attr-defined]
    return function


# The whole system -----------------------------------------------------------------


def sync_disk(descriptor: int) -> bool:
    """Write everything of an open file's file system to its disk.

    For thousands of files it is one journal commit instead of one each.  False where
    the system has no such call; OSError where the disk could not take it.
    """
    if sys.platform != "linux":
        return False
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    if syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return True


def check_watches_left(folder: str) -> None:
    """Ask Linux for one watch of files more and give it back; or OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init1"):
        return
    queue = libc.inotify_init1(os.O_CLOEXEC)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "no queue for events is left")
    try:
        watch = libc.inotify_add_watch(queue, os.fsencode(folder), _IN_DELETE_SELF)
        if watch < 0 and ctypes.get_errno() == errno.ENOSPC:
            raise OSError(errno.ENOSPC, "the limit of inotify watches is reached")
    finally:
        os.close(queue)


def memory_trimmer() -> Callable[[int], int] | None:
    """What gives freed memory back to the system; None where it has no such call."""
    trim: Callable[[int], int] | None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
