"""The memory of a wiki: what is known of it beside its pages, one value in one row.

It is read at once and kept; only fields that change are written, so that another
process (``wikisync pause``) may change others meanwhile.  A cycle holds its changes
back until it carries something out, and writes what is left at its end.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from sqlite3 import Connection
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core.decoding import convert
from wikisync.core.model import Digest, Format, Problem, Slug
from wikisync.sync.base.database import Database
from wikisync.sync.decide.decided import Capabilities
from wikisync.sync.decide.ledger import (
    ConflictFileRecord,
    Health,
    Refusal,
    RemoteEdit,
    Side,
    Sighting,
    pack,
    unpack,
)
from wikisync.sync.decide.safety import REMOVALS_WITHIN_S, Batch, BatchKind

_T = TypeVar("_T")
EDITS_MAX = 500
"""Pages of which the last edit on the wiki is known; it is asked for in conflicts."""
PAGES_AGAIN_MAX = 1000
"""More pages than this that differ from the base make a mark worth nothing."""


class WikiMemory(Struct, frozen=True, kw_only=True):
    """What is known of one wiki beside its pages, files and texts."""

    remote_id: str = ""
    """Which wiki it is, as ``Located`` writes it; empty before it was met."""
    created_at: str = ""
    """When its project or group was made, as the service says it; empty if unknown."""
    folder_identity: str = ""
    """Which folder it was synced with last, as ``folder.workspace`` writes it."""
    left_out: frozenset[Slug] | None = frozenset()
    """Pages that a first sync left here, and that nobody asked for since; None once a
    person wants what is only here on the wiki."""
    paused: str | None = None
    """Why a person wants this wiki left alone; None where it is synced."""
    # -- the wiki as it was seen last
    remote_tag: str = ""
    """The wiki's own mark of the state that the base holds, or empty."""
    remote_again: frozenset[Slug] = frozenset()
    """Pages that the base has otherwise than the wiki had them at its mark."""
    head: str | None = None
    """The wiki's newest commit at the last sync that it moved in; empty where it is not
    known, None where it was never asked for."""
    files_at: str = ""
    """The commit whose files that pages mention are all here, as the attachments say;
    empty where one is missing or another one here, or was not looked for."""
    capabilities: Capabilities = Capabilities()
    # -- what a person decides on
    batches: tuple[Batch, ...] = ()
    """Actions that wait for a person or were decided on, by number."""
    last_batch: int = 0
    """The highest number that a batch of this wiki ever had; 0 at first."""
    # -- what one cycle leaves for the next
    sightings: Mapping[Side, Mapping[Slug, Sighting]] = field(default_factory=dict)
    """What was seen of pages that are missing, or wait for something else."""
    refusals: Mapping[Slug, Refusal] = field(default_factory=dict)
    removals: Mapping[BatchKind, Mapping[Slug, float]] = field(default_factory=dict)
    """When pages were removed unasked, for as long as that counts."""
    edits: Mapping[Slug, RemoteEdit] = field(default_factory=dict)
    troubles: tuple[Problem, ...] = ()
    health: Health = Health()
    syncing: int = 0
    """The sync that has begun and not ended: it has more to do, or was killed."""

    @property
    def is_rewound(self) -> bool:
        """Whether the wiki went back in time, and what comes of it is not done yet."""
        return any(batch.kind is BatchKind.REWOUND for batch in self.batches)


FIELDS = WikiMemory.__struct_fields__
"""Columns of the table ``wiki``, as JSON; NULL for what a new wiki has."""


