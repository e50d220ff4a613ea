"""The tables of a fleet: every statement that wikisync makes on them.

A wiki is due while its newest hint is newer than the beginning of the last cycle that
ended well (``hint_at > answered_at``).  So the rows are the queue: a worker takes the
wiki that waits longest by ``FOR UPDATE SKIP LOCKED``, and has it while it lives.

A claim is a number that each cycle takes.  What holds an older one has lost its place,
which is how most frozen workers find out before they write; what stops the others is
the bucket (``site.bucket``).
"""

# ruff: noqa: S608 - statements are put together from words of this module alone

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from psycopg import AsyncConnection, errors
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from wikisync.core.decoding import json_decoder
from wikisync.core.model import WikiOwner
from wikisync.core.packaged import packaged_text
from wikisync.errors import UsageError
from wikisync.fleet.settings import Settings, own
from wikisync.workspace.discovery import FoundWiki

VERSION = 4
"""Of the tables; a worker of another one does not work."""
LANDING = "-landing-page"
"""Key and path of the row of the page that lists all wikis, which is due as they are;
no path of a project or group begins so."""
POOL_MAX = 3
"""Connections: a statement takes less than a millisecond, and each one's plans 10."""
WAIT_S, WAIT_MAX_S = 2.0, 3600.0
"""How long a wiki waits after a cycle that did not end well, and at most after many."""
LATE = timedelta(minutes=10)
"""The service's clock and lists may be late by so much."""
DEAD_S = 30.0
"""A worker that was not heard of for so long is dead."""
KNOWN_S = 5.0
"""A wiki waits so long for the worker that has its copy, or that is not at fault."""

ALONE = "SELECT pg_advisory_xact_lock(hashtext('wikisync fleet'));"
"""No two ``fleet init`` at a time, in a transaction."""
BEAT = f"""
WITH beat AS (INSERT INTO fleet_worker VALUES (%s, %s, now())
    ON CONFLICT (name) DO UPDATE SET seen_at = now())
SELECT is_draining OR version <> {VERSION} FROM fleet
"""
"""Says that a worker lives: its name, and when it is dead without this.
The answer is whether it has to end."""
_UNANSWERED = "hint_at > answered_at AND NOT is_halted"
_LIVE = (
    "(SELECT name FROM fleet_worker"
    " WHERE seen_at + dead_s * interval '1 second' > clock_timestamp())"
)
_FREE = (
    f"{_UNANSWERED} AND due_at <= clock_timestamp()"
    f" AND NOT (is_busy AND worker IN {_LIVE})"
)
_HELD = "key = %(key)s AND claim = %(claim)s AND generation = %(held)s"
_TELLING = """
WITH found AS (SELECT key, hint_at <= begun_at AND key <> %(key)s AS is_new
    FROM fleet_wiki WHERE key = ANY(%(keys)s) OR links && %(places)s
    ORDER BY key FOR UPDATE),
others AS (UPDATE fleet_wiki SET hint_at = clock_timestamp()
    WHERE key IN (SELECT key FROM found WHERE is_new))
"""
"""Lets others have a cycle, in the order of keys, so that nobody waits in a circle.

Who had a hint since its cycle began has its next one after this: a claim passes over
what is locked."""
_FAILING = "attempts > 0 AND (problem <> '' OR attempts > 2)"


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
    listed: str
    """What the landing page says of it: a ``PublishedWiki``; empty for nothing."""
    links: Sequence[str] | None
    """Places of the sites that its pages name; None: nobody looked."""
    names: Sequence[str]
    """Slug and path of each page of its site, one behind the other."""
    former: Sequence[str]
    """Earlier places of its site, whose pages redirect to it."""


class Shown(Struct, frozen=True):
    """One wiki as a person is shown it."""

    key: str
    path: str
    pages: int
    place: str
    problem: str
    is_halted: bool
    is_failing: bool


