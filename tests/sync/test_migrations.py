"""State files of older versions, made by the tables they were made with."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from wikisync.errors import StateError
from wikisync.model import (
    AttachmentPath,
    Digest,
    Format,
    LinkTarget,
    LooseFile,
    Slug,
    WikiOwner,
    digest_of,
)
from wikisync.sync.base import state as module
from wikisync.sync.base.migrations import MIGRATIONS, SCHEMA_VERSION
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import FetchedFile, WrittenLink
from wikisync.sync.decide.plan import BasePage

OWNER = WikiOwner("project", "docs/handbook")
URL = "https://gitlab.example.com"
PICTURE = AttachmentPath("uploads/" + "0123456789abcdef" * 2 + "/p.png")
TEXT = f"naïve ![p]({PICTURE})\n"

SCHEMA_1 = """
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
PRAGMA user_version = 1;
"""

TO_TWO = MIGRATIONS[1]


def tables_of(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Every table with its columns: name, type, whether needed, default, key."""
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        found = {
            name: {
                column[1:]
                for column in connection.execute(f"PRAGMA table_info({name})")
            }
            for (name,) in names.fetchall()
        }
    connection.close()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of the first schema: one wiki, two pages, one attachment."""
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA_1)
    connection.execute(
        "INSERT INTO wiki VALUES (7, ?, 'project', 'docs/handbook', '42', 'mark')",
        (URL,),
    )
    pages = [("home", "markdown", TEXT, PICTURE), ("dir/list", "org", "* one", "")]
    for slug, markup, text, mentions in pages:
        packed = zlib.compress(text.encode(), 1)
        row = (slug, markup, digest_of(text), digest_of(text + "!"), packed, mentions)
        connection.execute("INSERT INTO page VALUES (7, ?, ?, ?, ?, ?, ?)", row)
    connection.execute(
        "INSERT INTO attachment VALUES (7, ?, ?, 9)", (PICTURE, "a" * 64)
    )
    connection.commit()
    connection.close()
    return path


def test_everything_of_the_first_schema_is_known_afterwards(path: Path) -> None:
    with State.open(path, service_url=URL) as state:
        wiki = state.wiki(OWNER)
        assert wiki.base() == {
            "home": BasePage(
                Slug("home"),
                Format.MARKDOWN,
                digest_of(TEXT),
                digest_of(TEXT + "!"),
                size=len(TEXT.encode()),
            ),
            "dir/list": BasePage(
                Slug("dir/list"),
                Format.ORG,
                digest_of("* one"),
                digest_of("* one!"),
                size=5,
            ),
        }
        assert wiki.text(Slug("home")) == TEXT
        assert wiki.mentions() == (PICTURE,)
        here = LooseFile(PICTURE, Digest("a" * 64), 9)
        assert wiki.attachments() == {PICTURE: FetchedFile(PICTURE, here.digest, here)}
        assert wiki.remote_tag == "mark"
        assert wiki.is_same_wiki("42")
        assert not wiki.is_paused
        assert wiki.last_batch == 0
    assert state.set_aside is None


def test_old_file_gets_the_tables_of_a_new_one(path: Path, tmp_path: Path) -> None:
    State.open(path).close()
    State.open(tmp_path / "new.db").close()
    assert tables_of(path) == tables_of(tmp_path / "new.db")


@pytest.mark.parametrize("is_old", [True, False])
def test_mentions_are_found_without_walking_over_texts(
    path: Path, tmp_path: Path, *, is_old: bool
) -> None:
    """In a file of the first schema, and in a new one."""
    used = path if is_old else tmp_path / "new.db"
    State.open(used).close()

    with closing(sqlite3.connect(used)) as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN"
            " SELECT mentions FROM page_text WHERE wiki = ? AND mentions <> ''",
            (1,),
        ).fetchall()

    assert "COVERING INDEX mentions_of_pages" in plan[0][3]


def test_step_that_fails_leaves_the_old_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tables_of(path)
    with monkeypatch.context() as patched:
        steps = {1: lambda c: (TO_TWO(c), c.execute("SELECT nonsense"))}
        patched.setattr(module, "MIGRATIONS", steps)
        with pytest.raises(StateError, match="cannot be brought up to date"):
            State.open(path)
    assert tables_of(path) == before
    with State.open(path, service_url=URL) as state:
        assert state.wiki(OWNER).text(Slug("home")) == TEXT


def test_file_is_brought_up_to_date_step_by_step(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {
        1: TO_TWO,
        2: lambda c: c.execute("CREATE TABLE two (x)"),
        3: lambda c: c.execute("ALTER TABLE two ADD COLUMN y"),
        4: MIGRATIONS[7],
    }
    monkeypatch.setattr(module, "SCHEMA_VERSION", 5)
    monkeypatch.setattr(module, "MIGRATIONS", steps)
    with State.open(path, service_url=URL) as migrated:
        assert migrated.wiki(OWNER).text(Slug("home")) == TEXT
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (5,)
    assert connection.execute("SELECT x, y FROM two").fetchall() == []
    connection.close()


def test_links_of_an_earlier_version_are_known(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "SCHEMA_VERSION", 4)
        State.open(path, service_url=URL).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO written_link"
            " SELECT id, 'home', ?, 'a%20b.pdf#page=2' FROM wiki",
            (PICTURE,),
        )
    with State.open(path, service_url=URL) as state:
        (links,) = state.wiki(OWNER).written_links(Slug("home"))
    assert links == (WrittenLink(PICTURE, "a%20b.pdf#page=2", LinkTarget("a b.pdf")),)


@pytest.fixture
def seventh(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same file in the seventh schema, with what a workspace kept in it."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "SCHEMA_VERSION", 7)
        State.open(path, service_url=URL).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO wiki (id, service_url, kind, full_path, paused, last_batch)"
            " VALUES (9, ?, 'group', 'docs/handbook', 'moving', 4)",
            (URL,),
        )
        connection.executemany(
            "INSERT INTO workspace VALUES (?, ?)",
            [
                ("place project docs/handbook", "a folder"),
                ("left project docs/handbook", "here\nthere"),
                ("left group docs/handbook", "elsewhere"),
                ("identity", "mine"),
            ],
        )
        connection.execute(
            "INSERT INTO event VALUES (7, 1, 5.0, 'info', 'home', 'pushed', '', '')"
        )
    return path


def test_everything_of_the_seventh_schema_is_known_afterwards(seventh: Path) -> None:
    with State.open(seventh, service_url=URL) as state:
        wiki, group = state.wiki(OWNER), state.wiki(WikiOwner("group", OWNER.full_path))
        records = state.records()
        left = (wiki.left_out, group.left_out)
        places = (wiki.folder_identity, group.folder_identity)
        assert wiki.text(Slug("home")) == TEXT
        assert [event.what for event in wiki.events(9)] == ["pushed"]
        assert (group.pause_reason, group.last_batch) == ("moving", 4)
        assert state.recalled("identity") == "mine"
        assert state.recalled("left project docs/handbook") == ""
    assert [
        (one.number, one.remote_id, one.is_in_use, one.pages) for one in records
    ] == [(7, "42", True, 2), (9, "", True, 0)]
    assert {one.folder for one in records} == {""}
    assert [sorted(slugs) for slugs in left] == [["here", "there"], ["elsewhere"]]
    assert places == ("a folder", "")


def test_migrated_records_go_with_all_that_belongs_to_them(seventh: Path) -> None:
    """The tables refer to the new table of wikis, and not to the one that is gone."""
    State.open(seventh).close()
    with closing(sqlite3.connect(seventh)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.execute("DELETE FROM wiki WHERE id = 7")
        left = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("page", "page_text", "attachment", "event")
        ]
    assert left == [0, 0, 0, 0]


def test_two_records_of_one_address_are_not_both_in_use(seventh: Path) -> None:
    State.open(seventh).close()
    with closing(sqlite3.connect(seventh)) as connection, connection:
        row = "(service_url, kind, full_path, is_in_use) VALUES (?, 'project', ?, ?)"
        connection.execute(f"INSERT INTO wiki {row}", (URL, OWNER.full_path, 0))
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(f"INSERT INTO wiki {row}", (URL, OWNER.full_path, 1))


def test_new_file_says_its_schema(tmp_path: Path) -> None:
    State.open(tmp_path / "new.db").close()
    connection = sqlite3.connect(tmp_path / "new.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    connection.close()
