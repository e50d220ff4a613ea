"""What files hold, read only where their status changed since they were read.

A cache and never a decision (``docs/sync.md`` "Scanning the folder").  A file that
changed just now gets no stamp: it may change again and show the same times.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from wikisync.errors import FolderError
from wikisync.file_status import UNSETTLED, FileStatus, status_of, trusted_status
from wikisync.folder.safe_open import CHUNK_BYTES, Folders, opened_file, opened_root
from wikisync.model import Digest, LooseFile

P = TypeVar("P", bound=str)


def files_there(
    root_path: Path, known: Mapping[P, LooseFile | None]
) -> dict[P, LooseFile]:
    """Those of some files that are there, as they are now; blocks.

    Args:
        root_path: The wiki's folder.
        known: By path below it, each as it was found last time.
    """
    found: dict[P, LooseFile] = {}
    with opened_root(root_path) as root, Folders(root) as folders:
        for path, before in known.items():
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
    parts = (status.inode, status.size, status.mtime_ns, status.ctime_ns)
    return ":".join(f"{part:x}" for part in parts)
