"""Writing files of a folder so that each is the old or the new one, never half.

A file is written under another name on the same disk, fsynced, and only then given
its name; the folder's entry is fsynced last.  In a folder that a person edits it is not
enough to compare before: with a ``Limbo`` the two files swap names, and what came out
is examined.  So is what was moved, or taken out into the trash: a program may save
between comparison and rename.  What holds throughout:

1. A name in the folder always has a whole file: an old one, a new one, or one that a
   person saved.
2. A new file is on the disk before its name is touched, and for a file that is
   replaced through a limbo the record of both digests is, too.
3. A name that is to be new is taken only where nothing has it.
4. Whoever compares by ``check_expected`` alone knows what the name had a moment ago,
   not what it has: only what comes out of a swap is known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from wikisync.core.layout import LIMBO_FOLDER, TEMPORARY_FOLDER, TRASH_FOLDER
from wikisync.core.model import Digest
from wikisync.core.system.libc import NotSupported, rename_to_free, sync_disk
from wikisync.core.system.private import FOLDER_MODE, NEW_FILE
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import disk, safe_open
from wikisync.folder.attributes import inherit_access, inherit_owner, keep_attributes
from wikisync.folder.clashes import fold_all
from wikisync.folder.disk import ANYTHING, Expected, check_expected, link_to_free
from wikisync.folder.limbo import Limbo, LimboBatch
from wikisync.folder.private import (
    own_folder,
    private_folder,
    way_of,
    wiki_private_folder,
)
from wikisync.folder.trash import Trash

SINGLE_FSYNC_MAX = 8
"""Up to so many files are fsynced one by one, more in one go."""


WriteResult = FolderError | PreconditionFailed | None
"""What was wrong with one file; None where it is written."""


# the most that anybody may do with files and folders; the umask takes more
PERSONS = 0o777
"""A person's own, as any editor makes them."""
OWNERS = 0o755
"""For all to read and this user to write: what is obeyed, like ``wikisync.toml``."""
PRIVATE = FOLDER_MODE
"""For this user alone."""


class FileWrite(Struct, frozen=True):
    """One file to be written."""

    path: str
    """Relative to the root, with ``/``."""
    content: bytes
    expected: Expected = ANYTHING
    like: str = ""
    """Another file whose owner, mode and the like it takes over."""


def write_atomically(
    root: Path,
    path: str,
    data: bytes,
    *,
    expected: Expected = ANYTHING,
    temporary: Path | None = None,
    modes: int = PERSONS,
) -> None:
    """Write one file below an existing folder, and folders on the way, or nothing."""
    with FolderWriter(root, temporary=temporary, modes=modes) as writer:
        (result,) = writer.write_many([FileWrite(path, data, expected)])
    if result is not None:
        raise result


class _Staged(Struct, frozen=True):
    """A file that is ready for its name."""

    folder: int
    """Descriptor of the folder it lies in."""
    name: str
    batch: LimboBatch | None = None
    """Where it is to swap names with the file that it replaces."""
    has_attributes: bool = False
    """Whether it has taken over what the file of its name had."""


