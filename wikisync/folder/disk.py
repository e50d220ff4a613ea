"""Files of an open folder: whether they are as expected, and writes that last."""

import os
from enum import Enum

from wikisync.core.model import Digest, digest_of
from wikisync.errors import PreconditionFailed
from wikisync.folder.safe_open import file_status, folder_error, open_file, read_all


class Anything(Enum):
    """What is expected under a path when it does not matter."""

    ANYTHING = "anything"


ANYTHING = Anything.ANYTHING
Expected = Digest | Anything | None
"""Digest of the file that is to be replaced; None where there is to be none."""


def check_expected(
    parent: int, name: str, path: str, expected: Expected
) -> os.stat_result | None:
    """See whether what has a name in an open folder is what the caller expects.

    Returns:
        Its status; None where nothing is there, as expected.

    Raises:
        PreconditionFailed: it is not.
        FolderError: it is no regular file, or cannot be read.
    """
    status = file_status(parent, name, path)
    if expected is ANYTHING:
        return status
    if expected is None:
        if status is not None:
            raise PreconditionFailed(f"{path} already exists")
        return None
    try:
        descriptor = open_file(parent, name, path)
    except FileNotFoundError as exc:
        raise PreconditionFailed(f"{path} is gone") from exc
    try:
        found = digest_of(read_all(descriptor, path))
    finally:
        os.close(descriptor)
    if found != expected:
        raise PreconditionFailed(f"{path} was changed in the meantime")
    return status


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
