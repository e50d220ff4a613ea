"""Transactions: whole or not at all, also where the process ends in the middle."""

import resource
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.copies import OWNER, agreed
from wikisync.core.model import Slug
from wikisync.errors import StateDamaged, StateError
from wikisync.sync.base import database
from wikisync.sync.base.database import Database
from wikisync.sync.base.state import State

KILLED_EVERYWHERE = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path
from tests.support.copies import OWNER, agreed
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Intent, WriteKind

def carry_out(path, left):
    def count_down(statement):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    wiki = State.open(path).wiki(OWNER)
    number = wiki.begin(Intent(WriteKind.REPLACE, "a", text="new"))
    wiki._database._connection.set_trace_callback(count_down)
    with wiki.together():
        wiki.record([agreed("a", "new")], dropped=["gone"], renamed={"old": "b"})
        wiki.remember_replaced("a", "first", "new", 1.0)
        wiki.settle(number)
    os._exit(0)

first = Path(sys.argv[1])
for number in count():
    copy = shutil.copy(first, first.with_name(f"{number:04}.db"))
    child = os.fork()
    if not child:
        carry_out(copy, number)
    if os.waitpid(child, 0)[1] == 0:
        break
"""
"""Carries one batch out, killed before its first, second, third ... statement, each
time on a copy of the file; ends when it was carried out whole."""


def seen(path: Path) -> tuple[dict[Slug, str | None], int, int]:
    """Texts, replaced texts of one page, and open intents."""
    with State.open(path) as state:
        assert state.set_aside is None
        wiki = state.wiki(OWNER)
        texts = {slug: wiki.text(slug) for slug in wiki.base()}
        return texts, len(wiki.replaced(Slug("a"))), len(wiki.intents())


def test_process_killed_in_a_batch_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    first = tmp_path / "first"
    with State.open(first) as state:
        pages = [agreed("a", "first"), agreed("gone", "G"), agreed("old", "O")]
        state.wiki(OWNER).record(pages)
    command = [sys.executable, "-c", KILLED_EVERYWHERE, str(first)]
    subprocess.run(command, check=True)
    *killed, whole = [seen(path) for path in sorted(tmp_path.glob("*.db"))]
    assert len(killed) > 20
    before = ({"a": "first", "gone": "G", "old": "O"}, 0, 1)
    assert killed == [before] * len(killed)
    assert whole == ({"a": "new", "b": "O"}, 1, 0)


def test_every_write_waits_for_the_disk(path: Path) -> None:
    """WAL alone would lose the last writes when the power goes."""
    with State.open(path) as state:
        assert state._database.rows("PRAGMA synchronous") == [(2,)]


@pytest.mark.parametrize("is_live", [False, True])
def test_a_copy_has_what_another_connection_committed_and_writes_nothing_back(
    tmp_path: Path, *, is_live: bool
) -> None:
    path = tmp_path / "state.db"
    original = Database.open(path)
    with original.transaction() as connection:
        connection.execute("CREATE TABLE kept (value)")
        connection.execute("INSERT INTO kept VALUES (1)")
    copied = Database.copy(path, is_live=is_live)
    with copied.transaction() as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
    assert copied.rows("SELECT value FROM kept") == [(1,), (2,)]
    assert original.rows("SELECT value FROM kept") == [(1,)]
    copied.close()
    original.close()


@pytest.mark.parametrize("disk_bytes", [resource.RLIM_INFINITY, 4096])
def test_a_large_copy_takes_a_disk_and_memory_only_where_none_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk_bytes: int
) -> None:
    """Every command that only reads copies the texts of all wikis of a workspace."""
    monkeypatch.setattr(database, "COPY_KB_MAX", 64)
    path = tmp_path / "state.db"
    text = bytes(1 << 20)
    original = Database.open(path)
    with original.transaction() as connection:
        connection.execute("CREATE TABLE kept (value)")
        connection.execute("INSERT INTO kept VALUES (?)", (text,))
    original.close()

    before = nameless_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk_bytes, limits[1]))
    try:
        copied = Database.copy(path, is_live=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    has_room = disk_bytes == resource.RLIM_INFINITY
    assert (nameless_bytes() - before > len(text) / 2) is has_room
    assert copied.rows("SELECT value FROM kept") == [(text,)]
    copied.close()


def nameless_bytes() -> int:
    """Of files that this process holds and no folder has."""
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing
            status = descriptor.stat()
            found += status.st_size if not status.st_nlink else 0
    return found


def test_no_room_for_what_a_killed_process_left_is_said_with_a_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is mended in a copy, and nothing is set aside."""
    original = Database.open(tmp_path / "state.db")
    with original.transaction() as connection:
        connection.execute("CREATE TABLE kept (value)")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "away"))
    with pytest.raises(
        StateError, match=r"state\.db cannot be used: No such"
    ) as caught:
        Database.copy(original.path, is_live=False)
    assert "check that the disk has space" in (caught.value.hint or "")
    original.close()


def test_a_copy_of_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"no database, but long enough to be taken for one" * 100)
    with pytest.raises(StateDamaged, match="is damaged"):
        Database.copy(path, is_live=False)
