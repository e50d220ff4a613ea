"""The base: what both sides last agreed on, in ``.wikisync/state.db`` (SQLite).

Observations only, never pending work: whatever a crash leaves undone is found
again by comparing.  Losing this file therefore costs time and no text; a damaged
one is set aside, and the next cycle is a first sync, which removes nothing.

One connection, used on the event loop by one thread.  Each write is durable when
it returns; ``together`` joins several.  What is kept, and for how long, stands in
``ledger``; the parts of ``WikiState`` are ``agreements`` (pages, attachments),
``journal`` (what was done) and ``observations`` (what was seen and decided).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from wikisync.errors import StateDamaged, StateError
from wikisync.model import WikiOwner
from wikisync.sync.agreements import Agreements
from wikisync.sync.database import Database, damage_of, translated
from wikisync.sync.journal import Journal
from wikisync.sync.ledger import EVENTS_MAX, Agreed, PackedText
from wikisync.sync.migrations import MIGRATIONS, SCHEMA_VERSION, create
from wikisync.sync.observations import Observations

__all__ = ["Agreed", "PackedText", "State", "WikiState"]

VERSION_MAX = 10_000
"""No wikisync has written this file that says to be of a higher schema."""
_FORGOTTEN = (
    "page",
    "page_text",
    "alias",
    "attachment",
    "upload",
    "written_link",
    "intent",
    "own_write",
    "batch",
    "capability",
    "sighting",
    "refusal",
    "bundle",
    "health",
    "trouble",
)
"""What a first sync must not know.  The log stays, and so does ``replaced``, where
nothing is remembered of a wiki but only texts of the folder are kept."""


class State:
    """The open state file of one workspace: its wikis of one service."""

    def __init__(
        self,
        database: Database,
        *,
        service_url: str = "",
        set_aside: Path | None = None,
        is_held: bool = True,
    ) -> None:
        self._database = database
        self._is_held = is_held
        self._service_url = service_url
        self._wikis: dict[WikiOwner, WikiState] = {}
        self.path = database.path
        self.set_aside = set_aside
        """Where a damaged predecessor went, or None."""

    @classmethod
    def open(cls, path: Path, *, service_url: str = "", is_held: bool = True) -> State:
        """Open or create a state file; its folder must exist.

        Args:
            path: The file.
            service_url: Of the service whose wikis are asked for.
            is_held: Whether no other process uses it, so that a damaged one may be
                set aside: now, or at the end where the damage is met on the way.

        Raises:
            StateDamaged: it is damaged, and not held.
            StateError: it cannot be opened, or a newer wikisync wrote it.
        """
        # damage that is met on the way is set aside at the end; who begins anew tells
        set_aside = None if path.exists() else _last_set_aside(path)
        try:
            database = _opened(path)
        except StateDamaged:
            if not is_held:
                raise
            set_aside = _move_aside(path)
            database = _opened(path)
        return cls(
            database, service_url=service_url, set_aside=set_aside, is_held=is_held
        )

    @property
    def is_damaged(self) -> bool:
        """Whether it was seen to be damaged since it was opened."""
        return self._database.is_damaged

    def close(self) -> None:
        """Close the file; more calls are errors."""
        self._database.close()
        if self._is_held and self.is_damaged:
            with suppress(StateError):
                _move_aside(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def wiki(self, owner: WikiOwner) -> WikiState:
        """The part of one wiki, made when it is new; always the same object."""
        if owner not in self._wikis:
            self._wikis[owner] = WikiState(self._database, self._number_of(owner))
        return self._wikis[owner]

    def seen_writes(self) -> int:
        """A number that is another one once another process wrote here."""
        return int(self._database.rows("PRAGMA data_version")[0][0])

    def recalled(self, name: str) -> str:
        """What was remembered of the workspace under a name, or empty."""
        rows = self._database.rows("SELECT value FROM workspace WHERE name = ?", name)
        return str(rows[0][0]) if rows else ""

    def remember(self, name: str, value: str) -> None:
        """Remember something of the workspace, not of one wiki."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO workspace VALUES (?, ?)", (name, value)
            )

    def _number_of(self, owner: WikiOwner) -> int:
        key = (self._service_url, owner.kind, owner.full_path)
        known = self._database.rows(
            "SELECT id FROM wiki WHERE service_url = ? AND kind = ? AND full_path = ?",
            *key,
        )
        if known:
            return int(known[0][0])
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO wiki (service_url, kind, full_path) VALUES (?, ?, ?)", key
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid


