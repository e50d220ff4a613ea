"""Whether anything below a folder changed, found out as cheaply as can be.

For the scan that a watch makes every half minute, whatever events say: no name is
read as a page's and no file is opened, so that 10,000 files cost a twentieth of a
second.  What changed is for a snapshot to find out.
"""

from __future__ import annotations

import os
from pathlib import Path

from wikisync.file_status import status_of
from wikisync.folder.busy import locked_name
from wikisync.folder.ignore import is_ignored_folder
from wikisync.folder.patterns import IGNORE_FILE
from wikisync.folder.safe_open import folder_error


def folder_stamp(root: Path) -> int:
    """A number that is another one once a file was made, written, renamed or removed.

    It means something within one process only.  Files with a dot in front do not
    count, but for the patterns of what is ignored, and lock files of editors, of which
    only the presence counts.

    Raises:
        FolderError: the folder cannot be listed: its disk may be away.
    """
    found = 0
    waiting = [os.fspath(root)]
    is_root = True
    while waiting:
        folder = waiting.pop()
        try:
            entries = os.scandir(folder)
        except OSError as exc:
            if not is_root:
                found ^= hash((folder, exc.errno))
                continue
            raise folder_error("list", folder, exc) from exc
        is_root = False
        seed = hash(folder)
        with entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." and name != IGNORE_FILE:
                    if locked_name(name) is not None:
                        # its content is nobody's business: editors write it often
                        found ^= hash((seed, name))
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not is_ignored_folder(name):
                            waiting.append(entry.path)
                        continue
                    status = status_of(entry.stat(follow_symlinks=False))
                except OSError:
                    continue  # gone since it was listed: the next scan sees it so
                found ^= hash((seed, name, status))
    return found
