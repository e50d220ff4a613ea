"""The base: what both sides last agreed on, in ``.wikisync/state.db`` (SQLite).

Observations only, never pending work: whatever a crash leaves undone is found
again by comparing.  Losing this file therefore costs time and no text; a damaged
one is set aside, and the next cycle is a first sync, which removes nothing.

One connection, used on the event loop by one thread; a transaction per batch.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wikisync.errors import StateError
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    Format,
    PageState,
    Slug,
    WikiOwner,
)
from wikisync.sync.mentions import mentioned_attachments
from wikisync.sync.plan import BasePage

SCHEMA_VERSION = 1
TEXT_ZLIB_LEVEL = 1
"""Texts are small and many: level 1 packs within 10 % of 6 at a third of the time."""
BUSY_TIMEOUT_S = 5.0

_FORMATS: Mapping[str, Format] = {known.value: known for known in Format}
"""A look-up in a table is a third of the time of ``Format(text)``."""

_SCHEMA = """
CREATE TABLE wiki (
    id INTEGER PRIMARY KEY,
    service_url TEXT NOT NULL,
    kind TEXT NOT NULL,
    full_path TEXT NOT NULL,
    remote_id TEXT NOT NULL DEFAULT '',
    remote_tag TEXT NOT NULL DEFAULT '',
    UNIQUE (service_url, kind, full_path)
);
CREATE TABLE page (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    format TEXT NOT NULL,
    local_digest TEXT NOT NULL,
    remote_digest TEXT NOT NULL,
    text BLOB NOT NULL,
    mentions TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE attachment (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (wiki, path)
) WITHOUT ROWID;
"""

MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {}
"""Version found to the step that makes the next version of it."""


@dataclass(frozen=True, slots=True)
class PackedText:
    """A page's text as the file keeps it; making one may happen in a thread."""

    zlib: bytes
    mentions: str
    """Paths of attachments that the text mentions, one a line."""

    @classmethod
    def of(cls, text: str) -> PackedText:
        """Pack a text."""
        packed = zlib.compress(text.encode("utf-8", "surrogatepass"), TEXT_ZLIB_LEVEL)
        return cls(packed, "\n".join(mentioned_attachments(text)))


@dataclass(frozen=True, slots=True)
class Agreed:
    """One page that both sides hold now, with the text they agreed on."""

    page: BasePage
    text: PackedText


class State:
    """The open state file of one workspace: its wikis of one service."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        service_url: str = "",
        set_aside: Path | None = None,
    ) -> None:
        self._connection = connection
        self._service_url = service_url
        self._wikis: dict[WikiOwner, WikiState] = {}
        self.path = path
        self.set_aside = set_aside
        """Where a damaged predecessor went, or None."""

    @classmethod
    def open(cls, path: Path, *, service_url: str = "") -> State:
        """Open or create a state file; its folder must exist.

        Raises:
            StateError: it cannot be opened, or a newer wikisync wrote it.
        """
        set_aside = None
        with _translated(path):
            try:
                connection = _connected(path)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                set_aside = _move_aside(path)
                connection = _connected(path)
        return cls(connection, path, service_url=service_url, set_aside=set_aside)

    def close(self) -> None:
        """Close the file; more calls are errors."""
        self._connection.close()

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
            self._wikis[owner] = self._opened_wiki(owner)
        return self._wikis[owner]

    def _opened_wiki(self, owner: WikiOwner) -> WikiState:
        key = (self._service_url, owner.kind, owner.full_path)
        with _translated(self.path), self._connection as connection:
            connection.execute(
                "INSERT OR IGNORE INTO wiki (service_url, kind, full_path)"
                " VALUES (?, ?, ?)",
                key,
            )
            (number,) = connection.execute(
                "SELECT id FROM wiki"
                " WHERE service_url = ? AND kind = ? AND full_path = ?",
                key,
            ).fetchone()
        return WikiState(connection, self.path, number)


class WikiState:
    """The base of one wiki."""

    def __init__(self, connection: sqlite3.Connection, path: Path, number: int) -> None:
        self._connection = connection
        self._path = path
        self._number = number
        self._base: Mapping[Slug, BasePage] | None = None

    def base(self) -> Mapping[Slug, BasePage]:
        """Every page that both sides agreed on, by slug."""
        if self._base is None:
            self._base = self._read_base()
        return self._base

    def _read_base(self) -> Mapping[Slug, BasePage]:
        rows = self._rows(
            "SELECT slug, format, local_digest, remote_digest FROM page WHERE wiki = ?"
        )
        return {
            slug: BasePage(slug, _FORMATS[markup], local, remote)
            for slug, markup, local, remote in rows
        }

    def text(self, slug: Slug) -> str | None:
        """The text last agreed on, the ancestor of any merge."""
        rows = self._rows("SELECT text FROM page WHERE wiki = ? AND slug = ?", slug)
        return _unpack(rows[0][0]) if rows else None

    def record(
        self, agreed: Iterable[Agreed] = (), dropped: Iterable[Slug] = ()
    ) -> None:
        """Remember pages and forget others, all of them or none."""
        rows = [self._row(one) for one in agreed]
        gone = [(self._number, slug) for slug in dropped]
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )
            connection.executemany("DELETE FROM page WHERE wiki = ? AND slug = ?", gone)
            # the mark stood for the base as it was before
            connection.execute(
                "UPDATE wiki SET remote_tag = '' WHERE id = ?", (self._number,)
            )

    def mentions(self) -> tuple[AttachmentPath, ...]:
        """Attachments that any page of the base mentions, sorted."""
        rows = self._rows("SELECT mentions FROM page WHERE wiki = ? AND mentions <> ''")
        found = {path for (joined,) in rows for path in joined.split("\n")}
        return tuple(AttachmentPath(path) for path in sorted(found))

    def attachments(self) -> Mapping[AttachmentPath, Attachment]:
        """Attachments that were fetched, by path."""
        rows = self._rows("SELECT path, digest, size FROM attachment WHERE wiki = ?")
        return {
            AttachmentPath(path): Attachment(AttachmentPath(path), Digest(digest), size)
            for path, digest, size in rows
        }

    def record_attachments(
        self,
        fetched: Iterable[Attachment] = (),
        dropped: Iterable[AttachmentPath] = (),
    ) -> None:
        """Remember attachments the folder holds and forget those it lost."""
        rows = [(self._number, one.path, one.digest, one.size) for one in fetched]
        gone = [(self._number, path) for path in dropped]
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO attachment VALUES (?, ?, ?, ?)", rows
            )
            connection.executemany(
                "DELETE FROM attachment WHERE wiki = ? AND path = ?", gone
            )

    @property
    def remote_tag(self) -> str:
        """The wiki's own mark of the state that the base holds, or empty."""
        tag = self._rows("SELECT remote_tag FROM wiki WHERE id = ?")[0][0]
        return str(tag)

    def remember_remote_tag(self, tag: str) -> None:
        """Note the mark under which the wiki held exactly what the base holds."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE wiki SET remote_tag = ? WHERE id = ?", (tag, self._number)
            )

    def remote_pages(self) -> Mapping[Slug, PageState]:
        """The base as a snapshot of the wiki would show it."""
        return {slug: page.remote_state for slug, page in self.base().items()}

    def is_same_wiki(self, remote_id: str) -> bool:
        """Whether the service's id is the one met before; the first is noted.

        A project that was deleted and made again under its old path is another
        wiki, whatever its pages are called.
        """
        known = self._rows("SELECT remote_id FROM wiki WHERE id = ?")[0][0]
        if known in {"", remote_id}:
            if known != remote_id:
                self._note_remote_id(remote_id)
            return True
        return False

    def start_over(self, remote_id: str) -> None:
        """Forget everything: the next cycle is a first sync with this wiki."""
        with self._transaction() as connection:
            for statement in (
                "DELETE FROM page WHERE wiki = ?",
                "DELETE FROM attachment WHERE wiki = ?",
                "UPDATE wiki SET remote_tag = '' WHERE id = ?",
            ):
                connection.execute(statement, (self._number,))
        self._note_remote_id(remote_id)

    def _note_remote_id(self, remote_id: str) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE wiki SET remote_id = ? WHERE id = ?", (remote_id, self._number)
            )

    def _row(self, agreed: Agreed) -> tuple[object, ...]:
        page = agreed.page
        return (
            self._number,
            page.slug,
            page.format,
            page.local,
            page.remote,
            agreed.text.zlib,
            agreed.text.mentions,
        )

    def _rows(self, query: str, *more: object) -> list[tuple[Any, ...]]:
        with _translated(self._path):
            return self._connection.execute(query, (self._number, *more)).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._base = None
        with _translated(self._path), self._connection as connection:
            yield connection


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _check(connection)
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version, step by step, each step whole."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > SCHEMA_VERSION:
        raise StateError(
            f"{path} was written by a newer wikisync (schema {found})",
            hint="update wikisync, or use another workspace folder",
        )
    if found == 0:
        connection.executescript(
            f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )
        return
    for version in range(found, SCHEMA_VERSION):
        with connection:
            MIGRATIONS[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")


def _move_aside(path: Path) -> Path:
    """Give a damaged file another name, so that nothing in it is lost."""
    number = 1
    while (target := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.rename(target)
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
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


def _unpack(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")
