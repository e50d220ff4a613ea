"""Renames that look before they take a name: one call of the system each.

``os.rename`` replaces whatever has the new name.  Linux (``renameat2``) and macOS
(``renameatx_np``) can also swap two names in one step, and refuse a name that is
taken; some disks and most network disks cannot, and say so as ``NotSupported``.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_CALLS = {"linux": ("renameat2", 2, 1), "darwin": ("renameatx_np", 2, 4)}
"""Platform to the call's name and its flags for swapping and for a free name."""

_REFUSALS = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
"""What a disk says that has no hard links."""


class NotSupported(OSError):
    """This disk or system cannot do it in one step."""


def swap_names(source_folder: int, source: str, target_folder: int, name: str) -> None:
    """Give two files, in open folders of one disk, each other's name.

    Raises:
        NotSupported: the disk or the system cannot.
        FileNotFoundError: one of the two is gone.
        OSError: anything else; nothing has changed then.
    """
    _call("swap", source_folder, source, target_folder, name)


def rename_to_free(
    source_folder: int, source: str, target_folder: int, name: str
) -> None:
    """Rename a file to a name that nothing has.

    Raises:
        FileExistsError: something has the name.
        NotSupported: the disk or the system cannot.
        OSError: anything else; nothing has changed then.
    """
    _call("free", source_folder, source, target_folder, name)


def put_back(source_folder: int, source: str, target_folder: int, name: str) -> None:
    """Rename a file of our own to a name that nothing has, on any disk.

    Only for a source that no other program knows: without the call it is linked
    and unlinked, and where there are no hard links either, compared and renamed.

    Raises:
        FileExistsError: something has the name.
        OSError: anything else; nothing has changed then.
    """
    try:
        rename_to_free(source_folder, source, target_folder, name)
    except NotSupported:
        _put_back_slowly(source_folder, source, target_folder, name)


def _put_back_slowly(source_folder: int, source: str, target: int, name: str) -> None:
    if link_to_free(source_folder, source, target, name):
        os.unlink(source, dir_fd=source_folder)
    else:
        look_and_rename(source_folder, source, target, name)


def link_to_free(source_folder: int, source: str, target: int, name: str) -> bool:
    """Give a file a second name, which nothing has.

    Returns:
        False where the disk has no hard links; nothing has changed then.

    Raises:
        FileExistsError: something has the name.
        OSError: anything else; nothing has changed then.
    """
    try:
        os.link(
            source,
            name,
            src_dir_fd=source_folder,
            dst_dir_fd=target,
            follow_symlinks=False,
        )
    except OSError as exc:
        if exc.errno not in _NO_HARD_LINKS:
            raise
        return False
    return True


def look_and_rename(source_folder: int, source: str, target: int, name: str) -> None:
    """Rename a file to a name that is free, on a disk that cannot see to that.

    A file that takes the name in the last moment is replaced unseen.

    Raises:
        FileExistsError: something has the name.
        OSError: anything else; nothing has changed then.
    """
    if _is_there(target, name):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    os.rename(source, name, src_dir_fd=source_folder, dst_dir_fd=target)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _call(what: str, source_folder: int, source: str, target: int, name: str) -> None:
    import ctypes  # for who writes: a look at a folder needs no such call

    found = _function(sys.platform)
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
def _function(platform: str) -> tuple[Callable[..., int], dict[str, int]] | None:
    import ctypes

    if platform not in _CALLS:
        return None
    name, swap, free = _CALLS[platform]
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    function.restype = ctypes.c_int
    return function, {"swap": swap, "free": free}
