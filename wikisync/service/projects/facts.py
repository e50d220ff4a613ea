"""What is kept of a project beside itself: code facts, sizes, uploads.  All SQL.

Each function takes the ``Tables`` first and is called through ``Records.ask``.
"""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from wikisync.service.projects.tables import json_list
from wikisync.service.rows import from_row
from wikisync.service.tables import Tables

BEING_MEASURED = 2
"""Neither yes nor no: a change meanwhile makes it no."""


class Upload(Struct, frozen=True):
    """A file that belongs to a project."""

    id: int
    secret: str
    name: str


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
) -> Upload:
    """Note a file that was sent."""
    sent = {"secret": secret, "name": name, "size": size, "user_id": user_id}
    made = {"project_id": project_id, "created_at": tables.stamp()}
    with tables.transaction():
        upload_id = tables.insert("upload", sent | made)
        tables.update("project", project_id, {"is_measured": 0})
    return Upload(upload_id, secret, name)


def upload(tables: Tables, project_id: int, secret: str, name: str) -> Upload | None:
    """A file that was sent."""
    row = tables.one(
        "SELECT * FROM upload WHERE project_id = ? AND secret = ? AND name = ?",
        (project_id, secret, name),
    )
    return None if row is None else from_row(row, Upload)


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
