"""The replicas as a cycle sees them: other names, a dry run, the wiki as last seen.

``My Page.md`` becomes the page ``My-Page`` on the wiki; the file stays as its writer
named it.  Here the folder's replica is seen under the wiki's names.
"""

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set,
)
from contextlib import suppress
from typing import NoReturn

from msgspec.structs import replace

from wikisync import errors
from wikisync.core.model import (
    FOLDER_OF_PAGES,
    STRAY_CONFLICT,
    ConflictFile,
    Digest,
    Format,
    LateSave,
    Page,
    Problem,
    Slug,
    Snapshot,
)
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import ConflictFileRecord
from wikisync.sync.replica import GONE_THERE, LocalReplica


class AliasedFolder:
    """A ``LocalReplica`` whose pages go by the wiki's names.

    With a copied state it takes nothing.
    """

    def __init__(self, folder: LocalReplica, state: WikiState) -> None:
        folder = DryFolder(folder) if state.is_copy else folder
        self._folder = folder
        self._state = state
        # These name no page, or one in whatever file: they are the folder's own.
        self.name = folder.name
        self.keep = folder.keep
        self.acknowledge = folder.acknowledge
        self.keeps_out = folder.keeps_out
        self.attachments = folder.attachments
        self.read_attachment = folder.read_attachment
        self.write_attachment = folder.write_attachment

    async def snapshot(self) -> Snapshot:
        """Scan every page file; see ``LocalReplica``."""
        # while a page has a file of another name, a file by the page's own name is not
        # that page: to send it would overwrite the page with an unrelated text
        return await self._by_pages(await self._folder.snapshot())

    async def saved(self, paths: Collection[str]) -> Snapshot | None:
        """Scan files that were saved; see ``LocalReplica``."""
        seen = await self._folder.saved(paths)
        return None if seen is None else await self._by_pages(seen)

    async def _by_pages(self, seen: Snapshot) -> Snapshot:
        """The scan under the names that the wiki gave its pages."""
        # a folder that holds pages is in the way only of a page that there is, and what
        # has the name of a conflict file is one where its page has a conflict
        aliases = self._state.aliases()
        codes = {problem.code for problem in seen.problems}
        if not codes.isdisjoint({FOLDER_OF_PAGES, STRAY_CONFLICT}):
            known = self._state.files()
            base, held = self._state.base(), self._state.conflict_files()
            files = {known.get(slug, slug) for slug in base}
            in_conflict = {known.get(slug, slug) for slug in held}
            problems = tuple(
                problem
                for problem in seen.problems
                if problem.code != FOLDER_OF_PAGES or problem.subject in files
                if problem.code != STRAY_CONFLICT or problem.subject not in in_conflict
            )
            seen = replace(seen, problems=problems)
        if not aliases:
            return seen
        files = seen.pages.keys() | seen.unreadable
        names = {path: slug for path, slug in aliases.items() if path in files}
        # an alias ends with its file, which only a whole scan shows
        if seen.is_complete and len(names) < len(aliases):
            await self._forget(aliases.keys() - names.keys(), files - names.keys())
        if not names:
            return seen
        duplicates = set(names.values()) & (files - names.keys())
        doubled = frozenset(p for p, slug in names.items() if slug in duplicates)
        own = {path: names.get(path, path) for path in files - duplicates}
        return replace(
            seen,
            pages={
                own[path]: page if own[path] == path else replace(page, slug=own[path])
                for path, page in seen.pages.items()
                if path in own
            },
            problems=(
                *seen.problems,
                *(
                    _duplicate(path, names[path])
                    for path in sorted(doubled)
                    if names[path] not in seen.ignored
                ),
            ),
            # a page of the wiki by that name would need the file that cannot give way
            unreadable=doubled.union(own[p] for p in seen.unreadable & own.keys()),
            ignored=frozenset(own[path] for path in seen.ignored & own.keys()),
            busy={own[path]: why for path, why in seen.busy.items() if path in own},
        )

    async def _forget(self, missing: Set[Slug], others: Set[Slug]) -> None:
        """Forget the names of files that are gone, but not while their disk is away."""
        aliases, base = self._state.aliases(), self._state.base()
        known = [
            (path, base[aliases[path]].format)
            for path in missing
            if aliases[path] in base and aliases[path] not in others
        ]
        kept = await self._folder.untracked(known) | await self._folder.emptied(known)
        for path in missing - kept:
            self._state.drop_alias(path)

    async def untracked(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Pages whose absence means nothing; see ``LocalReplica``."""
        return await self._by_files(self._folder.untracked, pages)

    async def emptied(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        """Missing pages whose directory is empty; see ``LocalReplica``."""
        return await self._by_files(self._folder.emptied, pages)

    async def _by_files(
        self,
        ask: Callable[[Iterable[tuple[Slug, Format]]], Awaitable[frozenset[Slug]]],
        pages: Iterable[tuple[Slug, Format]],
    ) -> frozenset[Slug]:
        names = self._state.files()
        files = {
            slug: (names.get(slug, slug), page_format) for slug, page_format in pages
        }
        found = await ask(files.values())
        return frozenset(slug for slug, (file, _) in files.items() if file in found)

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now."""
        page = await self._folder.read(self._state.file_of(slug))
        return replace(page, slug=slug)

    async def having(
        self, slugs: Iterable[Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[Slug]:
        """Those of the pages whose text is sought."""
        names = self._state.files()
        files = {names.get(slug, slug): slug for slug in slugs}
        found = await self._folder.having(files, is_sought)
        return frozenset([files[file] for file in found])

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create the page or replace its text."""
        await self._make_way([page.slug])
        file = replace(page, slug=self._state.file_of(page.slug))
        written = await self._folder.write(file, expected=expected)
        return replace(written, slug=page.slug)

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | errors.WikisyncError]:
        """Write many pages, each with the digest that it replaces."""
        await self._make_way(page.slug for page, _ in pages)
        names = self._state.files()
        if not names:
            return await self._folder.write_pages(pages)
        files = [
            (replace(page, slug=names.get(page.slug, page.slug)), expected)
            for page, expected in pages
        ]
        results = await self._folder.write_pages(files)
        return [
            replace(result, slug=page.slug) if isinstance(result, Page) else result
            for result, (page, _) in zip(results, pages, strict=True)
        ]

    async def _make_way(self, slugs: Iterable[Slug]) -> None:
        """Rename files of other pages that have the names which these pages need."""
        # A page may come to the wiki by a name that until then only a file had, that of
        # a page with another name.  That file gets its own page's name.
        aliases = self._state.aliases()
        if not aliases:
            return
        taken = (aliases.keys() & set(slugs)) - self._state.files().keys()
        for path in sorted(taken):
            with suppress(errors.PreconditionFailed, errors.FolderError):
                with suppress(errors.NotFound):  # gone since the scan, or with its disk
                    file = await self._folder.read(path)
                    await self._folder.move(path, aliases[path], expected=file.digest)
                self._state.drop_alias(path)

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give the page's file another name, that of the page."""
        # a file that has that name already keeps it, and is an alias no longer
        file = self._state.file_of(slug)
        if file == target:
            moved = await self._folder.read(file)
            if moved.digest != expected:
                raise errors.PreconditionFailed(f"{file} changed in {self.name}")
        else:
            await self._make_way([target])
            moved = await self._folder.move(file, target, expected=expected)
        if file != slug:
            self._state.drop_alias(file)
        return moved

    async def delete(
        self, slug: Slug, *, expected: Digest, why: str = GONE_THERE
    ) -> None:
        """Move the page's file to the trash."""
        await self._folder.delete(self._state.file_of(slug), expected=expected, why=why)

    async def late_saves(self) -> Sequence[LateSave]:
        """Saves that reached a file only after it had been replaced."""
        aliases = self._state.aliases()
        return [
            replace(late, slug=aliases.get(late.slug, late.slug))
            for late in await self._folder.late_saves()
        ]

    async def conflict_file(self, slug: Slug) -> ConflictFile | None:
        """The page's conflict file as it is now."""
        return await self._folder.conflict_file(self._state.file_of(slug))

    async def write_conflict(
        self,
        slug: Slug,
        page_format: Format,
        text: str,
        *,
        expected: Digest | None = None,
    ) -> str:
        """Write the page's conflict file beside it."""
        return await self._folder.write_conflict(
            self._state.file_of(slug), page_format, text, expected=expected
        )

    async def remove_conflict(
        self, slug: Slug, *, expected: Digest | None = None
    ) -> None:
        """Remove the page's conflict file, into the trash."""
        await self._folder.remove_conflict(self._state.file_of(slug), expected=expected)


def _duplicate(file: Slug, slug: Slug) -> Problem:
    return Problem(
        "duplicate-page",
        slug,
        f"the file {file} is this page already; the file {slug} is skipped",
        "give one of the two files another name",
    )


# -- a dry run ---------------------------------------------------------------------


class DryFolder:
    """The folder of a dry run: it stays as it is, and shows what was written to it."""

    def __init__(self, folder: LocalReplica) -> None:
        self._folder = folder
        self._pages: dict[Slug, Page | None] = {}
        """Pages as they were written; None for those that were removed."""
        self._moved: dict[Slug, Slug] = {}
        """What pages that have another name were called."""
        self._settled: set[Slug] = set()
        """Pages whose conflict files were removed."""
        self.name = folder.name
        self.keeps_out = folder.keeps_out
        self.attachments = folder.attachments
        self.read_attachment = folder.read_attachment
        self.write_attachment = folder.write_attachment
        self.write_pages = folder.write_pages
        self.untracked = folder.untracked
        self.emptied = folder.emptied

    async def snapshot(self) -> Snapshot:
        """The scan as it would be."""
        seen = await self._folder.snapshot()
        pages = {s: one for s, one in seen.pages.items() if s not in self._pages}
        for slug, page in self._pages.items():
            before = seen.pages.get(self._moved.get(slug, slug))
            if page is not None:
                pages[slug] = page.state(before.identity if before else "")
        problems = tuple(
            one
            for one in seen.problems
            if one.code != STRAY_CONFLICT or one.subject not in self._settled
        )
        return replace(seen, pages=pages, problems=problems)

    async def saved(self, paths: Collection[str]) -> Snapshot | None:
        """A dry run scans everything."""
        del paths
        return None

    async def read(self, slug: Slug) -> Page:
        """The page as it was written, or is."""
        if slug not in self._pages:
            return await self._folder.read(slug)
        page = self._pages[slug]
        if page is None:
            raise errors.NotFound(f"there is no page {slug} in {self.name}")
        return page

    async def having(
        self, slugs: Iterable[Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[Slug]:
        """Those of the pages whose text is sought."""
        asked = frozenset(slugs)
        found = await self._folder.having(asked - self._pages.keys(), is_sought)
        return found.union(
            slug
            for slug in asked & self._pages.keys()
            if (page := self._pages[slug]) and is_sought(page.content)
        )

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Remember a page."""
        del expected
        self._pages[page.slug] = page
        return page

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Remember a page under another name."""
        page = replace(await self.read(slug), slug=target)
        await self.delete(slug, expected=expected)
        self._moved[target] = slug
        return await self.write(page, expected=None)

    async def delete(
        self, slug: Slug, *, expected: Digest, why: str = GONE_THERE
    ) -> None:
        """Remember that a page is gone."""
        del expected, why
        self._pages[slug] = None

    async def late_saves(self) -> Sequence[LateSave]:
        """Nobody takes them in a dry run."""
        return ()

    async def acknowledge(self, late: LateSave) -> None:
        """Nothing was taken."""

    async def keep(self, *_text: object, **_is_again: object) -> None:
        """Nothing is replaced."""

    async def conflict_file(self, slug: Slug) -> ConflictFile | None:
        """The page's conflict file; none where it was taken."""
        return None if slug in self._settled else await self._folder.conflict_file(slug)

    async def write_conflict(
        self, slug: Slug, *_text: object, **_expected: object
    ) -> str:
        """The one that is there stays."""
        file = await self.conflict_file(slug)
        return file.path if file else ""

    async def remove_conflict(self, slug: Slug, **_expected: object) -> None:
        """Remember that the page's conflict file was taken."""
        self._settled.add(slug)


class RememberedWiki:
    """A ``RemoteReplica`` that holds what is known of the wiki, and takes nothing."""

    name = "the wiki as it was last seen"
    last_window_s = 0.0

    def __init__(self, known: WikiState) -> None:
        self._known = known

    async def head(self) -> str:
        """Nothing is asked of the history."""
        return ""

    async def snapshot(self) -> Snapshot:
        """Every page that is known, which is not every page that there is."""
        pages = dict(self._known.remote_pages())
        for slug, record in self._known.conflict_files().items():
            identity = pages[slug].identity if slug in pages else ""
            pages[slug] = _page(slug, record).state(identity)
        return Snapshot(pages, is_remembered=True)

    async def read(self, slug: Slug) -> Page:
        """The page as it was last seen."""
        record = self._known.conflict_files(slug).get(slug)
        if record is not None:
            return _page(slug, record)
        base, text = self._known.base().get(slug), self._known.text(slug)
        if base is None or text is None:
            raise errors.NotFound(f"there is no record of page {slug}")
        return Page(slug, base.format, text, wiki_digest=base.remote)

    def _refuse_now(self, *_asked: object, **_more: object) -> NoReturn:
        raise errors.Unavailable(
            "nothing is requested: the wiki is used as it was last seen"
        )

    async def _refuse(self, *_asked: object, **_more: object) -> NoReturn:
        self._refuse_now()

    read_attachment = _refuse_now
    write = move = delete = write_attachment = follows = _refuse

    async def other_files(self, **_has_uploads: object) -> Mapping[str, str] | None:
        """Know nothing."""
        return None


def _page(slug: Slug, record: ConflictFileRecord) -> Page:
    digest = record.wiki_digest
    return Page(slug, record.format, record.remote, wiki_digest=digest)
