"""All SQL of the service's records, on one SQLite connection; ``schema.sql`` makes it.

Synchronous, and belongs to the thread that made it (``instance.Records``).
Tokens are kept as SHA-256 digests only: a lost one cannot be read back.
"""

# ruff: noqa: S608 - every text in a query is our own; values are bound

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

from wikisync.contract.parameters import ID_CHARS_MAX
from wikisync.core.packaged import packaged_text
from wikisync.core.system.private import make_private_file
from wikisync.errors import ServiceError
from wikisync.service.rows import (
    Group,
    Project,
    Token,
    User,
    from_row,
    project_from_row,
    token_from_row,
)

SCHEMA_VERSION = 1


def fold_search(path: str, name: str, description: str | None) -> str:
    """What a project's search reads, one value a line, cases folded."""
    values = (path, name, description or "")
    lines = (" ".join(value.casefold().split()) for value in values)
    return "\n" + "\n".join(lines) + "\n"


def create(db: sqlite3.Connection) -> None:
    """Make the tables; the caller holds a transaction."""
    # executescript would end the transaction, and triggers hold semicolons
    pending = ""
    script = packaged_text(__package__, "schema.sql").strip().removesuffix(";")
    for part in script.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            db.execute(pending)
            pending = ""
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


TOKEN_PREFIX = "glpat-"  # noqa: S105 - the public prefix, not a token
RESERVED = frozenset({"-", "api", "groups", "users"})
"""First parts of paths that are the service's own routes."""

LEVELS = packaged_text(__package__, "levels.sql")
"""With this every query about rights starts."""

# the names from the top group down to namespace n
FULL_NAME = """
    (WITH RECURSIVE up (name, parent_id, above) AS (
        SELECT n.name, n.parent_id, 0
        UNION ALL
        SELECT o.name, o.parent_id, up.above + 1
        FROM namespace o JOIN up ON o.id = up.parent_id)
     SELECT group_concat(name, ' / ')
     FROM (SELECT name FROM up ORDER BY above DESC))"""

PROJECTS = f"""
SELECT p.*, n.kind AS namespace_kind, n.name AS namespace_name,
    n.path AS namespace_path, n.full_path AS namespace_full_path,
    n.parent_id AS namespace_parent_id, n.user_id AS owner_id,
    {FULL_NAME} AS namespace_full_name,
    n.visibility AS namespace_visibility,
    coalesce(d.level, 0) AS project_level, coalesce(g.level, 0) AS group_level,
    coalesce(h.level, 0) AS shared_level,
    (SELECT count(*) FROM star s WHERE s.project_id = p.id) AS star_count,
    (SELECT count(*) FROM project f WHERE f.forked_from = p.id) AS forks_count,
    (SELECT json_group_array(name) FROM (
        SELECT t.name FROM project_topic pt JOIN topic t ON t.id = pt.topic_id
        WHERE pt.project_id = p.id ORDER BY pt.position)) AS topics
FROM project p JOIN namespace n ON n.id = p.namespace_id
LEFT JOIN direct d ON d.id = p.id LEFT JOIN group_level g ON g.id = n.id
LEFT JOIN shared h ON h.id = p.id
"""

GROUPS = f"""
SELECT n.*, coalesce(g.level, 0) AS level, n.id IN (SELECT id FROM seen) AS is_seen,
    {FULL_NAME} AS full_name
FROM namespace n LEFT JOIN group_level g ON g.id = n.id
"""


