"""Questions and changes of projects, beyond finding them: all SQL, no rights.

Each function takes the ``Tables`` first and is called through ``Records.ask``.
"""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from wikisync.service.access import Level
from wikisync.service.rows import Group, Namespace, User, group_from_row, user_from_row
from wikisync.service.tables import GROUPS, LEVELS, NEW_PROJECT_ID, SUBTREE, Tables

_ANCESTORS = (
    "WITH RECURSIVE up (id) AS (SELECT :group UNION SELECT n.parent_id"
    " FROM namespace n JOIN up u ON n.id = u.id WHERE n.parent_id IS NOT NULL)"
    " SELECT id FROM up"
)
_MEMBERS = f"""
SELECT user_id, access_level FROM membership
WHERE kind = 'project' AND target_id = :project
  AND (expires_on IS NULL OR expires_on > :today)
UNION ALL SELECT user_id, access_level FROM membership
WHERE kind = 'group' AND target_id IN ({_ANCESTORS})
  AND (expires_on IS NULL OR expires_on > :today)
UNION ALL SELECT user_id, 50 FROM namespace
WHERE id = :group AND user_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project to be made."""

    namespace: Namespace
    path: str
    name: str
    creator_id: int
    columns: Mapping[str, object]
    attributes: Mapping[str, object]
    topics: tuple[str, ...] = ()
    forked_from: int | None = None
    import_type: str | None = None
    import_url: str | None = None
    import_branch: str | None = None


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """What is to become of a project; nothing in it stays as it is."""

    columns: Mapping[str, object]
    attributes: Mapping[str, object]
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A group that a project is shared with."""

    id: int
    project_id: int
    group_id: int
    access_level: int
    expires_on: str | None
    group_name: str = ""
    group_full_path: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that belongs to a project."""

    id: int
    secret: str
    name: str


class Taken(Exception):
    """A name or path is in use; ``fields`` says which."""

    def __init__(self, *fields: str) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


def namespace(tables: Tables, id_or_path: int | str) -> Namespace | None:
    """A group's or user's namespace."""
    column = "id" if isinstance(id_or_path, int) else "full_path"
    row = tables.one(f"SELECT * FROM namespace WHERE {column} = ?", (id_or_path,))
    return None if row is None else _namespace(row)


def namespace_of_user(tables: Tables, user_id: int) -> Namespace:
    """The namespace that every user has."""
    row = tables.one("SELECT * FROM namespace WHERE user_id = ?", (user_id,))
    assert row is not None, "a user is made with its namespace"
    return _namespace(row)


def count_personal_projects(tables: Tables, user_id: int) -> int:
    """How many projects are in the user's own namespace."""
    row = tables.one(
        "SELECT count(*) FROM project p JOIN namespace n ON n.id = p.namespace_id"
        " WHERE n.user_id = ?",
        (user_id,),
    )
    assert row is not None
    return int(row[0])


def create_project(tables: Tables, new: NewProject) -> int:
    """Make a project and note its creator's contribution; gives its id.

    Raises:
        Taken: its name or path is in use in the namespace.
    """
    full_path = f"{new.namespace.full_path}/{new.path}"
    with tables.transaction():
        _check_free(tables, new.namespace.id, full_path, new.name, 0)
        tables.db.execute("DELETE FROM old_path WHERE full_path = ?", (full_path,))
        now = tables.stamp()
        values: dict[str, object] = {
            "namespace_id": new.namespace.id,
            "path": new.path,
            "full_path": full_path,
            "name": new.name,
            "creator_id": new.creator_id,
            "created_at": now,
            "updated_at": now,
            "last_activity_at": now,
            "forked_from": new.forked_from,
            "import_type": new.import_type,
            "import_url": new.import_url,
            "import_branch": new.import_branch,
            "import_status": "scheduled" if new.import_type else "none",
            "attributes": msgspec.json.encode(new.attributes).decode(),
            **new.columns,
        }
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        row = tables.db.execute(
            f"INSERT INTO project (id, {names}) VALUES ({NEW_PROJECT_ID}, {marks})"
            " RETURNING id",
            values,
        ).fetchone()
        project_id = int(row[0])
        _set_topics(tables, project_id, new.topics)
        contribute(tables, new.creator_id, project_id)
    return project_id


