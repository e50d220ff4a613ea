"""The trash: every text that wikisync removed, with why and when.

``.wikisync/trash/<date>/<time>-<number>/`` (UTC) holds the file, and in ``why.json``
what it was.  A file gets here, by a second name or as a copy, *before* it leaves its
folder: a full disk ends the removal, not the text.  Old entries go after ``KEPT_DAYS``
or above ``KEPT_BYTES``, counted from an entry that is a day old: a clock that is wrong
for an hour would empty the trash.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, ValidationError, structs

from wikisync.core.decoding import convert
from wikisync.core.model import Slug
from wikisync.core.system.private import FOLDER_MODE
from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.folder import safe_open
from wikisync.folder.attributes import keep_attributes
from wikisync.folder.disk import fsync_file, gone_errors, link_to_free, write_new
from wikisync.folder.naming import parse_path

KEPT_DAYS = 30
"""How long an entry stays."""
KEPT_BYTES = 500 * 1000 * 1000
"""How much text stays; what is oldest goes first."""
PURGE_EVERY_S = 3600.0
"""How often old entries are searched for."""
RECORD_BYTES_MAX = 64 * 1024
"""A record larger than this is not ours."""
WHY_CHARS_MAX = 500
"""A longer reason is cut."""

RECORD = "why.json"
_DAY_S = 86_400.0
_COPY = "page"


class Trashed(Struct, frozen=True):
    """One text in the trash."""

    id: str
    """``2026-11-21/143012-0a1b2c3d``: its folder in the trash."""
    wiki: str
    """The wiki's folder in the workspace."""
    path: str
    """Where its file was in the wiki's folder."""
    why: str
    at: float
    """When it was removed, in seconds since 1970."""
    size: int
    """In bytes."""
    file: str
    """Its name in its folder in the trash."""
    is_file: bool = False
    """It was the file of its path, with owner and mode, and not only a text of it."""

    @property
    def slug(self) -> Slug | None:
        """The page that it was; None where it was none."""
        found = parse_path(self.path)
        return found[0] if found else None


