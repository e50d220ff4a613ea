"""What the last sync made of each page, so that it can be taken back.

A *step* is kept in the transaction that records what both sides hold after it, with
the text that they held before: for a page that was pushed the text that the wiki had,
for one that was pulled the text that its file had.  A sync is the cycles of one run
until one has nothing left to do at once, or fails: a page that is surely gone some
minutes later is a step of the sync that removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from msgspec import Struct

from wikisync.model import Digest, Format, Slug, digest_of
from wikisync.sync.base.memory import WikiRows
from wikisync.sync.decide.ledger import NO_DIGEST, NO_SLUG, Agreed, pack, unpack

_NO_TEXT = pack("")


class Step(Struct, frozen=True):
    """What a sync made of one page."""

    slug: Slug
    """What the page is called since; empty for one that was removed."""
    was: Slug
    """What it was called before; empty for one that was created."""
    format: Format
    """Before, as is the text."""
    before: str
    """Empty for a page that was created."""
    after: Digest
    """Of its file's text since; empty for one that was removed."""

    @property
    def name(self) -> Slug:
        """What a person calls it."""
        return self.slug or self.was

    def __str__(self) -> str:
        """What taking it back does, as a plan says it."""
        both = "here and on the wiki"
        if not self.was:
            return f"remove  {self.slug} {both}"
        if not self.slug:
            return f"create  {self.was} {both}"
        if self.slug != self.was:
            return f"rename  {self.slug} -> {self.was} {both}"
        return f"update  {self.slug} {both}"

    @property
    def digest(self) -> Digest:
        """Of the text before."""
        return digest_of(self.before)


class LastSync(Struct, frozen=True):
    """The last sync that changed a page on either side."""

    number: int
    at: float
    """When it began, in seconds since the epoch."""
    steps: tuple[Step, ...]

    @property
    def names(self) -> frozenset[Slug]:
        """Its pages by all names that they have or had."""
        return names_of(self.steps)


def names_of(steps: Iterable[Step]) -> frozenset[Slug]:
    """The pages of some steps by all names that they have or had."""
    names = {name for one in steps for name in (one.slug, one.was)}
    return frozenset(names - {NO_SLUG})


