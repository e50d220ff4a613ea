"""What a build remembers for the next one: an SQLite file and a file of texts.

Both are safe to delete.

They hold two kinds of things.  Rendered pages and the words of pages are addressed by
a hash of all that they were made from, so a row is right or it is not found; a checksum
tells where the disk changed it.  A row has the place of its text (``bodies``).  The
others are what the last build left in an output (``LastBuild``).
A file that is damaged, or written by another version, is thrown away; a row that is
damaged is one that is not there, as far as nobody counts on it yet.

One build at a time holds the cache: it stays in a write transaction, which the
system ends when the process dies.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Problem
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.errors import SiteError
from wikisync.site.bodies import PLACE, Bodies, BodyDamaged, Place
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.manifest import FileState, SiteFiles, manifest_lines, wiki_part
from wikisync.site.model import BrokenLink

CACHE_NAME = "site.db"
BODIES_NAME = "site-{}.bodies"
"""A new file gets a new name, so that no process goes on with the old one."""
BESIDE = "site-*"
BODIES = b"bodies"
"""The key of the name of the file that rows lead to now."""
CACHE_VERSION = 13
WAIT_S = 10
PAGE_BYTES, CACHED_PAGES = 32 * 1024, 512
"""A build notes megabytes: pages of SQLite's own size take eight times as many calls,
and those that leave memory before the end are written twice."""
KEYS_PER_SELECT = 500
ROWS_PER_COMMIT = 5000
"""An interrupted first build loses at most so many, three for each page.