def change_project(tables: Tables, project_id: int, change: ProjectChange) -> None:
    """Change a project; a new path leaves a redirect at the old one.

    Raises:
        Taken: its new name or path is in use in the namespace.
    """
    with tables.transaction():
        row = tables.one("SELECT * FROM project WHERE id = ?", (project_id,))
        if row is None:
            return
        columns = dict(change.columns)
        path = str(columns.get("path", row["path"]))
        name = str(columns.get("name", row["name"]))
        if path != row["path"] or name != row["name"]:
            parent = str(row["full_path"]).rpartition("/")[0]
            full_path = f"{parent}/{path}"
            _check_free(tables, row["namespace_id"], full_path, name, project_id)
            if path != row["path"]:
                columns["full_path"] = full_path
                _leave_redirect(tables, project_id, row["full_path"], full_path)
        attributes = msgspec.json.decode(row["attributes"]) | dict(change.attributes)
        columns["attributes"] = msgspec.json.encode(attributes).decode()
        columns["updated_at"] = tables.stamp()
        _update(tables, project_id, columns)
        if change.topics is not None:
            _set_topics(tables, project_id, change.topics)


def set_columns(tables: Tables, project_id: int, columns: Mapping[str, object]) -> None:
    """Change columns of a project that are not for people, such as measures."""
    _update(tables, project_id, columns)


def moved_project(tables: Tables, full_path: str) -> int | None:
    """The id of the project that once had this path."""
    row = tables.one(
        "SELECT project_id FROM old_path WHERE full_path = ?", (full_path,)
    )
    return None if row is None else int(row[0])


# stars, contributions, members


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
    tables: Tables, project_id: int, search: str
) -> tuple[tuple[str, User], ...]:
    """Since when who starred a project, the latest first.

    People with a private profile are left out.
    """
    rows = tables.db.execute(
        "SELECT s.starred_since, u.* FROM star s JOIN user u ON u.id = s.user_id"
        " WHERE s.project_id = :project AND u.has_private_profile = 0"
        " AND (instr(lower(u.username), :search) OR instr(lower(u.name), :search))"
        " ORDER BY s.starred_since DESC, u.id DESC",
        {"project": project_id, "search": search.lower()},
    )
    return tuple((row["starred_since"], user_from_row(row)) for row in rows)


def contribute(tables: Tables, user_id: int, project_id: int) -> None:
    """Note that a user did something in a project."""
    tables.db.execute(
        "INSERT INTO contribution VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET last_at = excluded.last_at",
        (user_id, project_id, tables.stamp()),
    )


def note_write(tables: Tables, user_id: int, project_id: int) -> None:
    """Note activity in a project, and that its sizes are to be measured again."""
    with tables.transaction():
        tables.touch_project(project_id)
        set_columns(tables, project_id, {"is_measured": 0})
        contribute(tables, user_id, project_id)


def members(
    tables: Tables, project_id: int, namespace_id: int, search: str = ""
) -> tuple[tuple[User, int], ...]:
    """Who is a member with which level, by id; inherited ones too."""
    values: dict[str, object] = {
        "project": project_id,
        "group": namespace_id,
        "today": tables.today(),
        "search": search.lower(),
    }
    rows = tables.db.execute(
        f"SELECT u.*, max(m.access_level) AS level FROM ({_MEMBERS}) m"
        " JOIN user u ON u.id = m.user_id"
        " WHERE instr(lower(u.username), :search) OR instr(lower(u.name), :search)"
        " GROUP BY u.id ORDER BY u.id",
        values,
    )
    return tuple((user_from_row(row), int(row["level"])) for row in rows)


def import_members(
    tables: Tables, source_id: int, target_id: int, level_max: int
) -> None:
    """Make the direct members of one project members of another.

    Who is one already keeps the level; no level is above ``level_max``.
    """
    tables.db.execute(
        "INSERT OR IGNORE INTO membership"
        " (user_id, kind, target_id, access_level, expires_on)"
        " SELECT user_id, kind, ?, min(access_level, ?), expires_on FROM membership"
        " WHERE kind = 'project' AND target_id = ?",
        (target_id, level_max, source_id),
    )


# groups and shares


def ancestors(tables: Tables, group_id: int, user_id: int | None) -> tuple[Group, ...]:
    """A group and those above it, the nearest first."""
    values = tables.who(user_id) | {"group": group_id}
    rows = tables.db.execute(
        f"{LEVELS} {GROUPS} WHERE n.kind = 'group' AND n.id IN ({_ANCESTORS})"
        " ORDER BY length(n.full_path) DESC",
        values,
    )
    return tuple(group_from_row(row) for row in rows)


def shares(tables: Tables, project_ids: Iterable[int]) -> tuple[Share, ...]:
    """With which groups projects are shared, in the order of sharing."""
    rows = tables.db.execute(
        "SELECT s.*, n.name AS group_name, n.full_path AS group_full_path"
        " FROM share s JOIN namespace n ON n.id = s.group_id"
        " WHERE s.project_id IN (SELECT value FROM json_each(?))"
        " AND (s.expires_on IS NULL OR s.expires_on > ?) ORDER BY s.id",
        (_json(project_ids), tables.today()),
    )
    return tuple(_share(row) for row in rows)


