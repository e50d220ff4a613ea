"""The base: what both sides last agreed on, in ``.wikisync/state.db`` (SQLite).

Observations only, never pending work: whatever a crash leaves undone is found
again by comparing.  Losing this file therefore costs time and no text; one that is
damaged, or of another version, is set aside, and the next cycle is a first sync, which
removes nothing.

One connection, used on the event loop by one thread.  Each write is durable when
it returns; ``together`` joins several.  What is kept, and for how long, stands in
``ledger``; the parts of ``WikiState`` are ``agreements`` (pages, attachments),
``journal`` (what was done) and ``observations`` (what was seen and decided).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from wikisync.errors import StateDamaged, StateError
from wikisync.model import Slug, WikiOwner
from wikisync.sync.base.agreements import SLUGS, Agreements
from wikisync.sync.base.database import ANEW, Database, translated
from wikisync.sync.base.journal import Journal
from wikisync.sync.base.observations import Observations
from wikisync.sync.base.tables import SCHEMA_VERSION, create
from wikisync.sync.decide.identity import WikiRecord
from wikisync.sync.decide.ledger import EVENTS_MAX

REBUILT = "was damaged or of another version of wikisync, and is rebuilt"
"""What is said of a file that was set aside."""
MOVING = "moving"
"""Under this name it keeps two addresses of a service, between two steps of a move."""
_RECORD = (
    "SELECT id, service_url, kind, full_path, folder, remote_id, is_in_use,"
    " (SELECT count(*) FROM page WHERE page.wiki = wiki.id),"
    " (SELECT last_good_at FROM health WHERE health.wiki = wiki.id) FROM wiki"
)
_OF_THE_FOLDER = {
    "event": "number, at, level, slug, what, why, cycle",
    "replaced": "slug, replaced, written, at, is_stale, is_written, is_only",
}
"""What is remembered of a folder, whichever wiki it is synced with."""


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
        self._bound: dict[WikiOwner, WikiState] = {}
        self._wikis: dict[int, WikiState] = {}
        self.path = database.path
        self.set_aside = set_aside
        """Where a predecessor went that could not be used, or None."""

    @classmethod
    def open(cls, path: Path, *, service_url: str = "", is_held: bool = True) -> State:
        """Open or create a state file; its folder must exist.

        Args:
            path: The file.
            service_url: Of the service whose wikis are asked for.
            is_held: Whether no other process uses it, so that one that cannot be used
                may be set aside: now, or at the end where the damage is met on the way.

        Raises:
            StateDamaged: it is damaged or of another version, and not held.
            StateError: it cannot be opened.
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
        state = cls(
            database, service_url=service_url, set_aside=set_aside, is_held=is_held
        )
        state.settle_move(service_url)
        return state

    @classmethod
    def copy(cls, path: Path, *, service_url: str, is_live: bool) -> State:
        """A copy in memory, for whoever only reads.

        Args:
            path: The file, which need not exist.
            service_url: Of the service whose wikis are asked for.
            is_live: Whether another process has it open.

        Raises:
            StateDamaged: it is damaged, or of another version.
            StateError: it cannot be read.
        """
        database = _prepared(Database.copy(path, is_live=is_live))
        set_aside = None if path.exists() else _last_set_aside(path)
        state = cls(
            database, service_url=service_url, set_aside=set_aside, is_held=False
        )
        state.settle_move(service_url)
        return state

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
        """The record in use of one wiki, made when it is new."""
        if owner not in self._bound:
            self._bound[owner] = self.of_record(self._number_of(owner))
        return self._bound[owner]

    def of_record(self, number: int) -> WikiState:
        """A record, in use or not; always the same object."""
        if number not in self._wikis:
            self._wikis[number] = WikiState(self._database, number)
        return self._wikis[number]

    # -- which record is a wiki's --------------------------------------------------

    def records(self) -> tuple[WikiRecord, ...]:
        """Every wiki that a folder was ever synced with, of any service."""
        rows = self._database.rows(f"{_RECORD} ORDER BY id")
        return tuple(
            WikiRecord(
                number, url, WikiOwner(kind, path), folder, id_, bool(is_used), *rest
            )
            for number, url, kind, path, folder, id_, is_used, *rest in rows
        )

    def used_since(self, known: WikiState) -> WikiRecord | None:
        """Another record that the folder of this one was synced with since."""
        found = self._database.rows(
            "SELECT wiki.id FROM wiki JOIN health ON health.wiki = wiki.id"
            " WHERE folder = ? AND folder <> '' AND wiki.id <> ? AND last_started_at >"
            " (SELECT last_started_at FROM health WHERE wiki = ?)"
            " ORDER BY last_started_at DESC LIMIT 1",
            *(known.folder, known.number, known.number),
        )
        if not found:
            return None
        return next(one for one in self.records() if one.number == found[0][0])

    def bind(self, owner: WikiOwner, number: int, *, is_real: bool = True) -> WikiState:
        """Use a record for the wiki at this address; what was in use is set aside.

        One that knows nothing is not worth keeping.

        Args:
            owner: The wiki by its path on this service.
            number: Of the record.
            is_real: False to do so in this process alone, for a dry run.
        """
        if is_real:
            with self._database.transaction() as connection:
                address = (self._service_url, owner.kind, owner.full_path)
                other = "service_url = ? AND kind = ? AND full_path = ? AND id <> ?"
                connection.execute(
                    f"DELETE FROM wiki WHERE {other}"  # noqa: S608 - ours
                    " AND paused IS NULL AND id NOT IN (SELECT wiki FROM page"
                    " UNION SELECT wiki FROM replaced UNION SELECT wiki FROM event)",
                    (*address, number),
                )
                connection.execute(
                    f"UPDATE wiki SET is_in_use = 0 WHERE {other}",  # noqa: S608 - ours
                    (*address, number),
                )
                connection.execute(
                    "UPDATE wiki SET service_url = ?, kind = ?, full_path = ?,"
                    " is_in_use = 1 WHERE id = ?",
                    (*address, number),
                )
        self._bound[owner] = self.of_record(number)
        return self._bound[owner]

    def begin(self, owner: WikiOwner, remote_id: str) -> int:
        """The number of a record, not in use, for a wiki that is met first now."""
        key = (self._service_url, owner.kind, owner.full_path, remote_id)
        known = self._database.rows(
            "SELECT id FROM wiki WHERE service_url = ? AND kind = ? AND full_path = ?"
            " AND remote_id = ? AND NOT is_in_use"
            " AND id NOT IN (SELECT wiki FROM page)",
            *key,
        )
        if known:
            return int(known[0][0])
        return self._insert(
            "service_url, kind, full_path, remote_id, is_in_use", (*key, 0)
        )

    def move_service(self, old_url: str, new_url: str) -> None:
        """Give every record of one service the address of another.

        Until ``settle_move`` hears that the configuration names the new one, the
        next process that holds the workspace undoes it.
        """
        with self._database.transaction():
            self.remember(MOVING, f"{old_url}\n{new_url}")
            self._readdress(old_url, new_url)

    def settle_move(self, service_url: str) -> None:
        """End a move between services; one that did not come to its end is undone.

        Args:
            service_url: The service that the configuration names.
        """
        old_url, _, new_url = self.recalled(MOVING).partition("\n")
        if not new_url:
            return
        if not self._is_held:
            # whoever holds it ends the move; until then these are the records
            self._service_url = new_url if service_url == old_url else service_url
            return
        with self._database.transaction():
            if service_url == old_url:
                self._readdress(new_url, old_url)
            self.remember(MOVING, "")

    def _readdress(self, old_url: str, new_url: str) -> None:
        with self._database.transaction() as connection:
            # what was begun there meanwhile is set aside
            connection.execute(
                "UPDATE wiki SET is_in_use = 0 WHERE service_url = ? AND EXISTS"
                " (SELECT 1 FROM wiki AS moved WHERE moved.service_url = ?"
                " AND moved.kind = wiki.kind AND moved.full_path = wiki.full_path"
                " AND moved.is_in_use)",
                (new_url, old_url),
            )
            connection.execute(
                "UPDATE wiki SET service_url = ? WHERE service_url = ?",
                (new_url, old_url),
            )
        self._bound.clear()

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
            "SELECT id FROM wiki WHERE service_url = ? AND kind = ? AND full_path = ?"
            " AND is_in_use",
            *key,
        )
        if known:
            return int(known[0][0])
        return self._insert("service_url, kind, full_path", key)

    def _insert(self, columns: str, values: tuple[object, ...]) -> int:
        marks = ", ".join("?" for _ in values)
        with self._database.transaction() as connection:
            cursor = connection.execute(
                f"INSERT INTO wiki ({columns}) VALUES ({marks})",  # noqa: S608 - ours
                values,
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
        self.sync_of()
        self.intents()
        self.conflict_files()
        self.batches()
        self.capabilities()
        self.events(EVENTS_MAX)

    @property
    def remote_tag(self) -> str:
        """The wiki's own mark of the state that the base holds, or empty."""
        return str(self._rows("SELECT remote_tag FROM wiki WHERE id = ?")[0][0])

    @property
    def remote_again(self) -> frozenset[Slug]:
        """Pages that the base has otherwise than the wiki had them at its mark."""
        named = self._rows("SELECT remote_again FROM wiki WHERE id = ?")[0][0]
        return frozenset(SLUGS.decode(named))

    @property
    def head(self) -> str | None:
        """The wiki's newest commit at the last sync that it moved in.

        Empty where it is not known, None where it was never asked for.
        """
        head = self._rows("SELECT head FROM wiki WHERE id = ?")[0][0]
        return None if head is None else str(head)

    @property
    def is_head_old(self) -> bool:
        """Whether a sync recorded pages since, and no newer commit is known.

        Also where the wiki went back in time, or ``head`` was forgotten since; never
        for a wiki that tells none.
        """
        return bool(self._rows("SELECT is_head_old FROM wiki WHERE id = ?")[0][0])

    def remember_head(self, head: str) -> None:
        """Note a commit that the wiki's history holds from now on; empty for none.

        It has all that was recorded until now.
        """
        is_first = self.head is None
        is_old = not (head or is_first) and bool(self.head or self.is_head_old)
        if (self.head, self.is_head_old) != (head, is_old):
            self._write_wiki(f"is_head_old = {is_old:d}, head = ?", head)

    def doubt_head(self) -> None:
        """It may be one before what the base holds, or not be in the history at all."""
        with self._database.transaction() as connection:
            self._doubt_head(connection)

    def remember_remote_tag(self, tag: str, again: Collection[Slug] = ()) -> None:
        """Note the mark under which the wiki held what the base holds.

        Args:
            tag: The mark; empty for none.
            again: Pages that the wiki held otherwise.
        """
        named = msgspec.json.encode(sorted(again)).decode()
        # both or neither: a mark with the pages of another one would hide an edit
        with self._database.transaction():
            self._write_wiki("remote_again = ?", named)
            self._write_wiki("remote_tag = ?", tag)

    @property
    def remote_id(self) -> str:
        """The service's id of the project or group, or empty before it was met."""
        return str(self._rows("SELECT remote_id FROM wiki WHERE id = ?")[0][0])

    def is_same_wiki(self, remote_id: str) -> bool:
        """Whether the service's id is the one met before; the first is noted.

        A project that was deleted and made again under its old path is another
        wiki, whatever its pages are called.
        """
        known = self.remote_id
        if known == "":
            self.note_remote_id(remote_id)
        return known in {"", remote_id}

    def note_remote_id(self, remote_id: str) -> None:
        """Note the service's id of the project or group, or that none is known."""
        self._write_wiki("remote_id = ?", remote_id)

    @property
    def folder(self) -> str:
        """The folder in the workspace that it was synced with, or empty."""
        return str(self._rows("SELECT folder FROM wiki WHERE id = ?")[0][0])

    def note_folder(self, folder: str) -> None:
        """Note the folder in the workspace that it is synced with."""
        if self.folder != folder:
            self._write_wiki("folder = ?", folder)

    @property
    def follows(self) -> int | None:
        """The record of another wiki that the folder was synced with before this.

        None for the first one.  Then nothing is ever put on the wiki because it is
        here: it may be the other wiki's.
        """
        number = self._rows("SELECT follows FROM wiki WHERE id = ?")[0][0]
        return None if number is None else int(number)

    def follow(self, number: int) -> None:
        """Note of whose wiki the folder was before, and take over its history."""
        with self.together():
            self.note_follows(number)
            self._write_wiki(
                "last_batch = (SELECT last_batch FROM wiki WHERE id = ?)", number
            )
            for table, columns in _OF_THE_FOLDER.items():
                self._write(
                    f"INSERT OR IGNORE INTO {table}"  # noqa: S608 - ours
                    f" (wiki, {columns})"
                    f" SELECT ?, {columns} FROM {table} WHERE wiki = ?",
                    number,
                )

    def note_follows(self, number: int) -> None:
        """Note that the folder was synced with the wiki of this record, too."""
        self._write_wiki("follows = ?", number)

    @property
    def folder_identity(self) -> str:
        """Which folder it was synced with last, as ``folder.identity`` writes it."""
        return str(self._rows("SELECT place FROM wiki WHERE id = ?")[0][0])

    def note_folder_identity(self, identity: str) -> None:
        """Note which folder it was synced with."""
        self._write_wiki("place = ?", identity)

    @property
    def left_out(self) -> frozenset[Slug]:
        """Pages that a first sync left here, and that nobody asked for since."""
        names = str(self._rows("SELECT left_out FROM wiki WHERE id = ?")[0][0])
        return frozenset(Slug(name) for name in names.split("\n") if name)

    def note_left_out(self, slugs: Collection[Slug]) -> None:
        """Remember these pages and no others as left here."""
        if self.left_out != frozenset(slugs):
            self._write_wiki("left_out = ?", "\n".join(sorted(slugs)))

    def _write_wiki(self, what: str, value: object) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                f"UPDATE wiki SET {what} WHERE id = ?",  # noqa: S608 - ours
                (value, self._number),
            )


def _prepared(database: Database) -> Database:
    """The same file, with its tables."""
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: Database) -> None:
    found = database.version
    if found == 0:
        with database.transaction() as connection:
            create(connection)
    elif found != SCHEMA_VERSION:
        raise StateDamaged(
            f"{database.path} is of another version of wikisync (schema {found})",
            hint=ANEW,
        )


def _last_set_aside(path: Path) -> Path | None:
    """The newest of the files set aside beside this one."""
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