class Counts(Struct, frozen=True):
    """A fleet in numbers."""

    wikis: int
    pages: int
    due: int
    running: int
    halted: int
    failing: int
    oldest_due_s: float
    is_draining: bool
    budget_wait_s: float
    """How far the requests that may be made are taken."""
    workers: Mapping[str, float] = {}
    """Seconds since each said that it lives."""

    @property
    def silent(self) -> Collection[str]:
        """The workers that are dead."""
        return [name for name, age_s in self.workers.items() if age_s >= DEAD_S]


_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""In JSON, a character that PostgreSQL has no place for."""
Values = Sequence[object] | Mapping[str, object]
_SETTINGS, _WIKIS = json_decoder(Settings), json_decoder(FoundWiki)


class LostClaim(Exception):
    """Another worker has claimed the wiki since; its row was not changed."""


class Rows:
    """The tables, seen from one event loop."""

    def __init__(self, database: str) -> None:
        """To be used as a context; a server that is away is found within 15 s."""
        alive = {"idle": 5, "interval": 3, "count": 3}
        times = {f"keepalives_{name}": seconds for name, seconds in alive.items()}
        times |= {"connect_timeout": 5, "tcp_user_timeout": 10_000}
        url = make_conninfo(database, **times)
        how = {"autocommit": True, "prepare_threshold": 0}
        self.pool: AsyncConnectionPool[AsyncConnection[Any]] = AsyncConnectionPool(
            url, min_size=1, max_size=POOL_MAX, open=False, kwargs=how, timeout=15
        )

    async def __aenter__(self) -> Self:
        await self.pool.open()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.pool.close()

    async def make(self, settings: Settings, *, takes_over: bool = False) -> None:
        """Make the tables, or change what the fleet works on; wikis stay.

        A fleet that is there keeps its name.  Where the places are not its own
        (``own``), nothing changes, and no worker is kept waiting.
        """
        async with self.pool.connection() as connection, connection.transaction():
            await connection.execute(ALONE)
            schema = packaged_text(__package__, "schema.sql")
            await connection.execute(schema.encode(), prepare=False)
        await self._do(
            "INSERT INTO fleet (number, version, settings) VALUES (1, 0, %s)"
            " ON CONFLICT DO NOTHING",
            (msgspec.json.encode(settings).decode(),),
        )
        async with self.pool.connection() as connection, connection.transaction():
            await connection.execute(ALONE)
            cursor = await connection.execute("SELECT settings->>'fleet' FROM fleet")
            async for (name,) in cursor:
                settings = replace(settings, fleet=name or settings.fleet)
            await own(settings, takes_over=takes_over)
            await connection.execute(
                "UPDATE fleet SET version = %s, settings = %s,"
                " listed_at = '-infinity', swept_at = '-infinity'",
                (VERSION, msgspec.json.encode(settings).decode()),
            )
            owner = WikiOwner("group", LANDING)
            page = FoundWiki(owner=owner, title=settings.title, is_named=False)
            await connection.execute(
                "INSERT INTO fleet_wiki (key, wiki, path) VALUES (%s, %s, %s)"
                " ON CONFLICT (key) DO UPDATE SET hint_at = now()"
                if settings.title
                else "DELETE FROM fleet_wiki WHERE key IN (%s, %s, %s)",
                (LANDING, msgspec.json.encode(page).decode(), LANDING),
            )

    async def settings(self) -> Settings:
        """What the fleet works on.

        Raises:
            UsageError: there is no fleet in the database, or of another version.
        """
        try:
            row = await self._one(
                "SELECT version, settings::text FROM fleet WHERE version > 0"
            )
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
                hint="run the same version of wikisync on all machines, and after an"
                " upgrade wikisync fleet init",
            )
        return _SETTINGS.decode(row["settings"])

    async def drain(self, *, is_draining: bool) -> None:
        """Let all workers end after their cycles, or none."""
        await self._do("UPDATE fleet SET is_draining = %s", (is_draining,))

    async def join(self, worker: str, dead_s: float) -> None:
        """Let a worker begin, which has no cycle; forget those dead for a day."""
        await self._do(
            "WITH freed AS (UPDATE fleet_wiki SET is_busy = false"
            " WHERE worker = %s AND is_busy), forgotten AS (DELETE FROM fleet_worker"
            " WHERE seen_at < now() - interval '1 day')"
            " INSERT INTO fleet_worker VALUES (%s, %s, now())"
            " ON CONFLICT (name) DO UPDATE SET seen_at = now()",
            (worker, worker, dead_s),
        )

    async def leave(self, worker: str) -> None:
        """Say that a worker has ended."""
        # the wikis of one that is not known are free
        await self._do("DELETE FROM fleet_worker WHERE name = %s", (worker,))

    async def retry(self, paths: Collection[str]) -> list[str]:
        """Let these wikis have a cycle now, or all that fail; their keys."""
        return await self._again("true" if paths else "attempts > 0", paths, "")

    async def approve(self, paths: Collection[str]) -> list[str]:
        """Let these halted wikis lose their pages, or all; their keys."""
        return await self._again("is_halted", paths, "may_empty = true,")

    async def hint(self, path: str) -> bool:
        """Note that a page of a wiki changed; whether the wiki is known."""
        rows = await self._do(
            "UPDATE fleet_wiki SET hint_at = clock_timestamp(),"
            " wiki = wiki - 'activity' WHERE path = %s AND NOT is_gone RETURNING key",
            (path,),
        )
        return bool(rows)

    async def _again(self, which: str, paths: Collection[str], also: str) -> list[str]:
        rows = await self._do(
            # without an activity, the wiki itself is asked
            f"UPDATE fleet_wiki SET {also} is_halted = false, attempts = 0,"
            " begun_at = answered_at, due_at = '-infinity', wiki = wiki - 'activity',"
            " hint_at = clock_timestamp()"
            f" WHERE {which} AND (cardinality(%s::text[]) = 0 OR path = ANY(%s))"
            " RETURNING key",
            (list(paths), list(paths)),
        )
        return [row["key"] for row in rows]

    async def claim(self, worker: str) -> Row | None:
        """Take a wiki for one cycle of a worker; None where there is nothing to do.

        It is the one that waits longest.  A wiki waits for the worker that has its copy
        first; after a cycle that failed, which may be that worker's fault, for another.
        Should the cycle not end, as its worker dies of it, the wiki waits ever longer.
        """
        own = f"((worker = %(me)s) = (answered_at = begun_at) OR worker NOT IN {_LIVE})"
        row = await self._one(
            "UPDATE fleet_wiki SET claim = claim + 1, begun_at = clock_timestamp(),"
            " attempts = attempts + 1, worker = %(me)s, is_busy = true,"
            f" due_at = clock_timestamp() + least({WAIT_MAX_S},"
            f" {WAIT_S} * power(2, least(attempts, 20))) * interval '1 second'"
            # of the oldest ones alone, lest very many be sorted
            f" WHERE key = (WITH oldest AS (SELECT key, hint_at, {own} AS is_own"
            f" FROM fleet_wiki WHERE {_FREE} AND ({own} OR greatest(hint_at, due_at) <"
            f" clock_timestamp() - {KNOWN_S} * interval '1 second')"
            " AND NOT (SELECT is_draining FROM fleet) ORDER BY hint_at LIMIT 100)"
            " SELECT taken.key FROM"
            " (SELECT key FROM oldest ORDER BY is_own DESC, hint_at) AS next,"
            f" LATERAL (SELECT key FROM fleet_wiki WHERE key = next.key AND {_FREE}"
            " FOR UPDATE SKIP LOCKED) AS taken LIMIT 1)"
            " RETURNING key, wiki::text, is_gone, claim, generation, state, place,"
            " may_empty, listed, links, names, former",
            {"me": worker},
        )
        if row is None:
            return None
        return Row(wiki=_WIKIS.decode(row.pop("wiki")), **row)

    async def check(self, row: Row) -> None:
        """See that nobody claimed the wiki since."""
        await self._held(row, f"SELECT key FROM fleet_wiki WHERE {_HELD}", {})

    async def note_links(self, row: Row, links: Sequence[str]) -> None:
        """Note what the site names."""
        await self._changed(row, {"links": links})

    async def note_place(
        self, row: Row, place: str, former: Sequence[str], *, keeps_names: bool
    ) -> None:
        """Note where the site is about to lie, and which places redirect to it.

        Let the wikis that name its places have a cycle, as pages come or go there.
        ``keeps_names``: who can read the new place can read the one before.
        """
        # the names may be told to nobody else, should the cycle end here
        also = "" if keeps_names else ", names = '{}'"
        places = [row.place, place] if row.place not in ("", place) else []
        moved = {"place": place, "former": former}
        await self._changed(row, moved, also, places=places)

    async def is_taken(self, row: Row, place: str, settings: Settings) -> bool:
        """Whether a wiki other than a row's has, or will have, a place."""
        path, is_public = settings.wiki_at(place)
        found = await self._one(
            "SELECT key FROM fleet_wiki WHERE key <> %s AND NOT is_gone AND (place = %s"
            " OR %s AND path = %s AND (pages > 0 OR hint_at > answered_at)"
            " AND (wiki->>'visibility' = 'public') = %s) LIMIT 1",
            # a former place belongs to the wiki until another site lies there
            (row.key, place, place not in row.former, path, is_public),
        )
        return found is not None

    async def move(
        self,
        row: Row,
        *,
        generation: int,
        state: str = "",
        pages: int = 0,
        problem: str = "",
        place: str = "",
        links: Sequence[str] = (),
        names: Sequence[str] = (),
        listed: str = "",
        rests_s: float | None = 0.0,
    ) -> None:
        """Note a cycle that ended well, and what the landing page lists of the wiki.

        It has no cycle for ``rests_s`` seconds, or with None stays due.  Wikis that
        name its ``place`` become due with that, where its pages are other ones.
        """
        listed = _NUL.sub(r"\1", listed)
        moved = {"generation": generation, "state": state, "pages": pages}
        moved |= {"problem": problem, "listed": listed, "links": [*links]}
        if differs := [*names] != [*row.names]:
            moved["names"] = [*names]
        also = ", is_busy = false, may_empty = false, answered_at = begun_at, "
        if rests_s is not None:
            also += f"attempts = 0, due_at = now() + {rests_s} * interval '1 second'"
        else:
            also += "hint_at = clock_timestamp()"
        keys, places = [LANDING] * (listed != row.listed), [place] * differs
        await self._changed(row, moved, also, keys, places)

    async def forget(self, row: Row) -> None:
        """Remove a wiki that is no more and has no site."""
        await self._do(
            "DELETE FROM fleet_wiki WHERE key = %s AND claim = %s", (row.key, row.claim)
        )

    async def beside(self, places: Collection[str]) -> dict[str, list[str]]:
        """The pages of the sites that lie at places, as far as there are some."""
        rows = await self._do(
            "SELECT place, names FROM fleet_wiki WHERE place = ANY(%s)", (list(places),)
        )
        return {row["place"]: row["names"] for row in rows}

    async def listed(self) -> list[str]:
        """What the landing page says of the public wikis that have a site."""
        rows = await self._do(
            "SELECT listed FROM fleet_wiki WHERE listed <> '' AND NOT is_gone"
            " AND wiki->>'visibility' = 'public' ORDER BY path"
        )
        return [row["listed"] for row in rows]

    async def fail(self, row: Row, problem: str, *, is_halted: bool = False) -> None:
        """Note why a cycle failed; halted, the wiki waits until a person approves."""
        values = {"problem": problem.replace("\0", ""), "is_halted": is_halted}
        await self._changed(row, {**values, "is_busy": False})

    async def _changed(
        self,
        row: Row,
        values: Mapping[str, object],
        also: str = "",
        keys: Collection[str] = (),
        places: Collection[str] = (),
    ) -> None:
        change = ", ".join(f"{name} = %({name})s" for name in values) + also
        text = f"UPDATE fleet_wiki SET {change} WHERE {_HELD}"
        if keys or places:
            # the server locks all that is found before it changes this one
            text = f"{_TELLING}{text} AND (SELECT count(*) FROM found) > 0"
        others = {"keys": [row.key, *keys], "places": [*places]}
        await self._held(row, f"{text} RETURNING key", {**values, **others})

    async def _held(self, row: Row, text: str, values: Mapping[str, object]) -> None:
        own = {"key": row.key, "claim": row.claim, "held": row.generation}
        if await self._one(text, {**values, **own}) is None:
            raise LostClaim(row.key)

    async def put(
        self, wikis: Collection[FoundWiki], gone: Collection[str] | None = None
    ) -> None:
        """Note what was found; what changed has a hint.

        ``gone`` is given for a list of all wikis: those that are no more.
        """
        found = {key_of(wiki): wiki for wiki in sorted(wikis, key=key_of)}
        texts = [msgspec.json.encode(wiki).decode() for wiki in found.values()]
        # one statement a transaction: a worker that freezes in one keeps its row locks
        await self._do(
            "INSERT INTO fleet_wiki AS old (key, wiki, path, activity) SELECT * FROM"
            " unnest(%s::text[], %s::text[]::jsonb[], %s::text[], %s::text[])"
            " ON CONFLICT (key) DO UPDATE SET wiki = excluded.wiki,"
            " path = excluded.path, activity = excluded.activity, is_gone = false,"
            # a cycle may have begun with the old row since the statement did
            " hint_at = clock_timestamp()"
            " WHERE old.wiki <> excluded.wiki OR old.is_gone",
            (
                [*found],
                [_NUL.sub(r"\1", text) for text in texts],
                [wiki.owner.full_path for wiki in found.values()],
                [_time_of(wiki.activity) for wiki in found.values()],
            ),
        )
        if gone is None:
            return
        await self._do(
            "UPDATE fleet_wiki SET is_gone = true, is_halted = false,"
            " hint_at = clock_timestamp() WHERE NOT is_gone AND key = ANY(%s)",
            (list(gone),),
        )
        # groups tell of no activity, projects and dying workers may fail to;
        # what has no pages, as nearly all, costs nothing until they do
        await self._do(
            "UPDATE fleet_wiki SET hint_at = now() WHERE hint_at <= answered_at"
            " AND (pages > 0 OR is_gone OR key LIKE 'group-%%' OR key = %s)",
            (LANDING,),
        )
        await self._do("UPDATE fleet SET swept_at = now()")

    async def turn_to_list(
        self, worker: str, every_s: float, whole_s: float
    ) -> str | None:
        """Take the turn to list wikis, until it is ended; None where it is not one.

        Since when activity is listed; empty where all wikis are to be listed.
        """
        row = await self._one(
            "UPDATE fleet SET listed_at = now(), lister = %s"
            " WHERE listed_at < now() - %s * interval '1 second'"
            f" AND (lister = %s OR lister NOT IN {_LIVE}) RETURNING CASE"
            " WHEN swept_at < now() - %s * interval '1 second' THEN ''"
            " ELSE (SELECT coalesce((newest - CASE WHEN newest < now() - 2 * %s THEN"
            " interval '0' ELSE %s END)::text, '') FROM (SELECT nullif(max(activity),"
            " '')::timestamptz newest FROM fleet_wiki) it) END since",
            (worker, every_s, worker, whole_s, LATE, LATE),
        )
        return str(row["since"]) if row else None

    async def end_turn(self, worker: str) -> None:
        """Let another worker list wikis."""
        await self._do("UPDATE fleet SET lister = '' WHERE lister = %s", (worker,))

    async def known(self) -> set[str]:
        """The keys of the wikis that were there when all were listed."""
        rows = await self._do(
            "SELECT key FROM fleet_wiki WHERE NOT is_gone AND key <> %s", (LANDING,)
        )
        return {row["key"] for row in rows}

    async def take_requests(self, seconds: float) -> float:
        """Take the requests of the next so many seconds (GCRA).

        Seconds to wait where others took them; 0: these may be made now.
        """
        row = await self._one(
            "WITH taken AS (UPDATE fleet SET asked_at = clock_timestamp()"
            " + %s * interval '1 second' WHERE asked_at <= clock_timestamp()"
            " RETURNING 0.0::float8 AS wait) SELECT coalesce((SELECT wait FROM taken),"
            " greatest(0.01, extract(epoch FROM asked_at - clock_timestamp())::float8))"
            " AS wait FROM fleet",
            (seconds,),
        )
        return float(row["wait"]) if row else 0.0

    async def pause(self, seconds: float) -> None:
        """Let no worker ask the service for a while."""
        await self._do(
            "UPDATE fleet SET asked_at ="
            " greatest(asked_at, clock_timestamp() + %s * interval '1 second')",
            (seconds,),
        )

    async def counts(self) -> Counts:
        """The fleet in numbers."""
        [row] = await self._do(
            f"SELECT count(*) FILTER (WHERE NOT is_gone AND key <> '{LANDING}')"
            " AS wikis, coalesce(sum(pages), 0)::int AS pages,"
            f" count(*) FILTER (WHERE {_UNANSWERED}) AS due,"
            f" count(*) FILTER (WHERE is_busy AND worker IN {_LIVE}) AS running,"
            " count(*) FILTER (WHERE is_halted) AS halted,"
            f" count(*) FILTER (WHERE {_FAILING}) AS failing,"
            " coalesce(extract(epoch FROM now() - min(greatest(hint_at, due_at)) FILTER"
            f" (WHERE {_UNANSWERED} AND due_at <= now()))::float8, 0) AS oldest_due_s,"
            " (SELECT is_draining FROM fleet) AS is_draining,"
            " (SELECT greatest(0, extract(epoch FROM greatest(asked_at, now()) - now())"
            "::float8) FROM fleet) AS budget_wait_s FROM fleet_wiki"
        )
        workers = await self._do(
            "SELECT name, extract(epoch FROM now() - seen_at)::float8 AS age"
            " FROM fleet_worker ORDER BY name"
        )
        return Counts(**row, workers={one["name"]: one["age"] for one in workers})

    async def shown(self) -> list[Shown]:
        """Every wiki, those with problems first."""
        rows = await self._do(
            "SELECT key, path, pages, place, problem, is_halted,"
            f" {_FAILING} AS is_failing FROM fleet_wiki WHERE NOT is_gone OR {_FAILING}"
            " OR place <> '' ORDER BY is_halted DESC, is_failing DESC, path"
        )
        return [Shown(**row) for row in rows]

    async def _do(self, text: str, values: Values = ()) -> list[dict[str, Any]]:
        async with self.pool.connection() as connection:
            cursor = connection.cursor(row_factory=dict_row)
            await cursor.execute(text, values)
            return await cursor.fetchall() if cursor.description else []

    async def _one(self, text: str, values: Values = ()) -> dict[str, Any] | None:
        return next(iter(await self._do(text, values)), None)


def key_of(wiki: FoundWiki) -> str:
    """What a wiki is called in rows, queue and bucket, wherever it moves."""
    return f"{wiki.owner.kind}-{wiki.id}"


def _time_of(activity: str) -> str:
    """A time as one can compare it; empty for what is none."""
    try:
        return datetime.fromisoformat(activity).astimezone(UTC).isoformat()
    except ValueError:
        return ""
