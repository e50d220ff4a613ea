"""What the engine itself did: calls in flight, writes, events.

The part of ``state.WikiState`` that makes a crash harmless and answers "what
happened".  Nothing here asks a clock: the newest time given is now, and ages count
from a row that is a day older, for the clock may be wrong.
"""

from typing import Any

from msgspec.structs import astuple

from wikisync.core.model import Digest, Format, Slug
from wikisync.sync.base.memory import WikiRows
from wikisync.sync.decide.ledger import (
    CLOCK_SETTLED_S,
    EVENT_CHARS_MAX,
    EVENTS_KEPT_S,
    EVENTS_MAX,
    NO_DIGEST,
    WRITES_KEPT_S,
    Intent,
    LogEntry,
    WriteKind,
    pack,
    unpack,
)


class Journal(WikiRows):
    """What was done to one wiki and its folder."""

    # -- calls that cannot simply be made twice --------------------------------------

    def intents(self) -> tuple[Intent, ...]:
        """Calls that were prepared and not settled, oldest first."""
        if not self._has("intent"):
            return ()
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
                (self._number, *astuple(intent)[:6], pack(intent.text), intent.at),
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
            "SELECT digest FROM own_write WHERE wiki = ? AND slug = ? AND at > ?"
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
                [(self._number, slug, at, one) for one in digests or (NO_DIGEST,)],
            )
            # a clock that was set back leaves times that would never grow old
            connection.execute(
                "DELETE FROM own_write WHERE wiki = ? AND NOT at BETWEEN ? AND ?",
                (self._number, at - WRITES_KEPT_S, at + WRITES_KEPT_S),
            )

    def forget_writes(self, slug: Slug) -> None:
        """Count anew: a person wrote something."""
        self._write(
            "own_write", "DELETE FROM own_write WHERE wiki = ? AND slug = ?", slug
        )

    # -- the log that a person reads -------------------------------------------------

    def note(self, event: LogEntry) -> None:
        """Add an event; the oldest go where there are too many or too old ones."""
        with self._database.transaction() as connection:
            # short enough to keep, and nothing in it that SQLite does not take
            what = event.what
            if len(what) > EVENT_CHARS_MAX:
                what = f"{what[: EVENT_CHARS_MAX - 1]}…"
            what = what.encode("utf-8", "replace").decode()
            connection.execute(
                "INSERT INTO event SELECT ?1, coalesce(max(number), 0) + 1, ?, ?, ?, ?"
                " FROM event WHERE wiki = ?1",
                (self._number, event.at, event.is_warning, event.slug, what),
            )
            connection.execute(
                "DELETE FROM event WHERE wiki = ?1 AND (number <= (SELECT max(number)"
                " FROM event WHERE wiki = ?1) - ?2 OR at < (SELECT max(at) FROM event"
                " WHERE wiki = ?1 AND at <= ?3) - ?4)",
                (self._number, EVENTS_MAX, event.at - CLOCK_SETTLED_S, EVENTS_KEPT_S),
            )

    def note_done(self, at: float, slug: Slug, what: str) -> None:
        """Add the event of a change that was made."""
        self.note(LogEntry(at, slug, what))

    def events(self, limit: int, slug: Slug | None = None) -> tuple[LogEntry, ...]:
        """The last events, newest first, of one page where one is named."""
        which, names = ("", ()) if slug is None else ("AND slug = ?", (slug,))
        rows = self._rows(
            "SELECT at, slug, what, is_warning FROM event WHERE wiki = ?"  # noqa: S608
            f" {which} ORDER BY number DESC LIMIT ?",
            *(*names, max(limit, 0)),
        )
        return tuple(
            LogEntry(at, Slug(page), what, is_warning=bool(is_warning))
            for at, page, what, is_warning in rows
        )


def _intent(row: tuple[Any, ...]) -> Intent:
    operation, slug, target, markup, before, after, text, at, number = row
    names = WriteKind(operation), slug, target, Format(markup), before, after
    return Intent(*names, unpack(text), at, number)
