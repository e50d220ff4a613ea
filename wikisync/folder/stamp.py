"""Which files below a folder changed, found out as cheaply as can be.

For the scan that a watch makes every half minute, whatever events say: no name is
read as a page's and no file is opened, so that 10,000 files cost a twentieth of a
second.  What changed in them is for a snapshot to find out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from wikisync.file_status import status_of
from wikisync.folder.busy import locked_name
from wikisync.folder.ignore import is_ignored_folder
from wikisync.folder.patterns import IGNORE_FILE
from wikisync.folder.safe_open import folder_error


class FolderStamp(Struct, frozen=True):
    """A folder's files as they were; it means something within one process only."""

    files: Mapping[int, int]
    """A hash of each path, with one of the file status."""
    saved: frozenset[str] | None = None
    """Paths of the files whose status differs from the stamp before; None where there
    was none, or where files were made, renamed or removed since."""


def folder_stamp(root: Path, before: FolderStamp | None = None) -> FolderStamp:
    """The stamp of now, another one once a file was made, written, renamed or removed.

    Files with a dot in front do not count, but for the patterns of what is ignored, and
    lock files of editors, of which only the presence counts.

    Raises:
        FolderError: the folder cannot be listed: its disk may be away.
    """
    known = before.files if before else {}
    files: dict[int, int] = {}
    saved: set[str] = set()
    waiting = [("", os.fspath(root))]
    while waiting:
        way, folder = waiting.pop()
        try:
            entries = os.scandir(folder)
        except OSError as exc:
            if way:
                files[hash(way)] = hash(exc.errno)
                continue
            raise folder_error("list", folder, exc) from exc
        seed = hash(way)
        with entries:
            for entry in entries:
                name = entry.name
                key = hash((seed, name))
                if name[0] == "." and name != IGNORE_FILE:
                    if locked_name(name) is not None:
                        # its content is nobody's business: editors write it often
                        files[key] = 0
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not is_ignored_folder(name):
                            waiting.append((f"{way}{name}/", entry.path))
                        continue
                    status = hash(status_of(entry.stat(follow_symlinks=False)))
                except OSError:
                    continue  # gone since it was listed: the next scan sees it so
                files[key] = status
                if known.get(key) != status:
                    saved.add(way + name)
    is_same = before is not None and files.keys() == known.keys()
    return FolderStamp(files, frozenset(saved) if is_same else None)