Their keys are hashes: a commit writes about as many pages of the file again.
"""
SPARE_ROWS = 200
"""Rows of earlier texts that are kept before the cache is swept."""
SPARE_BYTES = 128 * 1024 * 1024
"""The same of their texts: who writes in a page of 1 MB makes 3 MB by each key."""
KEPT_BYTES = b"kept bytes"
"""The key of how large the texts were when all were of use."""
SUM_BYTES = 4
"""Of the checksum, with which every value begins."""

log = logging.getLogger(__name__)

T = TypeVar("T")

Stage = Literal["parsed", "finished", "words"]

STAGES: tuple[Stage, ...] = ("parsed", "finished", "words")
_TABLES = {
    **dict.fromkeys(("state", *STAGES), "key BLOB PRIMARY KEY, value BLOB NOT NULL"),
    "site": "id INTEGER PRIMARY KEY, output BLOB UNIQUE,"
    " value BLOB DEFAULT x'', search BLOB DEFAULT x''",
    "file": "site INT, part TEXT, value BLOB, lines BLOB, PRIMARY KEY (site, part)",
    "wiki": "site INT, name TEXT, value BLOB, PRIMARY KEY (site, name)",
    "page": "site INT, wiki TEXT, part INT, value BLOB, PRIMARY KEY (site, wiki, part)",
    "shard": "site INT, name TEXT, value BLOB, PRIMARY KEY (site, name)",
}


class CacheDamaged(SiteError):
    """What was damaged is thrown away; the same work succeeds the next time."""


def with_cache(folder: Path, work: Callable[[Cache], T]) -> T:
    """What some work with the cache in a folder gives."""
    try:
        with open_cache(folder) as cache:
            return work(cache)
    except CacheDamaged as exc:
        log.info("%s; begun anew", exc.message)
    with open_cache(folder) as cache:
        return work(cache)


@contextlib.contextmanager
def open_cache(folder: Path) -> Iterator[Cache]:
    """The cache in a folder, for one build; what was stored is kept on errors.

    Raises:
        CacheDamaged, SiteError: it was damaged; it cannot be written, or is in use.
    """
    connection = _connect(folder)
    try:
        cache = Cache(connection, folder)
        try:
            yield cache
        except (sqlite3.Error, BodyDamaged):
            raise
        except BaseException:
            # rows are addressed by content: what is done is worth keeping
            with contextlib.suppress(sqlite3.Error):
                cache.commit()
            raise
        cache.commit()
    except (sqlite3.Error, BodyDamaged) as exc:
        if not _is_damage(exc):
            raise _failed(folder, exc) from exc
        connection.close()
        _remove(folder)
        raise CacheDamaged(
            f"the cache {folder} is damaged: {exc}",
            hint="run the same command again to rebuild it",
        ) from exc
    finally:
        connection.close()


class Cache:
    """Rows of one cache file, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self.folder = folder
        self._new: dict[tuple[str, bytes], bytes] = {}
        """Rows that are not in the file yet; sorted, many at once take less time."""
        self.bodies = self._opened_bodies()
        """The texts to which the places of rows lead."""

    def key(self, kind: str, place: Path) -> bytes:
        """The key of a folder as seen from the cache's: both can move together."""
        seen = os.path.relpath(place, self.folder)
        return b"%b:%b" % (kind.encode(), os.fsencode(seen))

    def rows(self, statement: str, *values: object) -> list[Any]:
        """What a statement gives."""
        return self._connection.execute(statement, values).fetchall()

    def put_rows(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Run a statement for each of some rows."""
        self._connection.executemany(statement, rows)

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take back all since the last commit where an error ends what is inside."""
        try:
            yield
        except BaseException:
            # a savepoint would take as many writes as what is inside
            self._connection.rollback()
            self._new = {}
            self._connection.execute("BEGIN IMMEDIATE")
            raise

    def facts(self, stage: Stage, key: bytes) -> bytes | None:
        """What a row says itself; None where there is none."""
        return next(self.facts_of(stage, [key]))

    def facts_of(self, stage: Stage, keys: Sequence[bytes]) -> Iterator[bytes | None]:
        """The same of many rows, in their order."""
        for value in self._values(stage, keys):
            yield None if value is None else value[PLACE.size :]

    def places(self, stage: Stage, keys: Sequence[bytes]) -> Iterator[Place]:
        """The places of rows' texts; ``sqlite3.DatabaseError`` where one is lost."""
        for value in self._values(stage, keys):
            if value is None:
                raise sqlite3.DatabaseError("a row is gone, or not what was stored")
            yield value[: PLACE.size]

    def body(self, stage: Stage, key: bytes) -> bytes:
        """The text of a row; raises ``sqlite3.DatabaseError`` or ``BodyDamaged``."""
        return self.bodies.read(next(self.places(stage, [key])))

    def store(self, stage: Stage, key: bytes, facts: bytes, place: Place) -> None:
        """Keep a row, whose text is in ``bodies`` already."""
        self._new[stage, key] = summed(key, place + facts)
        if len(self._new) >= ROWS_PER_COMMIT:
            self.commit(goes_on=True)

    def commit(self, *, goes_on: bool = False) -> None:
        """Keep what is done, whatever comes."""
        self._write_new()
        self._connection.execute("COMMIT")
        if goes_on:
            self._connection.execute("BEGIN IMMEDIATE")

    def _write_new(self) -> None:
        for stage in STAGES:
            rows = [(key, row) for (at, key), row in self._new.items() if at == stage]
            self.put_rows(f"REPLACE INTO {stage} VALUES (?, ?)", sorted(rows))  # noqa: S608 - a literal
        self._new = {}

    def sweep(
        self, used: int, live: Callable[[Stage], Iterable[bytes]], site: int = 0
    ) -> None:
        """Remove rows that the build did not use, once they or their texts are many.

        ``live`` gives the keys that it used of a stage, and is asked only then.  What
        builds of other sites noted goes with them: it counts on rows.
        """
        self._write_new()
        counts = [self.rows(f"SELECT count(*) FROM {it}")[0][0] for it in STAGES]  # noqa: S608
        kept = int(next(self._values("state", [KEPT_BYTES])) or self._note_size())
        size_max = 2 * kept + SPARE_BYTES
        if max(counts) <= 2 * used + SPARE_ROWS and self._size() <= size_max:
            return
        with self.all_or_nothing():
            for stage in STAGES:
                keys, rows = set(live(stage)), self.rows(f"SELECT key FROM {stage}")  # noqa: S608
                gone = [row for row in rows if row[0] not in keys]
                self.put_rows(f"DELETE FROM {stage} WHERE key = ?", gone)  # noqa: S608
            for table in ("wiki", "page"):
                self.rows(f"DELETE FROM {table} WHERE site != ?", site)  # noqa: S608
            self._compact()
            self._note_size()

    def _size(self) -> int:
        return self.bodies.path.stat().st_size

    def _note_size(self) -> int:
        row = KEPT_BYTES, summed(KEPT_BYTES, b"%d" % self._size())
        self.rows("REPLACE INTO state VALUES (?, ?)", *row)
        return self._size()

    def _compact(self) -> None:
        """Copy the texts of rows into another file; the next time removes this one."""
        before = self.bodies
        self._keep_alone(before.path.name)
        self.bodies = self._new_bodies()
        for stage in STAGES:
            keys = [key for (key,) in self.rows(f"SELECT key FROM {stage}")]  # noqa: S608
            for key, row in zip(keys, self._values(stage, keys), strict=True):
                if row is not None:
                    (place,) = self.bodies.add(before.read(row[: PLACE.size]))
                    self._new[stage, key] = summed(key, place + row[PLACE.size :])
            self._write_new()

    def _opened_bodies(self) -> Bodies:
        """The file of bodies that the state names, and no other one; or a new one."""
        name = os.fsdecode(next(self._values("state", [BODIES])) or b"")
        self._keep_alone(name)
        try:
            return Bodies(self.folder / name) if name else self._new_bodies()
        except OSError:
            # no row leads anywhere without it, and notes count on rows
            for table in _TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608
            return self._new_bodies()

    def _keep_alone(self, name: str) -> None:
        for path in self.folder.glob(BESIDE):
            if path.name != name:
                path.unlink(missing_ok=True)

    def _new_bodies(self) -> Bodies:
        path = self.folder / BODIES_NAME.format(os.urandom(8).hex())
        make_private_file(path)
        row = BODIES, summed(BODIES, os.fsencode(path.name))
        self._connection.execute("REPLACE INTO state VALUES (?, ?)", row)
        return Bodies(path)

    def _values(self, table: str, keys: Sequence[bytes]) -> Iterator[bytes | None]:
        """What is stored under each key; None where nothing is, or it is damaged."""
        for start in range(0, len(keys), KEYS_PER_SELECT):
            some = keys[start : start + KEYS_PER_SELECT]
            found = {key: self._new.get((table, key)) for key in some}
            if asked := [key for key, value in found.items() if value is None]:
                marks = ",".join("?" * len(asked))
                statement = f"SELECT * FROM {table} WHERE key IN ({marks})"  # noqa: S608 - a literal
                found |= self.rows(statement, *asked)
            yield from (checked(key, found[key]) for key in some)


def _connect(folder: Path) -> sqlite3.Connection:
    """Open, check and lock the file; start afresh where it cannot be used."""
    try:
        make_private_folder(folder)
    except OSError as exc:
        raise SiteError(
            f"cannot make the cache folder {folder}: {exc.strerror}",
            hint="choose a writable folder",
        ) from exc
    path = folder / CACHE_NAME
    try:
        try:
            return _opened(path)
        except (UnicodeDecodeError, sqlite3.Error) as exc:
            # SQLite's own sentence may name bytes that it found
            if not _is_damage(exc):
                raise
            _remove(folder)
        return _opened(path)
    except sqlite3.Error as exc:
        raise _failed(folder, exc) from exc


def _opened(path: Path) -> sqlite3.Connection:
    make_private_file(path)
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute(f"PRAGMA cache_size = {CACHED_PAGES}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != CACHE_VERSION:
            for name, columns in _TABLES.items():
                rest = "" if name == "site" else " WITHOUT ROWID"
                connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(f"CREATE TABLE {name} ({columns}){rest}")
            connection.execute(f"PRAGMA user_version = {CACHE_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_damage(exc: Exception) -> bool:
    if isinstance(exc, sqlite3.ProgrammingError):
        return False  # a fault of ours
    if isinstance(exc, sqlite3.OperationalError):
        return "malformed" in str(exc) or "no such" in str(exc)
    return True


def _remove(folder: Path) -> None:
    """Throw the cache away: nothing in it cannot be made again."""
    for path in (*folder.glob(f"{CACHE_NAME}*"), *folder.glob(BESIDE)):
        path.unlink(missing_ok=True)


def _sum(key: bytes, value: bytes) -> bytes:
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(SUM_BYTES, "big")


def summed(key: bytes, value: bytes) -> bytes:
    """A value as it is stored under a key."""
    return _sum(key, value) + value


def checked(key: bytes, stored: object) -> bytes | None:
    """The value that was stored under a key; None where the disk changed it."""
    if not isinstance(stored, bytes):
        return None
    value = stored[SUM_BYTES:]
    return value if stored[:SUM_BYTES] == _sum(key, value) else None


def _failed(folder: Path, exc: Exception) -> SiteError:
    if "locked" in str(exc):
        return SiteError(
            f"another build is using the cache {folder}",
            hint="wait until it finishes, then run the same command again",
        )
    return cache_failed(folder, str(exc))


def cache_failed(folder: Path, reason: str) -> SiteError:
    """What is said of a cache into which nothing can be put."""
    return SiteError(
        f"cannot use the cache {folder}: {reason}",
        hint="free some space, or remove the folder; it is only a cache",
    )


class BuildNote(msgspec.Struct, frozen=True):
    """What a build remembers of its output for the next one."""

    inputs: bytes
    """Hash of everything that the site was made from."""
    pages: int
    problems: tuple[Problem, ...]
    broken_links: tuple[BrokenLink, ...]
    linked: tuple[tuple[int, str, str], ...] = ()
    """Loose files that pages link to: wiki, path, and digest or nothing."""
    retry_at: float = 0.0
    """When the first page over a limit may be tried again; 0: there is none."""
    parts: int = 0
    """How many rows the files of the output have."""


NO_NOTE = BuildNote(b"", 0, (), ())
_NOTES = msgpack_decoder(BuildNote)
_FILES = msgpack_decoder(dict[str, FileState])
_PART = msgpack_decoder(dict[str, msgspec.Raw])
_NEW = {
    "new_wiki": "name TEXT PRIMARY KEY, value BLOB",
    "new_page": "wiki TEXT, part INT, value BLOB, PRIMARY KEY (wiki, part)",
}
"""What a build knows otherwise; a part without pages has no value."""
PARTS = 64
"""Of a wiki's pages, by a hash of the slug."""


class LastBuild:
    """What the last build of an output left, and what this one leaves for the next.

    It lies in rows of the site, its wikis and parts of their pages.  What a build knows
    otherwise lies in temporary tables until its site is in place; then it takes the
    place of the rows before, all at once.  So memory does not grow with the wikis, and
    nothing is left of a build that fails.  Every build needs all files, and most need
    all pages of a wiki: one value takes a fifth of the time of as many rows.  So both
    are in parts; a changed page costs its own.
    """

    def __init__(self, store: Cache, output: Path) -> None:
        self.store, self._rows = store, store.rows
        """The cache that has them."""
        self._key = store.key("site", output)
        self._rows("INSERT OR IGNORE INTO site (output) VALUES (?)", self._key)
        found = self._rows(
            "SELECT id, value, search FROM site WHERE output = ?", self._key
        )
        ((self.site, value, search),) = found
        packed = checked(_of_program(self._key), value)
        self.note = _NOTES.decode(packed) if packed else NO_NOTE
        """What that build noted; nothing where it is lost."""
        self.search = checked(_of_program(b"search"), search) or b""
        self._whole: set[str] = set()
        """Wikis all of whose pages are in the temporary table."""
        for table, columns in _NEW.items():
            self._rows(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({columns})")
            self._rows(f"DELETE FROM {table}")  # noqa: S608 - a literal

    def files(self) -> SiteFiles:
        """The files of the output as that build left them; none where one is lost."""
        rows = self._rows("SELECT part FROM file WHERE site = ?", self.site)
        parts = {part for (part,) in rows if self._of_part("value", part) is not None}
        if not parts or len(parts) != self.note.parts:
            return SiteFiles({})

        def unpacked(part: str) -> dict[str, FileState]:
            return _FILES.decode(_counted_on(self._of_part("value", part)))

        def lines(part: str) -> bytes:
            return _counted_on(self._of_part("lines", part))

        return SiteFiles(unpacked(""), parts - {""}, unpacked, lines)

    def _of_part(self, column: str, part: str) -> bytes | None:
        statement = f"SELECT {column} FROM file WHERE site = ? AND part = ?"  # noqa: S608 - a literal
        found = self._rows(statement, self.site, part)
        return checked(_of_program(part.encode()), found[0][0]) if found else None

    def wiki(self, name: str) -> bytes | None:
        """What that build noted of a wiki."""
        statement = "SELECT value FROM wiki WHERE site = ? AND name = ?"
        found = self._rows(statement, self.site, name)
        return checked(_of_program(name.encode()), found[0][0]) if found else None

    def wiki_now(self, name: str) -> bytes:
        """The same, or what ``put_wiki`` said; raises ``sqlite3.DatabaseError``."""
        found = self._rows("SELECT value FROM new_wiki WHERE name = ?", name)
        return _counted_on(found[0][0][SUM_BYTES:] if found else self.wiki(name))

    def pages(self, wiki: str, naming: Collection[str] = ()) -> dict[str, msgspec.Raw]:
        """What that build noted of a wiki's pages, at least of those naming some."""
        found, lost = _pages_in(self._stored(wiki), naming)
        return {} if naming and lost else found

    def pages_now(self, wiki: str) -> dict[str, msgspec.Raw]:
        """The same with what ``put_wiki`` said; raises ``sqlite3.DatabaseError``."""
        new = self._rows("SELECT part, value FROM new_page WHERE wiki = ?", wiki)
        kept = {} if wiki in self._whole else self._stored(wiki)
        found, lost = _pages_in(kept | dict(new))
        if lost:
            raise sqlite3.DatabaseError("a row is not what was stored")
        return found

    def put_wiki(
        self,
        name: str,
        note: bytes,
        pages: Iterable[tuple[str, object]],
        changed: Collection[str] | None = None,
    ) -> None:
        """Say what a wiki and all its pages are now.

        ``changed`` are those that are not what they were, and those that are gone;
        None: all are.
        """
        value = summed(_of_program(name.encode()), note)
        self._rows("INSERT INTO new_wiki VALUES (?, ?)", name, value)
        numbers = range(PARTS) if changed is None else set(map(part_of, changed))
        parts: defaultdict[int, dict[str, object]] = defaultdict(dict)
        for slug, page in pages if numbers else ():
            parts[part_of(slug)][slug] = page
        encoded = ((part, msgspec.msgpack.encode(parts[part])) for part in numbers)
        rows = (
            (name, part, summed(b"%d" % part, value) if parts[part] else b"")
            for part, value in encoded
        )
        self.store.put_rows("INSERT INTO new_page VALUES (?, ?, ?)", rows)
        if changed is None:
            self._whole.add(name)

    def remember(
        self,
        note: BuildNote,
        files: Mapping[str, FileState],
        search: bytes,
        wikis: Collection[str],
        kept: Collection[str] = (),
    ) -> None:
        """Note what there is, of wikis those of these names as they are now.

        Files of parts that are ``kept`` stay as they are noted.
        """
        with self.store.all_or_nothing():
            known = self._rows("SELECT name FROM wiki WHERE site = ?", self.site)
            for name in {name for (name,) in known} - set(wikis) | self._whole:
                at = self.site, name
                self._rows("DELETE FROM wiki WHERE site = ? AND name = ?", *at)
                self._rows("DELETE FROM page WHERE site = ? AND wiki = ?", *at)
            new = [(self.site, name) for name in wikis]
            put = self.store.put_rows
            put("REPLACE INTO wiki SELECT ?, * FROM new_wiki WHERE name = ?", new)
            put("REPLACE INTO page SELECT ?, * FROM new_page WHERE wiki = ?", new)
            self._rows(
                "DELETE FROM page WHERE site = ? AND (wiki, part) IN"
                " (SELECT wiki, part FROM new_page WHERE value = x'')",
                self.site,
            )
            before = self._rows("SELECT part FROM file WHERE site = ?", self.site)
            gone = [(self.site, part) for (part,) in before if part not in kept]
            put("DELETE FROM file WHERE site = ? AND part = ?", gone)
            put("INSERT INTO file VALUES (?, ?, ?, ?)", self._rows_of(files))
            count = "SELECT count(*) FROM file WHERE site = ?"
            note = replace(note, parts=self._rows(count, self.site)[0][0])
            self._rows(
                # each update writes the whole row, which has megabytes
                "UPDATE site SET value = ?, search = ? WHERE id = ?",
                summed(_of_program(self._key), msgspec.msgpack.encode(note)),
                summed(_of_program(b"search"), search),
                self.site,
            )

    def _rows_of(self, files: Mapping[str, FileState]) -> Iterator[tuple[Any, ...]]:
        parts: defaultdict[str, dict[str, FileState]] = defaultdict(dict)
        for path, state in files.items():
            parts[wiki_part(path)][path] = state
        for part, one in parts.items():
            lines = manifest_lines(sorted(one.items())) if part else b""
            values = msgspec.msgpack.encode(one), lines
            key = _of_program(part.encode())
            yield self.site, part, *(summed(key, value) for value in values)

    def _stored(self, wiki: str) -> dict[int, bytes]:
        statement = "SELECT part, value FROM page WHERE site = ? AND wiki = ?"
        return dict(self._rows(statement, self.site, wiki))


def _counted_on(packed: bytes | None) -> bytes:
    if packed is None:
        raise sqlite3.DatabaseError("a row is not what was stored")
    return packed


def _of_program(key: bytes) -> bytes:
    """A key under which no other program finds anything."""
    return program_fingerprint() + key


def part_of(slug: str) -> int:
    """The number of the part of a wiki's pages that has one."""
    return zlib.crc32(slug.encode()) % PARTS


def _pages_in(
    parts: Mapping[int, bytes], naming: Iterable[str] = ()
) -> tuple[dict[str, msgspec.Raw], int]:
    """The packed pages of parts, and how many of these the disk changed."""
    found: dict[str, msgspec.Raw] = {}
    names, lost = [name.encode() for name in naming], 0
    for part, value in parts.items():
        packed = checked(b"%d" % part, value)
        if packed and (not names or any(map(packed.__contains__, names))):
            found |= _PART.decode(packed)
        lost += bool(value) and not packed
    return found, lost
