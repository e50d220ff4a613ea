"""Commands that only look: not a byte and no time in a workspace changes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.watching import make_workspace
from tests.support.workspaces import Cloned

ONLY_SCAN = [
    ("status",),
    ("status", "--offline"),
    ("sync", "--dry-run"),
    ("sync", "--dry-run", "--adopt", "push"),
    ("diff",),
    ("diff", "--base"),
    ("doctor",),
    ("doctor", "--offline"),
    ("log",),
]


def seen(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything in a workspace and the folder itself: mode, time, content."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in (root, *root.rglob("*"))
    }


@pytest.fixture
async def cloned(cloned: Cloned) -> Cloned:
    """Both sides have edits, a clash, removals, new pages and a picture."""
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"guide": "theirs\n", "old": "old\n"})
    await cloned.run("sync")
    cloned.write("home.md", "mine\n\ntwo\n\nthree\n![p](p.png)\n")
    cloned.write("p.png", "a picture\n")
    cloned.write("new page.md", "new\n")
    (cloned.folder / "team/rules.md").unlink()
    await cloned.edit({"home": "one\n\ntwo\n\ntheirs\n", "Added": "a\n"})
    await cloned.remove("old")
    return cloned


async def test_a_command_that_only_scans_changes_nothing(cloned: Cloned) -> None:
    before, wiki = seen(cloned.root), await cloned.wiki()
    for words in [*ONLY_SCAN, ("restore", "handbook/home", "--list")]:
        ran = await cloned.run(*words)
        assert ran.code in {0, 3}, ran.err
        assert seen(cloned.root) == before, words
    assert await cloned.wiki() == wiki


async def test_a_check_writes_its_cache_alone(cloned: Cloned, run: Run) -> None:
    (cloned.root / ".wikisync/cache").mkdir(exist_ok=True)
    before = seen(cloned.root)
    await run("check", cloned.root)
    now = seen(cloned.root)
    changed = {name for name in before | now if before.get(name) != now.get(name)}
    assert all(name.startswith(".wikisync/cache") for name in changed)


async def test_a_workspace_that_was_never_synced_stays_so(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook", {"home": "one\n"})
    root = make_workspace(tmp_path / "wikis", service.url)
    before = seen(root)
    for words in ONLY_SCAN:
        ran = await run(*words, "-C", root)
        assert seen(root) == before, words
        assert "does not exist" not in ran.out + ran.err


def killed(root: Path) -> None:
    """What was written last is in a log that no process has open."""
    state = root / ".wikisync/state.db"
    with closing(sqlite3.connect(state)) as writer, closing(sqlite3.connect(state)):
        writer.execute("UPDATE wiki SET paused = '\"by a killed process\"'")
        writer.commit()
        left = {path.name: path.read_bytes() for path in state.parent.glob("state.db*")}
    assert left["state.db-wal"]
    for name, content in left.items():
        (state.parent / name).write_bytes(content)


@pytest.mark.parametrize("words", [("status",), ("sync", "--dry-run")])
async def test_a_log_that_a_killed_process_left_is_read_and_stays(
    cloned: Cloned, words: tuple[str, ...]
) -> None:
    killed(cloned.root)
    before = seen(cloned.root)
    ran = await cloned.run(*words)
    assert "paused (by a killed process)" in ran.out + ran.err
    assert seen(cloned.root) == before


async def test_a_state_of_an_older_version_stays_as_it_is(cloned: Cloned) -> None:
    with closing(sqlite3.connect(cloned.root / ".wikisync/state.db")) as connection:
        connection.execute("PRAGMA user_version = 11")
    before = seen(cloned.root)
    ran = await cloned.run("status")
    assert "is of another version of wikisync (schema 11)" in ran.err
    assert seen(cloned.root) == before
