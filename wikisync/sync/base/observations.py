"""What was seen and said: missing pages, safety stops, edits there, conflict files.

The part of ``state.WikiState`` that one cycle leaves for the next, and that a
person reads and decides on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wikisync.core.model import Digest, Format, Slug
from wikisync.sync.base.memory import WikiRows
from wikisync.sync.decide.ledger import (
    ConflictFileRecord,
    Refusal,
    RemoteEdit,
    Side,
    Sighting,
    pack,
    unpack,
)
from wikisync.sync.decide.safety import REMOVALS_WITHIN_S, Batch, BatchKind

EDITS_MAX = 500
"""Pages of which the last edit on the wiki is known; it is asked for in conflicts."""


class Observations(WikiRows):
    """What is known about one wiki beside its pages."""

    # -- in the memory -----------------------------------------------------------------

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

    def conflict_files(self) -> Mapping[Slug, ConflictFileRecord]:
        """Conflict files that were written, by page."""
        return self._conflict_files()

    def conflict_file(self, slug: Slug) -> ConflictFileRecord | None:
        """The conflict file that was written for a page."""
        return self._conflict_files("AND slug = ?", slug).get(slug)

    def _conflict_files(
        self, which: str = "", *values: Slug
    ) -> Mapping[Slug, ConflictFileRecord]:
        # their texts may be many, and mostly there are none
        if not self._has("conflict_file"):
            return {}
        rows = self._rows(
            "SELECT slug, format, digest, local, remote, at, wiki_digest"  # noqa: S608 - ours
            f" FROM conflict_file WHERE wiki = ? {which}",
            *values,
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
