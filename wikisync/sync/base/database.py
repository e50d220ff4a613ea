"""One SQLite file: rows out, and transactions that join.

Every transaction is durable when it returns (``synchronous = FULL``); inside another
one it is a part of that.  One connection, used by one thread; nothing may be awaited
inside a transaction, or writes that do not belong together become one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wikisync.core.system.private import make_private_file
from wikisync.errors import StateDamaged, StateError

BUSY_TIMEOUT_S = 5.0
ANEW = "the next sync creates a new file and keeps this one next to it"
COPY_TRIES = 3

_UNSOUND = (KeyError, ValueError, TypeError, zlib.error, msgspec.MsgspecError)
"""What a value raises that is none of those written there."""
_OF_DAMAGE = (
    *("no such ", "has no column", "already exists"),
    *("malformed", "Could not decode"),
)
"""SQLite counts these among the errors of a program; ours names what is there."""


class Database:
    """An open file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
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
    def copy(cls, path: Path, *, is_live: bool) -> Database:
        """Open a copy in memory, for whoever only reads: a reader writes the log."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            with translated(path):
                if path.exists():
                    _copy(path, connection, is_live=is_live)
                connection.execute("PRAGMA foreign_keys = ON")
                _check(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

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

    def execute(self, statement: str, values: Sequence[object]) -> None:
        """Carry out one statement, as a transaction or a part of one."""
        with self.transaction() as connection:
            connection.execute(statement, values)

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
        case sqlite3.OperationalError() if not any(w in str(exc) for w in _OF_DAMAGE):
            return StateError(
                f"{path} cannot be used: {exc}",
                hint="check that the disk has space, that the folder is writable, and"
                " that no other wikisync is running in it",
            )
        case sqlite3.DatabaseError() | UnicodeDecodeError():
            return damage_of(path, exc)
        case OSError():
            return StateError(f"{path} cannot be set aside: {exc.strerror}")
    return damage_of(path, exc) if isinstance(exc, unsound) else exc


def damage_of(path: Path, found: object) -> StateDamaged:
    """What is said of a file in which this was found."""
    what = str(found).partition(" with text ")[0]
    return StateDamaged(f"{path} is damaged: {what}", hint=ANEW)
