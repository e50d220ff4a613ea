"""The base: what both sides last agreed on, in ``.wikisync/state.db`` (SQLite).

Observations only, never pending work: whatever a crash leaves undone is found again by
comparing.  Losing this file therefore costs time and no text; one that is damaged, or
of another version, is set aside, and the next cycle is a first sync.

One connection, used on the event loop by one thread.  Each write is durable when it
returns; ``together`` joins several.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

from wikisync.core.model import WikiOwner
from wikisync.core.packaged import packaged_text
from wikisync.errors import StateDamaged, StateError
from wikisync.sync.base.agreements import Agreements
from wikisync.sync.base.database import ANEW, FIELDS, Database, translated
from wikisync.sync.decide.ledger import EVENTS_MAX

REBUILT = "was damaged or of another version of wikisync, and is rebuilt"
OF_THE_FOLDER = {"event": "", "history": ", sync = 0"}
"""Tables of what is remembered of a folder, whichever wiki it is synced with, and what
changes in them then."""


class State:
    """The open state file of one workspace: one row for each of its folders."""

    def __init__(
        self, database: Database, *, set_aside: Path | None = None, is_held: bool = True
    ) -> None:
        self._database = database
        self._is_held = is_held
        self._wikis: dict[WikiOwner, WikiState] = {}
        self._numbers: dict[WikiOwner, int] = {}
        self._numbers_of: object = None
        self._notes: dict[str, str] = {}
        self._notes_of: object = None
        self.path = database.path
        self.set_aside = set_aside
        """Where a predecessor went that could not be used, or None."""
        self._inode = self._inode_now()

    @classmethod
    def open(cls, path: Path, *, is_held: bool = True) -> State:
        """Open or create a state file; its folder must exist.

        ``is_held``: no other process uses it, so that a damaged one may be set aside.
        StateDamaged or StateError where it cannot be used.
        """
        # damage that is met on the way is set aside at the end; who begins anew says so
        set_aside = None if path.exists() else _last_set_aside(path)
        try:
            database = _prepared(Database.open(path))
        except StateDamaged:
            if not is_held:
                raise
            set_aside = _move_aside(path)
            database = _prepared(Database.open(path))
        return cls(database, set_aside=set_aside, is_held=is_held)

    @classmethod
    def copy(cls, path: Path, *, is_live: bool) -> State:
        """A copy, for whoever only reads; else StateError."""
        database = _prepared(Database.copy(path, is_live=is_live))
        set_aside = None if path.exists() else _last_set_aside(path)
        return cls(database, set_aside=set_aside, is_held=False)

    @property
    def is_damaged(self) -> bool:
        """Whether it was seen to be damaged since it was opened."""
        return self._database.is_damaged

    @property
    def is_replaced(self) -> bool:
        """Whether its file is gone, or another one than when it was opened."""
        return self._inode_now() != self._inode

    def _inode_now(self) -> tuple[int, int] | None:
        with suppress(OSError):
            return (now := self.path.stat()).st_dev, now.st_ino
        return None

    def close(self) -> None:
        """Close the file; more calls are errors."""
        self._database.close()
        if self._is_held and self.is_damaged:
            with suppress(StateError):
                _move_aside(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wiki(self, owner: WikiOwner) -> WikiState:
        """What is known of one wiki; its row is made when it is new."""
        if owner not in self._wikis:
            # one query for all: there may be thousands, and each has a long row
            if self._numbers_of != (stamp := self._database.stamp):
                query = "SELECT kind, full_path, id FROM wiki ORDER BY id DESC"
                rows = self._database.rows(query)
                self._numbers = {WikiOwner(kind, path): n for kind, path, n in rows}
                self._numbers_of = stamp
            if owner not in self._numbers:
                key = owner.kind, owner.full_path
                number = self._insert("(kind, full_path) VALUES (?, ?)", *key)
                self._numbers[owner] = number
            self._wikis[owner] = WikiState(self._database, self._numbers[owner])
        return self._wikis[owner]

    def follow_folders(self, folders: Mapping[WikiOwner, str]) -> None:
        """Let each folder keep its row where ``wikisync.toml`` names its wiki anew."""
        stamp, ours = self._database.stamp, set(folders.values())  # before the rows
        rows = self._database.rows("SELECT id, kind, full_path, folder FROM wiki")
        known = {number: (WikiOwner(kind, path), f) for number, kind, path, f in rows}
        of_folder = {folder: number for number, (_, folder) in known.items()}
        of_owner = {o: number for number, (o, f) in known.items() if f not in ours}
        wanted = {
            (owner, folder): of_folder.get(folder, of_owner.get(owner))
            for owner, folder in folders.items()
        }
        if all(known.get(number) == key for key, number in wanted.items()):
            self._numbers = {o: n for n, (o, _) in reversed(known.items())}
            self._numbers_of = stamp
            return
        with self._database.transaction() as connection:
            # a row that loses its wiki to another folder waits for its own folder
            freed = [(n,) for n, (o, f) in known.items() if o in folders or f in ours]
            connection.executemany("UPDATE wiki SET full_path = '' WHERE id = ?", freed)
            connection.executemany(
                "INSERT INTO wiki (id, kind, full_path, folder) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind,"
                " full_path = excluded.full_path, folder = excluded.folder",
                [(n, o.kind, o.full_path, folder) for (o, folder), n in wanted.items()],
            )
        self._wikis.clear()
        self._numbers_of = None

    def of_folder(self, folder: str) -> list[WikiState]:
        """What is known of the wiki of a folder, if there is any."""
        owners = "SELECT kind, full_path FROM wiki WHERE folder = ?"
        rows = self._database.rows(owners, folder)
        return [self.wiki(WikiOwner(kind, path)) for kind, path in rows]

    def begin_anew(self, owner: WikiOwner) -> WikiState:
        """Forget what a folder and its wiki agreed on; replaced texts are kept."""
        old = self.wiki(owner).number
        columns = "kind, full_path, folder, folder_identity, last_batch, paused"
        with self._database.transaction() as connection:
            number = self._insert(
                f"({columns}) SELECT {columns} FROM wiki WHERE id = ?",  # noqa: S608
                old,
            )
            for table, more in OF_THE_FOLDER.items():
                connection.execute(
                    f"UPDATE {table} SET wiki = ?{more} WHERE wiki = ?",  # noqa: S608 - ours
                    (number, old),
                )
            connection.execute("DELETE FROM wiki WHERE id = ?", (old,))
        del self._wikis[owner]
        self._numbers_of = None
        return self.wiki(owner)

    def seen_writes(self) -> int:
        """A number that is another one once another process wrote here."""
        return self._database.stamp[1]

    def recalled(self, name: str) -> str:
        """What was remembered of the workspace under a name, or empty."""
        stamp = self._database.stamp
        if self._notes_of != stamp:
            self._notes = dict(self._database.rows("SELECT name, value FROM workspace"))
            self._notes_of = stamp
        return self._notes.get(name, "")

    def remember(self, name: str, value: str) -> None:
        """Remember something of the workspace, not of one wiki."""
        with self._database.transaction() as connection:
            replace = "INSERT OR REPLACE INTO workspace VALUES (?, ?)"
            connection.execute(replace, (name, value))
        # what undoes it gives the file another stamp
        self._notes[name] = value

    def _insert(self, row: str, *values: object) -> int:
        with self._database.transaction() as connection:
            cursor = connection.execute(f"INSERT INTO wiki {row}", values)
        assert cursor.lastrowid is not None
        return cursor.lastrowid


class WikiState(Agreements):
    """What is known of one wiki."""

    def read_through(self) -> None:
        """Read every value once; StateDamaged where one is none that was written."""
        for slug in self.base():
            self.text(slug)
            self.replaced(slug)
        self.last_sync()
        self.intents()
        self.conflict_files()
        self._read_memory()
        self.events(EVENTS_MAX)

    @property
    def is_begun(self) -> bool:
        """Whether anything was agreed on, or is under way, with its wiki."""
        return bool(self.intents() or self.conflict_files() or self.base())


def _prepared(database: Database) -> Database:
    version = schema()[1]
    try:
        found = database.rows("PRAGMA user_version")[0][0]
        if found == 0:  # a new file
            with database.transaction() as connection:
                create(connection)
    except BaseException:
        database.close()
        raise
    if found not in {0, version}:
        database.close()
        raise StateDamaged(
            f"{database.path} is of another version of wikisync (schema {found})",
            hint=ANEW,
        )
    return database


def _last_set_aside(path: Path) -> Path | None:
    found = path.parent.glob(f"{path.name}.set-aside-*")
    return max(found, key=lambda one: (len(one.name), one.name), default=None)


def _move_aside(path: Path) -> Path:
    """Give a file that cannot be used another name, so that nothing in it is lost."""
    number = 1
    with translated(path):
        while (target := path.with_name(f"{path.name}.set-aside-{number}")).exists():
            number += 1
        path.rename(target)
        # closing the damaged file has brought its log home, as far as it was readable
        for companion in ("-wal", "-shm"):
            path.with_name(path.name + companion).unlink(missing_ok=True)
    return target


@cache
def schema() -> tuple[str, int]:
    """The tables of this version, and its number, which follows from them."""
    # a file of any other version is set aside, and the folder is adopted anew
    tables = packaged_text(__package__, "schema.sql")
    tables = tables.replace("{fields}", ", ".join(FIELDS))
    # SQLite keeps 31 bits of it
    return tables, zlib.crc32(tables.encode()) & 0x7FFF_FFFF or 1


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of this version, inside a transaction."""
    tables, version = schema()
    # executescript would end the transaction
    for statement in tables.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")
