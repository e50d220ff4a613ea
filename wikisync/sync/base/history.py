"""What was done: calls, writes, events; texts that gave way, new pages, renames.

A row of ``history`` with the number of a sync is a *step*: what that sync made of one
page.  Others are earlier texts alone.  A sync is the cycles of one run until one has
nothing left to do at once, or fails.  Ages count from a row that is a day older, for
the clock may be wrong.
"""

from collections.abc import Iterable, Mapping
from sqlite3 import Connection
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from wikisync.core.model import Digest, Format, Slug, digest_of
from wikisync.core.versions import Version, VersionKind, Versions
from wikisync.sync.base.database import WikiRows
from wikisync.sync.decide.ledger import (
    CLOCK_SETTLED_S,
    EVENT_CHARS_MAX,
    EVENTS_KEPT_S,
    EVENTS_MAX,
    NO_DIGEST,
    NO_SLUG,
    REPLACED_BYTES_MAX,
    REPLACED_CHECK_EVERY,
    REPLACED_KEPT_S,
    REPLACED_SEARCHED_MAX,
    WRITES_KEPT_S,
    Agreed,
    Intent,
    LogEntry,
    Replaced,
    WriteKind,
    pack,
    unpack,
)


class Step(Struct, frozen=True):
    """What a sync made of one page."""

    slug: Slug
    """What the page is called since; empty for one that was removed."""
    was: Slug
    """What it was called before; empty for one that was created."""
    format: Format
    """Before, as is the text."""
    before: str
    after: Digest
    """Of its file's text since; empty for one that was removed."""

    @property
    def name(self) -> Slug:
        """What a person calls it."""
        return self.slug or self.was

    @property
    def names(self) -> frozenset[Slug]:
        """All names that it has or had."""
        return frozenset({self.slug, self.was} - {NO_SLUG})

    def __str__(self) -> str:
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
        return frozenset[Slug]().union(*(step.names for step in self.steps))