class WikiState(Agreements, Journal, Observations):
    """What is known of one wiki."""

    def read_through(self) -> None:
        """Read every value once, to see whether it is sound.

        Raises:
            StateDamaged: one is none that was written.
        """
        for slug in self.base():
            self.text(slug)
            self.replaced(slug)
        self.intents()
        self.bundles()
        self.batches()
        self.capabilities()
        self.events(EVENTS_MAX)

    @property
    def remote_tag(self) -> str:
        """The wiki's own mark of the state that the base holds, or empty."""
        return str(self._rows("SELECT remote_tag FROM wiki WHERE id = ?")[0][0])

    def remember_remote_tag(self, tag: str) -> None:
        """Note the mark under which the wiki held exactly what the base holds."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE wiki SET remote_tag = ? WHERE id = ?", (tag, self._number)
            )

    def is_same_wiki(self, remote_id: str) -> bool:
        """Whether the service's id is the one met before; the first is noted.

        A project that was deleted and made again under its old path is another
        wiki, whatever its pages are called.
        """
        known = self._rows("SELECT remote_id FROM wiki WHERE id = ?")[0][0]
        if known == "":
            self._note_remote_id(remote_id)
        return known in {"", remote_id}

    def start_over(self, remote_id: str) -> None:
        """Forget everything: the next cycle is a first sync with this wiki.

        Events and replaced texts stay, a pause does, and no batch ever gets a
        number again.
        """
        with self.together():
            for table in _FORGOTTEN:
                self._write(f"DELETE FROM {table} WHERE wiki = ?")  # noqa: S608 - ours
            self._write("UPDATE wiki SET remote_tag = '' WHERE id = ?")
            self._note_remote_id(remote_id)
        self._forget_base()

    def _note_remote_id(self, remote_id: str) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE wiki SET remote_id = ? WHERE id = ?", (remote_id, self._number)
            )


def _opened(path: Path) -> Database:
    database = Database.open(path)
    try:
        _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: Database) -> None:
    """Bring the file to this version, step by step, each step whole."""
    found = database.version
    if not 0 <= found <= VERSION_MAX:
        raise damage_of(database.path, f"no schema has the number {found}")
    if found > SCHEMA_VERSION:
        raise StateError(
            f"{database.path} was written by a newer wikisync (schema {found})",
            hint="update wikisync, or use another workspace folder",
        )
    if found == 0:
        with database.transaction() as connection:
            create(connection)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return
    for version in range(found, SCHEMA_VERSION):
        try:
            with database.transaction() as connection:
                MIGRATIONS[version](connection)
                connection.execute(f"PRAGMA user_version = {version + 1}")
        except StateDamaged as exc:
            # the step may be wrong, and not the file: that one stays
            raise StateError(
                f"{database.path} cannot be brought up to date: {exc.__cause__}",
                hint="use the wikisync that wrote it, or move the file away",
            ) from exc


def _last_set_aside(path: Path) -> Path | None:
    """The newest damaged file beside this one."""
    damaged = path.parent.glob(f"{path.name}.damaged-*")
    return max(damaged, key=lambda one: (len(one.name), one.name), default=None)


def _move_aside(path: Path) -> Path:
    """Give a damaged file another name, so that nothing in it is lost."""
    number = 1
    with translated(path):
        while (target := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        path.rename(target)
        # closing the damaged file has brought its log home, as far as it was readable
        for companion in ("-wal", "-shm"):
            path.with_name(path.name + companion).unlink(missing_ok=True)
    return target
