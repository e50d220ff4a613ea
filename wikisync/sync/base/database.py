"""One SQLite file, its transactions, which join; and the rows of one wiki in it.

Every transaction is durable when it returns (``synchronous = FULL``); inside another
one it is a part of that.  One connection, used by one thread; nothing may be awaited
inside a transaction, or writes that do not belong together become one.

The memory of a wiki is one value in one row.  It is read at once and kept; only fields
that change are written, so that another process (``wikisync pause``) may change others
meanwhile.  A cycle holds its changes back until it carries something out, and writes
what is left at its end.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from wikisync.core.decoding import convert
from wikisync.core.model import Digest, Format, Slug
from wikisync.core.system.private import make_private_file
from wikisync.errors import StateDamaged, StateError
from wikisync.sync.decide.ledger import (
    ConflictFileRecord,
    Refusal,
    Side,
    Sighting,
    WikiMemory,
    pack,
    unpack,
)
from wikisync.sync.decide.safety import REMOVALS_WITHIN_S, Batch, BatchKind

_T = TypeVar("_T")
FIELDS = WikiMemory.__struct_fields__
"""Columns of the table ``wiki``, as JSON; NULL for what a new wiki has."""
BUSY_TIMEOUT_S = 5.0
ANEW = "the next sync creates a new file and keeps this one next to it"
COPY_TRIES = 3
COPY_KB_MAX = 16 * 1024
"""Of a copy in memory; the rest is in a file of its own, which SQLite removes."""

_UNSOUND = (KeyError, ValueError, TypeError, zlib.error, msgspec.MsgspecError)
"""What a value raises that is none of those written there."""
_OF_DAMAGE = (
    *("no such ", "has no column", "already exists"),
    *("malformed", "Could not decode"),
)
"""SQLite counts these among the errors of a program; ours names what is there."""


class Database:
    """An open file."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, is_copy: bool = False
    ) -> None:
        self._connection = connection
        self.is_copy = is_copy
        self._depth = 0
        self._has_failed = False
        """Whether a part of the transaction under way failed."""
        self.path = path
        self.rollbacks = 0
        self.is_damaged = False
        """Whether something was read from it that was never written."""

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open or create a file; StateDamaged or StateError where it cannot be used."""
        # transactions are spelled out below: the module's own begin at some
        # statements and not at others
        with translated(path):
            make_private_file(path)
            connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None
            )
        try:
            with translated(path):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                _check(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    @classmethod
    def copy(cls, path: Path, *, is_live: bool, place: str = "") -> Database:
        """Open a copy, for whoever only reads: a reader writes the log."""
        connection = sqlite3.connect(place, isolation_level=None)
        try:
            with translated(path):
                connection.execute(f"PRAGMA cache_size = -{COPY_KB_MAX}")
                if path.exists():
                    _copy(path, connection, is_live=is_live)
                connection.execute("PRAGMA foreign_keys = ON")
                _check(connection)
        except BaseException as exc:
            connection.close()
            if place or not isinstance(exc, StateError):
                raise
            # no disk may have room for it
            return cls.copy(path, is_live=is_live, place=":memory:")
        return cls(connection, path, is_copy=True)

    @property
    def stamp(self) -> tuple[int, int]:
        """Another one once another process wrote here, or a transaction was undone."""
        return self.rollbacks, self.rows("PRAGMA data_version")[0][0]

    def close(self) -> None:
        """Close the file; more calls are errors."""
        self._connection.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds, all of it."""
        with self.reading():
            return self._connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Take what cannot be among the values read inside for damage."""
        try:
            yield
        except Exception as exc:
            self._refuse(exc, _UNSOUND)
            raise

    def _refuse(
        self, exc: BaseException, unsound: tuple[type[Exception], ...] = ()
    ) -> None:
        """Raise an error of the file as ours, and note damage."""
        found = _as_ours(self.path, exc, unsound)
        self.is_damaged |= isinstance(found, StateDamaged)
        if found is not exc:
            raise found from exc

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is written inside, or nothing; in another one a part of that.

        An error of a part undoes all, also where somebody caught it.
        """
        is_part = self._depth > 0
        self._depth += 1
        try:
            if not is_part:
                self._has_failed = False
                self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            if not is_part:
                assert not self._has_failed, "an error was caught inside"
                self._connection.execute("COMMIT")
        except BaseException as exc:
            self._has_failed = True
            if not is_part:
                self.rollbacks += 1
                # a full disk ends the transaction by itself
                if self._connection.in_transaction:
                    with self.reading():
                        self._connection.execute("ROLLBACK")
            self._refuse(exc)
            raise
        finally:
            self._depth -= 1


