"""An output folder by descriptors: files staged, swapped in and removed.

Everything is reached from the descriptor of the top, through no symbolic link, also if
somebody puts one there meanwhile: nothing outside the folder is written or removed.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from wikisync.core.model import Digest
from wikisync.errors import FolderError, SiteError
from wikisync.folder.safe_open import Folders, open_file, open_folder, opened_root

STAGING = "-/staging"
STAGED_MANIFEST = "manifest.json"
_STAGING_PARTS = STAGING.split("/")
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})


class Written(NamedTuple):
    """A file that is staged."""

    path: str
    size: int
    digest: Digest
    number: int
    """Of the staged file; 0 for the source of a page that cannot be read any more."""
    mtime_ns: int = 0


class Staging:
    """The folder of new files, open; the processes of a build share it."""

    def __init__(self, folder: int, parent: int = 0) -> None:
        self._folder, self._parent = folder, parent

    def file(self, name: str) -> BinaryIO:
        """A new file, open for writing."""
        descriptor = os.open(name, _WRITE_FLAGS, 0o666, dir_fd=self._folder)
        return os.fdopen(descriptor, "wb")

    def put(self, number: int, content: bytes) -> int:
        """Write a new file, and give its time; there are many, so by few calls."""
        if self._parent not in {0, os.getppid()}:
            # the build was killed, and the next one may stage its files here
            os._exit(1)
        name, rest = staged_name(number), memoryview(content)
        descriptor = os.open(name, _WRITE_FLAGS, 0o666, dir_fd=self._folder)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            return os.fstat(descriptor).st_mtime_ns
        finally:
            os.close(descriptor)

    def content(self, number: int) -> bytes:
        """What a file holds."""
        name = staged_name(number)
        with os.fdopen(open_file(self._folder, name, name), "rb") as file:
            return file.read()


@contextlib.contextmanager
def opened_staging(root: Path) -> Iterator[Staging]:
    """The new files of an output that another process holds."""
    with opened_root(root) as top:
        folder = open_folder(top, _STAGING_PARTS)
        try:
            yield Staging(folder, os.getppid())
        finally:
            os.close(folder)


def staged_name(number: int) -> str:
    """The name of a new file in staging."""
    return f"{number:08}"


class OutputPlace:
    """One output folder while a build holds it."""

    def __init__(self, root: Path, top: int) -> None:
        self._root = root
        self._top = top
        self._staging = -1
        self.staged: Staging

    @contextlib.contextmanager
    def staging(self) -> Iterator[None]:
        """Have an empty folder for new files, gone afterwards whatever happens.

        Raises:
            SiteError, OSError: something else is in its place; it cannot be made.
        """
        self._clear_staging()
        try:
            with (
                self._opened(_STAGING_PARTS, makes=True) as self._staging,
                Folders(self._top) as self._folders,
            ):
                self.staged = Staging(self._staging)
                yield
        finally:
            with contextlib.suppress(OSError, SiteError):
                self._clear_staging()

    def swap_in(self, name: str, path: str) -> None:
        """Move a staged file to its path; raises ``SiteError`` if it is blocked."""
        *folders, leaf = path.split("/")
        with self._explained():
            place = self._folders.open(folders, makes=True)
        os.replace(name, leaf, src_dir_fd=self._staging, dst_dir_fd=place)

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
        """Remove staged files, all of which bear names that only we give."""
        try:
            with self._opened(_STAGING_PARTS) as place:
                for name in os.listdir(place):  # noqa: PTH208 - a descriptor
                    if name.isdigit() or name == STAGED_MANIFEST:
                        os.unlink(name, dir_fd=place)
        except (SiteError, FileNotFoundError):
            return
        self._remove_empty(_STAGING_PARTS)

    @contextlib.contextmanager
    def _opened(self, folders: Sequence[str], *, makes: bool = False) -> Iterator[int]:
        with self._explained():
            place = open_folder(self._top, folders, made=set() if makes else None)
        try:
            yield place
        finally:
            os.close(place)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Say of a file or link in the place of a folder what to do."""
        try:
            yield
        except FolderError as exc:
            cause = exc.__cause__
            if isinstance(cause, OSError) and cause.errno not in _NO_FOLDER:
                raise cause from None
            raise SiteError(
                f"{self._root / exc.path} in the output is not a folder",
                hint="remove it, or choose another folder with -o",
            ) from exc
