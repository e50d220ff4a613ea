"""An output folder by descriptors: files staged, swapped in and removed.

Everything is reached from the descriptor of the top, through no symbolic link, also if
somebody puts one there meanwhile: nothing outside the folder is written or removed.
"""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from wikisync.core.model import Digest, digest_of
from wikisync.core.system.libc import NotSupported, swap_names
from wikisync.errors import FolderError, SiteError
from wikisync.folder.safe_open import Folders, closing, open_folder, opened_root
from wikisync.site.addresses import MANIFEST

NEW_FILES = "-/staging/new"
"""The folder of new files, each at its path."""
_NEW_PARTS = NEW_FILES.split("/")
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
_IN_THE_WAY = frozenset({errno.ENOTEMPTY, errno.EEXIST, *_NO_FOLDER})


class Written(NamedTuple):
    """A file that is staged."""

    path: str
    size: int
    digest: Digest
    """Empty for the source of a page that cannot be read any more."""
    mtime_ns: int = 0


class Staging:
    """The folder of new files, open; the processes of a build share it."""

    def __init__(self, folders: Folders, parent: int = 0) -> None:
        self._folders, self._parent = folders, parent

    def file(self, path: str) -> BinaryIO:
        """A new file, open for writing."""
        return os.fdopen(self._opened(path, _WRITE_FLAGS), "wb")

    def put(self, path: str, content: bytes) -> Written:
        """Write a new file; there are many, so by few calls."""
        if self._parent not in {0, os.getppid()}:
            # the build was killed, and the next one may stage its files here
            os._exit(1)
        rest = memoryview(content)
        descriptor = self._opened(path, _WRITE_FLAGS)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            time = os.fstat(descriptor).st_mtime_ns
        finally:
            os.close(descriptor)
        return Written(path, len(content), digest_of(content), time)

    def content(self, path: str) -> bytes:
        """What a file holds."""
        with os.fdopen(self._opened(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read()

    def drop(self, path: str) -> None:
        """Remove a staged file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            folder, name = self._folder_of(path, makes=False)
            os.unlink(name, dir_fd=folder)

    def _opened(self, path: str, flags: int) -> int:
        folder, name = self._folder_of(path)
        return os.open(name, flags, 0o666, dir_fd=folder)

    def _folder_of(self, path: str, *, makes: bool = True) -> tuple[int, str]:
        *folders, name = path.split("/")
        try:
            return self._folders.open(folders, makes=makes), name
        except FolderError as exc:
            raise exc.__cause__ or exc from None


@contextlib.contextmanager
def opened_staging(root: Path) -> Iterator[Staging]:
    """The new files of an output that another process holds."""
    with (
        opened_root(root) as top,
        closing(open_folder(top, _NEW_PARTS)) as folder,
        Folders(folder) as folders,
    ):
        yield Staging(folders, os.getppid())


class OutputPlace:
    """One output folder while a build holds it."""

    def __init__(self, root: Path, top: int) -> None:
        self._root, self._top = root, top
        self._staging = -1
        self.is_swapping = False
        self.staged: Staging

    @contextlib.contextmanager
    def staging(self) -> Iterator[None]:
        """Have an empty folder for new files, gone afterwards unless a swap is cut off.

        Raises:
            SiteError, OSError: something else is in its place; it cannot be made.
        """
        self._clear_staging()
        try:
            with (
                self._opened(_NEW_PARTS, makes=True) as self._staging,
                Folders(self._staging) as folders,
            ):
                self.staged = Staging(folders)
                yield
        finally:
            # after half a swap, its manifest alone names the new files in place
            if not self.is_swapping:
                with contextlib.suppress(OSError, SiteError):
                    self._clear_staging()

    def swap_in(self, wanted: Container[str], folders: Sequence[str] = ()) -> None:
        """Move staged files below a folder to their paths, new folders as a whole.

        Raises:
            SiteError: a file or a link is in the place of a folder.
        """
        self.is_swapping = True
        with (
            closing(open_folder(self._staging, folders)) as staged,
            self._opened(folders) as place,
        ):
            with os.scandir(staged) as entries:
                names = {one.name: one.is_dir(follow_symlinks=False) for one in entries}
            for name, is_folder in names.items():
                path = "/".join([*folders, name])
                if not is_folder and (
                    path not in wanted
                    # a power cut may empty what was exchanged: it names all others
                    or (path != MANIFEST and _has_swapped(name, staged, place))
                ):
                    continue
                try:
                    os.replace(name, name, src_dir_fd=staged, dst_dir_fd=place)
                except OSError as exc:
                    if not is_folder or exc.errno not in _IN_THE_WAY:
                        raise
                    self.swap_in(wanted, [*folders, name])

    def remove(self, path: str) -> bool:
        """Remove a file and folders left empty; False where a link is on the way."""
        *folders, leaf = path.split("/")
        try:
            with self._opened(folders) as place:
                os.unlink(leaf, dir_fd=place)
        except (SiteError, FileNotFoundError):
            return False
        self._remove_empty(folders)
        return True

    def _remove_empty(self, folders: list[str]) -> None:
        for end in range(len(folders), 0, -1):
            try:
                with self._opened(folders[: end - 1]) as place:
                    os.rmdir(folders[end - 1], dir_fd=place)
            except (OSError, SiteError):
                return

    def _clear_staging(self) -> None:
        """Remove staged files; the folder may have other ones."""
        with (
            contextlib.suppress(SiteError, FileNotFoundError),
            self._opened(_NEW_PARTS[:-1]) as place,
            self._opened(_NEW_PARTS),
        ):
            shutil.rmtree(_NEW_PARTS[-1], dir_fd=place)
        self._remove_empty(_NEW_PARTS[:-1])

    @contextlib.contextmanager
    def _opened(self, folders: Sequence[str], *, makes: bool = False) -> Iterator[int]:
        try:
            place = open_folder(self._top, folders, made=set() if makes else None)
        except FolderError as exc:
            cause = exc.__cause__
            if isinstance(cause, OSError) and cause.errno not in _NO_FOLDER:
                raise cause from None
            raise SiteError(
                f"{self._root / exc.path} in the output is not a folder",
                hint="remove it, or choose another folder with -o",
            ) from exc
        try:
            yield place
        finally:
            os.close(place)


def _has_swapped(name: str, staged: int, place: int) -> bool:
    """Let a staged file and one in place be exchanged; a rename waits for the disk."""
    with contextlib.suppress(FileNotFoundError, NotSupported):
        swap_names(staged, name, place, name)
        there = os.stat(name, dir_fd=staged, follow_symlinks=False)
        if not stat.S_ISDIR(there.st_mode):
            return True
        swap_names(staged, name, place, name)
    return False
