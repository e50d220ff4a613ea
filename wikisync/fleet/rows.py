"""The tables of a fleet: every statement that wikisync makes on them.

A wiki is due while its newest hint is newer than the beginning of the last cycle that
ended well (``hint_at > answered_at``).  Nothing else says so: a job that is lost is
made again from the row.

A claim is a number that each cycle takes.  What holds an older one has lost its place,
which is how most frozen workers find out before they write; what stops the others is
the bucket (``site.bucket``).
"""

# ruff: noqa: S608 - statements are put together from words of this module alone

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection, errors
from psycopg.rows import class_row, dict_row
from psycopg_pool import AsyncConnectionPool

from wikisync.core.decoding import json_decoder
from wikisync.errors import UsageError
from wikisync.workspace.discovery import FoundWiki, Selection

VERSION = 1
"""Of the tables; a worker of another one does not work."""
POOL_MAX = 8
FAILED_S, FAILED_MAX_S = 10.0, 3600.0
"""How long a wiki waits after a failure, and at most after many."""
QUEUED_MAX = 500
"""Jobs in the queue: a deep queue is slow to fetch from, and rows wait as well."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS fleet (
    number INTEGER PRIMARY KEY CHECK (number = 1), version INTEGER NOT NULL,
    settings JSONB NOT NULL, is_draining BOOLEAN NOT NULL DEFAULT false,
    listed_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    swept_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity');
CREATE TABLE IF NOT EXISTS fleet_wiki (
    key TEXT PRIMARY KEY, wiki JSONB NOT NULL, path TEXT NOT NULL,
    activity TEXT NOT NULL DEFAULT '', is_gone BOOLEAN NOT NULL DEFAULT false,
    hint_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    answered_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    begun_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    due_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    claim BIGINT NOT NULL DEFAULT 0, generation BIGINT NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT '', place TEXT NOT NULL DEFAULT '',
    pages INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '', is_halted BOOLEAN NOT NULL DEFAULT false,
    may_empty BOOLEAN NOT NULL DEFAULT false);
CREATE INDEX IF NOT EXISTS fleet_wiki_due ON fleet_wiki (hint_at)
    WHERE hint_at > answered_at;
CREATE TABLE IF NOT EXISTS fleet_worker (
    name TEXT PRIMARY KEY, slots INTEGER NOT NULL, seen_at TIMESTAMPTZ NOT NULL);
CREATE INDEX IF NOT EXISTS fleet_jobs_of_lock ON procrastinate_jobs (lock)
    WHERE status IN ('todo', 'doing');
"""
_UNANSWERED = "hint_at > answered_at AND NOT is_halted"


class Settings(Struct, frozen=True):
    """What all workers of a fleet work on."""

    service: str
    selection: Selection
    site: str
    """Where the sites of public wikis lie: ``s3://bucket/prefix``."""
    state: str
    """Where what is known of wikis lies, which is for workers alone."""
    protected: str = ""
    """Where sites of other wikis lie; empty: they have none."""


class Row(Struct, frozen=True):
    """One wiki that a cycle has claimed."""

    key: str
    wiki: FoundWiki
    is_gone: bool
    claim: int
    generation: int
    state: str
    """Name of the object with its state; empty where there is none."""
    place: str
    """Where its site lies; empty where it has none."""
    may_empty: bool


class Shown(Struct, frozen=True):
    """One wiki as a person is shown it."""

    key: str
    path: str
    pages: int
    generation: int
    place: str
    problem: str
    is_halted: bool
    failures: int
    waits_s: float
    """How long it is due; 0 where it is not."""


class Counts(Struct, frozen=True):
    """A fleet in numbers."""

    wikis: int
    pages: int
    due: int
    halted: int
    failing: int
    oldest_due_s: float
    is_draining: bool
    jobs: Mapping[str, int] = {}
    workers: Mapping[str, float] = {}
    """Seconds since each said that it lives."""


_SETTINGS, _WIKIS = json_decoder(Settings), json_decoder(FoundWiki)


class LostClaim(Exception):
    """Another worker has the wiki now; the cycle ends without a word."""


