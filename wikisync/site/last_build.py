"""What the last build of an output left, and what this one leaves for the next.

It lies in tables of the cache: rows of the site, its wikis and parts of their pages.
What a build knows otherwise lies in temporary tables until its site is in place; then
it takes the place of the rows before, all at once.  So memory does not grow with the
wikis, and nothing is left of a build that fails.  Every build needs all files, and most
need all pages of a wiki: one value takes a fifth of the time of as many rows.  So the
files are one, and pages are in parts, of which a changed page costs its own.
"""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Problem
from wikisync.site.cache import Cache, checked, summed
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.manifest import FileState
from wikisync.site.model import BrokenLink


class BuildNote(msgspec.Struct, frozen=True):
    """What a build remembers of its output for the next one."""

    inputs: bytes
    """Hash of everything that the site was made from."""
    pages: int
    problems: tuple[Problem, ...]
    broken_links: tuple[BrokenLink, ...]
    linked: tuple[tuple[int, str, str], ...] = ()
    """Loose files that pages link to: wiki, path, and digest or nothing."""
    retry_at: float = 0.0
    """When the first page over a limit may be tried again; 0: there is none."""


NO_NOTE = BuildNote(b"", 0, (), ())
_NOTES = msgpack_decoder(BuildNote)
_FILES = msgpack_decoder(dict[str, FileState])
_PART = msgpack_decoder(dict[str, msgspec.Raw])
_NEW = {
    "new_wiki": "name TEXT PRIMARY KEY, value BLOB",
    "new_page": "wiki TEXT, part INT, value BLOB, PRIMARY KEY (wiki, part)",
}
"""What a build knows otherwise; a part without pages has no value."""
PARTS = 64
"""Of a wiki's pages, by a hash of the slug."""


class LastBuild:
    """The rows of one output."""

    def __init__(self, store: Cache, output: Path) -> None:
        self._store, self._rows = store, store.rows
        self._key = store.key("site", output)
        self._rows("INSERT OR IGNORE INTO site (output) VALUES (?)", self._key)
        found = self._rows(
            "SELECT id, value, search, files FROM site WHERE output = ?", self._key
        )
        ((self.site, value, search, self._files),) = found
        packed = checked(_of_program(self._key), value)
        self.note = _NOTES.decode(packed) if packed else NO_NOTE
        """What that build noted; nothing where it is lost."""
        self.search = checked(_of_program(b"search"), search) or b""
        self._whole: set[str] = set()
        """Wikis all of whose pages are in the temporary table."""
        for table, columns in _NEW.items():
            self._rows(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({columns})")
            self._rows(f"DELETE FROM {table}")  # noqa: S608 - a literal

    def files(self) -> Mapping[str, FileState]:
        """The files of the output as that build left them; none where one is lost."""
        packed = checked(_of_program(b"files"), self._files)
        return _FILES.decode(packed) if packed else {}

    def wiki(self, name: str) -> bytes | None:
        """What that build noted of a wiki."""
        found = self._rows(
            "SELECT value FROM wiki WHERE site = ? AND name = ?", self.site, name
        )
        return checked(_of_program(name.encode()), found[0][0]) if found else None

    def pages(self, wiki: str) -> dict[str, msgspec.Raw]:
        """What that build noted of the pages of a wiki, packed, by slug."""
        return _pages_in(self._stored(wiki))[0]

    def pages_now(self, wiki: str) -> dict[str, msgspec.Raw]:
        """The same with what ``put_wiki`` said; raises ``sqlite3.DatabaseError``."""
        new = self._rows("SELECT part, value FROM new_page WHERE wiki = ?", wiki)
        kept = {} if wiki in self._whole else self._stored(wiki)
        found, lost = _pages_in(kept | dict(new))
        if lost:
            raise sqlite3.DatabaseError("a row is not what was stored")
        return found

    def put_wiki(
        self,
        name: str,
        note: bytes,
        pages: Iterable[tuple[str, object]],
        changed: Collection[str] | None = None,
    ) -> None:
        """Say what a wiki and all its pages are now.

        ``changed`` are those that are not what they were, and those that are gone;
        None: all are.
        """
        value = summed(_of_program(name.encode()), note)
        self._rows("INSERT INTO new_wiki VALUES (?, ?)", name, value)
        numbers = range(PARTS) if changed is None else set(map(part_of, changed))
        parts: defaultdict[int, dict[str, object]] = defaultdict(dict)
        for slug, page in pages if numbers else ():
            parts[part_of(slug)][slug] = page
        encoded = ((part, msgspec.msgpack.encode(parts[part])) for part in numbers)
        rows = (
            (name, part, summed(b"%d" % part, value) if parts[part] else b"")
            for part, value in encoded
        )
        self._store.put_rows("INSERT INTO new_page VALUES (?, ?, ?)", rows)
        if changed is None:
            self._whole.add(name)

    def remember(
        self,
        note: BuildNote,
        files: Mapping[str, FileState],
        search: bytes,
        wikis: Collection[str],
    ) -> None:
        """Note what there is, of wikis those of these names as they are now."""
        with self._store.all_or_nothing():
            known = self._rows("SELECT name FROM wiki WHERE site = ?", self.site)
            for name in {name for (name,) in known} - set(wikis) | self._whole:
                at = self.site, name
                self._rows("DELETE FROM wiki WHERE site = ? AND name = ?", *at)
                self._rows("DELETE FROM page WHERE site = ? AND wiki = ?", *at)
            new = [(self.site, name) for name in wikis]
            put = self._store.put_rows
            put("REPLACE INTO wiki SELECT ?, * FROM new_wiki WHERE name = ?", new)
            put("REPLACE INTO page SELECT ?, * FROM new_page WHERE wiki = ?", new)
            self._rows(
                "DELETE FROM page WHERE site = ? AND (wiki, part) IN"
                " (SELECT wiki, part FROM new_page WHERE value = x'')",
                self.site,
            )
            self._put(b"files", msgspec.msgpack.encode(files), "files")
            self._put(self._key, msgspec.msgpack.encode(note), "value")
            if search != self.search:
                self._put(b"search", search, "search")

    def _put(self, key: bytes, value: bytes, column: str) -> None:
        self._rows(
            f"UPDATE site SET {column} = ? WHERE id = ?",  # noqa: S608 - a literal
            summed(_of_program(key), value),
            self.site,
        )

    def _stored(self, wiki: str) -> dict[int, bytes]:
        statement = "SELECT part, value FROM page WHERE site = ? AND wiki = ?"
        return dict(self._rows(statement, self.site, wiki))


def _of_program(key: bytes) -> bytes:
    """A key under which no other program finds anything."""
    return program_fingerprint() + key


def part_of(slug: str) -> int:
    """The number of the part of a wiki's pages that has one."""
    return zlib.crc32(slug.encode()) % PARTS


def _pages_in(parts: Mapping[int, bytes]) -> tuple[dict[str, msgspec.Raw], int]:
    """The packed pages of parts, and how many of these the disk changed."""
    found: dict[str, msgspec.Raw] = {}
    lost = 0
    for part, value in parts.items():
        packed = checked(b"%d" % part, value)
        if packed:
            found |= _PART.decode(packed)
        lost += bool(value) and not packed
    return found, lost
