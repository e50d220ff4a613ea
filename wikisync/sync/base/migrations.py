"""The tables of the state file, version by version.

Texts stand in a table of their own, so that reading the base of ten thousand
pages walks over no text.  Everything of a wiki goes with its row in ``wiki``.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from wikisync.sync.decide.ledger import joined_mentions, unpack

SCHEMA_VERSION = 15

_WIKI = "wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE"

_LEDGER = f"""
CREATE TABLE page (
    {_WIKI},
    slug TEXT NOT NULL,
    format TEXT NOT NULL,
    local_digest TEXT NOT NULL,
    remote_digest TEXT NOT NULL,
    local_identity TEXT NOT NULL DEFAULT '',
    remote_identity TEXT NOT NULL DEFAULT '',
    size INTEGER,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE page_text (
    {_WIKI},
    slug TEXT NOT NULL,
    mentions TEXT NOT NULL DEFAULT '',
    text BLOB NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE alias (
    {_WIKI},
    path_slug TEXT NOT NULL,
    slug TEXT NOT NULL,
    PRIMARY KEY (wiki, path_slug)
) WITHOUT ROWID;
CREATE TABLE upload (
    {_WIKI},
    digest TEXT NOT NULL,
    path TEXT NOT NULL,
    local_path TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (wiki, digest)
) WITHOUT ROWID;
CREATE TABLE intent (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    {_WIKI},
    operation TEXT NOT NULL,
    slug TEXT NOT NULL,
    target TEXT NOT NULL,
    format TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    text BLOB NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE replaced (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    {_WIKI},
    slug TEXT NOT NULL,
    replaced BLOB NOT NULL,
    written BLOB NOT NULL,
    at REAL NOT NULL,
    is_stale INTEGER NOT NULL,
    is_written INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX replaced_of_page ON replaced (wiki, slug, id);
CREATE TABLE own_write (
    id INTEGER PRIMARY KEY,
    {_WIKI},
    slug TEXT NOT NULL,
    at REAL NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX own_write_of_page ON own_write (wiki, slug);
CREATE TABLE event (
    {_WIKI},
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    level TEXT NOT NULL,
    slug TEXT NOT NULL,
    what TEXT NOT NULL,
    why TEXT NOT NULL,
    cycle TEXT NOT NULL,
    PRIMARY KEY (wiki, number)
) WITHOUT ROWID;
CREATE INDEX event_of_page ON event (wiki, slug, number);
CREATE INDEX event_by_age ON event (wiki, at);
CREATE TABLE batch (
    {_WIKI},
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    members TEXT NOT NULL,
    tracked INTEGER NOT NULL,
    decision TEXT NOT NULL,
    PRIMARY KEY (wiki, number)
) WITHOUT ROWID;
CREATE TABLE capability (
    {_WIKI},
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (wiki, name)
) WITHOUT ROWID;
CREATE TABLE sighting (
    {_WIKI},
    side TEXT NOT NULL,
    slug TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_at REAL NOT NULL,
    last_at REAL NOT NULL,
    PRIMARY KEY (wiki, side, slug)
) WITHOUT ROWID;
CREATE TABLE refusal (
    {_WIKI},
    slug TEXT NOT NULL,
    local_digest TEXT NOT NULL,
    message TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE bundle (
    {_WIKI},
    slug TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    local BLOB NOT NULL,
    remote BLOB NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE workspace (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE health (
    {_WIKI},
    last_started_at REAL,
    last_good_at REAL,
    worst_window_s REAL NOT NULL,
    worst_window_slug TEXT NOT NULL,
    problem TEXT NOT NULL,
    PRIMARY KEY (wiki)
) WITHOUT ROWID;
"""

_EDITS = f"""
CREATE TABLE edit (
    {_WIKI},
    slug TEXT NOT NULL,
    digest TEXT NOT NULL,
    who TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
"""
"""Since version 3: who edited a page on the wiki, where the service says so."""

_MENTIONS = """
CREATE INDEX mentions_of_pages ON page_text (wiki, mentions) WHERE mentions <> '';
"""
"""Since version 4: which attachments are mentioned is asked in every cycle, and few
texts mention one; without it the question walks over all texts."""

_WRITTEN_LINKS_2 = f"""
CREATE TABLE written_link (
    {_WIKI},
    slug TEXT NOT NULL,
    path TEXT NOT NULL,
    link TEXT NOT NULL,
    PRIMARY KEY (wiki, slug, path)
) WITHOUT ROWID;
"""
"""Of the versions 2 to 4."""

_WRITTEN_LINKS = f"""
CREATE TABLE written_link (
    {_WIKI},
    slug TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    written TEXT NOT NULL,
    target TEXT NOT NULL,
    is_wikilink INTEGER NOT NULL,
    PRIMARY KEY (wiki, slug, attempt, number)
) WITHOUT ROWID;
"""

_TROUBLES = f"""
CREATE TABLE trouble (
    {_WIKI},
    number INTEGER NOT NULL,
    code TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    hint TEXT NOT NULL,
    PRIMARY KEY (wiki, number)
) WITHOUT ROWID;
"""
"""Since version 7: what went wrong with single pages in the last cycle."""

_EARLIER = f"""
CREATE TABLE earlier (
    id INTEGER PRIMARY KEY,
    {_WIKI},
    slug TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX earlier_of_page ON earlier (wiki, slug, id);
"""
"""Since version 9: earlier texts of pages, by which a wiki that went back is known."""

_REMOVALS = f"""
CREATE TABLE removal (
    {_WIKI},
    kind TEXT NOT NULL,
    slug TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (wiki, kind, slug)
) WITHOUT ROWID;
"""
"""Since version 10: what was removed unasked within an hour."""

_HISTORY = """
ALTER TABLE wiki ADD COLUMN head TEXT;
ALTER TABLE replaced ADD COLUMN is_only INTEGER NOT NULL DEFAULT 0;
"""
"""Since version 11; NULL for a wiki whose newest commit was never asked for."""

_AGAIN = """
ALTER TABLE wiki ADD COLUMN remote_again TEXT NOT NULL DEFAULT '[]';
"""
"""Since version 13: pages that the base has otherwise than the wiki had them at the
mark, as JSON."""

_OLD_HEAD = """
ALTER TABLE wiki ADD COLUMN is_head_old INTEGER NOT NULL DEFAULT 0;
"""
"""Since version 14: whether pages were recorded after the wiki's commit was."""

_VERSIONS = """
ALTER TABLE attachment ADD COLUMN version TEXT NOT NULL DEFAULT '';
"""
"""Since version 15: git's ids of files that are no uploads."""

_STEPS = f"""
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    {_WIKI},
    sync INTEGER NOT NULL,
    slug TEXT NOT NULL,
    was TEXT NOT NULL,
    format TEXT NOT NULL,
    before BLOB NOT NULL,
    after TEXT NOT NULL
);
CREATE INDEX step_of_page ON step (wiki, sync, slug);
ALTER TABLE wiki ADD COLUMN sync INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wiki ADD COLUMN is_syncing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wiki ADD COLUMN synced_at REAL NOT NULL DEFAULT 0;
ALTER TABLE wiki ADD COLUMN undoing INTEGER NOT NULL DEFAULT 0;
"""
"""Since version 12: what the last sync made of each page."""

_WIKIS = """
CREATE TABLE {name} (
    id INTEGER PRIMARY KEY,
    service_url TEXT NOT NULL,
    kind TEXT NOT NULL,
    full_path TEXT NOT NULL,
    folder TEXT NOT NULL DEFAULT '',
    remote_id TEXT NOT NULL DEFAULT '',
    is_in_use INTEGER NOT NULL DEFAULT 1,
    follows INTEGER,
    place TEXT NOT NULL DEFAULT '',
    left_out TEXT NOT NULL DEFAULT '',
    remote_tag TEXT NOT NULL DEFAULT '',
    last_batch INTEGER NOT NULL DEFAULT 0,
    paused TEXT
);
"""
"""One row for each wiki that a folder was ever synced with: its record.  Of those with
one address, one is in use; the others are set aside."""

_ADDRESSES = """
CREATE UNIQUE INDEX wiki_in_use ON wiki (service_url, kind, full_path)
    WHERE is_in_use = 1;
"""

_SCHEMA = f"""
{_WIKIS.format(name="wiki")}
{_ADDRESSES}
CREATE TABLE attachment (
    {_WIKI},
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    here TEXT NOT NULL DEFAULT '',
    stamp TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (wiki, path)
) WITHOUT ROWID;
{_LEDGER}
{_EDITS}
{_MENTIONS}
{_WRITTEN_LINKS}
{_TROUBLES}
{_EARLIER}
{_REMOVALS}
{_HISTORY}
{_STEPS}
{_AGAIN}
{_OLD_HEAD}
{_VERSIONS}
"""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of this version, inside a transaction."""
    _execute(connection, _SCHEMA)


def _two_ways(connection: sqlite3.Connection) -> None:
    """1 to 2: what a sync both ways remembers."""
    connection.execute("ALTER TABLE page RENAME TO page_1")
    connection.execute(
        "ALTER TABLE wiki ADD COLUMN last_batch INTEGER NOT NULL DEFAULT 0"
    )
    connection.execute("ALTER TABLE wiki ADD COLUMN paused TEXT")
    _execute(connection, _LEDGER)
    _execute(connection, _WRITTEN_LINKS_2)
    connection.execute(
        "INSERT INTO page_text (wiki, slug, mentions, text)"
        " SELECT wiki, slug, mentions, text FROM page_1"
    )
    rows = connection.execute(
        "SELECT wiki, slug, format, local_digest, remote_digest, text FROM page_1"
    )
    # the size was not noted then, and the safety stop for shrunk pages asks for it
    connection.executemany(
        "INSERT INTO page (wiki, slug, format, local_digest, remote_digest, size)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            (*row, len(unpack(text).encode("utf-8", "surrogatepass")))
            for *row, text in rows
        ),
    )
    connection.execute("DROP TABLE page_1")


def _written_links(connection: sqlite3.Connection) -> None:
    """4 to 5: every link of a page by itself, in their order, and of every attempt."""
    rows = connection.execute(
        "SELECT wiki, slug, path, link FROM written_link ORDER BY wiki, slug, path"
    ).fetchall()
    connection.execute("DROP TABLE written_link")
    _execute(connection, _WRITTEN_LINKS)
    connection.executemany(
        "INSERT INTO written_link VALUES (?, ?, 0, ?, ?, ?, ?, 0)",
        (
            (wiki, slug, number, path, link, unquote(re.split("[?#]", link)[0]))
            for number, (wiki, slug, path, link) in enumerate(rows)
        ),
    )


def _files_here(connection: sqlite3.Connection) -> None:
    """5 to 6: what the folder holds of an attachment, beside what the wiki has."""
    for column in ("here", "stamp"):
        connection.execute(
            f"ALTER TABLE attachment ADD COLUMN {column} TEXT NOT NULL DEFAULT ''"
        )
    connection.execute("UPDATE attachment SET here = digest")


def _identities(connection: sqlite3.Connection) -> None:
    """7 to 8: several records for one address, and what belongs to each with it.

    The table is made anew, as SQLite cannot drop what was unique in it; whoever
    calls has switched foreign keys off, or dropping it would empty all others.
    """
    _execute(connection, _WIKIS.format(name="wiki_8"))
    kept = "id, service_url, kind, full_path, remote_id, remote_tag, last_batch, paused"
    connection.execute(
        f"INSERT INTO wiki_8 ({kept}) SELECT {kept} FROM wiki"  # noqa: S608 - ours
    )
    for column, name in (("place", "place"), ("left_out", "left")):
        connection.execute(
            f"UPDATE wiki_8 SET {column} = coalesce((SELECT value"  # noqa: S608 - ours
            " FROM workspace WHERE name = ? || ' ' || kind || ' ' || full_path), '')",
            (name,),
        )
        connection.execute("DELETE FROM workspace WHERE name GLOB ? || ' *'", (name,))
    connection.execute("DROP TABLE wiki")
    connection.execute("ALTER TABLE wiki_8 RENAME TO wiki")
    _execute(connection, _ADDRESSES)


def _linked_files(connection: sqlite3.Connection) -> None:
    """14 to 15: what pages link to besides uploads."""
    _execute(connection, _VERSIONS)
    rows = connection.execute("SELECT wiki, slug, text FROM page_text")
    connection.executemany(
        "UPDATE page_text SET mentions = ? WHERE wiki = ? AND slug = ?",
        [(joined_mentions(unpack(text)), wiki, slug) for wiki, slug, text in rows],
    )


def _adds(statements: str) -> Callable[[sqlite3.Connection], None]:
    """The step of a version that only has more tables or columns than the last."""
    return lambda connection: _execute(connection, statements)


MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {
    1: _two_ways,
    2: _adds(_EDITS),
    3: _adds(_MENTIONS),
    4: _written_links,
    5: _files_here,
    6: _adds(_TROUBLES),
    7: _identities,
    8: _adds(_EARLIER),
    9: _adds(_REMOVALS),
    10: _adds(_HISTORY),
    11: _adds(_STEPS),
    12: _adds(_AGAIN),
    13: _adds(_OLD_HEAD),
    14: _linked_files,
}
"""Version found to the step that makes the next version of it."""


def _execute(connection: sqlite3.Connection, statements: str) -> None:
    # executescript would end the transaction
    for statement in statements.split(";"):
        if statement.strip():
            connection.execute(statement)