class History(WikiRows):
    """What was done to one wiki and its folder, and the texts that gave way."""

    _sync_at: float | None = None
    """When this cycle began; None outside of any, where nothing is a step."""

    # -- calls that cannot simply be made twice --------------------------------------

    def intents(self) -> tuple[Intent, ...]:
        """Calls that were prepared and not settled, oldest first."""
        return self._once("intent", self._read_intents)

    def _read_intents(self) -> tuple[Intent, ...]:
        rows = self._rows(
            "SELECT operation, slug, target, format, before, after, text, at, id"
            " FROM intent WHERE wiki = ? ORDER BY id"
        )
        with self._database.reading():
            return tuple(map(_intent, rows))

    def begin(self, intent: Intent) -> int:
        """Note a call before it is sent; the number that ``settle`` wants."""
        with self._writing("intent") as connection:
            cursor = connection.execute(
                "INSERT INTO intent VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self.number, *astuple(intent)[:6], pack(intent.text), intent.at),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def settle(self, number: int) -> None:
        """Forget a call: what came of it is known and recorded."""
        self._write("intent", "DELETE FROM intent WHERE wiki = ? AND id = ?", number)

    # -- the loop breaker's count ----------------------------------------------------

    def times_sent(self, slug: Slug, digest: Digest | None, now: float) -> int:
        """How often this text, or any, was sent lately over another one of the wiki."""
        # a person who saves one text and another in turn sends both over what was sent
        # before: that counts once
        rows = self._rows(
            "SELECT digest FROM own_write WHERE wiki = ? AND slug = ? AND +at > ?"
            " ORDER BY id",
            *(slug, now - WRITES_KEPT_S),
        )
        times, is_counted = 0, False
        for (sent,) in rows:
            # after this the wiki had another text: the same one sent again counts anew
            if sent == NO_DIGEST:
                is_counted = False
            elif digest in {sent, None} and not is_counted:
                times, is_counted = times + 1, True
        return times

    def note_sent(self, slug: Slug, at: float, digest: Digest) -> None:
        """Count a push, before it is recorded as what both sides hold."""
        # where both sides held something else than what was sent last, that came from
        # the wiki, and is counted, too
        is_own = self._rows(
            "SELECT 1 FROM page WHERE page.wiki = ? AND slug = ? AND local_digest ="
            " (SELECT digest FROM own_write WHERE own_write.wiki = page.wiki"
            " AND own_write.slug = page.slug ORDER BY id DESC LIMIT 1)",
            slug,
        )
        self.note_write(slug, at, *([] if is_own else [NO_DIGEST]), digest)

    def note_write(self, slug: Slug, at: float, *digests: Digest) -> None:
        """Count pushes of ours, or a pull; what is too old for every page goes."""
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT INTO own_write (wiki, slug, at, digest) VALUES (?, ?, ?, ?)",
                [(self.number, slug, at, one) for one in digests or (NO_DIGEST,)],
            )
            # a clock that was set back leaves times that would never grow old
            connection.execute(
                "DELETE FROM own_write WHERE id IN (SELECT id FROM own_write"
                " WHERE wiki = ?1 AND at < ?2 UNION ALL SELECT id FROM own_write"
                " WHERE wiki = ?1 AND at > ?3)",
                (self.number, at - WRITES_KEPT_S, at + WRITES_KEPT_S),
            )

    def forget_writes(self, slug: Slug) -> None:
        """Count anew: a person wrote something."""
        self._write(
            "own_write", "DELETE FROM own_write WHERE wiki = ? AND slug = ?", slug
        )

    # -- the log that a person reads -------------------------------------------------

    def note(
        self, at: float, slug: Slug, what: str, *, is_warning: bool = False
    ) -> None:
        """Add an event; the oldest go where there are too many or too old ones."""
        with self._database.transaction() as connection:
            # short enough to keep, and nothing in it that SQLite does not take
            if len(what) > EVENT_CHARS_MAX:
                what = f"{what[: EVENT_CHARS_MAX - 1]}…"
            what = what.encode("utf-8", "replace").decode()
            connection.execute(
                "INSERT INTO event SELECT ?1, coalesce(max(number), 0) + 1, ?, ?, ?, ?"
                " FROM event WHERE wiki = ?1",
                (self.number, at, is_warning, slug, what),
            )
            # each part by an index
            connection.execute(
                "DELETE FROM event WHERE wiki = ?1 AND number IN (SELECT number"
                " FROM event WHERE wiki = ?1 AND number <= (SELECT max(number)"
                " FROM event WHERE wiki = ?1) - ?2 UNION ALL SELECT number FROM event"
                " WHERE wiki = ?1 AND at < (SELECT max(at) FROM event"
                " WHERE wiki = ?1 AND at <= ?3) - ?4)",
                (self.number, EVENTS_MAX, at - CLOCK_SETTLED_S, EVENTS_KEPT_S),
            )

    def events(self, limit: int, slug: Slug | None = None) -> tuple[LogEntry, ...]:
        """The last events, newest first, of one page or folder where one is named."""
        which = "" if slug is None else "AND slug = ?2"
        if slug is not None and slug.endswith("/"):
            which = "AND substr(slug || '/', 1, length(?2)) = ?2"
        rows = self._rows(
            "SELECT at, slug, what, is_warning FROM event WHERE wiki = ?1"  # noqa: S608
            f" {which} ORDER BY number DESC LIMIT ?3",
            *(slug, max(limit, 0)),
        )
        return tuple(
            LogEntry(at, Slug(page), what, is_warning=bool(is_warning))
            for at, page, what, is_warning in rows
        )

    # -- texts of the folder that were replaced --------------------------------------

    def replaced(
        self, slug: Slug, most: int = -1, *, is_of_wiki: bool = False
    ) -> tuple[Replaced, ...]:
        """Texts of this page that writes of ours replaced in the folder, newest first.

        ``is_of_wiki`` adds those replaced on the wiki, or removed.
        """
        which = "" if is_of_wiki else "AND written NOT NULL"
        rows = self._rows(
            "SELECT text, written, at, is_stale, is_written, format FROM history"  # noqa: S608
            f" WHERE wiki = ? AND slug = ? AND was <> '' {which}"
            " ORDER BY id DESC LIMIT ?",
            *(slug, most),
        )
        with self._database.reading():
            return tuple(
                Replaced(
                    *(unpack(old), unpack(new) if new else "", at),
                    *(bool(is_stale), bool(is_done), Format(markup)),
                )
                for old, new, at, is_stale, is_done, markup in rows
            )

    def replaced_text(self, slug: Slug, digest: Digest) -> tuple[Slug, str] | None:
        """A text that writes of ours replaced or wrote, and whose page it is now."""
        rows = self._rows(
            "SELECT slug, text, written FROM history WHERE wiki = ?"
            " AND written NOT NULL ORDER BY slug = ? DESC, id DESC LIMIT ?",
            slug,
            REPLACED_SEARCHED_MAX,
        )
        with self._database.reading():
            for page, *packed in rows:
                for text in map(unpack, packed):
                    if digest_of(text) == digest:
                        return Slug(page), text
        return None

    def replaced_since(self, since: float) -> Mapping[Slug, Replaced]:
        """The first text of each page that was replaced or removed here since then."""
        rows = self._rows(
            "SELECT slug, text, at, format, min(id) FROM history WHERE wiki = ?"
            " AND at >= ? AND was <> '' AND (written NOT NULL OR after = '')"
            " GROUP BY slug",
            since,
        )
        with self._database.reading():
            return {
                Slug(slug): Replaced(unpack(text), "", at, format=Format(markup))
                for slug, text, at, markup, _ in rows
            }

    def remember_replaced(
        self,
        slug: Slug,
        replaced: str,
        written: str,
        at: float,
        *,
        is_stale: bool = False,
        is_contained: bool = False,
    ) -> int:
        """Keep a text of the folder before another takes its place; its number.

        One that the wiki never had, or may not have any more, is kept for good.
        ``is_stale``: saved once more, it is meant; ``is_contained``: what takes its
        place says all of it.
        """
        with self._database.transaction() as connection:
            agreed = connection.execute(_LOCAL, (self.number, slug)).fetchone()
            # A text that both sides agreed on is in the history of the wiki, and one
            # that is contained in the new text is not lost.  A wiki that went back may
            # have lost both.
            is_agreed = agreed is not None and agreed[0] == digest_of(replaced)
            is_only = self.memory.is_rewound or not (is_agreed or is_contained)
            # The row is there before the file is written: after a crash in between it
            # says that the new text was not seen in place, and no merge takes it for a
            # base.
            number = connection.execute(
                "INSERT INTO history (wiki, at, slug, was, format, text, after,"
                " written, is_stale, is_only) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(self.number, at, slug, slug),
                    agreed[1] if agreed else Format.MARKDOWN,
                    *(pack(replaced), digest_of(written), pack(written)),
                    *(is_stale, is_only),
                ),
            ).lastrowid
            assert number is not None
            if number % REPLACED_CHECK_EVERY == 0:
                self._evict(connection, at)
        return number

    def _evict(self, connection: Connection, now: float) -> None:
        """Forget the oldest texts, but the only ones and those of the last sync."""
        connection.execute(
            "DELETE FROM history WHERE wiki = ?1 AND NOT is_only AND (sync = 0"
            " OR sync < (SELECT max(sync) FROM history WHERE wiki = ?1))"
            " AND (at < (SELECT max(at) FROM history WHERE wiki = ?1 AND at <= ?2) - ?3"
            " OR id IN (SELECT id FROM (SELECT id,"
            " sum(length(text) + coalesce(length(written), 0))"
            " OVER (ORDER BY id DESC) AS held FROM history WHERE wiki = ?1)"
            " WHERE held > ?4))",
            (self.number, now - CLOCK_SETTLED_S, REPLACED_KEPT_S, REPLACED_BYTES_MAX),
        )

    def keep_replaced(self) -> None:
        """Keep all of them for good: the wiki's history may hold none any more."""
        self._write(
            "history", "UPDATE history SET is_only = 1 WHERE wiki = ? AND NOT is_only"
        )

    def confirm_replaced(self, numbers: Iterable[int]) -> None:
        """Note that these texts were really replaced by what was to be written."""
        rows = [(self.number, number) for number in numbers]
        if not rows:
            return
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE history SET is_written = 1 WHERE wiki = ? AND id = ?", rows
            )

    # -- syncs -----------------------------------------------------------------------

    def begin_sync(self, at: float) -> None:
        """A cycle begins, whose steps can be taken back."""
        self._sync_at = at

    def end_sync(self) -> None:
        """The next step is of another sync."""
        self.remember(syncing=0)

    def last_sync(self) -> LastSync | None:
        """The last sync that changed a page on either side."""
        rows = self._rows(
            "SELECT sync, at, iif(after = '', '', slug), was, format, text, after"
            " FROM history WHERE wiki = ? AND sync ="
            " (SELECT max(sync) FROM history AS last WHERE last.wiki = history.wiki)"
            " AND sync > 0 ORDER BY id"
        )
        if not rows:
            return None
        with self._database.reading():
            steps = tuple(
                Step(
                    *(Slug(slug), Slug(was), Format(markup), unpack(before)),
                    Digest(after),
                )
                for *_, slug, was, markup, before, after in rows
            )
        return LastSync(rows[0][0], min(row[1] for row in rows), steps)

    def renames(self) -> Mapping[str, str]:
        """New names of pages by their old ones, as far back as syncs are known."""
        rows = self._rows(
            "SELECT was, slug FROM history WHERE wiki = ? AND sync > 0"
            " AND was NOT IN ('', slug) AND after <> '' ORDER BY id"
        )
        return dict(rows)

    def seen(self) -> Versions:
        """What syncs made of the pages, without the texts and without names."""
        rows = self._rows(
            "SELECT at, slug, was, after FROM history WHERE wiki = ? AND sync > 0"
            " ORDER BY id DESC"
        )
        return Versions(tuple([_version(*row) for row in rows]))

    def note_replaced_there(self, slug: Slug, text: str, page_format: Format) -> None:
        """Remember what the wiki has of a page, and both sides never agreed on."""
        if self._sync_at is None:
            return
        with self._database.transaction() as connection:
            number = self._sync_number(connection)
            connection.execute(_LEAVE, (self.number, number, slug))
            known = connection.execute(_LOCAL, (self.number, slug)).fetchone()
            after = known[0] if known else digest_of(text)
            self._insert_step(connection, slug, slug, page_format, text, after)

    # -- inside the transaction of ``record``, before each part of it ----------------

    def _note_changed(self, connection: Connection, slugs: Iterable[Slug]) -> None:
        """Pages as both sides held them before; what was noted of one first stays."""
        number = self._sync_number(connection)
        more = self._sync_at, self.memory.is_rewound
        rows = [(self.number, number, slug, *more) for slug in slugs]
        connection.executemany(_INSERT_CHANGED, rows)

    def _note_dropped(self, connection: Connection, slugs: Iterable[Slug]) -> None:
        self._note_changed(connection, slugs)
        rows = [(self.number, self._sync_number(connection), slug) for slug in slugs]
        connection.executemany(_END_NEW, rows)
        connection.executemany(_END, rows)

    def _note_agreed(self, connection: Connection, agreed: Iterable[Agreed]) -> None:
        number = self._sync_number(connection)
        for one in agreed:
            page = one.page
            row = (self.number, number, page.slug, page.local)
            if _is_changed(connection, _GO_ON, row):
                continue
            known = connection.execute(_AGREED, (self.number, page.slug)).fetchone()
            if known is None:
                # A page that this sync removed and that comes back is the one of
                # before: its step keeps the text that it had then.
                if not _is_changed(connection, _COME_BACK, row):
                    self._insert_step(
                        *(connection, page.slug, NO_SLUG, page.format, ""), page.local
                    )
            elif known[:2] == (page.local, page.format):
                if known[2] != "\n".join(page.uploads):
                    self._note_changed(connection, [page.slug])
            # what a pull replaces was kept before the file was written
            elif not _is_changed(connection, _TAKE_KEPT, row):
                self._note_changed(connection, [page.slug])
                connection.execute(_GO_ON, row)

    def _insert_step(
        self,
        connection: Connection,
        slug: Slug,
        was: Slug,
        page_format: Format,
        text: str,
        after: Digest,
    ) -> None:
        number, at = self._sync_number(connection), self._sync_at
        connection.execute(
            "INSERT INTO history (wiki, sync, at, slug, was, format, text, after,"
            " is_only) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.number, number, at, slug, was, page_format, pack(text)),
                *(after, self.memory.is_rewound),
            ),
        )

    def _sync_number(self, connection: Connection) -> int:
        """Of the sync under way, which begins with its first step."""
        # The first step gives a sync its number.  So one that changes nothing has none,
        # and the one before it can still be taken back.
        number = self.memory.syncing
        if not number:
            (last,) = connection.execute(
                "SELECT coalesce(max(sync), 0) FROM history WHERE wiki = ?",
                (self.number,),
            ).fetchone()
            number = last + 1
            self.remember(syncing=number)
            if number % REPLACED_CHECK_EVERY == 0 and self._sync_at is not None:
                self._evict(connection, self._sync_at)
        self.save()
        return number


