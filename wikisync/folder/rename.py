"""Renames that take no name which something has, on any disk.

``os.rename`` replaces whatever has the new name.  Linux (``renameat2``) and macOS
(``renameatx_np``) can also swap two names in one step, and refuse a name that is
taken (``libc``); some disks and most network disks cannot, and here is what is done
on those.
"""

import errno
import os

from wikisync.core.system.libc import NotSupported, rename_to_free

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
"""What a disk says that has no hard links."""


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
        scan_and_rename(source_folder, source, target, name)


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


def scan_and_rename(source_folder: int, source: str, target: int, name: str) -> None:
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
