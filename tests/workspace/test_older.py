"""Whole workspaces of older versions, opened by this one.

Each is what a program of that version left on the disk, killed while it wrote to the
wiki; ``make_older`` says how it was made.
"""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.agreed import agree_to
from tests.support.archive import tree_bytes, unpack
from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, Cloned
from tests.workspace.make_older import (
    DUMP,
    EXAMPLE_URL,
    FOLDER,
    HEAD,
    PAGES,
    PLAN,
    STATE,
    TEAM,
    WORKSPACE,
)
from wikisync.folder.identity import current_folder
from wikisync.folder.workspace import adopt
from wikisync.model import Slug, digest_of
from wikisync.sync.base.state import State

OLDER = sorted(Path(__file__).with_name("older").glob("schema-*.txt"))
DAY_S = 86400.0
Rows = set[tuple[object, ...]]
_TIME = re.compile(r"\b1\.\d+e\+09|\b1\d{9}\.\d+")


@dataclass(frozen=True, slots=True)
class Left:
    """A workspace as the older version left it, and the wiki as it was then."""

    workspace: Cloned
    dump: str
    """Its state, as SQL."""

    def rows(self) -> dict[str, tuple[list[str], Rows]]:
        """Every table of the older version that has rows: its columns, and the rows."""
        with closing(sqlite3.connect(":memory:")) as state:
            state.executescript(self.dump)
            tables = state.execute("SELECT name FROM sqlite_schema WHERE type='table'")
            found = {name: _rows(state, name) for (name,) in tables.fetchall()}
        return {
            name: (columns, rows) for name, (columns, rows) in found.items() if rows
        }

    async def commits(self) -> int:
        """How often the wiki was written to."""
        wiki = await self.workspace.service.wiki(HANDBOOK)
        return wiki.repository.count_commits()


def _rows(
    state: sqlite3.Connection, table: str, columns: str = "*"
) -> tuple[list[str], Rows]:
    cursor = state.execute(f"SELECT {columns} FROM {table}")
    return [column[0] for column in cursor.description], set(cursor.fetchall())


def _brought_forward(archive: str) -> str:
    """As if it had been made within the last day: what is kept for a while is kept."""
    made = max(float(moment) for moment in _TIME.findall(archive))
    passed_s = (time.time() - made) // DAY_S * DAY_S
    shifted = _TIME.sub(lambda found: repr(float(found[0]) + passed_s), archive)
    return shifted.replace(_date(made), _date(made + passed_s))


