"""Lists of projects: filters, rights, order and page as one question to SQLite.

It walks an index in the wanted order and stops after as many ids as the totals are
counted for.  What a caller may not see is not counted (``docs/service.md`` "Projects").
"""

# ruff: noqa: S608 - every text in a query is our own; values are bound

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field

from wikisync.contract.project_schema import AccessLevel
from wikisync.service.rows import Project, User, project_from_row
from wikisync.service.tables import LEVELS, PROJECTS, SUBTREE, Tables, fold_search

Base = Literal[
    "all", "user", "contributed", "starred", "forks", "group", "subtree", "none"
]
"""Which projects a list is about, before any filter; all but ``all`` and ``none``
name one user, project or group by id."""

SEARCH_CHARS_MIN = 3
"""Shorter words are only found when they are the whole value."""
_TOPIC = "project_topic pt JOIN topic t ON t.id = pt.topic_id WHERE t"
DEFAULT_STORAGE = "default"
_COMPARED = {
    "id_after": "id >",
    "id_before": "id <",
    "last_activity_after": "last_activity_at >=",
    "last_activity_before": "last_activity_at <=",
    "updated_after": "updated_at >=",
    "updated_before": "updated_at <=",
    "visibility": "visibility =",
    "repository_storage": "repository_storage =",
}
"""Filter to the column that it is compared with, and how."""


class ProjectQuery(Struct, frozen=True):
    """Which projects are wanted, in which order; filters are called as parameters."""

    base: Base = "all"
    base_id: int = 0
    order_by: str = "created_at"
    is_descending: bool = True
    active: bool | None = None
    """Neither archived nor marked for deletion."""
    archived: bool | None = None
    id_after: int | None = None
    id_before: int | None = None
    imported: bool = False
    include_hidden: bool = False
    include_pending_delete: bool = False
    last_activity_after: str | None = None
    last_activity_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    membership: bool = False
    min_access_level: int | None = None
    owned: bool = False
    repository_checksum_failed: bool = False
    wiki_checksum_failed: bool = False
    repository_storage: str | None = None
    search: str = ""
    search_namespaces: bool = False
    starred: bool = False
    topic_id: int | None = None
    topics: tuple[str, ...] = ()
    visibility: str | None = None
    with_issues_enabled: bool = False
    with_merge_requests_enabled: bool = False
    with_programming_language: str | None = None
    custom_attributes: Mapping[str, str] = field(default_factory=dict)


def find_project_ids(
    tables: Tables, query: ProjectQuery, caller: User | None, ids_max: int
) -> list[int]:
    """The ids of the first projects wanted, at most so many, in order."""
    if caller is None and (query.membership or query.owned or query.starred):
        return []
    values = tables.who(None if caller is None else caller.id)
    values["ids_max"] = ids_max
    conditions = [
        *_of_base(query, values),
        *_of_labels(query, values),
        *_visible(caller, values),
        *_of_caller(query, values),
        *_of_record(query, values),
        *_of_search(query, values),
    ]
    where = " AND ".join(conditions) or "1"
    rows = tables.db.execute(
        f"{LEVELS} SELECT p.id FROM project p WHERE {where}"
        f" ORDER BY {_order(query, values)} LIMIT :ids_max",
        values,
    )
    return [row[0] for row in rows]


def read_projects(
    tables: Tables, ids: Sequence[int], user_id: int | None
) -> tuple[Project, ...]:
    """The projects with these ids, in the same order."""
    values = tables.who(user_id)
    values["ids"] = msgspec.json.encode(list(ids)).decode()
    rows = tables.db.execute(
        f"{LEVELS} {PROJECTS} WHERE p.id IN (SELECT value FROM json_each(:ids))", values
    )
    found = {row["id"]: project_from_row(row) for row in rows}
    return tuple(found[one] for one in ids if one in found)


def _of_base(query: ProjectQuery, values: dict[str, object]) -> list[str]:
    values["base"] = query.base_id
    match query.base:
        case "all":
            return []
        case "none":
            return ["0"]
        case "user":
            return ["p.namespace_id IN (SELECT id FROM namespace WHERE user_id=:base)"]
        case "contributed":
            return [
                "p.id IN (SELECT project_id FROM contribution WHERE user_id = :base)"
            ]
        case "starred":
            return ["p.id IN (SELECT project_id FROM star WHERE user_id = :base)"]
        case "forks":
            return ["p.forked_from = :base"]
        case "group":
            return ["p.namespace_id = :base"]
        case "subtree":
            values["group"] = query.base_id
            return [f"p.namespace_id IN ({SUBTREE})"]


def _visible(caller: User | None, values: dict[str, object]) -> list[str]:
    if caller is None:
        return ["p.visibility = 'public'"]
    if caller.is_admin:
        return []
    values["guest"] = int(AccessLevel.GUEST)
    return [f"(p.visibility IN ('public', 'internal') OR {_at_least('guest')})"]


