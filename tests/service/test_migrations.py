"""A data folder of an earlier version goes on working."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikisync.service.listing import ProjectQuery, find_project_ids
from wikisync.service.migrations import SCHEMA_VERSION, STEPS, fold_search
from wikisync.service.tables import Tables

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """Records of the first version, with a user and a project."""
    path = tmp_path / "records.db"
    db = sqlite3.connect(path)
    db.executescript(STEPS[0])
    db.executescript(
        """
        INSERT INTO user VALUES (1, 'root', 'Root', 'r@example.com', 1, 0, 'x');
        INSERT INTO namespace (id, kind, path, full_path, name, visibility, created_at)
            VALUES (1, 'group', 'docs', 'docs', 'docs', 'private', 'x');
        INSERT INTO project (id, namespace_id, path, full_path, name, description,
            visibility, creator_id, created_at, updated_at, last_activity_at)
            VALUES (7, 1, 'book', 'docs/book', 'Big Book', 'Ärger', 'private', 1,
                'x', 'x', 'x');
        PRAGMA user_version = 1;
        """
    )
    db.close()
    return path


def test_old_records_are_brought_up_to_date(old_file: Path) -> None:
    tables = Tables(old_file, lambda: NOW)
    project = tables.project("docs/book", None)
    root = tables.user_named("root")
    found = [
        find_project_ids(tables, ProjectQuery(search=word), root, 10)
        for word in ("big", "ÄRGER", "nothing")
    ]
    tables.close()

    assert project is not None
    assert (project.id, project.topics, project.origin.status) == (7, (), "none")
    assert project.runners_token.startswith("GR1348941")
    assert found == [[7], [7], []]


@pytest.mark.parametrize(
    ("version", "old", "new"),
    [
        (3, "gitlab_project_fork", None),
        (6, "gitlab_project", "gitlab_built_in_project_template"),
    ],
)
def test_type_of_an_import_of_an_earlier_version_has_its_present_name(
    old_file: Path, version: int, old: str, new: str | None
) -> None:
    Tables(old_file, lambda: NOW).close()
    db = sqlite3.connect(old_file)
    db.execute("UPDATE project SET import_type = ?", (old,))
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()

    tables = Tables(old_file, lambda: NOW)
    project = tables.project("docs/book", None)
    tables.close()

    assert project is not None
    assert project.origin.type == new


def test_opening_again_changes_nothing(old_file: Path) -> None:
    Tables(old_file, lambda: NOW).close()
    tables = Tables(old_file, lambda: NOW)
    version = tables.db.execute("PRAGMA user_version").fetchone()[0]
    tables.close()

    assert version == SCHEMA_VERSION


def test_failed_step_leaves_the_old_records(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (STEPS[0], "CREATE TABLE star (x INTEGER); CREATE TABLE star (x INTEGER);")
    monkeypatch.setattr("wikisync.service.migrations.STEPS", broken)

    with pytest.raises(sqlite3.OperationalError):
        Tables(old_file, lambda: NOW)

    db = sqlite3.connect(old_file)
    names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    assert (version, "star" in names) == (1, False)


def test_search_text_folds_cases_and_lines() -> None:
    assert fold_search("A-b", "Straße", "two\nlines") == "\na-b\nstrasse\ntwo lines\n"