class Steps(WikiRows):
    """The steps of one wiki's last two syncs: of the last, and of the one undone."""

    _steps_at: float | None = None
    """When this cycle began; None outside of any, where nothing is a step."""

    def begin_steps(self, at: float) -> None:
        """A cycle both ways begins, whose steps can be taken back."""
        self._steps_at = at

    def end_sync(self) -> None:
        """The next step is of another sync, unless one that is taken back goes on."""
        if not self.memory.undoing:
            self.remember(is_syncing=False)

    def sync_of(self, number: int = 0) -> LastSync | None:
        """A sync that is remembered; the last one where none is named."""
        rows = self._rows(
            "SELECT sync, slug, was, format, before, after FROM step"
            " WHERE wiki = ? AND sync = coalesce(nullif(?, 0),"
            " (SELECT max(sync) FROM step AS last WHERE last.wiki = step.wiki))"
            " ORDER BY id",
            number,
        )
        if not rows:
            return None
        with self._database.reading():
            steps = tuple(
                Step(
                    *(Slug(slug), Slug(was), Format(markup), unpack(before)),
                    Digest(after),
                )
                for _, slug, was, markup, before, after in rows
            )
        return LastSync(rows[0][0], self.memory.synced_at, steps)

    def undo(self, number: int) -> None:
        """Note that a sync is to be taken back; 0 once it is."""
        # what is done from now on is no part of it
        is_over = number and number == self.memory.sync
        goes_on = self.memory.is_syncing and not is_over
        self.remember(undoing=number, is_syncing=goes_on)

    def note_replaced_there(self, slug: Slug, text: str, page_format: Format) -> None:
        """Remember what the wiki has of a page that is about to be replaced there.

        For a text that both sides never agreed on.
        """
        if self._steps_at is None:
            return
        with self._database.transaction() as connection:
            number = self._sync_number(connection)
            connection.execute(
                "DELETE FROM step WHERE wiki = ? AND sync = ? AND slug = ?",
                (self._number, number, slug),
            )
            known = connection.execute(_LOCAL, (self._number, slug)).fetchone()
            connection.execute(
                _INSERT,
                (
                    *(self._number, number, slug, slug, page_format, pack(text)),
                    known[0] if known else digest_of(text),
                ),
            )

    # -- inside the transaction of ``record``, before each part of it ----------------

    def _note_renamed(self, connection: Connection, names: Iterable[Slug]) -> None:
        """Pages that get other names; what is noted of them follows."""
        number = self._sync_number(connection)
        rows = [(self._number, number, slug) for slug in names]
        connection.executemany(_CHANGED, rows)

    def _note_dropped(self, connection: Connection, slugs: Sequence[Slug]) -> None:
        """Pages that are removed."""
        number = self._sync_number(connection)
        rows = [(self._number, number, slug) for slug in slugs]
        connection.executemany(_CHANGED, rows)
        connection.executemany(
            "DELETE FROM step WHERE wiki = ? AND sync = ? AND slug = ? AND was = ''",
            rows,
        )
        connection.executemany(
            "UPDATE step SET slug = '', after = ''"
            " WHERE wiki = ? AND sync = ? AND slug = ?",
            rows,
        )

    def _note_agreed(self, connection: Connection, agreed: Iterable[Agreed]) -> None:
        """Pages that are created, or have another text."""
        number = self._sync_number(connection)
        for one in agreed:
            row = (self._number, number, one.page.slug)
            known = connection.execute(_LOCAL, (self._number, one.page.slug)).fetchone()
            if known is None:
                # A page that this sync removed and that comes back is the one of
                # before: its step keeps the text that it had then.
                again = connection.execute(
                    "UPDATE step SET slug = was WHERE wiki = ? AND sync = ?"
                    " AND slug = '' AND was = ?",
                    row,
                )
                if not again.rowcount:
                    created = (*row, NO_SLUG, one.page.format, _NO_TEXT, NO_DIGEST)
                    connection.execute(_INSERT, created)
            elif known != (one.page.local, one.page.format):
                connection.execute(_CHANGED, row)
            connection.execute(
                "UPDATE step SET after = ?4 WHERE wiki = ?1 AND sync = ?2"
                " AND slug = ?3",
                (*row, one.page.local),
            )

    def _sync_number(self, connection: Connection) -> int:
        """Of the sync under way, which begins with its first step."""
        # The first step gives a sync its number.  So one that changes nothing has none,
        # and the one before it can still be taken back.
        number = self.memory.sync
        if not self.memory.is_syncing:
            number += 1
            self.remember(sync=number, synced_at=self._steps_at, is_syncing=True)
            # two are kept: the last one, and the one that it may be the undo of
            connection.execute(
                "DELETE FROM step WHERE wiki = ? AND sync < ?",
                (self._number, number - 1),
            )
        self.save()
        return number


_LOCAL = "SELECT local_digest, format FROM page WHERE wiki = ? AND slug = ?"
_INSERT = (
    "INSERT INTO step (wiki, sync, slug, was, format, before, after)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_CHANGED = (
    "INSERT INTO step (wiki, sync, slug, was, format, before, after)"
    " SELECT page.wiki, ?2, page.slug, page.slug, page.format, page_text.text,"
    " page.local_digest"
    " FROM page JOIN page_text USING (wiki, slug)"
    " WHERE page.wiki = ?1 AND page.slug = ?3 AND NOT EXISTS"
    " (SELECT 1 FROM step WHERE wiki = ?1 AND sync = ?2 AND step.slug = ?3)"
)
"""A page as both sides held it before the sync; what was noted first stays."""