def groups_by_id(
    tables: Tables, ids: Iterable[int], user_id: int | None
) -> tuple[Group, ...]:
    """Groups with these ids, by full path."""
    values = tables.who(user_id) | {"ids": _json(ids)}
    rows = tables.db.execute(
        f"{LEVELS} {GROUPS} WHERE n.kind = 'group'"
        " AND n.id IN (SELECT value FROM json_each(:ids)) ORDER BY n.full_path",
        values,
    )
    return tuple(group_from_row(row) for row in rows)


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


# custom attributes, languages, uploads


def custom_attributes(
    tables: Tables, project_ids: Iterable[int]
) -> dict[int, list[dict[str, str]]]:
    """The custom attributes of projects, by key, as the API shows them."""
    found: dict[int, list[dict[str, str]]] = {}
    for row in tables.db.execute(
        "SELECT * FROM custom_attribute WHERE project_id IN"
        " (SELECT value FROM json_each(?)) ORDER BY key",
        (_json(project_ids),),
    ):
        entry = {"key": row["key"], "value": row["value"]}
        found.setdefault(row["project_id"], []).append(entry)
    return found


def set_custom_attribute(
    tables: Tables, project_id: int, key: str, value: str | None
) -> bool:
    """Set or, with None, remove one; whether there is or was one."""
    if value is None:
        cursor = tables.db.execute(
            "DELETE FROM custom_attribute WHERE project_id = ? AND key = ?",
            (project_id, key),
        )
    else:
        cursor = tables.db.execute(
            "INSERT INTO custom_attribute VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET value = excluded.value",
            (project_id, key, value),
        )
    return cursor.rowcount > 0


def languages(tables: Tables, project_id: int) -> dict[str, float]:
    """Language to its part of the bytes, in percent; the largest first."""
    rows = tables.db.execute(
        "SELECT name, share FROM language WHERE project_id = ?"
        " ORDER BY share DESC, name",
        (project_id,),
    )
    return {row["name"]: row["share"] for row in rows}


def set_code_facts(
    tables: Tables,
    project_id: int,
    columns: Mapping[str, object],
    shares_of: Mapping[str, float],
) -> None:
    """Keep what the code repository holds."""
    with tables.transaction():
        _update(tables, project_id, {**columns, "is_measured": 0})
        tables.db.execute("DELETE FROM language WHERE project_id = ?", (project_id,))
        tables.db.executemany(
            "INSERT INTO language VALUES (?, ?, ?)",
            [(project_id, name, share) for name, share in shares_of.items()],
        )


def add_upload(
    tables: Tables, project_id: int, user_id: int, secret: str, name: str, size: int
) -> Upload:
    """Note a file that was sent."""
    with tables.transaction():
        cursor = tables.db.execute(
            "INSERT INTO upload (project_id, secret, name, size, user_id, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (project_id, secret, name, size, user_id, tables.stamp()),
        )
        set_columns(tables, project_id, {"is_measured": 0})
    assert cursor.lastrowid is not None
    return Upload(cursor.lastrowid, secret, name)


def upload(tables: Tables, project_id: int, secret: str, name: str) -> Upload | None:
    """A file that was sent."""
    row = tables.one(
        "SELECT * FROM upload WHERE project_id = ? AND secret = ? AND name = ?",
        (project_id, secret, name),
    )
    return None if row is None else Upload(row["id"], row["secret"], row["name"])


# imports, measures, the end


def set_import(
    tables: Tables, project_id: int, status: str, error: str | None = None
) -> None:
    """Take an import to its next state."""
    columns = {"import_status": status, "import_error": error}
    _update(tables, project_id, columns)


def unfinished_imports(tables: Tables) -> tuple[int, ...]:
    """Projects whose repository is still to come."""
    rows = tables.db.execute(
        "SELECT id FROM project WHERE import_status IN ('scheduled', 'started')"
        " ORDER BY id"
    )
    return tuple(row[0] for row in rows)


def unmeasured(tables: Tables, ids: Sequence[int] | None = None) -> tuple[int, ...]:
    """Projects whose sizes are not known any more; of all, or of some."""
    where, values = "", {}
    if ids is not None:
        where = " AND id IN (SELECT value FROM json_each(:ids))"
        values["ids"] = _json(ids)
    rows = tables.db.execute(
        f"SELECT id FROM project WHERE is_measured = 0{where}", values
    )
    return tuple(row[0] for row in rows)


def uploads_size(tables: Tables, project_id: int) -> int:
    """Bytes of all files sent to a project."""
    row = tables.one(
        "SELECT coalesce(sum(size), 0) FROM upload WHERE project_id = ?", (project_id,)
    )
    assert row is not None
    return int(row[0])