class OwnFolders(Struct, frozen=True):
    """What is ours of one wiki's folder: so no save is lost, and what goes is kept."""

    root: Path
    temporary: Path
    limbo: Limbo
    trash: Trash

    @classmethod
    def of(
        cls,
        root: Path,
        private: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> OwnFolders:
        """Those in ``private``, the workspace's ``.wikisync``, or in one beside it."""
        limbo = wiki_private_folder(root, LIMBO_FOLDER, private=private)
        trash = private_folder(root, TRASH_FOLDER, private=private)
        return cls(
            root,
            private_folder(root, TEMPORARY_FOLDER, private=private),
            Limbo(limbo, clock=clock),
            Trash(trash, wiki=str(way_of(root, private)), clock=clock),
        )

    def writer(self) -> FolderWriter:
        """What changes files in the folder; made for one thread."""
        return FolderWriter(
            self.root, temporary=self.temporary, limbo=self.limbo, trash=self.trash
        )

    def write(self, write: FileWrite) -> None:
        """Write one file, or raise what was wrong with it."""
        with self.writer() as writer:
            (error,) = writer.write_many([write])
        if error is not None:
            raise error

    def remove(self, path: str, *, expected: Digest, why: str) -> None:
        """Remove one file into the trash."""
        with self.writer() as writer:
            writer.remove(path, expected=expected, why=why)


class FolderWriter:
    """Writes, moves and removes files below one folder: for one thread.

    With a limbo no save is lost, whenever it happens; without it, for files that are
    ours, what was expected is compared and replaced.
    """

    def __init__(
        self,
        root: Path,
        *,
        temporary: Path | None = None,
        limbo: Limbo | None = None,
        trash: Trash | None = None,
        modes: int = PERSONS,
    ) -> None:
        self._path = root
        self._given_temporary = temporary
        self._limbo = limbo
        self._trash = trash
        self._modes = modes
        self._stack = ExitStack()
        self._root = -1
        self._temporary = -1
        self._staged: set[str] = set()

    def __enter__(self) -> FolderWriter:
        with ExitStack() as stack:
            self._root = stack.enter_context(safe_open.opened_root(self._path))
            parent = self._given_temporary or private_folder(
                self._path, TEMPORARY_FOLDER
            )
            self._temporary = stack.enter_context(own_folder(parent))
            stack.callback(self._discard_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *args: object) -> None:
        self._stack.close()

    def write_many(self, writes: Sequence[FileWrite]) -> list[WriteResult]:
        """Write files, with one result for each; one that fails stops no other one.

        All are on the disk under temporary names before the first gets its own.
        FolderError where the disk is full, read-only or broken: each file is whole.
        """
        results: list[WriteResult] = [None] * len(writes)
        order = sorted(range(len(writes)), key=lambda index: writes[index].path)
        with ExitStack() as stack:
            batch = None
            if self._limbo and any(isinstance(write.expected, str) for write in writes):
                batch = stack.enter_context(self._limbo.batch())
            staged = [self._stage(writes[index], batch) for index in order]
            # At this point every new content lies under a name of ours, and no name in
            # the folder was touched: an error until here changes nothing.
            self._fsync(len(staged), lambda: _fsync_files(staged))
            # Now all contents are on the disk.  The record must follow them and come
            # before the first name: after a crash it alone shows which text in the
            # limbo is a person's and which is ours.
            if batch:
                batch.seal()
            with safe_open.Folders(self._root, mode=self._modes) as folders:
                for index, file in zip(order, staged, strict=True):
                    try:
                        self._give_name(file, writes[index], folders)
                    except (FolderError, PreconditionFailed) as exc:
                        # This name has what it had, or what a person saved; the names
                        # before it have whole files and stay.
                        if isinstance(exc, FolderError) and exc.is_of_disk:
                            raise
                        results[index] = exc
                # Names are on the disk only now.  A crash before loses entries, never
                # contents: the next scan finds the old file or the new one.
                self._fsync(len(folders.touched), folders.fsync)
        return results

    def remove(self, path: str, *, expected: Digest, why: str = "") -> None:
        """Remove a file, and the folders above that are truly empty then.

        A copy is in the trash before the file goes, and it comes back if it is not what
        was expected.  PreconditionFailed, or FolderError where it cannot be removed or
        kept: it is there then.
        """
        assert self._limbo, "only what is ours is written without a limbo"
        assert self._trash, "what is removed is kept"
        *parts, name = safe_open.split_path(path)
        with safe_open.Folders(self._root) as folders:
            with disk.gone_errors(path):
                parent = folders.open(parts, makes=False)
            check_expected(parent, name, path, expected)
            # The file was what is expected; a program may save over it from now on.
            removing = safe_open.folder_errors("remove", path)
            with removing, self._limbo.batch() as batch:
                entry = batch.expect(path, expected=expected)
                batch.seal()
                kept = self._trash.keep(parent, name, path, why)
                try:
                    # examines what came out once more, so that such a save is kept
                    batch.take(entry, parent, name)
                except (PreconditionFailed, OSError):
                    self._trash.drop(kept)
                    raise
            folders.fsync()
        self._remove_empty(parts)

    def move(self, path: str, target: str, *, expected: Digest) -> None:
        """Give a file a name that nothing has, and examine what was moved.

        PreconditionFailed where either is not as expected; FolderError.
        """
        assert self._limbo, "only what is ours is written without a limbo"
        *parts, name = safe_open.split_path(path)
        *target_parts, target_name = safe_open.split_path(target)
        with (
            safe_open.Folders(self._root) as old,
            safe_open.Folders(self._root, mode=self._modes) as new,
        ):
            with disk.gone_errors(path):
                source = _Name(old.open(parts, makes=False), name, path)
            goal = _Name(new.open(target_parts, makes=True), target_name, target)
            try:
                _move_file(source, goal, expected, self._limbo)
                new.fsync()
                old.fsync()
            except OSError as exc:
                raise safe_open.folder_error("rename", path, exc) from exc
            finally:
                # The folders of the new name were made for it, or have other files,
                # which keep them: only empty ones can go.
                self._remove_empty(target_parts)
        self._remove_empty(parts)

    def check(self, path: str, *, expected: Expected) -> None:
        """See whether a file is what the caller expects."""
        *parts, name = safe_open.split_path(path)
        with safe_open.Folders(self._root) as folders:
            with disk.gone_errors(path):
                parent = folders.open(parts, makes=False)
            check_expected(parent, name, path, expected)

    def open_stream(self, path: str) -> Stream:
        """A new file that grows piece by piece and gets its name at the end.

        Finishing it raises ``PreconditionFailed`` where something has the name then.
        """
        return Stream(self, path, *self._new_temporary(path))

    def take_over(self, path: str, descriptor: int) -> None:
        """Give an open file what the file of this path has, which is to go for it."""
        with (
            safe_open.folder_errors("write", path),
            disk.gone_errors(path),
            safe_open.Folders(self._root) as folders,
            safe_open.opened_file(folders, path) as old,
        ):
            keep_attributes(old, descriptor, path, mode_max=self._modes)

    def finish(self, path: str, temporary: str, *, has_attributes: bool) -> None:
        """Give a file that is ready a name that nothing has."""
        with safe_open.Folders(self._root) as folders:
            staged = _Staged(self._temporary, temporary, has_attributes=has_attributes)
            self._give_name(staged, FileWrite(path, b"", None), folders)
            folders.fsync()

    def _stage(self, write: FileWrite, batch: LimboBatch | None) -> _Staged:
        if batch is None or not isinstance(write.expected, str):
            name, descriptor = self._new_temporary(write.path)
            staged = _Staged(self._temporary, name)
        else:
            name = batch.expect(
                write.path, expected=Digest(write.expected), content=write.content
            )
            with safe_open.folder_errors("write", write.path):
                descriptor = batch.new_file(name)
            staged = _Staged(batch.folder, name, batch)
        with (
            safe_open.closing(descriptor),
            safe_open.folder_errors("write", write.path),
        ):
            disk.write_all(descriptor, write.content)
        return staged

    def _new_temporary(self, path: str) -> tuple[str, int]:
        name = f"{len(self._staged)}-{os.urandom(4).hex()}"
        with safe_open.folder_errors("write", path):
            descriptor = os.open(
                name, NEW_FILE, 0o666 & self._modes, dir_fd=self._temporary
            )
        self._staged.add(name)
        return name, descriptor

    def _give_name(
        self, staged: _Staged, write: FileWrite, folders: safe_open.Folders
    ) -> None:
        path, expected = write.path, write.expected
        *parts, name = safe_open.split_path(path)
        try:
            parent = folders.open(parts, makes=True)
            status = check_expected(parent, name, path, expected)
            # At this point the name had what the caller expects: a text (``status``),
            # or nothing.  Each branch below holds if that changed since.
            if self._modes != PRIVATE and not staged.has_attributes:
                self._set_attributes(staged, write, parent, is_new=status is None)
            if staged.batch is not None:
                # a save in between comes out of the swap, and goes back in
                staged.batch.swap(staged.name, parent, name)
            elif expected is None:
                # a file that took the name in between is an error of the link
                if link_to_free(self._temporary, staged.name, parent, name):
                    self._discard(staged.name)
                else:
                    disk.scan_and_rename(self._temporary, staged.name, parent, name)
                    self._staged.discard(staged.name)
            else:
                # no limbo: whoever asked for this says that nobody else writes here
                os.replace(
                    staged.name, name, src_dir_fd=self._temporary, dst_dir_fd=parent
                )
                self._staged.discard(staged.name)
        except FileExistsError as exc:
            raise PreconditionFailed(f"{path} already exists") from exc
        except OSError as exc:
            raise safe_open.folder_error("write", path, exc) from exc

    def _set_attributes(
        self, staged: _Staged, write: FileWrite, parent: int, *, is_new: bool
    ) -> None:
        """Give a file that is ready what the one before it had, or its folder gives."""
        like = write.like or write.path
        with safe_open.closing(
            safe_open.open_file(staged.folder, staged.name, write.path)
        ) as new:
            if write.like or not is_new:
                # what is gone by now is an error of the swap, where it is one
                with (
                    suppress(FileNotFoundError),
                    safe_open.Folders(self._root) as folders,
                    safe_open.opened_file(folders, like) as old,
                ):
                    keep_attributes(old, new, like, mode_max=self._modes)
            elif self._modes == PERSONS:
                inherit_owner(parent, new)
                inherit_access(parent, new)
                self._give_back(new, write)

    def _give_back(self, new: int, write: FileWrite) -> None:
        """Give a file what the last one of its path had, while the trash keeps that.

        So a page that only its owner may read is still such a one when it comes back.
        """
        path = write.path
        if self._trash is None:
            return
        with suppress(FileNotFoundError), self._trash.opened_file(path) as old:
            before, now = (
                set(text.split(b"\n")) - {b""}
                for text in (safe_open.read_all(old, path), write.content)
            )
            # an earlier text may be a small part of the last one
            if 2 * len(before & now) >= min(len(before), len(now)):
                keep_attributes(old, new, path, mode_max=self._modes)

    def _fsync(self, count: int, one_by_one: Callable[[], None]) -> None:
        with safe_open.folder_errors("write to", self._path):
            if count <= SINGLE_FSYNC_MAX or not sync_disk(self._root):
                one_by_one()

    def _remove_empty(self, parts: list[str]) -> None:
        # From the innermost on.  ``rmdir`` refuses a folder that has anything in it, so
        # a file made meanwhile keeps its folder and all above it.
        for length in range(len(parts), 0, -1):
            try:
                parent = safe_open.open_folder(self._root, parts[: length - 1])
            except (FileNotFoundError, FolderError):
                return
            try:
                with safe_open.closing(parent):
                    os.rmdir(parts[length - 1], dir_fd=parent)
            except OSError:
                return

    def _discard(self, temporary: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._temporary)
        self._staged.discard(temporary)

    def _discard_all(self) -> None:
        for temporary in tuple(self._staged):
            with suppress(OSError):
                self._discard(temporary)


class Stream(Struct):
    """A file that is being written; without ``finish`` it never was."""

    _writer: FolderWriter
    _path: str
    _temporary: str
    _descriptor: int
    _has_attributes: bool = False

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *args: object) -> None:
        os.close(self._descriptor)

    def write(self, chunk: bytes) -> None:
        """Add bytes."""
        with safe_open.folder_errors("write", self._path):
            disk.write_all(self._descriptor, chunk)

    def take_over(self) -> None:
        """Take over owner, mode and the like of the file that is to go for this one."""
        self._writer.take_over(self._path, self._descriptor)
        self._has_attributes = True

    def finish(self) -> None:
        """Bring the file to the disk and give it its name."""
        with safe_open.folder_errors("write", self._path):
            os.fsync(self._descriptor)
        has_attributes = self._has_attributes
        self._writer.finish(self._path, self._temporary, has_attributes=has_attributes)


