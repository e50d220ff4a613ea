"""What the files of a wiki's folder hold, read only where their status changed.

A cache and never a decision (``docs/sync.md`` "Scanning the folder"): a file is
believed to be as it was while its status is the same, unless it had changed just before
it was read.  The next process believes it on the same disk and since the same start of
the machine: after a loss of power a file's times can be older than its text.
"""

import hashlib
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Digest, LooseFile, PageState
from wikisync.core.system.file_status import UNKNOWN, FileStatus, is_settled, status_of
from wikisync.core.system.private import (
    make_private_folder,
    read_private_file,
    write_private_file,
)
from wikisync.core.version import __version__
from wikisync.errors import FolderError
from wikisync.folder.ignore import IGNORE_FILE, UPLOADS, is_ignored_folder, locked_name
from wikisync.folder.safe_open import (
    Folders,
    folder_error,
    opened_file,
    opened_root,
    read_chunks,
)

BYTES_MAX = 256 * 1024 * 1024
"""A larger file is not ours."""
SUM_BYTES = 4
"""Of the checksum, with which the file begins."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
P = TypeVar("P", bound=str)


class IndexedFile(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a file held when it was read."""

    digest: Digest
    size: int
    """In bytes."""
    status: FileStatus = UNKNOWN
    """As the system gave it before the file was read."""
    is_settled: bool = False
    """Whether the status tells every later change."""
    page: PageState | None = None
    """What the sync needs to know of a page besides."""

    def is_as(self, status: FileStatus) -> bool:
        """Whether a file with this status surely holds the same."""
        return self.is_settled and self.status == status


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    place: tuple[str, str, int, int]
    """Version of the program, which may read names in another way, start of the
    machine, disk and inode of the wiki's folder."""
    read_all_at: float
    files: dict[str, IndexedFile]


_KEPT = msgpack_decoder(_Kept)


class FolderIndex:
    """The files of one folder by path, as they were when they were read last."""

    def __init__(
        self,
        root: Path,
        file: Path | None = None,
        *,
        is_kept: bool = True,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Nothing is read yet; one that is not kept only tells what was kept before."""
        self.root = root
        self._file = file
        self._is_kept = is_kept
        self._now_ns = now_ns
        self._files: dict[str, IndexedFile] | None = None
        self._walked: dict[int, int] | None = None
        """A hash of each path of the last walk, with one of the file status."""
        self._keeping = threading.Lock()
        self._is_changed = False
        """Whether it says something that is not kept yet."""
        self.has_read = False
        """Whether ``look`` had to read a file: it is new, or has changed."""
        self.read_all_at = 0.0
        """When every page was last read, in seconds since 1970."""

    @property
    def files(self) -> dict[str, IndexedFile]:
        """What is known of each file, here or from the process before."""
        if self._files is None:
            kept = _Kept(("", "", 0, 0), 0.0, {})
            with suppress(OSError, msgspec.MsgspecError):
                if self._file is not None:
                    made = memoryview(read_private_file(self._file, BYTES_MAX))
                    checksum, content = made[:SUM_BYTES], made[SUM_BYTES:]
                    if checksum == _sum(content):
                        found = _KEPT.decode(content)
                        # else it cannot be believed
                        kept = found if found.place == self._place() else kept
            self._files, self.read_all_at = kept.files, kept.read_all_at
        return self._files

    def look(
        self, folders: Folders, path: str, listed: FileStatus | None = None
    ) -> IndexedFile | None:
        """What a file holds now; None for a folder, a link, or what cannot be read."""
        known = self.files.get(path)
        if known is not None and listed is not None and known.is_as(listed):
            return known
        try:
            with opened_file(folders, path) as descriptor:
                status, now_ns = status_of(os.fstat(descriptor)), self._now_ns()
                if known is not None and known.is_as(status):
                    return known
                digest, size = hashlib.sha256(), 0
                for chunk in read_chunks(descriptor, path):
                    digest.update(chunk)
                    size += len(chunk)
        except (OSError, FolderError):
            self.forget(path)
            return None
        self.has_read = True
        found = IndexedFile(
            Digest(digest.hexdigest()), size, status, is_settled(status, now_ns)
        )
        self.note(path, found)
        return found

    def there(
        self, paths: Iterable[P], listed: Mapping[P, FileStatus]
    ) -> dict[P, LooseFile]:
        """Those of some files that are there, as they are now."""
        found: dict[P, LooseFile] = {}
        with opened_root(self.root) as root, Folders(root) as folders:
            for path in paths:
                status = listed.get(path)
                if status is None and path.startswith(f"{UPLOADS}/"):
                    continue
                if file := self.look(folders, path, status):
                    found[path] = LooseFile(path, file.digest, file.size)
        self.keep()
        return found

    def note(self, path: str, file: IndexedFile) -> None:
        """Note what a file holds."""
        self._is_changed |= self.files.get(path) != file
        self.files[path] = file

    def forget(self, path: str) -> None:
        """Forget a file that is not there any more."""
        self.files.pop(path, None)

    def note_all(
        self, files: Mapping[str, IndexedFile], *, read_all_at: float | None = None
    ) -> None:
        """Note what all files hold; ``read_all_at``: when all were read, if now."""
        self._is_changed |= files != self.files
        self._files = dict(files)
        if read_all_at is not None:
            self.read_all_at, self._is_changed = read_all_at, True

    def saved_since(self) -> frozenset[str] | None:
        """Paths of files that were saved since this was asked before; None at first.

        For the walk that a watch makes every half minute: no file is opened, so that
        10,000 take 50 ms.  Of lock files of editors the presence counts.  None also
        where files were made, renamed or removed since.
        """
        known, files, saved = self._walked or {}, {}, set()
        waiting = [("", os.fspath(self.root))]
        while waiting:
            way, folder = waiting.pop()
            try:
                entries = os.scandir(folder)
            except OSError as exc:
                if way:
                    files[hash(way)] = hash(exc.errno)
                    continue
                raise folder_error("list", folder, exc) from exc
            seed = hash(way)
            with entries:
                for entry in entries:
                    name = entry.name
                    key = hash((seed, name))
                    if name[0] == "." and name != IGNORE_FILE:
                        if locked_name(name) is not None:
                            # its content is nobody's business: editors write it often
                            files[key] = 0
                        continue
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            if not is_ignored_folder(name):
                                waiting.append((f"{way}{name}/", entry.path))
                            continue
                        status = hash(status_of(entry.stat(follow_symlinks=False)))
                    except OSError:
                        continue  # gone since it was listed: the next walk sees it so
                    files[key] = status
                    if known.get(key) != status:
                        saved.add(way + name)
        is_same = self._walked is not None and files.keys() == known.keys()
        self._walked = files
        return frozenset(saved) if is_same else None

    def keep(self) -> None:
        """Keep what is known for the next process, where that can be."""
        # pages are scanned in one thread, and files that links lead to in others
        with self._keeping, suppress(OSError):
            if self._is_kept and self._is_changed and self._file is not None:
                self._is_changed = False
                kept = _Kept(self._place(), self.read_all_at, self.files)
                content = msgspec.msgpack.encode(kept)
                make_private_folder(self._file.parent)
                # in one step and without fsync: it ends with the machine
                write_private_file(self._file, _sum(content) + content)

    def _place(self) -> tuple[str, str, int, int]:
        status, boot = self.root.stat(), ""
        # this start of the machine; the same for all where it has no name
        with suppress(OSError):
            boot = _BOOT.read_text("ascii").strip()
        return __version__, boot, status.st_dev, status.st_ino


def _sum(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(SUM_BYTES, "big")
