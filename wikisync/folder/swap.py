"""Writing files of a folder so that each is the old or the new one, never half.

A file is written under another name on the same disk, brought to the disk, and
only then given its name; the folder's entry is brought to the disk last.  Right
before the swap the file that is there is compared with what the caller expects.
``descent`` sees to it that nothing is written through a symbolic link.

Temporary files lie in a folder of their own per writer, which is locked while
the writer lives: what a crash left behind is recognised by its free lock and
removed by the next writer.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.descent import (
    WHOLE_DISK,
    Folders,
    file_status,
    folder_error,
    open_file,
    open_folder,
    opened_root,
    read_all,
    split_path,
)
from wikisync.model import Digest, digest_of

SINGLE_FSYNC_MAX = 8
"""Up to so many files are brought to the disk one by one, more in one go."""

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_TRIES_MAX = 100
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


class Anything(Enum):
    """What is expected under a path when it does not matter."""

    ANYTHING = "anything"


ANYTHING = Anything.ANYTHING
Expected = Digest | Anything | None
"""Digest of the file that is to be replaced; None where there is to be none."""

WriteResult = FolderError | PreconditionFailed | None
"""What was wrong with one file; None where it is written."""


@dataclass(frozen=True, slots=True)
class FileWrite:
    """One file to be written."""

    path: str
    """Relative to the root, with ``/``."""
    content: bytes
    expected: Expected = ANYTHING


def write_atomically(
    root: Path,
    path: str,
    data: bytes,
    *,
    expected: Expected = ANYTHING,
    temporary: Path | None = None,
) -> None:
    """Write one file below an existing folder, making folders on the way.

    Raises:
        PreconditionFailed: something else than expected is there.
        FolderError: it cannot be written; nothing has changed then.
    """
    with FolderWriter(root, temporary=temporary) as writer:
        (result,) = writer.write_many([FileWrite(path, data, expected)])
    if result is not None:
        raise result


class FolderWriter:
    """Writes and removes files below one folder: a context manager for one thread.

    Args:
        root: the folder, which exists.
        temporary: folder for files that are not yet whole, on the same disk; by
            default ``.wikisync/tmp`` beside the root in a workspace, else in it.
    """

    def __init__(self, root: Path, *, temporary: Path | None = None) -> None:
        self._path = root
        self._place = temporary
        self._stack = ExitStack()
        self._root = -1
        self._temporary = -1
        self._staged: set[str] = set()

    def __enter__(self) -> FolderWriter:
        with ExitStack() as stack:
            self._root = stack.enter_context(opened_root(self._path))
            place = self._place or _temporary_place(self._path)
            self._temporary = stack.enter_context(_own_folder(place))
            stack.callback(self._discard_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *args: object) -> None:
        self._stack.close()

    def write_many(self, writes: Sequence[FileWrite]) -> list[WriteResult]:
        """Write files; what is wrong with one of them does not stop the others.

        All are on the disk under temporary names before the first gets its own.

        Returns:
            One entry for each write, in order.

        Raises:
            FolderError: the disk is full, read-only or broken.  Files that already
                got their names are whole, all others are as they were.
        """
        results: list[WriteResult] = [None] * len(writes)
        order = sorted(range(len(writes)), key=lambda index: writes[index].path)
        staged = [self._stage(writes[index]) for index in order]
        self._bring_to_disk(len(staged), lambda: self._fsync_files(staged))
        with Folders(self._root) as folders:
            for index, temporary in zip(order, staged, strict=True):
                write = writes[index]
                try:
                    self._give_name(temporary, write.path, write.expected, folders)
                except (FolderError, PreconditionFailed) as exc:
                    _raise_if_whole_disk(exc)
                    self._discard(temporary)
                    results[index] = exc
            self._bring_to_disk(len(folders.touched), folders.fsync)
        return results

    def remove(self, path: str, *, expected: Digest) -> None:
        """Remove a file, and the folders above that are truly empty then.

        Raises:
            PreconditionFailed: it is gone or something else than expected.
            FolderError: it cannot be removed.
        """
        *parts, name = split_path(path)
        with Folders(self._root) as folders:
            try:
                parent = folders.open(parts, makes=False)
            except FileNotFoundError as exc:
                raise PreconditionFailed(f"{path} is gone") from exc
            _check_expected(parent, name, path, expected)
            try:
                os.unlink(name, dir_fd=parent)
            except OSError as exc:
                raise folder_error("remove", path, exc) from exc
            folders.fsync()
        self._remove_empty(parts)

    def check(self, path: str, *, expected: Expected) -> None:
        """See whether a file is what the caller expects.

        Raises:
            PreconditionFailed: it is not.
            FolderError: it cannot be read.
        """
        *parts, name = split_path(path)
        with Folders(self._root) as folders:
            try:
                parent = folders.open(parts, makes=False)
            except FileNotFoundError as exc:
                raise PreconditionFailed(f"{path} is gone") from exc
            _check_expected(parent, name, path, expected)

    def open_stream(self, path: str, *, expected: Expected = ANYTHING) -> Stream:
        """A file that grows piece by piece and gets its name at the end.

        Raises:
            FolderError: no temporary file can be made.
        """
        temporary, descriptor = self._new_temporary(path)

        def give_name() -> None:
            with Folders(self._root) as folders:
                self._give_name(temporary, path, expected, folders)
                folders.fsync()

        return Stream(descriptor, path, give_name)

    def _stage(self, write: FileWrite) -> str:
        """Write a temporary file and tell its name."""
        name, descriptor = self._new_temporary(write.path)
        try:
            _write_all(descriptor, write.content, write.path)
        finally:
            os.close(descriptor)
        return name

    def _new_temporary(self, path: str) -> tuple[str, int]:
        name = f"{len(self._staged)}-{secrets.token_hex(4)}"
        try:
            descriptor = os.open(name, _NEW_FILE, 0o666, dir_fd=self._temporary)
        except OSError as exc:
            raise folder_error("write", path, exc) from exc
        self._staged.add(name)
        return name, descriptor

    def _give_name(
        self, temporary: str, path: str, expected: Expected, folders: Folders
    ) -> None:
        *parts, name = split_path(path)
        parent = folders.open(parts, makes=True)
        status = _check_expected(parent, name, path, expected)
        try:
            if status is not None:
                mode = status.st_mode & 0o777
                os.chmod(temporary, mode, dir_fd=self._temporary)
            if expected is None:
                self._link(temporary, parent, name)
            else:
                self._rename(temporary, parent, name)
        except FileExistsError as exc:
            raise PreconditionFailed(f"{path} exists already") from exc
        except OSError as exc:
            raise folder_error("write", path, exc) from exc

    def _link(self, temporary: str, parent: int, name: str) -> None:
        """Give a name that is free, and see that it is in the same moment."""
        try:
            os.link(
                temporary,
                name,
                src_dir_fd=self._temporary,
                dst_dir_fd=parent,
                follow_symlinks=False,
            )
        except OSError as exc:
            if exc.errno not in _NO_HARD_LINKS:
                raise
            self._rename(temporary, parent, name)
        else:
            self._discard(temporary)

    def _rename(self, temporary: str, parent: int, name: str) -> None:
        os.replace(temporary, name, src_dir_fd=self._temporary, dst_dir_fd=parent)
        self._staged.discard(temporary)

    def _bring_to_disk(self, count: int, one_by_one: Callable[[], None]) -> None:
        """Wait until what was written is on the disk."""
        try:
            if count <= SINGLE_FSYNC_MAX or not _sync_disk(self._root):
                one_by_one()
        except OSError as exc:
            raise folder_error("write to", str(self._path), exc) from exc

    def _fsync_files(self, names: Iterable[str]) -> None:
        for name in names:
            descriptor = os.open(name, os.O_RDONLY, dir_fd=self._temporary)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _remove_empty(self, parts: list[str]) -> None:
        for length in range(len(parts), 0, -1):
            try:
                parent = open_folder(self._root, parts[: length - 1])
            except (FileNotFoundError, FolderError):
                return
            try:
                os.rmdir(parts[length - 1], dir_fd=parent)
            except OSError:
                return
            finally:
                os.close(parent)

    def _discard(self, temporary: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=self._temporary)
        self._staged.discard(temporary)

    def _discard_all(self) -> None:
        for temporary in tuple(self._staged):
            with suppress(OSError):
                self._discard(temporary)


class Stream:
    """A file that is being written; without ``finish`` it never was."""

    def __init__(
        self, descriptor: int, path: str, give_name: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._path = path
        self._give_name = give_name

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *args: object) -> None:
        os.close(self._descriptor)

    def write(self, chunk: bytes) -> None:
        """Add bytes.

        Raises:
            FolderError: the disk is full.
        """
        _write_all(self._descriptor, chunk, self._path)

    def finish(self) -> None:
        """Bring the file to the disk and give it its name.

        Raises:
            PreconditionFailed: something else than expected is there.
            FolderError: it cannot be written.
        """
        try:
            os.fsync(self._descriptor)
        except OSError as exc:
            raise folder_error("write", self._path, exc) from exc
        self._give_name()


def _write_all(descriptor: int, content: bytes, path: str) -> None:
    """Write all bytes, however few the disk takes at once.

    Raises:
        FolderError: the disk is full or the like.
    """
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except OSError as exc:
            raise folder_error("write", path, exc) from exc


def _check_expected(
    parent: int, name: str, path: str, expected: Expected
) -> os.stat_result | None:
    """See whether what is there is what the caller decided upon."""
    status = file_status(parent, name, path)
    if expected is ANYTHING:
        return status
    if expected is None:
        if status is not None:
            raise PreconditionFailed(f"{path} exists already")
        return None
    try:
        descriptor = open_file(parent, name, path)
    except FileNotFoundError as exc:
        raise PreconditionFailed(f"{path} is gone") from exc
    try:
        found = digest_of(read_all(descriptor, path))
    finally:
        os.close(descriptor)
    if found != expected:
        raise PreconditionFailed(f"{path} was changed in the meantime")
    return status


def _raise_if_whole_disk(error: FolderError | PreconditionFailed) -> None:
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in WHOLE_DISK:
        raise error


def _sync_disk(descriptor: int) -> bool:
    """Bring a whole file system to the disk, where the system can do that.

    For thousands of files it is one journal commit instead of one each.
    """
    if sys.platform != "linux":
        return False
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    if syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return True


# Temporary folders --------------------------------------------------------------


def _temporary_place(root: Path) -> Path:
    """Where temporary files go: the workspace's own folder, if on the same disk."""
    workspace = root.absolute().parent / ".wikisync"
    try:
        if workspace.stat().st_dev == root.stat().st_dev:
            return workspace / "tmp"
    except OSError:
        pass
    return root / ".wikisync" / "tmp"


