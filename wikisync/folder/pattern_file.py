"""``.wikisyncignore`` as it is in a wiki's folder; ``patterns`` says what it means."""

from __future__ import annotations

import os
from pathlib import Path

from wikisync.core.decoding import decode_text
from wikisync.core.model import Problem
from wikisync.errors import FolderError
from wikisync.folder.patterns import (
    FILE_BYTES_MAX,
    IGNORE_FILE,
    NO_PATTERNS,
    Patterns,
    parse_patterns,
)
from wikisync.folder.safe_open import Folders, opened_file, opened_root, read_limited


def read_patterns(root_path: Path) -> tuple[Patterns, tuple[Problem, ...]]:
    """The folder's pattern file, and its lines that are no patterns.

    Raises:
        FolderError: it cannot be read, or is not text.
    """
    try:
        with opened_root(root_path) as root:
            if not _is_there(root):
                return NO_PATTERNS, ()
            with (
                Folders(root) as folders,
                opened_file(folders, IGNORE_FILE) as descriptor,
            ):
                content = read_limited(descriptor, IGNORE_FILE, FILE_BYTES_MAX)
            return parse_patterns(decode_text(content))
    except FileNotFoundError:
        return NO_PATTERNS, ()
    except UnicodeDecodeError as exc:
        raise FolderError(
            f"{IGNORE_FILE} is not UTF-8 at byte {exc.start}", hint="save it as UTF-8"
        ) from exc


def _is_there(root: int) -> bool:
    try:
        os.stat(IGNORE_FILE, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return True