def _copy(path: Path, connection: sqlite3.Connection, *, is_live: bool) -> None:
    # The file of a process that lives is read through the log that they share.  What a
    # process left that was killed is copied first, because SQLite mends a log to read
    # it.
    import shutil
    from tempfile import TemporaryDirectory

    log = _log_of(path)
    for _ in range(COPY_TRIES):
        before = _status_of(path)
        if is_live and log.exists():
            _back_up(path, "mode=ro", connection)
            return
        if log.exists():
            with TemporaryDirectory(prefix="wikisync-") as made:
                copied = Path(made, path.name)
                shutil.copyfile(path, copied)
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(log, _log_of(copied))
                if _status_of(path) == before:
                    _back_up(copied, "mode=rwc", connection)
                    return
        else:
            _back_up(path, "immutable=1", connection)
            if _status_of(path) == before:
                return
    # somebody writes who does not hold the workspace
    _back_up(path, "mode=ro", connection)


def _back_up(path: Path, how: str, target: sqlite3.Connection) -> None:
    uri = f"{path.absolute().as_uri()}?{how}"
    with contextlib.closing(
        sqlite3.connect(uri, timeout=BUSY_TIMEOUT_S, uri=True)
    ) as source:
        source.backup(target)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _status_of(path: Path) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    for one in (path, _log_of(path)):
        try:
            status = one.stat()
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _check(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except Exception as exc:
        found = _as_ours(path, exc)
        if found is exc:
            raise
        raise found from exc


def _as_ours(
    path: Path, exc: BaseException, unsound: tuple[type[Exception], ...] = ()
) -> BaseException:
    """What an error is raised as, with its next step; itself where it is not SQLite's.

    ``unsound`` are errors of values that were read.
    """
    match exc:
        case sqlite3.ProgrammingError() | UnicodeEncodeError():
            return exc  # a fault of ours, or of what is asked for
        case sqlite3.OperationalError() if any(w in str(exc) for w in _OF_DAMAGE):
            return damage_of(path, exc)
        case OSError(strerror=why) | sqlite3.OperationalError(args=(why, *_)):
            return StateError(
                f"{path} cannot be used: {why}",
                hint="check that the disk has space, that the folder is writable, and"
                " that no other wikisync is running in it",
            )
        case sqlite3.DatabaseError() | UnicodeDecodeError():
            return damage_of(path, exc)
    return damage_of(path, exc) if isinstance(exc, unsound) else exc


def damage_of(path: Path, found: object) -> StateDamaged:
    """What is said of a file in which this was found."""
    what = str(found).partition(" with text ")[0]
    return StateDamaged(f"{path} is damaged: {what}", hint=ANEW)


class WikiRows:
    """The rows of one wiki, its memory and conflict files; ``WikiState`` has more."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self.number = number
        """Of the wiki, in each table of the state."""
        self.is_copy = database.is_copy
        """Whether nothing of it is kept, so that nothing may be done: a dry run."""
        self._memory = WikiMemory()
        self._memory_of: object = None
        self._changed: set[str] = set()
        self._is_in_cycle = False
        self._kept: dict[str, Any] = {}
        self._kept_rollbacks = 0
        self._cycle_of: object = database.stamp
        """The stamp of the file at the last cycle."""

    # -- the memory ----------------------------------------------------------------

    @property
    def memory(self) -> WikiMemory:
        """What is known beside the rows of pages, with what is not written yet."""
        stamp = self._database.stamp
        if stamp != self._memory_of:
            own = {name: getattr(self._memory, name) for name in self._changed}
            self._memory, self._memory_of = replace(self._read_memory(), **own), stamp
        return self._memory

    def _read_memory(self) -> WikiMemory:
        columns = ", ".join(FIELDS)
        (row,) = self._rows(f"SELECT {columns} FROM wiki WHERE id = ?")  # noqa: S608
        with self._database.reading():
            # and not msgspec, which refuses slugs that are no whole Unicode
            known = {
                name: json.loads(value)
                for name, value in zip(FIELDS, row, strict=True)
                if value is not None
            }
            return convert(known, WikiMemory)

    def remember(self, **changes: object) -> None:
        """Change fields of the memory; durable at once, but in a cycle."""
        memory = self.memory
        changed = [name for name in changes if getattr(memory, name) != changes[name]]
        # most cycles find what they know, and a write costs a wait for the disk
        if changed:
            self._memory = replace(memory, **changes)
            self._changed.update(changed)
            if not self._is_in_cycle:
                self.save()

    def save(self) -> None:
        """Write the fields that changed: they are durable when this returns."""
        if not self._changed:
            return
        names = sorted(self._changed)
        values = [_as_json(getattr(self._memory, name)) for name in names]
        columns = ", ".join(f"{name} = ?" for name in names)
        update = f"UPDATE wiki SET {columns} WHERE id = ?"  # noqa: S608 - ours
        with self._database.transaction() as connection:
            connection.execute(update, (*values, self.number))
        self._changed.clear()

    @contextlib.contextmanager
    def cycle(self) -> Iterator[None]:
        """Hold changes of the memory back until ``save`` or ``record``, or the end."""
        # One that is killed leaves the memory as it was: what it saw is seen again.
        # What another process wrote since the last one (``wikisync undo``) is read
        # anew.
        stamp = self._database.stamp
        if stamp != self._cycle_of:
            self._forget()
            self._cycle_of = stamp
        self._is_in_cycle = True
        try:
            yield
            self.save()
        finally:
            self._is_in_cycle = False

    def _forget(self) -> None:
        self._kept.clear()

    # -- rows ----------------------------------------------------------------------

    def together(self) -> contextlib.AbstractContextManager[object]:
        """Join the writes made inside, where nothing may be awaited: all or none."""
        return self._database.transaction()

    def _rows(self, query: str, *more: object) -> list[tuple[Any, ...]]:
        return self._database.rows(query, self.number, *more)

    def _once(self, table: str, read: Callable[[], _T]) -> _T:
        """What is made of a table that only this process writes, until it does so."""
        if self._kept_rollbacks != self._database.rollbacks:
            self._kept.clear()
            self._kept_rollbacks = self._database.rollbacks
        if table not in self._kept:
            self._kept[table] = read()
        found: _T = self._kept[table]
        return found

    def _write(self, table: str, statement: str, *more: object) -> None:
        with self._writing(table) as connection:
            connection.execute(statement, (self.number, *more))

    @contextlib.contextmanager
    def _writing(self, *tables: str) -> Iterator[sqlite3.Connection]:
        """A transaction after which what was kept of some tables is read anew."""
        with self._database.transaction() as connection:
            yield connection
        for table in tables:
            self._kept.pop(table, None)

    # -- what was seen and decided ---------------------------------------------------

    def sightings(self, side: Side) -> Mapping[Slug, Sighting]:
        """Pages that were missing from the scans of a side."""
        return self.memory.sightings.get(side, {})

    def record_sightings(self, side: Side, missing: Mapping[Slug, Sighting]) -> None:
        """Remember these missing pages of a side and no others."""
        if self.sightings(side) != missing:
            self.remember(sightings={**self.memory.sightings, side: missing})

    def record_batches(self, batches: Sequence[Batch]) -> None:
        """Remember these batches and no others; no number is given twice."""
        wanted = tuple(sorted(batches, key=lambda batch: batch.id))
        last = max((self.memory.last_batch, *(batch.id for batch in wanted)))
        self.remember(batches=wanted, last_batch=last)

    def removed_since(self, at: float) -> Mapping[BatchKind, frozenset[Slug]]:
        """By kind, pages that were removed unasked after a time."""
        return {
            kind: found
            for kind, pages in self.memory.removals.items()
            if (found := frozenset(slug for slug in pages if pages[slug] > at))
        }

    def note_removed(
        self, removed: Mapping[BatchKind, frozenset[Slug]], now: float
    ) -> None:
        """Remember pages that are removed unasked, for as long as they count."""
        if not removed:
            return
        removals = {
            kind: {s: at for s, at in pages.items() if at > now - REMOVALS_WITHIN_S}
            for kind, pages in self.memory.removals.items()
        }
        for kind, slugs in removed.items():
            removals[kind] = dict.fromkeys(slugs, now) | removals.get(kind, {})
        self.remember(removals=removals)

    def record_refusal(
        self, slug: Slug, local: Digest, message: str, at: float
    ) -> None:
        """Note that the service did not take this text."""
        refusal = Refusal(local, message, at)
        self.remember(refusals={**self.memory.refusals, slug: refusal})

    def forget_when_refused(self) -> None:
        """Let all that was refused be tried again; that it was is known still."""
        refusals = self.memory.refusals.items()
        self.remember(refusals={slug: replace(one, at=0.0) for slug, one in refusals})

    def drop_refusal(self, slug: Slug) -> None:
        """Forget it: the page is another, or was taken."""
        refusals = self.memory.refusals
        self.remember(refusals={s: refusals[s] for s in refusals.keys() - {slug}})

    # -- conflicts -------------------------------------------------------------------

    def conflict_files(self, *pages: Slug) -> Mapping[Slug, ConflictFileRecord]:
        """Conflict files that were written, by page; of one page where it is named."""
        # their texts may be many, and mostly there are none
        query = "SELECT count(*) FROM conflict_file WHERE wiki = ?"
        if not self._once("conflict_file", lambda: self._rows(query)[0][0]):
            return {}
        which = "AND slug = ?" if pages else ""
        rows = self._rows(
            "SELECT slug, format, digest, local, remote, at, wiki_digest"  # noqa: S608 - ours
            f" FROM conflict_file WHERE wiki = ? {which}",
            *pages,
        )
        with self._database.reading():
            return {
                slug: ConflictFileRecord(
                    *(Format(markup), digest, unpack(local), unpack(remote)),
                    *(at, wiki_digest),
                )
                for slug, markup, digest, local, remote, at, wiki_digest in rows
            }

    def record_conflict_file(self, slug: Slug, record: ConflictFileRecord) -> None:
        """Remember the conflict file of a page."""
        self._write(
            "conflict_file",
            "INSERT OR REPLACE INTO conflict_file VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(slug, record.format, record.conflict_file, record.at),
            *(pack(record.local), pack(record.remote), record.wiki_digest),
        )

    def drop_conflict_file(self, slug: Slug) -> None:
        """Forget the conflict file of a page."""
        self._write(
            "conflict_file",
            "DELETE FROM conflict_file WHERE wiki = ? AND slug = ?",
            slug,
        )


def _as_json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value, order="deterministic"))
