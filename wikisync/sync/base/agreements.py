"""What both sides agreed on: pages with their texts, and attachments."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from sqlite3 import Connection
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from wikisync.core.mentions import is_upload, ways_lead_to
from wikisync.core.model import (
    AttachmentPath,
    Digest,
    Format,
    LooseFile,
    PageState,
    Slug,
    Snapshot,
    in_form_c,
    is_named,
)
from wikisync.sync.base.database import Database
from wikisync.sync.base.history import History
from wikisync.sync.decide.ledger import NO_DIGEST, Agreed, FetchedFile, unpack
from wikisync.sync.decide.plan import Base, BasePage

_FORMATS: Mapping[str, Format] = {known.value: known for known in Format}
"""A lookup in a table is a third of the time of ``Format(text)``."""

EARLIER_MAX = 50
PAGES_AGAIN_MAX = 1000
"""More pages than this that differ from the base make a mark worth nothing."""

_T = TypeVar("_T")

_NAMED = ("page", "page_text", "conflict_file")
"""Tables whose rows follow a page to its new name, where nothing else may stand."""
_READ = ("page_text", "linked")
"""What is made of texts, which each record changes."""
_FOLLOWING = (*_NAMED, "history", "own_write", "earlier")
"""These and the ones whose rows join what is kept under the new name."""
_ENDING = (*_NAMED[:2], "own_write")
"""Tables whose rows end with the page; what was replaced can still be restored, and
its texts are known again where an older copy brings the page back."""


class _Change(Struct, frozen=True):
    agreed: tuple[Agreed, ...]
    dropped: tuple[Slug, ...]
    renamed: Mapping[Slug, Slug]

    def follow(self, noted: Mapping[Slug, _T]) -> Mapping[Slug, _T]:
        """What is noted of pages by their names of now, without those that are gone."""
        if not noted:
            return noted
        moved = {new: noted[old] for old, new in self.renamed.items() if old in noted}
        gone = {*self.renamed, *self.renamed.values(), *self.dropped}
        kept = {slug: one for slug, one in noted.items() if slug not in gone}
        # renamed first: a page that was dropped then is gone under its new name
        moved = {slug: moved[slug] for slug in moved.keys() - set(self.dropped)}
        return {**kept, **moved}


class Agreements(History):
    """Pages and attachments of one wiki as last agreed on."""

    def __init__(self, database: Database, number: int) -> None:
        super().__init__(database, number)
        self._base: dict[Slug, BasePage] | None = None
        self._base_rollbacks = 0
        """How many transactions had been undone when ``_base`` was right."""
        self._changes: list[_Change] = []
        self._remote: Mapping[Slug, PageState] = {}
        self._remote_of: Base | None = None

    # -- pages ---------------------------------------------------------------------

    def base(self) -> Base:
        """Every page that both sides agreed on, by slug."""
        if self._base is None or self._base_rollbacks != self._database.rollbacks:
            self._base_rollbacks = self._database.rollbacks
            self._changes = []
            rows = self._rows(
                "SELECT slug, format, local_digest, remote_digest, local_identity,"
                " remote_identity, size, uploads FROM page WHERE wiki = ?"
            )
            with self._database.reading():
                self._base = {
                    slug: BasePage(
                        *(slug, _FORMATS[markup], local, remote, here, there, size),
                        tuple(uploads.split("\n")) if uploads else (),
                    )
                    for slug, markup, local, remote, here, there, size, uploads in rows
                }
        elif self._changes:
            # a base that somebody holds stays as it was
            base = dict(self._base)
            for change in self._changes:
                if change.renamed or change.dropped:
                    base = dict(change.follow(base))
                for new in base.keys() & set(change.renamed.values()):
                    base[new] = replace(base[new], slug=new)
                base.update((one.page.slug, one.page) for one in change.agreed)
            self._base, self._changes = base, []
        return self._base

    def _forget(self) -> None:
        super()._forget()
        self._base = None

    def text(self, slug: Slug) -> str | None:
        """The text last agreed on, the ancestor of any merge."""
        rows = self._rows(
            "SELECT text FROM page_text WHERE wiki = ? AND slug = ?", slug
        )
        with self._database.reading():
            return unpack(rows[0][0]) if rows else None

    def earlier(self, slugs: Iterable[Slug]) -> Mapping[Slug, frozenset[Digest]]:
        """What the wiki's texts of these pages were before the agreed ones."""
        return {
            slug: frozenset(
                Digest(digest)
                for (digest,) in self._rows(
                    "SELECT digest FROM earlier WHERE wiki = ? AND slug = ?", slug
                )
            )
            for slug in slugs
        }

    def earlier_texts(self) -> frozenset[Digest]:
        """The same of all pages, and the last texts of those that are gone."""
        rows = self._rows("SELECT DISTINCT digest FROM earlier WHERE wiki = ?")
        return frozenset(Digest(digest) for (digest,) in rows)

    def remote_pages(self) -> Mapping[Slug, PageState]:
        """The base as a snapshot of the wiki would show it."""
        base = self.base()
        if self._remote_of is not base:
            # the same values each time: to compare a page with itself costs nothing
            before, states = self._remote_of or {}, self._remote
            self._remote = {
                slug: states[slug] if before.get(slug) is page else page.remote_state
                for slug, page in base.items()
            }
            self._remote_of = base
        return self._remote

    def record(
        self,
        agreed: Iterable[Agreed] = (),
        dropped: Iterable[Slug] = (),
        renamed: Mapping[Slug, Slug] | None = None,
        *,
        is_step: bool = False,
    ) -> None:
        """Remember pages and forget others, all of them or none.

        First ``renamed``, old slug to new, all at once, so that pages may swap names;
        then ``dropped``, then ``agreed``.  ``is_step``: this sync did it to one of the
        sides, so that it can be taken back.
        """
        known = self.base() if renamed else {}
        moves = {old: new for old, new in (renamed or {}).items() if old in known}
        change = _Change(tuple(agreed), tuple(dropped), moves)
        if not (change.agreed or change.dropped or change.renamed):
            return
        is_step = is_step and self._sync_at is not None
        follows = _NAMED if change.dropped or change.renamed else ()
        with self._writing(*_READ, *follows) as connection:
            # In this order: a rename frees the name that a dropped or a new page has,
            # and the history needs each page as it was before its part.
            if change.renamed:
                if is_step:
                    self._note_changed(connection, change.renamed)
                self._rename(connection, change.renamed)
            if change.dropped:
                if is_step:
                    self._note_dropped(connection, change.dropped)
                self._drop(connection, change.dropped)
            if is_step:
                self._note_agreed(connection, change.agreed)
            self._note_earlier(connection, change.agreed)
            self._insert(connection, change.agreed)
            self._doubt(change)
            self.save()
        if self._base is not None:
            self._changes.append(change)

    def _doubt(self, change: _Change) -> None:
        """The wiki's mark, and what is known of files, may not hold for these pages."""
        memory = self.memory
        if memory.remote_tag:
            agreed = {one.page.slug for one in change.agreed}
            moved = change.renamed.keys() | change.renamed.values()
            again = memory.remote_again.union(agreed, change.dropped, moved)
            tag = memory.remote_tag if len(again) <= PAGES_AGAIN_MAX else ""
            self.remember(remote_tag=tag, remote_again=again)
        self.remember(files_at="", refusals=change.follow(memory.refusals))

    def remember_mark(self, there: Snapshot) -> None:
        """Note the wiki's mark, and the pages that the base has otherwise."""
        # those are pages that this cycle sent, and those that wait for a person
        agreed, again = self.remote_pages(), frozenset[Slug]()
        if agreed != there.pages:
            again = frozenset(
                slug
                for slug in agreed.keys() | there.pages.keys()
                if agreed.get(slug) != there.pages.get(slug)
            )
        tag = there.tag if len(again) <= PAGES_AGAIN_MAX else ""
        self.remember(remote_tag=tag, remote_again=again)

    def refresh(self, pages: Iterable[BasePage]) -> None:
        """Change what is known of pages whose agreed text stays the same."""
        rows = [
            (
                *(page.local, page.remote, page.local_identity, page.remote_identity),
                *(self.number, page.slug),
            )
            for page in pages
        ]
        # Not by ``record``: the texts stay as they are, so no sync did this and an undo
        # has nothing to take back.
        with self._database.transaction() as connection:
            connection.executemany(
                "UPDATE page SET local_digest = ?, remote_digest = ?,"
                " local_identity = ?, remote_identity = ?"
                " WHERE wiki = ? AND slug = ?",
                rows,
            )
        self._base = None

    def _note_earlier(self, connection: Connection, agreed: Iterable[Agreed]) -> None:
        # a page that returns to an earlier text had nothing after it
        pages = [
            (self.number, one.page.slug, one.page.remote, EARLIER_MAX) for one in agreed
        ]
        connection.executemany(
            # the file's, too, where links to files make it another one
            "INSERT INTO earlier (wiki, slug, digest)"
            " SELECT wiki, slug, local_digest FROM page WHERE wiki = ?1 AND slug = ?2"
            " AND uploads <> '' AND remote_digest <> ?3 UNION ALL"
            " SELECT wiki, slug, remote_digest FROM page"
            " WHERE wiki = ?1 AND slug = ?2 AND remote_digest <> ?3",
            [page[:3] for page in pages],
        )
        connection.executemany(
            # A text that the page returns to ends the list: what came after it was
            # taken back.
            "DELETE FROM earlier WHERE wiki = ?1 AND slug = ?2 AND (id >="
            " (SELECT min(id) FROM earlier WHERE wiki = ?1 AND slug = ?2"
            " AND digest = ?3) OR id <= (SELECT id FROM earlier WHERE wiki = ?1"
            " AND slug = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?4))",
            pages,
        )

    def _drop(self, connection: Connection, slugs: Iterable[Slug]) -> None:
        gone = [(self.number, slug) for slug in slugs]
        connection.executemany(
            "INSERT INTO earlier (wiki, slug, digest) SELECT wiki, slug, remote_digest"
            " FROM page WHERE wiki = ? AND slug = ?",
            gone,
        )
        for table in _ENDING:
            delete = f"DELETE FROM {table} WHERE wiki = ? AND slug = ?"  # noqa: S608 - ours
            connection.executemany(delete, gone)

    def _rename(self, connection: Connection, renamed: Mapping[Slug, Slug]) -> None:
        # through names that no page can have: a slug holds no NUL
        number = self.number
        steps = [
            (old, f"\0{turn}", new) for turn, (old, new) in enumerate(renamed.items())
        ]
        for table in _FOLLOWING:
            update = f"UPDATE {table} SET slug = ? WHERE wiki = ? AND slug = ?"  # noqa: S608 - ours
            connection.executemany(
                update, [(transient, number, old) for old, transient, _ in steps]
            )
            if table in _NAMED:
                delete = f"DELETE FROM {table} WHERE wiki = ? AND slug = ?"  # noqa: S608 - ours
                connection.executemany(delete, [(number, new) for *_, new in steps])
            connection.executemany(
                update, [(new, number, transient) for _, transient, new in steps]
            )

    def _insert(self, connection: Connection, agreed: Iterable[Agreed]) -> None:
        number = self.number
        pages = [(*astuple(one.page)[:-1], one.page.uploads, one) for one in agreed]
        connection.executemany(
            "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *page, "\n".join(uploads)) for *page, uploads, _ in pages],
        )
        connection.executemany(
            "INSERT OR REPLACE INTO page_text VALUES (?, ?, ?, ?)",
            [(number, slug, one.mentions, one.zlib) for slug, *_, one in pages],
        )

    # -- names ---------------------------------------------------------------------

    def aliases(self) -> Mapping[Slug, Slug]:
        """Slugs of the pages whose files keep another name, by that of the path."""
        query = "SELECT path_slug, slug FROM alias WHERE wiki = ?"
        return self._once("alias", lambda: dict(self._rows(query)))

    def files(self) -> Mapping[Slug, Slug]:
        """The same by the slugs of the pages: what the paths of their files say."""
        return {page: file for file, page in self.aliases().items()}

    def file_of(self, slug: Slug) -> Slug:
        """The slug that the path of a page's file stands for."""
        return self.files().get(slug, slug)

    def record_alias(self, path_slug: Slug, slug: Slug) -> None:
        """Note that a file of this name is the page ``slug``."""
        insert = "INSERT OR REPLACE INTO alias VALUES (?, ?, ?)"
        self._write("alias", insert, path_slug, slug)

    def keep_file(self, slug: Slug, given: Slug) -> None:
        """Let the file of a page, called ``given`` from now on, keep its name."""
        files = [path for path, page in self.aliases().items() if page == slug]
        for path in files or [slug]:
            self.record_alias(path, given)

    def drop_alias(self, path_slug: Slug) -> None:
        """Forget it: the file's name is the page's again, or the file is gone."""
        delete = "DELETE FROM alias WHERE wiki = ? AND path_slug = ?"
        self._write("alias", delete, path_slug)

    # -- attachments ---------------------------------------------------------------

    def mentions(self) -> tuple[AttachmentPath, ...]:
        """Attachments that any page mentions, sorted; of others, what was fetched."""
        fetched = {path for path in self.attachments() if not is_upload(path)}
        lines = itertools.chain.from_iterable(self._mentioned().values())
        found = {AttachmentPath(line) for line in lines if is_upload(line)}
        found |= self.linked_paths() & fetched if fetched else frozenset()
        return tuple(sorted(found))

    def linked_paths(
        self, pages: Collection[Slug] | None = None
    ) -> frozenset[AttachmentPath]:
        """Where files may be that pages, all or some, link to; no uploads or pages."""
        if pages is None:
            return self._once("linked", lambda: self._linked(self._mentioned()))
        return self._linked(
            {s: lines for s, lines in self._mentioned().items() if is_named(s, pages)}
        )

    def _linked(
        self, mentioned: Mapping[Slug, Sequence[str]]
    ) -> frozenset[AttachmentPath]:
        return frozenset(
            AttachmentPath(path)
            for slug, lines in mentioned.items()
            for path in ways_lead_to(slug, [one for one in lines if not is_upload(one)])
        ).difference(self.base())

    def linking(self, paths: Set[str]) -> Mapping[str, Sequence[Slug]]:
        """The pages that may link to each of some paths, which are in form C."""
        found: dict[str, list[Slug]] = {}
        files = self.files()
        for slug, lines in self._mentioned().items() if paths else ():
            for path in {*ways_lead_to(files.get(slug, slug), lines)} & paths:
                found.setdefault(path, []).append(slug)
        return found

    def _mentioned(self) -> Mapping[Slug, Sequence[str]]:
        query = "SELECT slug, mentions FROM page_text WHERE wiki = ? AND mentions <> ''"
        return self._once(
            "page_text",
            lambda: {slug: lines.split("\n") for slug, lines in self._rows(query)},
        )

    def attachments(self) -> Mapping[AttachmentPath, FetchedFile]:
        """Attachments that were fetched, by path; also those that are gone here."""
        query = (
            "SELECT path, digest, size, here, version FROM attachment WHERE wiki = ?"
        )
        return self._once(
            "attachment",
            lambda: {
                path: FetchedFile(
                    path, digest, LooseFile(path, here, size) if here else None, version
                )
                for path, digest, size, here, version in self._rows(query)
            },
        )

    def attachments_here(self) -> frozenset[AttachmentPath]:
        """Those of them that are in the folder."""
        return frozenset(path for path, one in self.attachments().items() if one.here)

    def record_attachments(self, fetched: Iterable[FetchedFile]) -> None:
        """Remember attachments as they are here."""
        number, nothing = self.number, LooseFile("", NO_DIGEST, 0)
        rows = [
            (number, one.path, one.digest, file.size, file.digest, one.version)
            for one in fetched
            for file in [one.here or nothing]
        ]
        if not rows:
            return
        with self._writing("attachment") as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO attachment VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    def uploads(self) -> Mapping[str, Mapping[Digest, AttachmentPath]]:
        """Files that were uploaded: by path here, in form C, and content."""

        def read() -> Mapping[str, Mapping[Digest, AttachmentPath]]:
            found: dict[str, dict[Digest, AttachmentPath]] = {}
            rows = self._rows("SELECT path, digest, upload FROM upload WHERE wiki = ?")
            for path, digest, upload in rows:
                found.setdefault(path, {})[digest] = upload
            return found

        return self._once("upload", read)

    def upload_of(self, digest: Digest) -> AttachmentPath | None:
        """Where the service put a file of this content; None where it got none."""
        return self.uploads_by_digest().get(digest)

    def uploads_by_digest(self) -> Mapping[Digest, AttachmentPath]:
        """The same of all files of the folder that it was sent."""
        versions = self.uploads().values
        return self._once(
            "upload_of", lambda: {d: at for one in versions() for d, at in one.items()}
        )

    def record_upload(self, path: str, digest: Digest, upload: AttachmentPath) -> None:
        """Note where the wiki has a file of this content, so that it is sent once."""
        path = in_form_c(path)
        if self.uploads().get(path, {}).get(digest) != upload:
            with self._writing("upload", "upload_of") as connection:
                connection.execute(
                    "INSERT OR REPLACE INTO upload VALUES (?, ?, ?, ?)",
                    (self.number, path, digest, upload),
                )
