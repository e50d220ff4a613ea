"""What was seen and said: missing pages, safety stops, conflicts, the service's ways.

The part of ``state.WikiState`` that one cycle leaves for the next, and that a
person reads and decides on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from wikisync.decoding import convert
from wikisync.model import Digest, Format, Problem, Slug
from wikisync.sync.base.database import WikiRows
from wikisync.sync.decide.capabilities import Capabilities
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
from wikisync.sync.decide.safety import (
    REMOVALS_WITHIN_S,
    Batch,
    BatchKind,
    Decision,
    Member,
)


class Observations(WikiRows):
    """What is known about one wiki beside its pages."""

    # -- pages that were missing -----------------------------------------------------

    def sightings(self, side: Side) -> Mapping[Slug, Sighting]:
        """Pages that were missing from the scans of a side."""
        rows = self._rows(
            "SELECT slug, count, first_at, last_at FROM sighting"
            " WHERE wiki = ? AND side = ?",
            side,
        )
        return {slug: Sighting(count, first, last) for slug, count, first, last in rows}

    def record_sightings(self, side: Side, missing: Mapping[Slug, Sighting]) -> None:
        """Remember these missing pages of a side and no others."""
        # most cycles miss nothing, and a write costs a wait for the disk
        if self.sightings(side) == missing:
            return
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM sighting WHERE wiki = ? AND side = ?", (self._number, side)
            )
            connection.executemany(
                "INSERT INTO sighting VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (self._number, side, slug, one.count, one.first_at, one.last_at)
                    for slug, one in missing.items()
                ],
            )

    # -- safety stops -----------------------------------------------------------------

    def batches(self) -> tuple[Batch, ...]:
        """Actions that wait for a person or were decided on, by number."""
        rows = self._rows(
            "SELECT number, kind, members, tracked, decision FROM batch"
            " WHERE wiki = ? ORDER BY number"
        )
        with self._database.reading():
            return tuple(
                Batch(
                    number,
                    BatchKind[kind],
                    _members(members),
                    tracked,
                    Decision(decision),
                )
                for number, kind, members, tracked, decision in rows
            )

    @property
    def is_rewound(self) -> bool:
        """Whether the wiki went back in time, and what comes of it is not done yet."""
        kind = BatchKind.REWOUND.name
        return bool(self._rows("SELECT 1 FROM batch WHERE wiki = ? AND kind = ?", kind))

    @property
    def last_batch(self) -> int:
        """The highest number that a batch of this wiki ever had; 0 at first."""
        return int(self._rows("SELECT last_batch FROM wiki WHERE id = ?")[0][0])

    def record_batches(self, batches: Sequence[Batch], last_batch: int) -> None:
        """Remember these batches and no others; ``last_batch`` never goes back."""
        last = max((last_batch, self.last_batch, *(batch.id for batch in batches)))
        wanted = tuple(sorted(batches, key=lambda batch: batch.id))
        if self.batches() == wanted and self.last_batch == last:
            return
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM batch WHERE wiki = ?", (self._number,))
            connection.executemany(
                "INSERT INTO batch (wiki, number, kind, members, tracked, decision)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        self._number,
                        batch.id,
                        # its value is a sentence, which may be worded better
                        batch.kind.name,
                        _members_text(batch.members),
                        batch.tracked,
                        batch.decision,
                    )
                    for batch in wanted
                ],
            )
            connection.execute(
                "UPDATE wiki SET last_batch = ? WHERE id = ?", (last, self._number)
            )

    # -- pages that were removed without a question ------------------------------------

    def removed_since(self, at: float) -> Mapping[BatchKind, frozenset[Slug]]:
        """By kind, pages that were removed unasked after a time."""
        rows = self._rows(
            "SELECT kind, slug FROM removal WHERE wiki = ? AND at > ?", at
        )
        found: dict[BatchKind, set[Slug]] = {}
        with self._database.reading():
            for kind, slug in rows:
                found.setdefault(BatchKind[kind], set()).add(Slug(slug))
        return {kind: frozenset(slugs) for kind, slugs in found.items()}

    def note_removed(
        self, removed: Mapping[BatchKind, frozenset[Slug]], now: float
    ) -> None:
        """Remember pages that are removed unasked, for as long as they count."""
        if not removed:
            return
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM removal WHERE wiki = ? AND at <= ?",
                (self._number, now - REMOVALS_WITHIN_S),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO removal (wiki, kind, slug, at)"
                " VALUES (?, ?, ?, ?)",
                [
                    (self._number, kind.name, slug, now)
                    for kind, slugs in removed.items()
                    for slug in slugs
                ],
            )

    # -- the service's ways ----------------------------------------------------------

    def capabilities(self) -> Capabilities:
        """What is known of the service; careful where nothing is."""
        rows = self._rows("SELECT name, value FROM capability WHERE wiki = ?")
        with self._database.reading():
            known = {name: msgspec.json.decode(value) for name, value in rows}
            return convert(known, Capabilities)

    def learn(self, capabilities: Capabilities) -> None:
        """Remember what was learned of the service."""
        if capabilities == self.capabilities():
            return
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO capability (wiki, name, value)"
                " VALUES (?, ?, ?)",
                [
                    (self._number, name, msgspec.json.encode(value).decode())
                    for name, value in structs.asdict(capabilities).items()
                ],
            )

    # -- texts that the service did not take ------------------------------------------

    def refusals(self) -> Mapping[Slug, Refusal]:
        """Pages that the service did not take as they are here."""
        rows = self._rows(
            "SELECT slug, local_digest, message, at FROM refusal WHERE wiki = ?"
        )
        return {
            slug: Refusal(Digest(local), message, at)
            for slug, local, message, at in rows
        }

    def record_refusal(
        self, slug: Slug, local: Digest, message: str, at: float
    ) -> None:
        """Note that the service did not take this text."""
        self._write(
            "INSERT OR REPLACE INTO refusal (wiki, slug, local_digest, message, at)"
            " VALUES (?, ?, ?, ?, ?)",
            *(slug, local, message, at),
        )

    def drop_refusal(self, slug: Slug) -> None:
        """Forget it: the page is another, or was taken."""
        self._write("DELETE FROM refusal WHERE wiki = ? AND slug = ?", slug)

    # -- what went wrong in the last cycle ---------------------------------------------

    def troubles(self) -> tuple[Problem, ...]:
        """Errors with single pages and attachments, in their order."""
        rows = self._rows(
            "SELECT code, subject, message, hint FROM trouble WHERE wiki = ?"
            " ORDER BY number"
        )
        return tuple(Problem(*row) for row in rows)

    def record_troubles(self, troubles: Sequence[Problem]) -> None:
        """Remember these errors and no others."""
        if self.troubles() == troubles:
            return
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM trouble WHERE wiki = ?", (self._number,))
            connection.executemany(
                "INSERT INTO trouble (wiki, number, code, subject, message, hint)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (self._number, number, one.code, one.subject, one.message, one.hint)
                    for number, one in enumerate(troubles)
                ],
            )

    # -- edits that the service reported -----------------------------------------------

    def edit_of(self, slug: Slug) -> RemoteEdit | None:
        """The last edit of a page on the wiki that was heard of."""
        rows = self._rows(
            "SELECT digest, who, at FROM edit WHERE wiki = ? AND slug = ?", slug
        )
        return RemoteEdit(Digest(rows[0][0]), rows[0][1], rows[0][2]) if rows else None

    def note_edits(self, edits: Mapping[Slug, RemoteEdit]) -> None:
        """Remember who edited pages on the wiki, the last edit of each."""
        for slug, edit in edits.items():
            self._write(
                "INSERT OR REPLACE INTO edit (wiki, slug, digest, who, at)"
                " VALUES (?, ?, ?, ?, ?)",
                *(slug, edit.digest, edit.who, edit.at),
            )

    # -- conflicts -------------------------------------------------------------------

    def conflict_files(self) -> Mapping[Slug, ConflictFileRecord]:
        """Conflict files that were written, by page."""
        rows = self._rows(
            "SELECT slug, format, digest, local, remote, at FROM bundle WHERE wiki = ?"
        )
        return self._conflict_files(rows)

    def conflict_file(self, slug: Slug) -> ConflictFileRecord | None:
        """The conflict file that was written for a page."""
        rows = self._rows(
            "SELECT slug, format, digest, local, remote, at FROM bundle"
            " WHERE wiki = ? AND slug = ?",
            slug,
        )
        return self._conflict_files(rows).get(slug)

    def _conflict_files(
        self, rows: Iterable[tuple[Any, ...]]
    ) -> Mapping[Slug, ConflictFileRecord]:
        with self._database.reading():
            return {
                slug: ConflictFileRecord(
                    Format(markup), Digest(digest), unpack(local), unpack(remote), at
                )
                for slug, markup, digest, local, remote, at in rows
            }

    def record_conflict_file(self, slug: Slug, record: ConflictFileRecord) -> None:
        """Remember the conflict file of a page."""
        self._write(
            "INSERT OR REPLACE INTO bundle"
            " (wiki, slug, format, digest, local, remote, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(slug, record.format, record.conflict_file),
            *(pack(record.local), pack(record.remote), record.at),
        )

    def drop_conflict_file(self, slug: Slug) -> None:
        """Forget the conflict file of a page."""
        self._write("DELETE FROM bundle WHERE wiki = ? AND slug = ?", slug)

    # -- health ---------------------------------------------------------------------

    def health(self) -> Health:
        """The state of the sync, as last recorded."""
        rows = self._rows(
            "SELECT last_started_at, last_good_at, worst_window_s, worst_window_slug,"
            " problem FROM health WHERE wiki = ?"
        )
        return Health(*rows[0]) if rows else Health()

    def record_health(self, health: Health) -> None:
        """Remember the state of the sync."""
        self._write(
            "INSERT OR REPLACE INTO health (wiki, last_started_at, last_good_at,"
            " worst_window_s, worst_window_slug, problem) VALUES (?, ?, ?, ?, ?, ?)",
            *(health.last_started_at, health.last_good_at),
            *(health.worst_window_s, health.worst_window_slug, health.problem),
        )

    @property
    def is_paused(self) -> bool:
        """Whether a person wants this wiki left alone."""
        return self.pause_reason is not None

    @property
    def pause_reason(self) -> str | None:
        """The reason given to ``pause``; None where it is not paused."""
        reason = self._rows("SELECT paused FROM wiki WHERE id = ?")[0][0]
        return None if reason is None else str(reason)

    def pause(self, reason: str = "") -> None:
        """Leave this wiki alone until ``resume``."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE wiki SET paused = ? WHERE id = ?", (reason, self._number)
            )

    def resume(self) -> None:
        """Go on with this wiki."""
        self._write("UPDATE wiki SET paused = NULL WHERE id = ?")


def _members(text: str) -> tuple[Member, ...]:
    import json

    return tuple(Member(Slug(s), Digest(d)) for s, d in json.loads(text))


def _members_text(members: Sequence[Member]) -> str:
    import json  # and not msgspec, which refuses slugs that are no whole Unicode

    return json.dumps([[member.slug, member.digest] for member in members])
