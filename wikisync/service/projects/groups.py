"""The groups above a project, and those it is shared with.  All SQL, no rights.

Each function takes the ``Tables`` first and is called through ``Records.ask``.
"""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from wikisync.service.projects.tables import json_list
from wikisync.service.rows import Group, from_row
from wikisync.service.tables import GROUPS, LEVELS, SUBTREE, Tables

_ANCESTORS = (
    "WITH RECURSIVE up (id) AS (SELECT :group UNION SELECT n.parent_id"
    " FROM namespace n JOIN up u ON n.id = u.id WHERE n.parent_id IS NOT NULL)"
    " SELECT id FROM up"
)


class Share(Struct, frozen=True):
    """A group that a project is shared with."""

    id: int
    project_id: int
    group_id: int
    access_level: int
    expires_on: str | None
    group_name: str = ""
    group_full_path: str = ""


def ancestors(tables: Tables, group_id: int, user_id: int | None) -> tuple[Group, ...]:
    """A group and those above it, the nearest first."""
    values = tables.who(user_id) | {"group": group_id}
    rows = tables.db.execute(
        f"{LEVELS} {GROUPS} WHERE n.kind = 'group' AND n.id IN ({_ANCESTORS})"
        " ORDER BY length(n.full_path) DESC",
        values,
    )
    return tuple(from_row(row, Group) for row in rows)


def groups_by_id(
    tables: Tables, ids: Iterable[int], user_id: int | None
) -> tuple[Group, ...]:
    """Groups with these ids, by full path."""
    values = tables.who(user_id) | {"ids": json_list(ids)}
    rows = tables.db.execute(
        f"{LEVELS} {GROUPS} WHERE n.kind = 'group'"
        " AND n.id IN (SELECT value FROM json_each(:ids)) ORDER BY n.full_path",
        values,
    )
    return tuple(from_row(row, Group) for row in rows)


def shares(tables: Tables, project_ids: Iterable[int]) -> tuple[Share, ...]:
    """With which groups projects are shared, in the order of sharing."""
    rows = tables.db.execute(
        "SELECT s.*, n.name AS group_name, n.full_path AS group_full_path"
        " FROM share s JOIN namespace n ON n.id = s.group_id"
        " WHERE s.project_id IN (SELECT value FROM json_each(?))"
        " AND (s.expires_on IS NULL OR s.expires_on > ?) ORDER BY s.id",
        (json_list(project_ids), tables.today()),
    )
    return tuple(from_row(row, Share) for row in rows)


def add_share(
    tables: Tables, project_id: int, group_id: int, level: int, expires_on: str | None
) -> Share | None:
    """Share a project with a group; None when it is already."""
    row = tables.db.execute(
        "INSERT OR IGNORE INTO share"
        " (project_id, group_id, access_level, expires_on, created_at)"
        " VALUES (?, ?, ?, ?, ?) RETURNING *",
        (project_id, group_id, level, expires_on, tables.stamp()),
    ).fetchone()
    if row is None:
        return None
    return Share(row["id"], project_id, group_id, level, expires_on)


def remove_share(tables: Tables, project_id: int, group_id: int) -> bool:
    """Whether there was a share to end."""
    cursor = tables.db.execute(
        "DELETE FROM share WHERE project_id = ? AND group_id = ?",
        (project_id, group_id),
    )
    return cursor.rowcount > 0


def groups_below(tables: Tables, group_id: int) -> tuple[int, ...]:
    """The ids of a group and of all groups below it."""
    rows = tables.db.execute(SUBTREE, {"group": group_id})
    return tuple(row[0] for row in rows)


def projects_below(tables: Tables, group_id: int) -> tuple[tuple[int, str], ...]:
    """Id and full path of every project in a group or below it, by path."""
    rows = tables.db.execute(
        "SELECT id, full_path FROM project"
        f" WHERE namespace_id IN ({SUBTREE}) ORDER BY full_path",
        {"group": group_id},
    )
    return tuple((row[0], row[1]) for row in rows)


def remove_groups(tables: Tables, ids: Iterable[int]) -> None:
    """Remove all records of groups without projects; their ids are not used again."""
    values = {"ids": json_list(ids), "now": tables.stamp()}
    every = "(SELECT value FROM json_each(:ids))"
    gone = f"SELECT id, full_path, :now FROM namespace WHERE id IN {every}"
    with tables.transaction():
        # a group and those below it go together, in whatever order
        tables.db.execute("PRAGMA defer_foreign_keys = ON")
        for statement in (
            f"INSERT INTO gone_namespace {gone}",
            f"DELETE FROM membership WHERE kind = 'group' AND target_id IN {every}",
            f"DELETE FROM share WHERE group_id IN {every}",
            f"DELETE FROM page_id WHERE kind = 'group' AND owner_id IN {every}",
            f"DELETE FROM namespace WHERE kind = 'group' AND id IN {every}",
        ):
            tables.db.execute(statement, values)
