"""Copies of wikis in one SQLite file, from which a site is built.

A wiki is one row: what was noted of it, its pages and its files; its history is
another.  Texts are rows by wiki and digest; files are in a folder next to the store, by
digest.  A copy is replaced as a whole, in one transaction, so that a reader in any
process sees the old one or the new one.  A store that is damaged, or of another
version, is made anew: losing it costs time.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.decoding import msgpack_decoder
from wikisync.core.layout import CACHE_FOLDER
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.core.versions import UNKNOWN, PageDates, Versions, dates_of, history_key
from wikisync.errors import FolderError
from wikisync.folder.safe_open import folder_error

STORE = "mirror.db"
FILES = "files"
VERSION = 3
READERS_MAX = 4
"""Stores that one process holds open to read."""

_SCHEMA = f"""
CREATE TABLE wiki (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, activity TEXT NOT NULL,
    tag TEXT NOT NULL, read_at REAL NOT NULL, count INTEGER NOT NULL,
    pages BLOB NOT NULL, files BLOB NOT NULL);
CREATE TABLE text (wiki INTEGER NOT NULL, digest BLOB NOT NULL, content BLOB NOT NULL);
CREATE TABLE history (
    wiki INTEGER PRIMARY KEY, digest BLOB NOT NULL, dates BLOB NOT NULL,
    versions BLOB NOT NULL);
CREATE TABLE distrust (at REAL NOT NULL);
CREATE UNIQUE INDEX text_of_wiki ON text (wiki, digest);
PRAGMA user_version = {VERSION};
"""


class MirrorPage(Struct, frozen=True, array_like=True, gc=False):
    """One page of a copy; begins as ``sources.SourcePage`` does."""

    slug: model.Slug
    format: model.Format
    path: model.PagePath
    digest: model.Digest
    size: int
    identity: str
    mentions: tuple[model.AttachmentPath, ...]
    """The uploads that its text mentions, in all their spellings."""
    ways: tuple[str, ...]
    """Where the other files that it links to may be."""

    @property
    def state(self) -> model.PageState:
        """The page as a scan of the wiki knows it."""
        return model.PageState(
            self.slug, self.format, self.digest, None, self.identity, self.size
        )


class MirrorFile(Struct, frozen=True, array_like=True, gc=False):
    """One file that pages show or link to."""

    path: model.AttachmentPath
    digest: model.Digest
    size: int
    version: str
    """Git's id of it; empty for an upload, which never changes."""


class Noted(Struct, frozen=True):
    """What a copy of a wiki noted for the next look at the wiki."""

    number: int = 0
    """Of its row; 0 where there is no copy."""
    activity: str = ""
    """When the service last saw something happen, as listed before texts were read.
    Empty where it does not tell, or the copy is not all that the wiki has."""
    tag: str = ""
    """The mark of the scan that it holds (``Snapshot.tag``)."""
    read_at: float = 0.0
    """When somebody last looked at the wiki, in seconds since the epoch."""
    count: int = 0


class WikiCopy(Struct, frozen=True):
    """All that a copy holds but its texts."""

    pages: Mapping[model.Slug, MirrorPage] = {}
    files: Mapping[model.AttachmentPath, MirrorFile] = {}


def name_of(service: str, kind: str, wiki_id: int) -> str:
    """What a wiki is called in the store: its path may be another one's later."""
    return f"{service} {kind} {wiki_id}"


NEW, NOTHING = Noted(), WikiCopy()
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError, msgspec.MsgspecError)
"""What comes of a file that is no store, or a torn one."""
_PAGES = msgpack_decoder(list[MirrorPage])
_FILES = msgpack_decoder(list[MirrorFile])
_VERSIONS = msgpack_decoder(Versions)
_DATES = msgpack_decoder(dict[model.Slug, PageDates])