def _at_least(level: str) -> str:
    """Whether the caller has a level in a project, without a query for each one."""
    return (
        f"(p.namespace_id IN (SELECT id FROM group_level WHERE level >= :{level})"
        f" OR p.id IN (SELECT id FROM direct WHERE level >= :{level})"
        f" OR p.id IN (SELECT id FROM shared WHERE level >= :{level})"
        " OR p.namespace_id IN (SELECT id FROM namespace WHERE user_id = :user))"
    )


def _of_caller(query: ProjectQuery, values: dict[str, object]) -> list[str]:
    conditions: list[str] = []
    levels = [query.min_access_level or 0, AccessLevel.GUEST * query.membership]
    if least := max(*levels, AccessLevel.OWNER * query.owned):
        values["least"] = int(least)
        conditions.append(_at_least("least"))
    if query.starred:
        conditions.append("p.id IN (SELECT project_id FROM star WHERE user_id = :user)")
    if query.imported:
        conditions.append("p.creator_id = :user AND p.import_type IS NOT NULL")
    for wanted, column in (
        (query.with_issues_enabled, "issues_access_level"),
        (query.with_merge_requests_enabled, "merge_requests_access_level"),
    ):
        if wanted:
            values["guest"] = int(AccessLevel.GUEST)
            conditions.append(
                f"(p.{column} = 'enabled'"
                f" OR (p.{column} = 'private' AND {_at_least('guest')}))"
            )
    return conditions


def _of_record(query: ProjectQuery, values: dict[str, object]) -> list[str]:
    is_active = "p.is_archived = 0 AND p.marked_on IS NULL"
    switches = (
        (not query.include_pending_delete, "p.is_going = 0"),
        (not query.include_hidden, "p.is_hidden = 0"),
        (query.active is True, is_active),
        (query.active is False, f"NOT ({is_active})"),
        (query.archived is not None, f"p.is_archived = {int(query.archived or 0)}"),
        (query.repository_checksum_failed, "p.repository_checksum_failed = 1"),
        (query.wiki_checksum_failed, "p.wiki_checksum_failed = 1"),
    )
    conditions = [condition for is_on, condition in switches if is_on]
    for name, compared in _COMPARED.items():
        if (value := getattr(query, name)) is not None:
            values[name] = value
            conditions.append(f"p.{compared} :{name}")
    for at, (key, text) in enumerate(query.custom_attributes.items()):
        values |= {f"key{at}": key, f"value{at}": text}
        conditions.append(
            "p.id IN (SELECT project_id FROM custom_attribute"
            f" WHERE key = :key{at} AND value = :value{at})"
        )
    return conditions


def _of_labels(query: ProjectQuery, values: dict[str, object]) -> list[str]:
    wanted: list[tuple[str, object]] = [
        (f"{_TOPIC}.name", name) for name in query.topics
    ]
    if query.topic_id is not None:
        wanted.append((f"{_TOPIC}.id", query.topic_id))
    if query.with_programming_language is not None:
        wanted.append(("language l WHERE l.name", query.with_programming_language))
    values |= {f"label{at}": value for at, (_, value) in enumerate(wanted)}
    return [
        f"p.id IN (SELECT project_id FROM {source} = :label{at})"
        for at, (source, _) in enumerate(wanted)
    ]


def _of_search(query: ProjectQuery, values: dict[str, object]) -> list[str]:
    words = query.search.casefold().split()
    long = [word for word in words if len(word) >= SEARCH_CHARS_MIN]
    if not words:
        return []
    if not long:
        values["search"] = "\n" + " ".join(words) + "\n"
        return ["instr(p.search, :search) > 0"]
    values |= {f"word{at}": word for at, word in enumerate(long)}
    conditions = [f"instr(p.search, :word{at}) > 0" for at in range(len(long))]
    found = "(" + " AND ".join(conditions) + ")"
    if query.search_namespaces:
        whole = " ".join(words)
        above, slash, own = whole.rpartition("/")
        values |= {"whole": whole, "above": "/" + above, "own": "\n" + own}
        spaces = (
            "p.namespace_id IN (SELECT id FROM namespace WHERE"
            " instr(lower(full_path), :whole) > 0 OR instr(lower(name), :whole) > 0)"
        )
        found = f"({found} OR {spaces}"
        if slash:
            # the end of the groups' path and the beginning of the project's
            found += (
                " OR (instr(p.search, :own) = 1 AND p.namespace_id IN (SELECT id FROM"
                " namespace WHERE"
                " substr('/' || lower(full_path), -length(:above)) = :above))"
            )
        found += ")"
    return [found]


def _order(query: ProjectQuery, values: dict[str, object]) -> str:
    way = "DESC" if query.is_descending else "ASC"
    if query.order_by in {"id", "packages_size"}:
        # there is no package registry here, so all have the same size
        return f"p.id {way}"
    if query.order_by == "similarity":
        # whole value first, then a value's beginning, then anywhere in it
        folded = fold_search(query.search, "", None).split("\n")[1]
        values |= {"same": f"\n{folded}\n", "begins": f"\n{folded}"}
        rank = "(instr(p.search, :same) > 0) * 2 + (instr(p.search, :begins) > 0)"
        return f"{rank} {way}, p.id {way}"
    return f"p.{query.order_by} {way}, p.id {way}"
