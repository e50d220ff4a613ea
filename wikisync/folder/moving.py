"""Giving a file of a folder another name, and taking one out, with a check after.

Both compare first, and examine afterwards what was moved, since a program may save
between comparison and rename.
"""

import os
from contextlib import suppress

from msgspec import Struct

from wikisync.core.model import Digest
from wikisync.core.system.libc import NotSupported, rename_to_free
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.clashes import fold_all
from wikisync.folder.disk import check_expected, link_to_free, put_back, scan_and_rename
from wikisync.folder.limbo import Limbo
from wikisync.folder.safe_open import file_status
from wikisync.folder.trash import Trash


class NameInFolder(Struct, frozen=True):
    """A name in an open folder."""

    folder: int
    """Descriptor."""
    name: str
    path: str
    """For messages and records."""


def move_file(
    source: NameInFolder, target: NameInFolder, *, expected: Digest, limbo: Limbo
) -> None:
    """Give a file a name that nothing has.

    PreconditionFailed where either is not as expected, FolderError where one is no
    regular file, OSError where it cannot be moved.
    """
    check_expected(source.folder, source.name, source.path, expected)
    try:
        if _is_one_file(source, target):
            _rename(source, target)
        else:
            _rename_to_free(source, target, expected, limbo)
    except FileNotFoundError as exc:
        raise PreconditionFailed(f"{source.path} is gone") from exc
    except FileExistsError as exc:
        raise PreconditionFailed(f"{target.path} exists already") from exc
    try:
        check_expected(target.folder, target.name, source.path, expected)
    except (PreconditionFailed, FolderError):
        _move_back(source, target, expected, limbo)
        raise


def take_file(
    source: NameInFolder, *, expected: Digest, limbo: Limbo, trash: Trash, why: str
) -> None:
    """Remove a file by way of the limbo, with a copy in the trash before."""
    with limbo.batch() as batch:
        entry = batch.expect(source.path, expected=expected)
        batch.seal()
        kept = trash.keep(source.folder, source.name, source.path, why)
        try:
            batch.take(entry, source.folder, source.name)
        except (PreconditionFailed, OSError):
            trash.drop(kept)
            raise


def _is_one_file(source: NameInFolder, target: NameInFolder) -> bool:
    """Whether a disk takes both names for one, as when only case changes.

    The inode does not tell: a disk by FUSE may give each spelling one of its own.
    """
    if file_status(target.folder, target.name, target.path) is None:
        return False
    if fold_all(source.name) != fold_all(target.name):
        return False
    if not os.path.samestat(os.fstat(source.folder), os.fstat(target.folder)):
        return False
    with os.scandir(target.folder) as entries:
        return all(entry.name != target.name for entry in entries)


def _rename(source: NameInFolder, target: NameInFolder) -> None:
    os.rename(
        source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder
    )


def _rename_to_free(
    source: NameInFolder, target: NameInFolder, expected: Digest, limbo: Limbo
) -> None:
    """The rename alone; where the disk cannot refuse, the file is linked first."""
    names = source.folder, source.name, target.folder, target.name
    with suppress(NotSupported):
        rename_to_free(*names)
        return
    if not link_to_free(*names):
        scan_and_rename(*names)
        return
    with limbo.batch() as batch:
        entry = batch.expect(source.path, expected=expected)
        batch.seal()
        try:
            batch.take(entry, source.folder, source.name)
        except PreconditionFailed:
            os.unlink(target.name, dir_fd=target.folder)
            raise


def _move_back(
    source: NameInFolder, target: NameInFolder, expected: Digest, limbo: Limbo
) -> None:
    """Move a file back that turned out to be another text.

    Where its name was taken meanwhile, by a newer save, it is a late save.
    """
    with suppress(FileExistsError):
        put_back(target.folder, target.name, source.folder, source.name)
        return
    with limbo.batch() as batch, suppress(FileNotFoundError):
        entry = batch.expect(source.path, expected=expected)
        batch.seal()
        _rename(target, NameInFolder(batch.folder, entry, source.path))