def set_mark(tables: Tables, project_id: int, *, is_marked: bool) -> None:
    """Mark a project for deletion today, or not any more."""
    _update(
        tables,
        project_id,
        {
            "marked_on": tables.today() if is_marked else None,
            "updated_at": tables.stamp(),
        },
    )


def due_projects(tables: Tables, delay: timedelta) -> tuple[int, ...]:
    """Projects to be removed now: marked long enough ago, or going already."""
    day = (tables.now() - delay).date().isoformat()
    rows = tables.db.execute(
        "SELECT id FROM project WHERE marked_on <= ? OR is_going = 1", (day,)
    )
    return tuple(row[0] for row in rows)


def remove_project(tables: Tables, project_id: int) -> None:
    """Remove all records of a project; its id is never used again."""
    with tables.transaction():
        row = tables.one("SELECT full_path FROM project WHERE id = ?", (project_id,))
        if row is None:
            return
        tables.db.execute(
            "INSERT INTO gone_project VALUES (?, ?, ?)",
            (project_id, row["full_path"], tables.stamp()),
        )
        tables.db.execute(
            "DELETE FROM membership WHERE kind = 'project' AND target_id = ?",
            (project_id,),
        )
        tables.db.execute(
            "UPDATE project SET forked_from = NULL WHERE forked_from = ?",
            (project_id,),
        )
        tables.db.execute("DELETE FROM project WHERE id = ?", (project_id,))


def has_fork_in(tables: Tables, project_id: int, namespace_id: int) -> bool:
    """Whether a namespace already holds a fork of the project."""
    row = tables.one(
        "SELECT 1 FROM project WHERE forked_from = ? AND namespace_id = ?",
        (project_id, namespace_id),
    )
    return row is not None


def below(tables: Tables, group_id: int) -> frozenset[int]:
    """A group and every group below it."""
    rows = tables.db.execute(SUBTREE, {"group": group_id})
    return frozenset(row[0] for row in rows)


# inner parts


def _check_free(
    tables: Tables, namespace_id: int, full_path: str, name: str, own_id: int
) -> None:
    values = {"space": namespace_id, "path": full_path, "name": name, "own": own_id}
    fields = [
        field
        for field, query in (
            (
                "name",
                (
                    "SELECT 1 FROM project WHERE namespace_id = :space AND name = :name"
                    " AND id <> :own"
                ),
            ),
            (
                "path",
                (
                    "SELECT 1 FROM project WHERE full_path = :path AND id <> :own UNION"
                    " SELECT 1 FROM namespace WHERE full_path = :path"
                ),
            ),
        )
        if tables.db.execute(query, values).fetchone() is not None
    ]
    if fields:
        raise Taken(*fields)


def _leave_redirect(
    tables: Tables, project_id: int, old_path: str, new_path: str
) -> None:
    tables.db.execute("DELETE FROM old_path WHERE full_path = ?", (new_path,))
    if old_path.lower() != new_path.lower():
        tables.db.execute(
            "INSERT OR REPLACE INTO old_path VALUES (?, ?)", (old_path, project_id)
        )


def _update(tables: Tables, project_id: int, columns: Mapping[str, object]) -> None:
    names = ", ".join(f"{name} = :{name}" for name in columns)
    tables.db.execute(
        f"UPDATE project SET {names} WHERE id = :id", {**columns, "id": project_id}
    )


def _set_topics(tables: Tables, project_id: int, topics: Iterable[str]) -> None:
    db = tables.db
    db.execute("DELETE FROM project_topic WHERE project_id = ?", (project_id,))
    for position, name in enumerate(topics):
        db.execute("INSERT OR IGNORE INTO topic (name) VALUES (?)", (name,))
        db.execute(
            "INSERT OR IGNORE INTO project_topic"
            " SELECT ?, id, ? FROM topic WHERE name = ?",
            (project_id, position, name),
        )


def _namespace(row: sqlite3.Row) -> Namespace:
    return Namespace(
        id=row["id"],
        kind=row["kind"],
        name=row["name"],
        path=row["path"],
        full_path=row["full_path"],
        parent_id=row["parent_id"],
        visibility=row["visibility"],
        user_id=row["user_id"],
    )


def _share(row: sqlite3.Row) -> Share:
    return Share(
        id=row["id"],
        project_id=row["project_id"],
        group_id=row["group_id"],
        access_level=row["access_level"],
        expires_on=row["expires_on"],
        group_name=row["group_name"],
        group_full_path=row["group_full_path"],
    )


def _json(ids: Iterable[int]) -> str:
    return msgspec.json.encode(list(ids)).decode()


assert int(Level.OWNER) == 50, "the level of a namespace's own user in _MEMBERS"
