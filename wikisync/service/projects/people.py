"""Who has to do with a project: groups, members, people who starred it.  All SQL."""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from collections.abc import Iterable

from msgspec import Struct

from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import OwnerKind
from wikisync.core.packaged import packaged_text
from wikisync.service.projects.tables import json_list
from wikisync.service.rows import Group, User, from_row
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
    group_name: str
    group_full_path: str


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
) -> int | None:
    """Share a project with a group; its number, or None when it is already."""
    row = tables.db.execute(
        "INSERT OR IGNORE INTO share"
        " (project_id, group_id, access_level, expires_on, created_at)"
        " VALUES (?, ?, ?, ?, ?) RETURNING id",
        (project_id, group_id, level, expires_on, tables.stamp()),
    ).fetchone()
    return None if row is None else int(row["id"])


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


_FOUND = "instr(fold_search(u.username, u.name, NULL), :search)"
_MEMBERS = packaged_text(__package__, "members.sql")


def members(
    tables: Tables, project_id: int, namespace_id: int, search: str = ""
) -> tuple[tuple[User, int], ...]:
    """Who is a member with which level, by id: its own, of groups above, by shares."""
    values: dict[str, object] = {
        "project": project_id,
        "group": namespace_id,
        "today": tables.today(),
        "search": search.casefold(),
        "owner": AccessLevel.OWNER,
    }
    rows = tables.db.execute(_MEMBERS, values)
    return tuple((from_row(row, User), int(row["level"])) for row in rows)


def direct_members(
    tables: Tables, kind: OwnerKind, owner_id: int
) -> tuple[tuple[User, int, str | None], ...]:
    """Who is a member by the project or group itself: level and last day, by id."""
    rows = tables.db.execute(
        "SELECT u.*, m.access_level, m.expires_on AS last_day FROM membership m"
        " JOIN user u ON u.id = m.user_id WHERE m.kind = ?"
        " AND m.target_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)"
        " ORDER BY u.id",
        (kind, owner_id, tables.today()),
    )
    return tuple(
        (from_row(row, User), int(row["access_level"]), row["last_day"]) for row in rows
    )


def inherited_level(
    tables: Tables, group_id: int | None, user_id: int
) -> tuple[int, str] | None:
    """The highest level that a user has by a group or those above it, and its name."""
    row = tables.one(
        "SELECT m.access_level AS level, n.name FROM membership m"
        f" JOIN ({_ANCESTORS}) a ON m.kind = 'group' AND m.target_id = a.id"
        " JOIN namespace n ON n.id = a.id WHERE m.user_id = :user"
        " AND (m.expires_on IS NULL OR m.expires_on > :today)"
        " ORDER BY m.access_level DESC LIMIT 1",
        {"group": group_id, "user": user_id, "today": tables.today()},
    )
    return None if row is None else (int(row["level"]), str(row["name"]))


def remove_member(tables: Tables, kind: OwnerKind, owner_id: int, user_id: int) -> None:
    """End a membership."""
    tables.db.execute(
        "DELETE FROM membership WHERE kind = ? AND target_id = ? AND user_id = ?",
        (kind, owner_id, user_id),
    )


def import_members(
    tables: Tables, source_id: int, target_id: int, level_max: int
) -> None:
    """Make members of one project members of another, with ``level_max`` at most.

    Who is one already keeps the level.
    """
    tables.db.execute(
        "INSERT OR IGNORE INTO membership"
        " (user_id, kind, target_id, access_level, expires_on)"
        " SELECT user_id, kind, ?, min(access_level, ?), expires_on FROM membership"
        " WHERE kind = 'project' AND target_id = ?",
        (target_id, level_max, source_id),
    )


def star(tables: Tables, user_id: int, project_id: int) -> bool:
    """Whether the star is new."""
    cursor = tables.db.execute(
        "INSERT OR IGNORE INTO star VALUES (?, ?, ?)",
        (user_id, project_id, tables.stamp()),
    )
    return cursor.rowcount > 0


def unstar(tables: Tables, user_id: int, project_id: int) -> bool:
    """Whether there was a star to take away."""
    cursor = tables.db.execute(
        "DELETE FROM star WHERE user_id = ? AND project_id = ?", (user_id, project_id)
    )
    return cursor.rowcount > 0


def starrers(
    tables: Tables, project_id: int, search: str, viewer: User | None
) -> tuple[tuple[str, User], ...]:
    """Since when who starred a project; private profiles for themselves and admins."""
    rows = tables.db.execute(
        "SELECT s.starred_since, u.* FROM star s JOIN user u ON u.id = s.user_id"
        " WHERE s.project_id = :project"
        " AND (u.has_private_profile = 0 OR u.id = :viewer OR :sees_all)"
        f" AND {_FOUND} ORDER BY s.starred_since DESC, u.id DESC",
        {
            "project": project_id,
            "search": search.casefold(),
            "viewer": None if viewer is None else viewer.id,
            "sees_all": viewer is not None and viewer.is_admin,
        },
    )
    return tuple((row["starred_since"], from_row(row, User)) for row in rows)