def _intent(row: tuple[Any, ...]) -> Intent:
    operation, slug, target, markup, before, after, text, at, number = row
    names = WriteKind(operation), slug, target, Format(markup), before, after
    return Intent(*names, unpack(text), at, number)


def _version(at: float, slug: str, was: str, after: str) -> Version:
    kind: VersionKind = "created" if not was else "edited" if slug == was else "renamed"
    return Version(int(at), "", Slug(slug), was, kind if after else "deleted")


def _is_changed(connection: Connection, update: str, row: tuple[object, ...]) -> bool:
    return connection.execute(update, row).rowcount > 0


_LOCAL = "SELECT local_digest, format FROM page WHERE wiki = ? AND slug = ?"
_AGREED = "SELECT local_digest, format, uploads FROM page WHERE wiki = ? AND slug = ?"
_OF_PAGE = "WHERE wiki = ?1 AND sync = ?2 AND slug = ?3 AND after <> ''"
"""The step of a page that is still there: a removed one may have its name, too."""
_GO_ON = f"UPDATE history SET after = ?4 {_OF_PAGE}"  # noqa: S608 - ours
_LEAVE = f"UPDATE history SET sync = 0 {_OF_PAGE}"  # noqa: S608 - ours
_END_NEW = f"DELETE FROM history {_OF_PAGE} AND was = ''"  # noqa: S608 - ours
_END = f"UPDATE history SET after = '' {_OF_PAGE}"  # noqa: S608 - ours
_COME_BACK = (
    "UPDATE history SET slug = was, after = ?4"
    " WHERE wiki = ?1 AND sync = ?2 AND was = ?3 AND after = ''"
)
_TAKE_KEPT = (
    "UPDATE history SET sync = ?2 WHERE id = (SELECT max(id) FROM history"
    " WHERE wiki = ?1 AND slug = ?3 AND sync = 0 AND after = ?4 AND NOT is_written"
    " AND written NOT NULL)"
)
_INSERT_CHANGED = (
    "INSERT INTO history (wiki, sync, at, slug, was, format, text, after, is_only)"  # noqa: S608 - ours
    " SELECT page.wiki, ?2, ?4, page.slug, page.slug, page.format, page_text.text,"
    " page.local_digest, ?5"
    " FROM page JOIN page_text USING (wiki, slug)"
    " WHERE page.wiki = ?1 AND page.slug = ?3"
    f" AND NOT EXISTS (SELECT 1 FROM history {_OF_PAGE})"
)
