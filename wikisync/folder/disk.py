"""Files of an open folder: whether they are as expected, and steps that last.

``os.rename`` replaces whatever has the new name.  Linux (``renameat2``) and macOS
(``renameatx_np``) can also swap two names in one step, and refuse a name that is
taken (``libc``); some disks and most network disks cannot, and here is what is done
on those.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from wikisync.core.model import Digest, digest_of
from wikisync.core.system.libc import NotSupported, rename_to_free
from wikisync.core.system.private import FILE_MODE, NEW_FILE, leave_to_owner
from wikisync.errors import PreconditionFailed
from wikisync.folder.safe_open import closing, file_status, read_file

_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
)
"""What a disk says that has no hard links, or none to a file of another disk."""


class Anything(Enum):
    """What is expected under a path when it does not matter."""

    ANYTHING = "anything"


ANYTHING = Anything.ANYTHING
Expected = Digest | Anything | None
"""Digest of the file that is to be replaced; None where there is to be none."""


def check_expected(
    parent: int, name: str, path: str, expected: Expected
) -> os.stat_result | None:
    """The status of what has a name in an open folder; None where nothing is expected.

    PreconditionFailed where it is not what is expected, FolderError where it is no
    regular file, or cannot be read.
    """
    status = file_status(parent, name, path)
    if expected is ANYTHING:
        return status
    if expected is None:
        if status is not None:
            raise PreconditionFailed(f"{path} already exists")
        return None
    with gone_errors(path):
        found = digest_of(read_file(parent, name, path))
    if found != expected:
        raise PreconditionFailed(f"{path} was changed in the meantime")
    return status


@contextmanager
def gone_errors(path: str) -> Iterator[None]:
    """PreconditionFailed where a file turns out to be gone while the block lasts."""
    try:
        yield
    except FileNotFoundError as exc:
        raise PreconditionFailed(f"{path} is gone") from exc


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes, however few the disk takes at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_new(folder: int, name: str, content: bytes) -> None:
    """Make a file of ours in an open folder, with this content."""
    descriptor = os.open(name, NEW_FILE, FILE_MODE, dir_fd=folder)
    with closing(descriptor):
        leave_to_owner(descriptor, folder)
        write_all(descriptor, content)


def fsync_file(folder: int, name: str) -> None:
    """Wait until a file in an open folder is on the disk."""
    flags = os.O_RDONLY | os.O_NOFOLLOW
    with closing(os.open(name, flags, dir_fd=folder)) as descriptor:
        os.fsync(descriptor)


def put_back(source_folder: int, source: str, target: int, name: str) -> None:
    """Rename a file that only we know to a name that nothing has, on any disk.

    FileExistsError where something has the name; after any error nothing has changed.
    """
    try:
        rename_to_free(source_folder, source, target, name)
    except NotSupported:
        if link_to_free(source_folder, source, target, name):
            os.unlink(source, dir_fd=source_folder)
        else:
            scan_and_rename(source_folder, source, target, name)


def link_to_free(source_folder: int, source: str, target: int, name: str) -> bool:
    """Give a file a second name, as ``put_back`` does; False without hard links."""
    folders = {"src_dir_fd": source_folder, "dst_dir_fd": target}
    try:
        os.link(source, name, **folders, follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in _NO_HARD_LINKS:
            raise
        return False
    return True


def scan_and_rename(source_folder: int, source: str, target: int, name: str) -> None:
    """As ``put_back`` on a disk that cannot refuse a name that is taken.

    A file that takes the name in the last moment is replaced unseen.
    """
    try:
        os.stat(name, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(source, name, src_dir_fd=source_folder, dst_dir_fd=target)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
