"""Making, changing and ending projects in the records.  All SQL, no rights."""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

import msgspec
from msgspec import Struct

from wikisync.service.rows import Namespace, from_row
from wikisync.service.tables import Tables


class NewProject(Struct, frozen=True):
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
    """What the repository is filled from; for a fork, the id of its source."""
    import_branch: str | None = None


class Taken(Exception):
    """A name or path is in use; ``fields`` says which."""

    def __init__(self, *fields: str) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


def namespace(tables: Tables, id_or_path: int | str) -> Namespace | None:
    """A group's or user's namespace."""
    column = "id" if isinstance(id_or_path, int) else "full_path"
    row = tables.one(f"SELECT * FROM namespace WHERE {column} = ?", (id_or_path,))
    return None if row is None else from_row(row, Namespace)


def namespace_of_user(tables: Tables, user_id: int) -> Namespace:
    """The namespace that every user has."""
    row = tables.one("SELECT * FROM namespace WHERE user_id = ?", (user_id,))
    assert row is not None, "a user is made with its namespace"
    return from_row(row, Namespace)


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
    """Make a project and note its creator's contribution; its id, or Taken."""
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
            "import_status": "scheduled" if new.import_url else "none",
            "attributes": msgspec.json.encode(new.attributes).decode(),
            **new.columns,
        }
        project_id = tables.insert("project", values)
        _set_topics(tables, project_id, new.topics)
        contribute(tables, new.creator_id, project_id)
    return project_id


def change_project(
    tables: Tables,
    project_id: int,
    columns: Mapping[str, object],
    attributes: Mapping[str, object],
    topics: tuple[str, ...] | None = None,
) -> None:
    """Change what is given of a project, or Taken; a new path leaves a redirect."""
    with tables.transaction():
        row = tables.one("SELECT * FROM project WHERE id = ?", (project_id,))
        if row is None:
            return
        columns = dict(columns)
        path = str(columns.get("path", row["path"]))
        name = str(columns.get("name", row["name"]))
        if path != row["path"] or name != row["name"]:
            parent = str(row["full_path"]).rpartition("/")[0]
            full_path = f"{parent}/{path}"
            _check_free(tables, row["namespace_id"], full_path, name, project_id)
            if path != row["path"]:
                columns["full_path"] = full_path
                _leave_redirect(tables, project_id, row["full_path"], full_path)
        kept = msgspec.json.decode(row["attributes"]) | dict(attributes)
        columns["attributes"] = msgspec.json.encode(kept).decode()
        columns["updated_at"] = tables.stamp()
        tables.update("project", project_id, columns)
        if topics is not None:
            _set_topics(tables, project_id, topics)


def transfer_project(tables: Tables, project_id: int, space: Namespace) -> None:
    """Move a project to another namespace, with a redirect; or Taken."""
    with tables.transaction():
        row = tables.one("SELECT * FROM project WHERE id = ?", (project_id,))
        if row is None:
            return
        full_path = f"{space.full_path}/{row['path']}"
        _check_free(tables, space.id, full_path, row["name"], project_id)
        _leave_redirect(tables, project_id, row["full_path"], full_path)
        moved = {"namespace_id": space.id, "full_path": full_path}
        tables.update("project", project_id, moved | {"updated_at": tables.stamp()})


def moved_project(tables: Tables, full_path: str) -> int | None:
    """The id of the project that once had this path."""
    row = tables.one(
        "SELECT project_id FROM old_path WHERE full_path = ?", (full_path,)
    )
    return None if row is None else int(row[0])


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
        now = {"last_activity_at": tables.stamp(), "is_measured": 0}
        tables.update("project", project_id, now)
        contribute(tables, user_id, project_id)


def set_import(
    tables: Tables,
    project_id: int,
    status: str,
    error: str | None = None,
    address: str | None = None,
) -> None:
    """Take an import to its next state; an address replaces the one it had."""
    columns = {"import_status": status, "import_error": error}
    if address is not None:
        columns["import_url"] = address
    tables.update("project", project_id, columns)


def unfinished_imports(tables: Tables) -> tuple[tuple[int, str | None], ...]:
    """Projects whose repository is still to come, each with its import's type."""
    rows = tables.db.execute(
        "SELECT id, import_type FROM project"
        " WHERE import_status IN ('scheduled', 'started') ORDER BY id"
    )
    return tuple((row[0], row[1]) for row in rows)


def set_mark(tables: Tables, project_id: int, *, is_marked: bool) -> None:
    """Mark a project for deletion today, or not any more."""
    day = tables.today() if is_marked else None
    columns = {"marked_on": day, "updated_at": tables.stamp()}
    tables.update("project", project_id, columns)


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
        gone = {"id": project_id, "path": row["full_path"], "now": tables.stamp()}
        for statement in (
            "INSERT INTO gone_project VALUES (:id, :path, :now)",
            "DELETE FROM membership WHERE kind = 'project' AND target_id = :id",
            "UPDATE project SET forked_from = NULL WHERE forked_from = :id",
            "DELETE FROM project WHERE id = :id",
        ):
            tables.db.execute(statement, gone)


