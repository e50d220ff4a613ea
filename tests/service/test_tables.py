"""The records and their thread: tokens as digests, inherited levels, taken paths."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikisync.contract.project_schema import AccessLevel
from wikisync.errors import ServiceError
from wikisync.service.instance import Records
from wikisync.service.projects.tables import forget_measures, take_unmeasured
from wikisync.service.rows import User
from wikisync.service.tables import Tables

NOW = datetime(2026, 3, 1, 12, 30, 45, 678_900, tzinfo=UTC)


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    opened = Tables(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.fixture
def dana(tables: Tables) -> User:
    return tables.add_user("dana")


def level_in(tables: Tables, path: str, user: User) -> int:
    project = tables.project(path, user.id)
    assert project is not None
    return project.membership(user).level


def test_token_is_kept_as_a_digest_only(
    tmp_path: Path, tables: Tables, dana: User
) -> None:
    secret = tables.add_token(dana.id)

    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert secret.startswith("glpat-")
    assert not any(secret.encode() in content for content in files)
    found = tables.token_and_user(secret)
    assert found is not None
    assert found[1] == dana


def test_token_dies_on_its_last_day(tables: Tables, dana: User) -> None:
    found = tables.token_and_user(tables.add_token(dana.id, expires_on="2026-03-01"))
    assert found is not None
    assert found[0].is_expired("2026-03-01")
    assert not found[0].is_expired("2026-02-28")


def test_times_are_in_milliseconds(dana: User) -> None:
    assert dana.created_at == "2026-03-01T12:30:45.678Z"


def test_groups_above_are_made_on_the_way(tables: Tables, dana: User) -> None:
    tables.add_project("a/b/c", creator_id=dana.id, visibility="public")
    assert [group.full_path for group in tables.groups(None)] == ["a", "a/b"]
    assert {group.visibility for group in tables.groups(None)} == {"public"}


def test_adding_again_gives_the_same_id_and_changes_only_when_told(
    tables: Tables, dana: User
) -> None:
    first = tables.add_project("a/b", creator_id=dana.id, description="one")
    again = tables.add_project("A/B", creator_id=dana.id, description="two")
    kept = tables.project("a/b", None)
    tables.add_project("a/b", creator_id=dana.id, description="two", update=True)
    changed = tables.project("a/b", None)

    assert first == again
    assert (kept and kept.description, changed and changed.description) == (
        "one",
        "two",
    )


def test_path_of_a_group_is_taken_for_a_project(tables: Tables, dana: User) -> None:
    tables.add_group("a/b")
    with pytest.raises(ServiceError, match="path a/b is taken by a group"):
        tables.add_project("a/b", creator_id=dana.id)


def test_path_of_a_project_is_taken_for_a_group(tables: Tables, dana: User) -> None:
    tables.add_project("a/b", creator_id=dana.id)
    with pytest.raises(ServiceError, match="path a/b is taken by a project"):
        tables.add_group("a/b")


def test_path_of_a_user_is_taken_for_a_group(tables: Tables, dana: User) -> None:
    with pytest.raises(ServiceError, match=f"{dana.username} is a user's namespace"):
        tables.add_group("dana")


def test_highest_of_all_memberships_counts(tables: Tables, dana: User) -> None:
    project = tables.add_project("a/b/c", creator_id=dana.id)
    group = tables.add_group("a")
    tables.add_member("group", group, dana.id, AccessLevel.DEVELOPER)
    tables.add_member("project", project, dana.id, AccessLevel.GUEST)

    assert level_in(tables, "a/b/c", dana) == AccessLevel.DEVELOPER

    tables.add_member("project", project, dana.id, AccessLevel.OWNER)
    assert level_in(tables, "a/b/c", dana) == AccessLevel.OWNER


def test_membership_ends_on_its_last_day(tables: Tables, dana: User) -> None:
    project = tables.add_project("a/b", creator_id=dana.id)
    tables.add_member("project", project, dana.id, 30, expires_on="2026-03-01")
    ended = level_in(tables, "a/b", dana)
    tables.add_member("project", project, dana.id, 30, expires_on="2026-03-02")
    assert (ended, level_in(tables, "a/b", dana)) == (0, 30)


@pytest.mark.parametrize("version", [-1, 8])
def test_records_of_another_version_are_not_touched(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "records.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")

    with pytest.raises(ServiceError, match="another version of wikisync"):
        Tables(path, lambda: NOW)

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_schema").fetchall() == []


def test_measure_that_was_interrupted_is_made_again(tables: Tables, dana: User) -> None:
    project = tables.add_project("docs/a", creator_id=dana.id)
    taken = take_unmeasured(tables, 9)
    forget_measures(tables)
    assert taken == (project,)
    assert take_unmeasured(tables, 9) == taken


async def test_file_that_is_no_database_is_a_plain_error(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 9)
    records = Records(path)

    with pytest.raises(ServiceError, match="cannot use"):
        await records.open()
    await records.close()


async def test_note_that_cannot_be_taken_is_logged_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = Records(tmp_path / "records.db")
    await records.open()

    records.note(run_out_of_disk)
    records.note(add_user, "dana")
    user = await records.ask(Tables.user_named, "dana")
    await records.close()

    assert user is not None
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "do not take a note" in caplog.text


def add_user(tables: Tables, name: str) -> None:
    tables.add_user(name, email=f"{name}@example.com")


def run_out_of_disk(_tables: Tables) -> None:
    raise sqlite3.OperationalError("database or disk is full")