class Trash:
    """The trash of one wiki, which all of a workspace share; for one thread at a time.

    ``folder``, on the disk of the wiki's folder ``wiki``, is made at need.
    """

    def __init__(
        self, folder: Path, *, wiki: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._wiki = wiki
        self._clock = clock
        self._size = 0
        self._purged_at: float | None = None
        self._files: dict[str, Trashed] | None = None
        """The last file that was removed from each path; None while not asked for."""

    def keep(self, folder: int, name: str, path: str, why: str) -> Trashed:
        """Keep a file that is to be removed; PreconditionFailed where it is gone."""

        def fill(entry: int, file: str) -> int:
            with gone_errors(path):
                return _link_or_copy(folder, name, entry, file, path)

        return self._add(path, why, fill, is_file=True)

    def put(self, path: str, content: bytes, why: str) -> Trashed:
        """Keep a text that has no file of its own."""

        def fill(entry: int, file: str) -> int:
            write_new(entry, file, content)
            return len(content)

        return self._add(path, why, fill)

    def put_once(self, path: str, content: bytes, why: str) -> Trashed:
        """Keep a text unless the trash has it: the same, of this path."""
        for entry in self.entries(path=path):
            with suppress(FolderError, NotFound):
                if entry.size == len(content) and self.read(entry) == content:
                    return entry
        return self.put(path, content, why)

    def entries(
        self, *, path: str | None = None, slug: Slug | None = None
    ) -> tuple[Trashed, ...]:
        """What is kept of this wiki, of a path or of a page; the newest first."""
        found = [
            entry
            for entry in self._all()
            if entry.wiki == self._wiki
            and path in {None, entry.path}
            and slug in {None, entry.slug}
        ]
        return tuple(sorted(found, key=lambda entry: (entry.at, entry.id))[::-1])

    def read(self, entry: Trashed) -> bytes:
        """The text of an entry; raises ``NotFound`` where it is not there any more."""
        try:
            with self._opened(entry.id) as folder:
                return safe_open.read_file(folder, entry.file, entry.path)
        except FileNotFoundError as exc:
            raise NotFound(f"{entry.path} is not in the trash any more") from exc

    @contextmanager
    def opened_file(self, path: str) -> Iterator[int]:
        """The file that was removed from a path last; FileNotFoundError without one."""
        if self._files is None:
            kept = self.entries()[::-1]
            self._files = {entry.path: entry for entry in kept if entry.is_file}
        entry = self._files.get(path)
        if entry is None:
            raise FileNotFoundError(path)
        with self._opened(entry.id) as folder:
            descriptor = safe_open.open_file(folder, entry.file, path)
            with safe_open.closing(descriptor):
                yield descriptor

    def drop(self, entry: Trashed) -> None:
        """Remove an entry for good."""
        self._remove(entry.id, entry.file)
        self._size -= entry.size

    def purge(self) -> int:
        """Remove what is too old or too much, the oldest first; tells how many."""
        entries = sorted(self._all(), key=lambda entry: (entry.at, entry.id))
        settled = [one.at for one in entries if one.at <= self._clock() - _DAY_S]
        oldest = max(settled, default=-math.inf) - KEPT_DAYS * _DAY_S
        self._purged_at = self._clock()
        self._size = sum(entry.size for entry in entries)
        gone = 0
        for entry in entries:
            if entry.at >= oldest and self._size <= KEPT_BYTES:
                break
            self.drop(entry)
            gone += 1
        return gone

    def _add(
        self,
        path: str,
        why: str,
        fill: Callable[[int, str], int],
        *,
        is_file: bool = False,
    ) -> Trashed:
        if len(why) > WHY_CHARS_MAX:
            why = f"{why[:WHY_CHARS_MAX]}..."
        now = self._clock()
        moment = datetime.fromtimestamp(now, UTC)
        entry_id = f"{moment:%Y-%m-%d}/{moment:%H%M%S}-{os.urandom(4).hex()}"
        name = safe_open.split_path(path)[-1]
        file = _COPY if name == RECORD else name
        try:
            with self._opened(entry_id, makes=True) as folder:
                size = fill(folder, file)
                entry = Trashed(
                    entry_id, self._wiki, path, why, now, size, file, is_file
                )
                when = moment.isoformat(timespec="seconds")
                record = json.dumps(structs.asdict(entry) | {"when": when}, indent=1)
                write_new(folder, RECORD, record.encode("ascii"))
                for way in (file, RECORD):
                    fsync_file(folder, way)
                os.fsync(folder)
            with self._opened(entry_id.partition("/")[0]) as day:
                os.fsync(day)
        except (OSError, FolderError, PreconditionFailed) as exc:
            with suppress(FolderError):
                self._remove(entry_id, file)
            if isinstance(exc, OSError):
                raise safe_open.folder_error("keep a copy of", path, exc) from exc
            raise
        self._size += size
        if is_file and self._files is not None:
            self._files[path] = entry
        is_due = self._purged_at is None or now - self._purged_at >= PURGE_EVERY_S
        if is_due or self._size > KEPT_BYTES:
            with suppress(FolderError):
                self.purge()
        return entry

    @contextmanager
    def _opened(self, way: str, *, makes: bool = False) -> Iterator[int]:
        """A folder in the trash, no link followed; raises as ``open_folder`` does."""
        parts = [self._folder.name, *(way.split("/") if way else [])]
        if makes:
            # none above that: its disk may be away
            with suppress(FileExistsError):
                self._folder.parent.mkdir(mode=FOLDER_MODE)
        with safe_open.opened_root(self._folder.parent) as root:
            made: set[tuple[str, ...]] | None = set() if makes else None
            descriptor = safe_open.open_folder(root, parts, made=made, mode=FOLDER_MODE)
        with safe_open.closing(descriptor):
            yield descriptor

    def _all(self) -> Iterator[Trashed]:
        if not os.path.lexists(self._folder.parent):
            return
        for day in self._names(""):
            for name in self._names(day):
                entry = self._entry(f"{day}/{name}")
                if entry is not None:
                    yield entry

    def _names(self, way: str) -> Sequence[str]:
        try:
            with self._opened(way) as folder, os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return []
        except FolderError:
            if not way:
                raise
            return []  # a stray file or link among the days is not ours
        except OSError as exc:
            raise safe_open.folder_error("read", str(self._folder), exc) from exc

    def _entry(self, entry_id: str) -> Trashed | None:
        try:
            with self._opened(entry_id) as folder:
                descriptor = safe_open.open_file(folder, RECORD, entry_id)
                with safe_open.closing(descriptor):
                    content = os.read(descriptor, RECORD_BYTES_MAX)
            entry = convert({**json.loads(content), "id": entry_id}, Trashed)
        except (OSError, FolderError, ValueError, TypeError, ValidationError):
            return None
        is_name = "/" not in entry.file and entry.file not in {"", ".", ".."}
        return entry if is_name else None

    def _remove(self, entry_id: str, file: str) -> None:
        day, _, name = entry_id.partition("/")
        try:
            with self._opened(entry_id) as folder:
                for way in (RECORD, file):
                    with suppress(FileNotFoundError):
                        os.unlink(way, dir_fd=folder)
            with self._opened(day) as folder:
                os.rmdir(name, dir_fd=folder)
            with self._opened("") as folder, suppress(OSError):
                os.rmdir(day, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as exc:
            raise safe_open.folder_error(
                "remove from the trash", entry_id, exc
            ) from exc


def _link_or_copy(folder: int, name: str, entry: int, file: str, path: str) -> int:
    with safe_open.closing(safe_open.open_file(folder, name, path)) as descriptor:
        if link_to_free(folder, name, entry, file):
            return os.fstat(descriptor).st_size
        content = safe_open.read_all(descriptor, path)
        write_new(entry, file, content)
        with (
            safe_open.closing(safe_open.open_file(entry, file, path)) as copy,
            suppress(OSError, FolderError),  # a disk may have none of these
        ):
            keep_attributes(descriptor, copy, path, mode_max=0o777)
        return len(content)
