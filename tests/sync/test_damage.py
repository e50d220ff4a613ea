"""A state that says what was never written there: noticed, set aside, made anew."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.copies import OWNER, agreed
from wikisync.core.model import Format, Slug, digest_of
from wikisync.errors import StateDamaged
from wikisync.sync.base.state import State
from wikisync.sync.decide import ledger
from wikisync.sync.decide.ledger import Capabilities
from wikisync.sync.decide.safety import Batch, BatchKind, Decision, Member

DAMAGE = {
    "a text": "UPDATE page_text SET text = x'00ff'",
    "a format": "UPDATE page SET format = 'mork'",
    "a digest": "UPDATE page SET local_digest = CAST(x'c328' AS TEXT)",
    "an intent": "UPDATE intent SET operation = 'no'",
    "a replaced text": "UPDATE history SET written = x'00ff'",
    "a conflict": "UPDATE conflict_file SET remote = x'00ff'",
    "a brake": "UPDATE wiki SET batches = '[[1'",
    "a capability": "UPDATE wiki SET capabilities = '[]'",
    "an event": "UPDATE event SET what = CAST(x'ff' AS TEXT)",
    "a column": "ALTER TABLE page RENAME COLUMN size TO syze",
    "a table": "ALTER TABLE page_text RENAME TO page_tuxt",
}


def run_on(path: Path, statement: str) -> None:
    """Change a state behind its back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def lived_in(path: Path) -> None:
    """A state in which every kind of record is."""
    home = Slug("home")
    with State.open(path) as state:
        wiki, digest = state.wiki(OWNER), digest_of("text")
        wiki.record([agreed("home")])
        wiki.begin(ledger.Intent(ledger.WriteKind.REPLACE, home, text="new"))
        wiki.remember_replaced(home, "old", "new", 1.0)
        wiki.record_conflict_file(
            home,
            ledger.ConflictFileRecord(Format.ORG, digest, "one", "two", 1.0, digest),
        )
        member = Member(home, digest)
        batch = Batch(1, BatchKind.DELETES_HERE, (member,), 9, Decision.WAITING)
        wiki.record_batches([batch])
        stripping = frozenset({Format.ORG})
        wiki.remember(capabilities=Capabilities(strips_front_matter_of=stripping))
        wiki.note(1.0, home, "done")


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_value_that_was_never_written_is_damage(path: Path, damage: str) -> None:
    """SQLite looks at how the file is built, and not at what it says."""
    lived_in(path)
    run_on(path, damage)

    damaged = pytest.raises(StateDamaged, match=r"state\.db is damaged")
    with State.open(path) as state, damaged:
        state.wiki(OWNER).read_through()

    assert path.with_name("state.db.set-aside-1").exists()
    with State.open(path) as state:
        assert state.set_aside == path.with_name("state.db.set-aside-1")
        state.wiki(OWNER).read_through()
        assert not state.wiki(OWNER).base()


def test_sound_file_stays_when_it_is_closed(path: Path) -> None:
    lived_in(path)
    with State.open(path) as state:
        state.wiki(OWNER).read_through()
        with pytest.raises(UnicodeEncodeError):
            state.wiki(OWNER).text(Slug("\ud800"))

    assert path.exists()
    assert not path.with_name("state.db.set-aside-1").exists()


def test_fault_of_ours_is_no_damage(path: Path) -> None:
    lived_in(path)
    state = State.open(path)
    wiki = state.wiki(OWNER)
    state.close()

    with pytest.raises(sqlite3.ProgrammingError):
        wiki.text(Slug("home"))

    assert not state.is_damaged


def test_who_only_scans_leaves_a_damaged_file_where_it_is(path: Path) -> None:
    """It may be another process's."""
    lived_in(path)
    run_on(path, DAMAGE["a text"])
    scanning = State.open(path, is_held=False)
    with scanning as state, pytest.raises(StateDamaged):
        state.wiki(OWNER).read_through()
    assert path.exists()

    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StateDamaged):
        State.open(path, is_held=False)
    assert path.exists()
