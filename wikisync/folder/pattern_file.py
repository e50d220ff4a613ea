"""``.wikisyncignore`` as it is in a wiki's folder; ``patterns`` says what it means."""

import os
from pathlib import Path

from wikisync.core.decoding import decode_text
from wikisync.core.model import Problem
from wikisync.errors import FolderError
from wikisync.folder import patterns
from wikisync.folder.safe_open import Folders, opened_file, opened_root, read_limited


def read_patterns(root_path: Path) -> tuple[patterns.Patterns, tuple[Problem, ...]]:
    """The folder's pattern file, and its lines that are no patterns.

    Raises:
        FolderError: it cannot be read, or is not text.
    """
    try:
        with opened_root(root_path) as root:
            if not _is_there(root):
                return patterns.NO_PATTERNS, ()
            with (
                Folders(root) as folders,
                opened_file(folders, patterns.IGNORE_FILE) as descriptor,
            ):
                content = read_limited(
                    descriptor, patterns.IGNORE_FILE, patterns.FILE_BYTES_MAX
                )
            return patterns.parse_patterns(decode_text(content))
    except FileNotFoundError:
        return patterns.NO_PATTERNS, ()
    except UnicodeDecodeError as exc:
        raise FolderError(
            f"{patterns.IGNORE_FILE} is not UTF-8 at byte {exc.start}",
            hint="save it as UTF-8",
        ) from exc


def _is_there(root: int) -> bool:
    try:
        os.stat(patterns.IGNORE_FILE, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return True