def json_list(ids: Iterable[int | str]) -> str:
    """Values as the one of a query's ``json_each``."""
    return msgspec.json.encode(list(ids)).decode()


def _check_free(
    tables: Tables, namespace_id: int, full_path: str, name: str, own_id: int
) -> None:
    values = {"space": namespace_id, "path": full_path, "name": name, "own": own_id}
    queries = {
        "name": "SELECT 1 FROM project WHERE namespace_id = :space AND name = :name"
        " AND id <> :own",
        "path": "SELECT 1 FROM project WHERE full_path = :path AND id <> :own UNION"
        " SELECT 1 FROM namespace WHERE full_path = :path",
    }
    fields = [name for name, query in queries.items() if tables.one(query, values)]
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


def _set_topics(tables: Tables, project_id: int, topics: Iterable[str]) -> None:
    db = tables.db
    db.execute("DELETE FROM project_topic WHERE project_id = ?", (project_id,))
    for position, name in enumerate(topics):
        db.execute(
            "INSERT OR IGNORE INTO project_topic VALUES (?, ?, ?)",
            (project_id, tables.add_topic(name), position),
        )


BEING_MEASURED = 2
"""Neither yes nor no: a change meanwhile makes it no."""


def set_code_facts(
    tables: Tables,
    project_id: int,
    columns: Mapping[str, object],
    shares_of: Mapping[str, float],
) -> None:
    """Keep what the code repository holds."""
    with tables.transaction():
        tables.update("project", project_id, {**columns, "is_measured": 0})
        tables.db.execute("DELETE FROM language WHERE project_id = ?", (project_id,))
        tables.db.executemany(
            "INSERT INTO language VALUES (?, ?, ?)",
            [(project_id, name, share) for name, share in shares_of.items()],
        )


def languages(tables: Tables, project_id: int) -> dict[str, float]:
    """Language to its part of the bytes, in percent; the largest first."""
    rows = tables.db.execute(
        "SELECT name, share FROM language WHERE project_id = ?"
        " ORDER BY share DESC, name",
        (project_id,),
    )
    return {row["name"]: row["share"] for row in rows}


def take_unmeasured(
    tables: Tables, most: int, ids: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Projects whose sizes are not known; from now on they are being measured."""
    values: dict[str, object] = {"most": most}
    where = "is_measured = 0"
    if ids is not None:
        # also those that others measure: what they see may be out of date already
        where = "is_measured <> 1 AND id IN (SELECT value FROM json_each(:ids))"
        values["ids"] = json_list(ids)
    rows = tables.db.execute(
        f"UPDATE project SET is_measured = {BEING_MEASURED} WHERE id IN"
        f" (SELECT id FROM project WHERE {where} LIMIT :most) RETURNING id",
        values,
    )
    return tuple(row[0] for row in rows)


def set_sizes(tables: Tables, project_id: int, figures: Mapping[str, int]) -> None:
    """Keep what a project was measured to be; one that changed meanwhile is not yet."""
    tables.db.execute(
        "UPDATE project SET repository_size = :repository_size, wiki_size = :wiki_size,"
        " repository_checksum_failed = :repository_checksum_failed,"
        " wiki_checksum_failed = :wiki_checksum_failed, uploads_size = uploads,"
        " storage_size = :repository_size + :wiki_size + uploads,"
        f" is_measured = iif(is_measured = {BEING_MEASURED}, 1, is_measured)"
        " FROM (SELECT coalesce(sum(size), 0) AS uploads FROM upload"
        " WHERE project_id = :id) WHERE id = :id",
        {**figures, "id": project_id},
    )


def forget_measures(tables: Tables) -> None:
    """What was being measured when the service ended is to be measured."""
    tables.db.execute(
        f"UPDATE project SET is_measured = 0 WHERE is_measured = {BEING_MEASURED}"
    )


def add_upload(
    tables: Tables, project_id: int, user_id: int, secret: str, name: str, size: int
) -> int:
    """Note a file that was sent; its id."""
    sent = {"secret": secret, "name": name, "size": size, "user_id": user_id}
    made = {"project_id": project_id, "created_at": tables.stamp()}
    with tables.transaction():
        upload_id = tables.insert("upload", sent | made)
        tables.update("project", project_id, {"is_measured": 0})
    return upload_id


def has_upload(tables: Tables, project_id: int, secret: str, name: str) -> bool:
    """Whether such a file was sent."""
    query = "SELECT 1 FROM upload WHERE project_id = ? AND secret = ? AND name = ?"
    return tables.one(query, (project_id, secret, name)) is not None


def custom_attributes(
    tables: Tables, project_ids: Iterable[int]
) -> dict[int, list[dict[str, str]]]:
    """The custom attributes of projects, by key, as the API shows them."""
    found: dict[int, list[dict[str, str]]] = {}
    for row in tables.db.execute(
        "SELECT * FROM custom_attribute WHERE project_id IN"
        " (SELECT value FROM json_each(?)) ORDER BY key",
        (json_list(project_ids),),
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