class Tables:
    """All SQL.  Belongs to the thread that made it."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self.now = now
        """The clock."""
        make_private_file(path)
        self.db = sqlite3.connect(path, isolation_level=None)
        """For the questions in other modules of the records."""
        self.db.row_factory = sqlite3.Row
        self.db.create_function("fold_search", 3, fold_search, deterministic=True)
        try:
            self.db.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                "PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;"
            )
            self._create(path)
        except sqlite3.Error:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    # people

    def add_user(
        self, username: str, *, name: str = "", email: str = "", is_admin: bool = False
    ) -> User:
        """The user of that name; made with a namespace of its own if new."""
        if (known := self.user_named(username)) is not None:
            return known
        self._check_free(username)
        called = {"name": name or username, "created_at": self.stamp()}
        user = {"username": username, "email": email or f"{username}@example.com"}
        space = {"path": username, "full_path": username, "visibility": "public"}
        with self.transaction():
            user_id = self.insert("user", called | user | {"is_admin": int(is_admin)})
            owner = {"kind": "user", "user_id": user_id}
            self.insert("namespace", called | space | owner)
        made = self.user_named(username)
        assert made is not None
        return made

    def user_named(self, username: str) -> User | None:
        """The user of that name, whatever its case."""
        row = self.one("SELECT * FROM user WHERE username = ?", (username,))
        return None if row is None else from_row(row, User)

    def user_by_id(self, user_id: int) -> User | None:
        """The user with that id."""
        row = self.one("SELECT * FROM user WHERE id = ?", (user_id,))
        return None if row is None else from_row(row, User)

    def add_token(
        self,
        user_id: int,
        *,
        name: str = "wikisync",
        scopes: tuple[str, ...] = ("api",),
        expires_on: str | None = None,
    ) -> str:
        """Make a token and give its secret, for the only time."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(20)
        digest, stamp = digest_of_token(secret), self.stamp()
        given = {"user_id": user_id, "name": name, "scopes": " ".join(scopes)}
        made = {"digest": digest, "created_at": stamp, "expires_on": expires_on}
        self.insert("token", given | made)
        return secret

    def tokens(self) -> tuple[Token, ...]:
        """Every token, without its secret."""
        rows = self.db.execute("SELECT * FROM token ORDER BY id")
        return tuple(token_from_row(row) for row in rows)

    def users(self) -> tuple[User, ...]:
        """Every user."""
        rows = self.db.execute("SELECT * FROM user ORDER BY id")
        return tuple(from_row(row, User) for row in rows)

    def add_topic(self, name: str) -> int:
        """The id of the topic of that name, whatever its case; made if new."""
        self.db.execute("INSERT OR IGNORE INTO topic (name) VALUES (?)", (name,))
        row = self.one("SELECT id FROM topic WHERE name = ?", (name,))
        assert row is not None
        return int(row["id"])

    def topics(self) -> list[dict[str, object]]:
        """Id and name of every topic, and how many projects have it."""
        rows = self.db.execute(
            "SELECT t.id, t.name, count(p.project_id) AS projects FROM topic t"
            " LEFT JOIN project_topic p ON p.topic_id = t.id"
            " GROUP BY t.id ORDER BY t.id"
        )
        return [dict(row) for row in rows]

    def memberships(self) -> list[dict[str, object]]:
        """Path, username, level and last day of every membership."""
        rows = self.db.execute(
            "SELECT coalesce(p.full_path, n.full_path) AS path, u.username,"
            " m.access_level AS level, m.expires_on"
            " FROM membership m JOIN user u ON u.id = m.user_id"
            " LEFT JOIN project p ON m.kind = 'project' AND p.id = m.target_id"
            " LEFT JOIN namespace n ON m.kind = 'group' AND n.id = m.target_id"
            " ORDER BY 1, 2"
        )
        return [dict(row) for row in rows]

    def token_and_user(self, secret: str) -> tuple[Token, User] | None:
        """Who a secret stands for, dead or alive; None for an unknown one."""
        row = self.one(
            "SELECT * FROM token WHERE digest = ?", (digest_of_token(secret),)
        )
        if row is None:
            return None
        user = self.user_by_id(row["user_id"])
        assert user is not None, "tokens reference their users"
        return token_from_row(row), user

    # groups and projects

    def add_group(
        self,
        full_path: str,
        *,
        name: str = "",
        description: str = "",
        visibility: str = "private",
        wiki_access_level: str = "enabled",
        update: bool = False,
    ) -> int:
        """The id of a group, made with those above it if new, else with ``update``."""
        parent_path, _, path = full_path.rpartition("/")
        parent = self._parent_id(parent_path, visibility) if parent_path else None
        row = self.one(
            "SELECT id, kind FROM namespace WHERE full_path = ?", (full_path,)
        )
        if row is not None and row["kind"] != "group":
            raise ServiceError(
                f"{full_path} is a user's namespace, so it cannot be a group",
                hint="choose another path for the group",
            )
        values = {
            "name": name or path,
            "description": description,
            "visibility": visibility,
            "wiki_access_level": wiki_access_level,
        }
        if row is None:
            self._check_free(full_path)
            made: dict[str, object] = {"kind": "group", "parent_id": parent}
            made |= {"path": path, "full_path": full_path, "created_at": self.stamp()}
            return self.insert("namespace", made | values)
        if update:
            self.update("namespace", row["id"], values)
        return int(row["id"])

    def add_project(
        self,
        full_path: str,
        *,
        creator_id: int,
        name: str = "",
        description: str | None = None,
        visibility: str = "private",
        wiki_access_level: str = "enabled",
        is_archived: bool = False,
        update: bool = False,
    ) -> int:
        """The id of a project, made with the groups above it if new."""
        namespace_path, _, path = full_path.rpartition("/")
        if not namespace_path:
            raise ServiceError(
                f"project {full_path} has no group or user in its path",
                hint=f"name it with one, as in docs/{full_path}",
            )
        namespace_id = self._parent_id(namespace_path, visibility, any_kind=True)
        row = self.one("SELECT id FROM project WHERE full_path = ?", (full_path,))
        values = {
            "name": name or path,
            "description": description,
            "visibility": visibility,
            "wiki_access_level": wiki_access_level,
            "is_archived": int(is_archived),
            "updated_at": (now := self.stamp()),
        }
        if row is None:
            self._check_free(full_path)
            made = {"namespace_id": namespace_id, "path": path, "full_path": full_path}
            made |= {"creator_id": creator_id, "created_at": now}
            return self.insert("project", made | values | {"last_activity_at": now})
        if update:
            self.update("project", row["id"], values)
        return int(row["id"])

    def add_member(
        self,
        kind: Literal["project", "group"],
        target_id: int,
        user_id: int,
        level: int,
        *,
        expires_on: str | None = None,
    ) -> None:
        """Make a user a member, or change its level."""
        self.db.execute(
            "INSERT INTO membership (user_id, kind, target_id, access_level,"
            " expires_on) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET access_level = excluded.access_level,"
            " expires_on = excluded.expires_on",
            (user_id, kind, target_id, int(level), expires_on),
        )

    def project(self, id_or_path: str, user_id: int | None) -> Project | None:
        """A project by number or full path, with the user's levels in it."""
        found = self._containers(PROJECTS + "WHERE {}", "p", id_or_path, user_id)
        return None if found is None else project_from_row(found)

    def group(self, id_or_path: str, user_id: int | None) -> Group | None:
        """A group by number or full path, with the user's level in it."""
        found = self._containers(
            GROUPS + "WHERE n.kind = 'group' AND {}", "n", id_or_path, user_id
        )
        return None if found is None else from_row(found, Group)

    def groups(
        self, user_id: int | None, *, below: int | None = None, is_deep: bool = True
    ) -> tuple[Group, ...]:
        """Every group, or those below one, by full path; rights not applied."""
        where, values = "WHERE n.kind = 'group'", self.who(user_id)
        if below is not None:
            values["group"] = below
            where += " AND n.parent_id = :group"
            if is_deep:
                where = f"WHERE n.id IN ({SUBTREE}) AND n.id <> :group"
        rows = self.db.execute(
            f"{LEVELS} {GROUPS} {where} ORDER BY n.full_path", values
        )
        return tuple(from_row(row, Group) for row in rows)

    # inner parts

    def _create(self, path: Path) -> None:
        if self._version() == 0:
            with self.transaction():
                # another process may have done it while this one waited
                if self._version() == 0:
                    create(self.db)
        if (found := self._version()) != SCHEMA_VERSION:
            raise ServiceError(
                f"{path} is of another version of wikisync (schema {found})",
                hint="choose another --data folder, or remove this one",
            )

    def _version(self) -> int:
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    def _containers(
        self, query: str, table: str, id_or_path: str, user_id: int | None
    ) -> sqlite3.Row | None:
        values = self.who(user_id)
        # a path may be all digits only as a part of a longer one, so a bare
        # number is always an id
        is_id = is_number(id_or_path)
        values["key"] = id_of(id_or_path) if is_id else id_or_path
        condition = f"{table}.{'id' if is_id else 'full_path'} = :key"
        return self.one(f"{LEVELS} {query.format(condition)}", values)

    def _parent_id(
        self, full_path: str, visibility: str, *, any_kind: bool = False
    ) -> int:
        row = self.one(
            "SELECT id, kind FROM namespace WHERE full_path = ?", (full_path,)
        )
        if row is not None and (any_kind or row["kind"] == "group"):
            return int(row["id"])
        return self.add_group(full_path, visibility=visibility)

    def _check_free(self, full_path: str) -> None:
        if full_path.partition("/")[0].lower() in RESERVED:
            raise ServiceError(
                f"the path {full_path} is reserved: the service itself answers there",
                hint="choose another path",
            )
        others = {"namespace": "group or user", "project": "project"}
        for table, other in others.items():
            query = f"SELECT 1 FROM {table} WHERE full_path = ?"
            if self.one(query, (full_path,)) is not None:
                raise ServiceError(
                    f"the path {full_path} is taken by a {other}",
                    hint="choose another path",
                )

    def who(self, user_id: int | None) -> dict[str, object]:
        """The values that ``LEVELS`` needs."""
        return {"user": user_id, "today": self.today()}

    def one(
        self, query: str, values: tuple[object, ...] | Mapping[str, object]
    ) -> sqlite3.Row | None:
        """The first row of an answer."""
        return cast("sqlite3.Row | None", self.db.execute(query, values).fetchone())

    def insert(self, table: str, values: Mapping[str, object]) -> int:
        """Add a row of these columns; gives its id, which no other row ever had."""
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        row = self.one(
            f"INSERT INTO {table} (id, {names}) VALUES ({_NEW_ID.get(table, 'NULL')},"
            f" {marks}) RETURNING id",
            values,
        )
        assert row is not None, "an insert returns its row"
        return int(row["id"])

    def update(self, table: str, row_id: int, columns: Mapping[str, object]) -> bool:
        """Change columns of a row; whether there is such a row."""
        names = ", ".join(f"{name} = :{name}" for name in columns)
        query = f"UPDATE {table} SET {names} WHERE id = :id"
        return self.db.execute(query, {**columns, "id": row_id}).rowcount > 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block's changes, or none."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def today(self) -> str:
        """The present date, ``YYYY-MM-DD``."""
        return self.now().date().isoformat()

    def stamp(self) -> str:
        """The present time as the API writes it."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


# an id is never used twice, because clients keep them
_NEW_ID = {
    table: f"(SELECT max(id) + 1 FROM (SELECT max(id) AS id FROM {table}"
    f" UNION ALL SELECT max(id) FROM gone_{table} UNION ALL SELECT 0))"
    for table in ("project", "namespace")
}
SUBTREE = (
    "WITH RECURSIVE down (id) AS (SELECT :group UNION"
    " SELECT n.id FROM namespace n JOIN down d ON n.parent_id = d.id)"
    " SELECT id FROM down"
)


def is_number(id_or_path: str) -> bool:
    """Whether it can only be an id."""
    return id_or_path.isascii() and id_or_path.isdigit()


def id_of(number: str) -> int:
    """The id that a number means; 0, which nothing has, for one too long to be one."""
    return int(number) if len(number) <= ID_CHARS_MAX else 0


def digest_of_token(secret: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