class WikiRows:
    """The rows of one wiki, its memory and conflict files; ``WikiState`` has more."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self.number = number
        """Of the wiki, in each table of the state."""
        self._memory = WikiMemory()
        self._memory_of: object = None
        self._changed: set[str] = set()
        self._is_in_cycle = False
        self._kept: dict[str, Any] = {}
        self._kept_rollbacks = 0
        self._cycle_of: object = database.stamp
        """The stamp of the file at the last cycle."""

    # -- the memory ----------------------------------------------------------------

    @property
    def memory(self) -> WikiMemory:
        """What is known beside the rows of pages, with what is not written yet."""
        stamp = self._database.stamp
        if stamp != self._memory_of:
            own = {name: getattr(self._memory, name) for name in self._changed}
            self._memory, self._memory_of = replace(self._read_memory(), **own), stamp
        return self._memory

    def _read_memory(self) -> WikiMemory:
        columns = ", ".join(FIELDS)
        (row,) = self._rows(f"SELECT {columns} FROM wiki WHERE id = ?")  # noqa: S608
        with self._database.reading():
            # and not msgspec, which refuses slugs that are no whole Unicode
            known = {
                name: json.loads(value)
                for name, value in zip(FIELDS, row, strict=True)
                if value is not None
            }
            return convert(known, WikiMemory)

    def remember(self, **changes: object) -> None:
        """Change fields of the memory; durable at once, but in a cycle."""
        memory = self.memory
        changed = [name for name in changes if getattr(memory, name) != changes[name]]
        # most cycles find what they know, and a write costs a wait for the disk
        if changed:
            self._memory = replace(memory, **changes)
            self._changed.update(changed)
            if not self._is_in_cycle:
                self.save()

    def save(self) -> None:
        """Write the fields that changed: they are durable when this returns."""
        if not self._changed:
            return
        names = sorted(self._changed)
        values = [_as_json(getattr(self._memory, name)) for name in names]
        columns = ", ".join(f"{name} = ?" for name in names)
        update = f"UPDATE wiki SET {columns} WHERE id = ?"  # noqa: S608 - ours
        self._database.execute(update, (*values, self.number))
        self._changed.clear()

    @contextlib.contextmanager
    def cycle(self) -> Iterator[None]:
        """Hold changes of the memory back until ``save`` or ``record``, or the end."""
        # One that is killed leaves the memory as it was: what it saw is seen again.
        # What another process wrote since the last one (``wikisync undo``) is read
        # anew.
        stamp = self._database.stamp
        if stamp != self._cycle_of:
            self._forget()
            self._cycle_of = stamp
        self._is_in_cycle = True
        try:
            yield
            self.save()
        finally:
            self._is_in_cycle = False

    def _forget(self) -> None:
        self._kept.clear()

    # -- rows ----------------------------------------------------------------------

    def together(self) -> contextlib.AbstractContextManager[object]:
        """Join the writes made inside, where nothing may be awaited: all or none."""
        return self._database.transaction()

    def _rows(self, query: str, *more: object) -> list[tuple[Any, ...]]:
        return self._database.rows(query, self.number, *more)

    def _once(self, table: str, read: Callable[[], _T]) -> _T:
        """What is made of a table that only this process writes, until it does so."""
        if self._kept_rollbacks != self._database.rollbacks:
            self._kept.clear()
            self._kept_rollbacks = self._database.rollbacks
        if table not in self._kept:
            self._kept[table] = read()
        found: _T = self._kept[table]
        return found

    def _has(self, table: str) -> bool:
        query = f"SELECT count(*) FROM {table} WHERE wiki = ?"  # noqa: S608 - ours
        return self._once(table, lambda: bool(self._rows(query)[0][0]))

    def _write(self, table: str, statement: str, *more: object) -> None:
        self._database.execute(statement, (self.number, *more))
        self._kept.pop(table, None)

    @contextlib.contextmanager
    def _writing(self, *tables: str) -> Iterator[Connection]:
        """A transaction after which what was kept of some tables is read anew."""
        with self._database.transaction() as connection:
            yield connection
        for table in tables:
            self._kept.pop(table, None)

    # -- what was seen and decided ---------------------------------------------------

    def sightings(self, side: Side) -> Mapping[Slug, Sighting]:
        """Pages that were missing from the scans of a side."""
        return self.memory.sightings.get(side, {})

    def record_sightings(self, side: Side, missing: Mapping[Slug, Sighting]) -> None:
        """Remember these missing pages of a side and no others."""
        if self.sightings(side) != missing:
            self.remember(sightings={**self.memory.sightings, side: missing})

    def record_batches(self, batches: Sequence[Batch]) -> None:
        """Remember these batches and no others; no number is given twice."""
        wanted = tuple(sorted(batches, key=lambda batch: batch.id))
        last = max((self.memory.last_batch, *(batch.id for batch in wanted)))
        self.remember(batches=wanted, last_batch=last)

    def removed_since(self, at: float) -> Mapping[BatchKind, frozenset[Slug]]:
        """By kind, pages that were removed unasked after a time."""
        return {
            kind: found
            for kind, pages in self.memory.removals.items()
            if (found := frozenset(slug for slug in pages if pages[slug] > at))
        }

    def note_removed(
        self, removed: Mapping[BatchKind, frozenset[Slug]], now: float
    ) -> None:
        """Remember pages that are removed unasked, for as long as they count."""
        if not removed:
            return
        removals = {
            kind: {s: at for s, at in pages.items() if at > now - REMOVALS_WITHIN_S}
            for kind, pages in self.memory.removals.items()
        }
        for kind, slugs in removed.items():
            removals[kind] = dict.fromkeys(slugs, now) | removals.get(kind, {})
        self.remember(removals=removals)

    def record_refusal(
        self, slug: Slug, local: Digest, message: str, at: float
    ) -> None:
        """Note that the service did not take this text."""
        refusal = Refusal(local, message, at)
        self.remember(refusals={**self.memory.refusals, slug: refusal})

    def drop_refusal(self, slug: Slug) -> None:
        """Forget it: the page is another, or was taken."""
        refusals = self.memory.refusals
        self.remember(refusals={s: refusals[s] for s in refusals.keys() - {slug}})

    def note_edits(self, edits: Mapping[Slug, RemoteEdit]) -> None:
        """Remember who edited pages on the wiki, the last edit of each."""
        known = {**self.memory.edits, **edits}
        latest = sorted(known, key=lambda slug: known[slug].at)[-EDITS_MAX:]
        self.remember(edits={slug: known[slug] for slug in latest})

    # -- conflicts -------------------------------------------------------------------

    def conflict_files(self, *pages: Slug) -> Mapping[Slug, ConflictFileRecord]:
        """Conflict files that were written, by page; of one page where it is named."""
        # their texts may be many, and mostly there are none
        if not self._has("conflict_file"):
            return {}
        which = "AND slug = ?" if pages else ""
        rows = self._rows(
            "SELECT slug, format, digest, local, remote, at, wiki_digest"  # noqa: S608 - ours
            f" FROM conflict_file WHERE wiki = ? {which}",
            *pages,
        )
        with self._database.reading():
            return {
                slug: ConflictFileRecord(
                    *(Format(markup), digest, unpack(local), unpack(remote)),
                    *(at, wiki_digest),
                )
                for slug, markup, digest, local, remote, at, wiki_digest in rows
            }

    def record_conflict_file(self, slug: Slug, record: ConflictFileRecord) -> None:
        """Remember the conflict file of a page."""
        self._write(
            "conflict_file",
            "INSERT OR REPLACE INTO conflict_file VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(slug, record.format, record.conflict_file, record.at),
            *(pack(record.local), pack(record.remote), record.wiki_digest),
        )

    def drop_conflict_file(self, slug: Slug) -> None:
        """Forget the conflict file of a page."""
        self._write(
            "conflict_file",
            "DELETE FROM conflict_file WHERE wiki = ? AND slug = ?",
            slug,
        )


def _as_json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value, order="deterministic"))
