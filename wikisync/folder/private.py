"""Our own folders beside a wiki's folder: where they are, and one writer's own.

They are in the workspace's ``.wikisync`` where that is on the disk of the wiki's
folder, since files are renamed between them; else in one in that folder.  Temporary
files lie in a folder per writer, locked while it lives: a free lock shows what a crash
left, which the next writer removes.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from wikisync.core.layout import PRIVATE_FOLDER
from wikisync.core.system.locks import close_locked, open_locked_folder
from wikisync.core.system.private import make_private_folder
from wikisync.folder.safe_open import folder_errors

_FOLDER_TRIES_MAX = 100
OWN_CHARS_MAX = 200
"""Of a folder's path in the names of our own files."""
OWN_DIGEST_CHARS = 16
"""Length of the digest that stands for the beginning of a longer path."""


def private_folder(root: Path, name: str, *, private: Path | None = None) -> Path:
    """Where files of one kind go: ``name`` in a folder of ours on the root's disk.

    That is ``private``, the workspace's own, by default the one beside the root.
    """
    workspace = private or root.absolute().parent / PRIVATE_FOLDER
    there = next(way for way in (root, *root.absolute().parents) if way.exists())
    with suppress(OSError):
        if workspace.stat().st_dev == there.stat().st_dev:
            return workspace / name
    return root / PRIVATE_FOLDER / name


def wiki_private_folder(root: Path, name: str, *, private: Path | None = None) -> Path:
    """Where files of one kind and of one wiki go; see ``private_folder``."""
    own = quote(str(way_of(root, private)), safe="")
    if len(own) > OWN_CHARS_MAX:
        # another wiki's folder may end in the same way
        digest = hashlib.sha256(own.encode()).hexdigest()[:OWN_DIGEST_CHARS]
        own = digest + own[OWN_DIGEST_CHARS - OWN_CHARS_MAX :]
    return private_folder(root, name, private=private) / own


def way_of(root: Path, private: Path | None = None) -> Path:
    """A wiki's folder as its workspace calls it."""
    workspace = (private.parent if private else root.absolute().parent).absolute()
    absolute = root.absolute()
    inside = absolute.is_relative_to(workspace)
    return absolute.relative_to(workspace) if inside else absolute


@contextmanager
def own_folder(parent: Path) -> Iterator[int]:
    """A locked folder for one writer in ``parent``, removed at the end."""
    made = [folder for folder in (parent, parent.parent) if not folder.exists()]
    with folder_errors("make temporary files in", parent):
        path, descriptor = _make_own_folder(parent)
    try:
        yield descriptor
    finally:
        close_locked(descriptor)
        with suppress(OSError):
            for folder in (path, *made):
                folder.rmdir()


def _make_own_folder(parent: Path) -> tuple[Path, int]:
    """Make it again where another writer, just going, took it away."""
    for _ in range(_FOLDER_TRIES_MAX):
        with suppress(FileNotFoundError):
            make_private_folder(parent)
            _remove_leftovers(parent)
            path = parent / os.urandom(8).hex()
            make_private_folder(path)
            descriptor = _locked(path)
            if descriptor is not None:
                return path, descriptor
    raise OSError(errno.EBUSY, "other programs keep removing it")


def _locked(path: Path) -> int | None:
    try:
        descriptor = open_locked_folder(path, follows_links=False)
    except BlockingIOError:
        return None
    with suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    close_locked(descriptor)
    return None


def _remove_leftovers(parent: Path) -> None:
    """Remove what writers left behind that did not live to clean up."""
    for path in parent.iterdir():
        with suppress(OSError):
            descriptor = _locked(path)
            if descriptor is not None:
                try:
                    for file in path.iterdir():
                        file.unlink()
                    path.rmdir()
                finally:
                    close_locked(descriptor)
