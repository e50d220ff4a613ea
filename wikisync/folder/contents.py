"""What files hold, read only where their status changed since they were read.

A cache and never a decision (``docs/sync.md`` "Scanning the folder").  A file that
changed just now gets no stamp: it may change again and show the same times.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from wikisync.errors import FolderError
from wikisync.file_status import UNSETTLED, FileStatus, status_of, trusted_status
from wikisync.folder.ignore import UPLOADS
from wikisync.folder.safe_open import (
    CHUNK_BYTES,
    Folders,
    open_folder,
    opened_file,
    opened_root,
)
from wikisync.model import Digest, LooseFile

P = TypeVar("P", bound=str)


def files_there(
    root_path: Path,
    known: Mapping[P, LooseFile | None],
    listed: Mapping[P, FileStatus],
) -> dict[P, LooseFile]:
    """Those of some files that are there, as they are now; blocks.

    Only a file whose status is another one than it was is opened.

    Args:
        root_path: The wiki's folder.
        known: By path below it, each as it was found last time.
        listed: The status of those below ``uploads`` that a scan found there.
    """
    found: dict[P, LooseFile] = {}
    with opened_root(root_path) as root, Folders(root) as folders:
        for path, before in known.items():
            status = listed.get(path)
            if status is None and path.startswith(f"{UPLOADS}/"):
                continue
            if status and before is not None and before.stamp == _stamp(status):
                found[path] = before
                continue
            file = file_there(folders, path, before)
            if file is not None:
                found[path] = file
    return found


def file_there(
    folders: Folders, path: str, before: LooseFile | None
) -> LooseFile | None:
    """One file; None for a folder, a link, or what cannot be read."""
    try:
        with opened_file(folders, path) as descriptor:
            status = status_of(os.fstat(descriptor))
            if before is not None and before.stamp == _stamp(status):
                return before
            return _read(descriptor, path, trusted_status(status, time.time_ns()))
    except (OSError, FolderError):
        return None


def _read(descriptor: int, path: str, status: FileStatus) -> LooseFile:
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    return LooseFile(path, Digest(digest.hexdigest()), size, _stamp(status))


def _stamp(status: FileStatus) -> str:
    """A status as it is kept in the base; empty where none is to be trusted."""
    if status == UNSETTLED:
        return ""
    size, mtime_ns, ctime_ns, inode = status
    return f"{inode:x}:{size:x}:{mtime_ns:x}:{ctime_ns:x}"


def is_emptied(root: int, parts: Sequence[str]) -> bool:
    """Whether the innermost directory of a way that is there holds nothing."""
    for depth in range(len(parts), 0, -1):
        try:
            descriptor = open_folder(root, list(parts[:depth]))
        except FileNotFoundError:
            continue
        except FolderError:
            return False
        try:
            with os.scandir(descriptor) as entries:
                return next(entries, None) is None
        finally:
            os.close(descriptor)
    return False