class Rows:
    """The tables, seen from one event loop."""

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[Any]]) -> None:
        """See ``pool_for``; the pool is open."""
        self.pool = pool

    # -- the fleet -----------------------------------------------------------------

    async def make(self, settings: Settings) -> None:
        """Make the tables, or change what the fleet works on; wikis stay."""
        async with self.pool.connection() as connection:
            await connection.execute(SCHEMA)
            await connection.execute(
                "INSERT INTO fleet (number, version, settings) VALUES (1, %s, %s)"
                " ON CONFLICT (number) DO UPDATE SET settings = excluded.settings,"
                " listed_at = '-infinity', swept_at = '-infinity'",
                (VERSION, msgspec.json.encode(settings).decode()),
            )

    async def settings(self) -> Settings:
        """What the fleet works on.

        Raises:
            UsageError: there is no fleet in the database, or of another version.
        """
        try:
            row = await self._one("SELECT version, settings::text FROM fleet")
        except errors.UndefinedTable:
            row = None
        if row is None:
            raise UsageError(
                "there is no fleet in this database", hint="run: wikisync fleet init"
            )
        if row["version"] != VERSION:
            raise UsageError(
                f"the fleet has version {row['version']} of the tables, this wikisync"
                f" version {VERSION}",
                hint="run the same version of wikisync on all machines",
            )
        return _SETTINGS.decode(row["settings"])

    async def drain(self, *, is_draining: bool) -> None:
        """Let all workers end after their cycles, or none."""
        await self._do("UPDATE fleet SET is_draining = %s", (is_draining,))

    async def beat(self, worker: str, slots: int) -> bool:
        """Say that a worker lives; whether it is to end."""
        row = await self._one(
            "WITH beat AS (INSERT INTO fleet_worker VALUES (%s, %s, now())"
            " ON CONFLICT (name) DO UPDATE SET seen_at = now())"
            " SELECT is_draining OR version <> %s AS ends FROM fleet",
            (worker, slots, VERSION),
        )
        return row is None or bool(row["ends"])

    async def leave(self, worker: str) -> None:
        """Say that a worker has ended."""
        await self._do("DELETE FROM fleet_worker WHERE name = %s", (worker,))

    # -- hints ---------------------------------------------------------------------

    async def hint(self, keys: Collection[str]) -> None:
        """Something may have happened in these wikis."""
        await self._do(
            # without an activity, the wiki itself is asked
            "UPDATE fleet_wiki SET hint_at = now(), wiki = wiki - 'activity'"
            " WHERE key = ANY(%s)",
            (list(keys),),
        )

    async def due(self) -> list[str]:
        """Wikis that are due and have no job, those that wait longest first.

        No more than the queue has room for.
        """
        rows = await self._all(
            "SELECT key FROM fleet_wiki AS wiki WHERE hint_at > answered_at"
            " AND NOT is_halted AND due_at <= now() AND NOT EXISTS (SELECT FROM"
            " procrastinate_jobs WHERE lock = wiki.key AND status IN ('todo', 'doing'))"
            " ORDER BY hint_at LIMIT greatest(0, %s - (SELECT count(*) FROM"
            " procrastinate_jobs WHERE status = 'todo'))",
            (QUEUED_MAX,),
        )
        return [row["key"] for row in rows]

    async def strays(self, worker: int, live: Collection[str]) -> set[int]:
        """Jobs that a worker has, but for those of wikis on which it works."""
        rows = await self._all(
            "SELECT id FROM procrastinate_jobs WHERE worker_id = %s"
            " AND status = 'doing' AND lock <> ALL(%s)",
            (worker, list(live)),
        )
        return {row["id"] for row in rows}

    async def retry(self, paths: Collection[str]) -> list[str]:
        """Forget failures of these wikis, or of all that have some; their keys."""
        return await self._again("failures > 0", paths, "")

    async def approve(self, paths: Collection[str]) -> list[str]:
        """Let these halted wikis lose their pages; their keys."""
        return await self._again("is_halted", paths, "may_empty = true,")

    async def _again(
        self, condition: str, paths: Collection[str], also: str
    ) -> list[str]:
        rows = await self._all(
            f"UPDATE fleet_wiki SET {also} is_halted = false, failures = 0,"
            " due_at = '-infinity', hint_at = now()"
            f" WHERE {condition} AND (cardinality(%s::text[]) = 0 OR path = ANY(%s))"
            " RETURNING key",
            (list(paths), list(paths)),
        )
        return [row["key"] for row in rows]

    # -- a cycle -------------------------------------------------------------------

    async def claim(self, key: str) -> Row | None:
        """Take a wiki for one cycle; None where there is nothing to do."""
        row = await self._one(
            "UPDATE fleet_wiki SET claim = claim + 1, begun_at = clock_timestamp()"
            f" WHERE key = %s AND {_UNANSWERED}"
            " RETURNING key, wiki::text, is_gone, claim, generation, state, place,"
            " may_empty",
            (key,),
        )
        if row is None:
            return None
        wiki = _WIKIS.decode(row.pop("wiki"))
        return Row(wiki=wiki, **row)

    async def check(self, row: Row) -> None:
        """See that nobody claimed the wiki since.

        Raises:
            LostClaim: somebody did.
        """
        found = await self._one(
            "SELECT FROM fleet_wiki WHERE key = %s AND claim = %s AND generation = %s",
            (row.key, row.claim, row.generation),
        )
        if found is None:
            raise LostClaim(row.key)

    async def move(
        self,
        row: Row,
        *,
        generation: int,
        state: str,
        place: str,
        pages: int,
        problem: str,
    ) -> None:
        """Note a cycle that ended well.

        Raises:
            LostClaim: the wiki is another worker's now.
        """
        await self._moved(
            row,
            "answered_at = begun_at, failures = 0, due_at = '-infinity',"
            " may_empty = false, generation = %s, state = %s, place = %s, pages = %s,"
            " problem = %s",
            (generation, state, place, pages, problem),
        )

    async def forget(self, row: Row) -> None:
        """Remove a wiki that is no more and has no site."""
        await self._do(
            "DELETE FROM fleet_wiki WHERE key = %s AND claim = %s", (row.key, row.claim)
        )

    async def fail(self, row: Row, problem: str, *, is_halted: bool = False) -> None:
        """Note a cycle that failed; the wiki waits, or until a person approves.

        Raises:
            LostClaim: the wiki is another worker's now.
        """
        await self._moved(
            row,
            "failures = failures + 1, problem = %s, is_halted = %s, due_at = now() +"
            " least(%s, %s * power(2, least(failures, 20))) * interval '1 second'",
            (problem, is_halted, FAILED_MAX_S, FAILED_S),
        )

    async def _moved(self, row: Row, change: str, values: Sequence[object]) -> None:
        found = await self._one(
            f"UPDATE fleet_wiki SET {change}"
            " WHERE key = %s AND claim = %s AND generation = %s RETURNING key",
            (*values, row.key, row.claim, row.generation),
        )
        if found is None:
            raise LostClaim(row.key)

    # -- discovery -----------------------------------------------------------------

    async def put(self, wikis: Collection[FoundWiki], *, is_whole: bool) -> None:
        """Note what was found; what changed has a hint.

        With ``is_whole`` the other wikis are gone.
        """
        values = [
            (
                key_of(wiki),
                msgspec.json.encode(wiki).decode(),
                wiki.owner.full_path,
                wiki.activity,
            )
            for wiki in wikis
        ]
        async with self.pool.connection() as connection, connection.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO fleet_wiki AS old (key, wiki, path, activity) VALUES"
                " (%s, %s, %s, %s) ON CONFLICT (key) DO UPDATE SET"
                " wiki = excluded.wiki, path = excluded.path,"
                " activity = excluded.activity, is_gone = false, hint_at = now()"
                " WHERE old.wiki <> excluded.wiki OR old.is_gone",
                values,
            )
            if is_whole:
                await cursor.execute(
                    "UPDATE fleet_wiki SET is_gone = true, hint_at = now()"
                    " WHERE NOT is_gone AND key <> ALL(%s)",
                    ([value[0] for value in values],),
                )
                # groups tell of no activity, and projects may fail to
                await cursor.execute(
                    "UPDATE fleet_wiki SET hint_at = now() WHERE hint_at <= answered_at"
                )
                await cursor.execute("UPDATE fleet SET swept_at = now()")

    async def turn_to_list(self, every_s: float) -> float | None:
        """Take the turn to list wikis, if it is one: how old the last whole list is."""
        row = await self._one(
            "UPDATE fleet SET listed_at = now()"
            " WHERE listed_at < now() - %s * interval '1 second' RETURNING"
            " extract(epoch FROM now() - greatest(swept_at, '2000-01-01'))::float8"
            " AS age",
            (every_s,),
        )
        return float(row["age"]) if row else None

    async def known(self) -> set[str]:
        """The keys of the wikis that were there when all were listed."""
        rows = await self._all("SELECT key FROM fleet_wiki WHERE NOT is_gone")
        return {row["key"] for row in rows}

    async def newest_activity(self) -> str:
        """The newest activity that a list of projects told of."""
        row = await self._one("SELECT max(activity) AS newest FROM fleet_wiki")
        return str(row["newest"] or "") if row else ""

    # -- for people ----------------------------------------------------------------

    async def counts(self) -> Counts:
        """The fleet in numbers."""
        row = await self._one(
            "SELECT count(*) AS wikis, coalesce(sum(pages), 0)::int AS pages,"
            f" count(*) FILTER (WHERE {_UNANSWERED}) AS due,"
            " count(*) FILTER (WHERE is_halted) AS halted,"
            " count(*) FILTER (WHERE failures > 0) AS failing,"
            " coalesce(extract(epoch FROM now() - min(hint_at)"
            f" FILTER (WHERE {_UNANSWERED}))::float8, 0) AS oldest_due_s,"
            " (SELECT is_draining FROM fleet) AS is_draining FROM fleet_wiki"
        )
        jobs = await self._all(
            "SELECT status::text, count(*) FROM procrastinate_jobs GROUP BY status"
        )
        workers = await self._all(
            "SELECT name, extract(epoch FROM now() - seen_at)::float8 AS age"
            " FROM fleet_worker ORDER BY name"
        )
        assert row is not None
        return Counts(
            **row,
            jobs={one["status"]: one["count"] for one in jobs},
            workers={one["name"]: one["age"] for one in workers},
        )

    async def shown(self) -> list[Shown]:
        """Every wiki, those with problems first."""
        async with self.pool.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(Shown))
            await cursor.execute(
                "SELECT key, path, pages, generation, place, problem, is_halted,"
                f" failures, CASE WHEN {_UNANSWERED}"
                " THEN extract(epoch FROM now() - hint_at)::float8 ELSE 0 END"
                " AS waits_s FROM fleet_wiki ORDER BY NOT is_halted, failures = 0, path"
            )
            return await cursor.fetchall()

    async def now(self) -> datetime:
        """The clock of the database."""
        row = await self._one("SELECT clock_timestamp() AS now")
        assert row is not None
        now: datetime = row["now"]
        return now

    # -- statements ----------------------------------------------------------------

    async def _do(self, text: str, values: Sequence[object] = ()) -> None:
        async with self.pool.connection() as connection:
            await connection.execute(text, values)

    async def _all(
        self, text: str, values: Sequence[object] = ()
    ) -> list[dict[str, Any]]:
        async with self.pool.connection() as connection:
            cursor = connection.cursor(row_factory=dict_row)
            await cursor.execute(text, values)
            return await cursor.fetchall()

    async def _one(
        self, text: str, values: Sequence[object] = ()
    ) -> dict[str, Any] | None:
        async with self.pool.connection() as connection:
            cursor = connection.cursor(row_factory=dict_row)
            await cursor.execute(text, values)
            return await cursor.fetchone()


def key_of(wiki: FoundWiki) -> str:
    """What a wiki is called in rows, queue and bucket, wherever it moves."""
    return f"{wiki.owner.kind}-{wiki.id}"


def pool_for(database: str) -> AsyncConnectionPool[AsyncConnection[Any]]:
    """Connections to a database, still to be opened."""
    return AsyncConnectionPool(
        database, min_size=1, max_size=POOL_MAX, open=False, timeout=15
    )