@contextmanager
def _own_folder(place: Path) -> Iterator[int]:
    """A locked folder for one writer below ``place``, removed at the end."""
    made = [folder for folder in (place, place.parent) if not folder.exists()]
    try:
        path, descriptor = _make_own_folder(place)
    except OSError as exc:
        raise folder_error("make temporary files in", str(place), exc) from exc
    try:
        yield descriptor
    finally:
        os.close(descriptor)
        with suppress(OSError):
            for folder in (path, *made):
                folder.rmdir()


def _make_own_folder(place: Path) -> tuple[Path, int]:
    """Make it again where another writer, just going, took it away."""
    for _ in range(_FOLDER_TRIES_MAX):
        with suppress(FileNotFoundError):
            place.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(place)
            path = place / secrets.token_hex(8)
            path.mkdir()
            descriptor = _locked(path)
            if descriptor is not None:
                return path, descriptor
    raise OSError(errno.EBUSY, "other programs keep removing it")


def _locked(path: Path) -> int | None:
    """The folder, locked; None where somebody has it or took it away."""
    descriptor = os.open(path, _OWN_FOLDER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove_leftovers(place: Path) -> None:
    """Remove what writers left behind that did not live to clean up."""
    for path in place.iterdir():
        with suppress(OSError):
            descriptor = _locked(path)
            if descriptor is not None:
                try:
                    for file in path.iterdir():
                        file.unlink()
                    path.rmdir()
                finally:
                    os.close(descriptor)
