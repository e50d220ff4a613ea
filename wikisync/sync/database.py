"""One SQLite file: rows out, and transactions that join.

Every transaction is durable when it returns (``synchronous = FULL``); inside
another one it is a part of that.  One connection, used by one thread; nothing may
wait for something else inside a transaction, or writes that do not belong
together become one.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wikisync.errors import StateError

BUSY_TIMEOUT_S = 5.0
"""How long a write waits for another process that reads or writes the file."""


class Database:
    """An open file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._depth = 0
        self.path = path
        self.rollbacks = 0
        """Counts undone transactions; what was read before may be wrong then."""

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open or create a file whose every page can be read.

        Raises:
            sqlite3.DatabaseError: the file is damaged, or no database.
            sqlite3.OperationalError: it cannot be opened now.
        """
        # transactions are spelled out below: the module's own begin at some
        # statements and not at others
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _check(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    @property
    def version(self) -> int:
        """The schema that the file says it has; 0 where it is new."""
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Close the file; more calls are errors."""
        self._connection.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds, all of it.

        Raises:
            StateError: the file cannot be read.
        """
        with translated(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is written inside, or nothing.

        An inner transaction that fails is undone alone; whoever catches its error
        may go on.

        Raises:
            StateError: the file cannot be written.
        """
        begin, commit, undo = (
            ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part")
            if self._depth
            else ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
        )
        with translated(self.path):
            self._connection.execute(begin)
            self._depth += 1
            try:
                yield self._connection
                self._connection.execute(commit)
            except BaseException:
                self.rollbacks += 1
                # a full disk ends the transaction by itself
                if self._connection.in_transaction:
                    self._connection.execute(undo)
                    if self._depth > 1:
                        self._connection.execute(commit)
                raise
            finally:
                self._depth -= 1


class WikiRows:
    """The rows of one wiki; the parts of ``WikiState`` stand on it."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._number = number

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Join the writes made inside: all of them are durable at its end, or none.

        Nothing may be awaited inside.
        """
        with self._database.transaction():
            yield

    def _rows(self, query: str, *more: object) -> list[tuple[Any, ...]]:
        """What a query finds whose first value is the wiki's number."""
        return self._database.rows(query, self._number, *more)

    def _write(self, statement: str, *more: object) -> None:
        """Carry out one statement whose first value is the wiki's number."""
        with self._database.transaction() as connection:
            connection.execute(statement, (self._number, *more))


def _check(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, each with its next step."""
    try:
        yield
    except sqlite3.OperationalError as exc:
        raise StateError(
            f"{path} cannot be used: {exc}",
            hint="see that the disk has room, that the folder is writable,"
            " and that no other wikisync works in it",
        ) from exc
    except sqlite3.DatabaseError as exc:
        raise StateError(
            f"{path} is damaged: {exc}",
            hint="run the command again: the file is set aside and made anew",
        ) from exc
    except OSError as exc:
        raise StateError(f"{path} cannot be set aside: {exc.strerror}") from exc
