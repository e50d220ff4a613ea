"""Whether a folder's disk takes two names for one."""

from __future__ import annotations

import os
import unicodedata
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from wikisync.folder.safe_open import folder_error


class Folding(Struct, frozen=True):
    """What a disk ignores when it compares names."""

    case: bool = False
    """``Home`` and ``home`` are one file."""
    unicode: bool = False
    """``é`` as one character and as two are one file."""


def probe_folding(folder: Path) -> Folding:
    """Try it with two hidden files, in the folder itself.

    Folding can be a property of a single folder, so no other place will do.

    Raises:
        FolderError: the folder cannot be written.
    """
    stem = f".wikisync-probe-{os.urandom(4).hex()}"
    return Folding(
        case=_is_found(folder, f"{stem}-a", f"{stem}-A"),
        unicode=_is_found(folder, f"{stem}-\u00e9", f"{stem}-e\u0301"),
    )


def seen_folding(folder: Path) -> Folding:
    """What the names of files that are there show of it; nothing is written.

    Raises:
        FolderError: the folder cannot be listed.
    """
    case, accents = False, False
    try:
        names = frozenset(path.name for path in folder.iterdir())
        for name in names:
            case = case or _is_unlisted(folder, name.swapcase(), names)
            other = unicodedata.normalize("NFD", name)
            other = unicodedata.normalize("NFC", name) if other == name else other
            accents = accents or _is_unlisted(folder, other, names)
    except OSError as exc:
        raise folder_error("list", str(folder), exc) from exc
    return Folding(case, accents)


def _is_unlisted(folder: Path, name: str, names: frozenset[str]) -> bool:
    """Whether the disk finds a name that it does not list: it is another one's."""
    return name not in names and os.path.lexists(folder / name)


def _is_found(folder: Path, made: str, asked: str) -> bool:
    path = folder / made
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as exc:
        raise folder_error("write in", str(folder), exc) from exc
    os.close(descriptor)
    try:
        return (folder / asked).exists()
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