def _fsync_files(staged: Iterable[_Staged]) -> None:
    for file in staged:
        disk.fsync_file(file.folder, file.name)


# -- another name ------------------------------------------------------------------


class _Name(NamedTuple):
    """A name in an open folder."""

    folder: int
    """Descriptor."""
    name: str
    path: str
    """For messages and records."""


def _move_file(source: _Name, target: _Name, expected: Digest, limbo: Limbo) -> None:
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


def _is_one_file(source: _Name, target: _Name) -> bool:
    """Whether a disk takes both names for one, as when only case changes.

    The inode does not tell: a disk by FUSE may give each spelling one of its own.
    """
    if safe_open.file_status(target.folder, target.name, target.path) is None:
        return False
    if fold_all(source.name) != fold_all(target.name):
        return False
    if not os.path.samestat(os.fstat(source.folder), os.fstat(target.folder)):
        return False
    with os.scandir(target.folder) as entries:
        return all(entry.name != target.name for entry in entries)


def _rename(source: _Name, target: _Name) -> None:
    os.rename(
        source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder
    )


def _rename_to_free(
    source: _Name, target: _Name, expected: Digest, limbo: Limbo
) -> None:
    """The rename alone; where the disk cannot refuse, the file is linked first."""
    names = source.folder, source.name, target.folder, target.name
    with suppress(NotSupported):
        rename_to_free(*names)
        return
    if not link_to_free(*names):
        disk.scan_and_rename(*names)
        return
    with limbo.batch() as batch:
        entry = batch.expect(source.path, expected=expected)
        batch.seal()
        try:
            batch.take(entry, source.folder, source.name)
        except PreconditionFailed:
            os.unlink(target.name, dir_fd=target.folder)
            raise


def _move_back(source: _Name, target: _Name, expected: Digest, limbo: Limbo) -> None:
    """Move a file back that turned out to be another text.

    Where its name was taken meanwhile, by a newer save, it is a late save.
    """
    with suppress(FileExistsError):
        disk.put_back(target.folder, target.name, source.folder, source.name)
        return
    with limbo.batch() as batch, suppress(FileNotFoundError):
        entry = batch.expect(source.path, expected=expected)
        batch.seal()
        _rename(target, _Name(batch.folder, entry, source.path))