def _date(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


@pytest.fixture(params=OLDER, ids=lambda path: path.stem)
async def left(
    request: pytest.FixtureRequest, service: EmbeddedService, run: Run, tmp_path: Path
) -> Left:
    root = unpack(_brought_forward(request.param.read_text()), tmp_path / "wikis")
    (root / "wiki").rename(tmp_path / "wiki")
    files = tree_bytes(tmp_path / "wiki")
    await service.add_project(HANDBOOK.full_path)
    await service.put_files(HANDBOOK, files | {"notes.md": PAGES["notes"].encode()})
    wiki = await service.wiki(HANDBOOK)
    head = wiki.repository.last_commit_of("notes.md")
    assert head is not None
    await service.put_files(HANDBOOK, {"notes.md": files["notes.md"]})
    settings = root / "wikisync.toml"
    settings.write_text(settings.read_text().replace(EXAMPLE_URL, service.url))
    agree_to(root)
    dump = (root / DUMP).read_text()
    (root / DUMP).unlink()
    for placeholder, value in (
        (EXAMPLE_URL, service.url),
        (HEAD, head),
        (FOLDER, str(current_folder(root / "handbook"))),
        (WORKSPACE, str(adopt(root / ".wikisync"))),
    ):
        dump = dump.replace(placeholder, value)
    with closing(sqlite3.connect(root / STATE)) as state:
        state.executescript(dump)
    return Left(Cloned(service, root, run), dump)


def test_there_are_workspaces_of_older_versions() -> None:
    """No file would mean no test."""
    assert [path.stem for path in OLDER] == ["schema-13", "schema-7"]


async def test_status_shows_what_was_held_and_changes_nothing(left: Left) -> None:
    cloned = left.workspace
    before = tree_bytes(cloned.root)
    ran = await cloned.run("status", "--json")
    (wiki,) = ran.json["wikis"]
    assert {one["page"]: one["side"] for one in wiki["differences"]} == {
        "home": "held",
        **dict.fromkeys(TEAM, "waiting"),
    }
    assert [(one["id"], one["pages"]) for one in wiki["batches"]] == [(1, sorted(TEAM))]
    assert (wiki["pages"], wiki["problems"]) == (10, [])
    assert not wiki["has_other_folder"]
    after = tree_bytes(cloned.root)
    # the lock is made by whoever asks for it
    assert {name: after.get(name) for name in before} == before


async def test_every_row_is_kept(left: Left) -> None:
    """Also of tables that no command of the other tests asks."""
    path = left.workspace.root / STATE
    State.open(path, service_url=left.workspace.service.url).close()
    with closing(sqlite3.connect(path)) as state:
        kept = {
            table: _rows(state, table, ", ".join(columns))[1]
            for table, (columns, _) in left.rows().items()
        }
        ((place, head_is_old),) = _rows(state, "wiki", "place, is_head_old")[1]
        replaced_alone = _rows(state, "replaced", "is_only")[1]
    before = {table: rows for table, (_, rows) in left.rows().items()}
    # until schema 8 the folder's identity stood here
    moved = {row for row in before["workspace"] if str(row[0]).startswith("place ")}
    before["workspace"] -= moved
    assert kept == before
    assert place == str(current_folder(left.workspace.folder))
    # what the older version did not note counts as what held until then
    assert (head_is_old, replaced_alone) == (0, {(0,)})


async def test_sync_finishes_what_was_killed_and_repeats_nothing(left: Left) -> None:
    cloned = left.workspace
    files, commits = cloned.files(), await left.commits()
    wiki = await cloned.wiki()
    for _ in range(2):
        ran = await cloned.run("sync", "--json")
        (came,) = ran.json["wikis"]
        counts = [came[name] for name in ("pulled", "pushed", "merged", "removed")]
        assert (ran.code, counts, came["problems"]) == (4, [0, 0, 0, 0], [])
        assert [one["conflict_file"] for one in came["held"]] == ["home.conflict.md"]
        assert [one["id"] for one in came["batches"]] == [1]
    assert (cloned.files(), await left.commits()) == (files, commits)
    assert await cloned.wiki() == wiki
    assert not [*(cloned.root / ".wikisync/limbo").rglob("*-0")]
    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        assert known.intents() == ()
        assert known.base()[Slug("notes")].remote == digest_of("notes of today\n")
        assert known.attachments().keys() == {PLAN}
        assert len(state.records()) == 1


async def test_kept_texts_and_the_trash_are_listed_and_restored(left: Left) -> None:
    cloned = left.workspace
    ran = await cloned.run("restore", "guide", "--list")
    told = [line.rpartition("\t")[2] for line in ran.out.splitlines()[1:]]
    assert told == ["none", "+ second", "+ a guide"]
    ran = await cloned.run("restore", "old")
    assert (ran.code, cloned.read("old.md")) == (0, PAGES["old"])
    await cloned.run("sync")
    assert (await cloned.wiki())["old.md"] == PAGES["old"]


async def test_held_batch_is_approved_and_conflict_settled(left: Left) -> None:
    cloned = left.workspace
    ran = await cloned.run("approve", "handbook:1")
    assert ran.code == 3  # the conflict is left
    assert not {f"{slug}.md" for slug in TEAM} & (await cloned.wiki()).keys()
    ran = await cloned.run("resolve", "handbook/home", "--both")
    assert ran.code == 0, ran.err
    text = (await cloned.wiki())["home.md"]
    assert "ours" in text
    assert "theirs" in text
    assert cloned.read("home.md") == text
    assert "home.conflict.md" not in cloned.files()