class Mirror:
    """The store of one export, which alone writes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connection = connection = _connected(folder / STORE)
        rows = connection.execute(
            "SELECT name, number, activity, tag, read_at, count FROM wiki"
        )
        self._noted = {name: Noted(*row) for name, *row in rows}
        self._met: set[str] = set()
        rows = connection.execute("SELECT max(at) FROM distrust")
        self.distrusted_at: float = rows.fetchone()[0] or 0.0
        """When a wiki had changed whose project told of no activity."""
        self._tidy()

    def noted(self, name: str) -> Noted:
        """What is noted of a wiki."""
        self._met.add(name)
        return self._noted.get(name, NEW)

    def copy(self, noted: Noted) -> WikiCopy:
        """The copy of a wiki, without files that are gone or cut off."""
        copy = read_copy(self._connection, noted.number)
        here = filter(self._is_whole, copy.files.values())
        return replace(copy, files={one.path: one for one in here})

    def _is_whole(self, file: MirrorFile) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / FILES / file.digest).stat().st_size == file.size
        return False

    def put(
        self,
        name: str,
        noted: Noted,
        copy: WikiCopy,
        texts: Mapping[model.Digest, bytes],
        versions: Versions | None = None,
    ) -> Noted:
        """Put a copy in place of that noted, with the texts that one lacks."""
        before = read_copy(self._connection, noted.number).pages.values()
        kept = {page.digest for page in copy.pages.values()}
        gone = {page.digest for page in before} - kept
        with self._connection as connection:
            number = connection.execute(
                "REPLACE INTO wiki VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(noted.number or None, name, noted.activity, noted.tag),
                    *(noted.read_at, len(copy.pages)),
                    msgspec.msgpack.encode(list(copy.pages.values())),
                    msgspec.msgpack.encode(list(copy.files.values())),
                ),
            ).lastrowid
            connection.executemany(
                "DELETE FROM text WHERE wiki = ? AND digest = ?",
                [(number, bytes.fromhex(digest)) for digest in gone],
            )
            connection.executemany(
                "REPLACE INTO text VALUES (?, ?, ?)",
                [(number, bytes.fromhex(one), text) for one, text in texts.items()],
            )
            if versions is not None:
                key, dates = history_key(versions), dates_of(versions)
                connection.execute(
                    "REPLACE INTO history VALUES (?, ?, ?, ?)",
                    (number, key, *map(msgspec.msgpack.encode, (dates, versions))),
                )
        noted = replace(noted, number=number or 0, count=len(copy.pages))
        self._noted[name] = noted
        return noted

    def versions(self, noted: Noted) -> Versions:
        """What is known of the history of a wiki."""
        return read_versions(self._connection, noted.number)

    def forget_lost_texts(self, name: str) -> None:
        """Let a history be read anew whose texts were left on another machine."""
        noted = self.noted(name)
        texts = self.versions(noted).texts
        if texts and not (self.folder / CACHE_FOLDER / texts).is_dir():
            noted = replace(noted, activity="")
            self.put(name, noted, self.copy(noted), {}, UNKNOWN)

    def distrust(self, at: float) -> None:
        """Note that what the service says of activity is not true."""
        self.distrusted_at = at
        with self._connection as connection:
            connection.execute("REPLACE INTO distrust (rowid, at) VALUES (1, ?)", (at,))

    async def keep_file(self, chunks: AsyncIterator[bytes]) -> tuple[model.Digest, int]:
        """Keep a file; its digest and size.  Raises ``FolderError``."""
        digest, size = hashlib.sha256(), 0
        with self._new_file(digest.hexdigest) as file:
            async for chunk in chunks:
                digest.update(chunk)
                size += file.write(chunk)
        return model.Digest(digest.hexdigest()), size

    @contextlib.contextmanager
    def _new_file(self, name: Callable[[], str]) -> Iterator[IO[bytes]]:
        import tempfile  # slow to load, and a build makes no file here

        folder = self.folder / FILES
        try:
            make_private_folder(folder)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                try:
                    yield file
                    file.flush()
                    # the copy that names it may be on the disk before it
                    os.fsync(file.fileno())
                    Path(file.name).replace(folder / name())
                finally:
                    # after an error or an interrupt it would only take space
                    Path(file.name).unlink(missing_ok=True)
        except OSError as exc:
            raise folder_error("write to", str(folder), exc) from exc

    def sweep(self) -> None:
        """Forget copies that nobody asked for, and files that no copy has."""
        for name in self._noted.keys() - self._met:
            one = (self._noted.pop(name).number,)
            with self._connection as connection:
                connection.execute("DELETE FROM wiki WHERE number = ?", one)
                connection.execute("DELETE FROM text WHERE wiki = ?", one)
                connection.execute("DELETE FROM history WHERE wiki = ?", one)
        self._tidy()

    def _tidy(self) -> None:
        """Remove files that no copy has; a wiki that lacks one is asked again."""
        folder = self.folder / FILES
        left = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        for name, encoded in self._connection.execute("SELECT name, files FROM wiki"):
            files = _FILES.decode(encoded)
            left -= {file.digest for file in files}
            if not all(map(self._is_whole, files)):
                self._noted[name] = replace(self._noted[name], activity="")
        for name in left:
            (folder / name).unlink()

    def close(self) -> None:
        """Let go of the file, which another store may take the place of."""
        _reader.cache_clear()
        # a worker that holds it is ended, and the log would grow with each export
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()


@contextlib.contextmanager
def open_mirror(folder: Path) -> Iterator[Mirror]:
    """The store in a folder that the caller holds; raises ``FolderError``."""
    try:
        try:
            mirror = Mirror(folder)
        except sqlite3.OperationalError:
            raise  # a full disk is no damage
        except _DAMAGE:
            _remove(folder)
            mirror = Mirror(folder)
        with contextlib.closing(mirror):
            yield mirror
    except sqlite3.OperationalError as exc:
        raise FolderError(
            f"cannot use the cache {folder}: {exc}",
            hint="free some space, or name another folder with --cache",
        ) from exc
    except _DAMAGE as exc:
        _remove(folder)
        raise FolderError(
            f"the cache {folder} is damaged: {exc}",
            hint="run the same command again to rebuild it",
        ) from exc


def _remove(folder: Path) -> None:
    for name in (STORE, f"{STORE}-wal", f"{STORE}-shm"):
        (folder / name).unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    make_private_file(path)
    connection = sqlite3.connect(path, factory=_ClosedAtLast)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in {0, VERSION}:
        raise sqlite3.DatabaseError("a store of another version")
    if version == 0:
        connection.executescript(f"BEGIN;{_SCHEMA}COMMIT")
    return connection


def read_copy(connection: sqlite3.Connection, number: int) -> WikiCopy:
    """A copy of the store."""
    packed, files, _ = read_packed(connection, number)
    pages = {page.slug: page for page in _PAGES.decode(packed)}
    return WikiCopy(pages, {file.path: file for file in files})


def read_versions(connection: sqlite3.Connection, number: int) -> Versions:
    """What is known of the history of a wiki."""
    rows = connection.execute("SELECT versions FROM history WHERE wiki = ?", (number,))
    return next((_VERSIONS.decode(packed) for (packed,) in rows), UNKNOWN)


def read_dates(
    connection: sqlite3.Connection, number: int
) -> Mapping[model.Slug, PageDates]:
    """What follows for pages from what is known of the history of a wiki."""
    rows = connection.execute("SELECT dates FROM history WHERE wiki = ?", (number,))
    return next((_DATES.decode(packed) for (packed,) in rows), {})


def read_packed(
    connection: sqlite3.Connection, number: int
) -> tuple[bytes, list[MirrorFile], bytes]:
    """The pages of a copy as they are stored, its files, and a hash of its history."""
    row = connection.execute(
        "SELECT pages, files, coalesce(digest, x'') FROM wiki"
        " LEFT JOIN history ON wiki = number WHERE number = ?",
        (number,),
    ).fetchone()
    return (row[0], _FILES.decode(row[1]), row[2]) if row else (b"\x90", [], b"")


def reader(folder: Path) -> sqlite3.Connection:
    """The store in a folder as another process wrote it, to be read alone."""
    return _reader(folder, os.getpid())


@lru_cache(READERS_MAX)
def _reader(folder: Path, _process: int) -> sqlite3.Connection:
    # a connection is of no use after a fork
    connection = sqlite3.connect(
        folder / STORE, check_same_thread=False, factory=_ClosedAtLast
    )
    connection.execute("PRAGMA query_only = 1")
    return connection


class _ClosedAtLast(sqlite3.Connection):
    """Closed when nobody holds it any more: Python 3.13 warns of one left open."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # it could not be opened
            self.close()


def read_texts(
    folder: Path, number: int, digests: Sequence[model.Digest]
) -> dict[model.Digest, bytes]:
    """Texts of a wiki, in any process, as far as there are some."""
    marks = ",".join("?" * len(digests))
    rows = reader(folder).execute(
        f"SELECT digest, content FROM text WHERE wiki = ? AND digest IN ({marks})",  # noqa: S608 - marks
        (number, *map(bytes.fromhex, digests)),
    )
    return {model.Digest(digest.hex()): content for digest, content in rows}
