"""Both sides of a dry run: a folder that remembers writes, the wiki as last seen."""

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)

from msgspec.structs import replace

from wikisync.core import model
from wikisync.errors import NotFound, Unavailable
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import ConflictFileRecord
from wikisync.sync.replica import GONE_THERE, LocalReplica


class DryFolder:
    """The folder of a dry run: it stays as it is, and shows what was written to it."""

    def __init__(self, folder: LocalReplica) -> None:
        self._folder = folder
        self._pages: dict[model.Slug, model.Page | None] = {}
        """Pages as they were written; None for those that were removed."""
        self._moved: dict[model.Slug, model.Slug] = {}
        """What pages that have another name were called."""
        self._settled: set[model.Slug] = set()
        """Pages whose conflict files were removed."""
        self.name = folder.name
        self.keeps_out = folder.keeps_out
        self.attachments = folder.attachments
        self.read_attachment = folder.read_attachment
        self.write_attachment = folder.write_attachment
        self.write_pages = folder.write_pages
        self.untracked = folder.untracked
        self.emptied = folder.emptied

    async def snapshot(self) -> model.Snapshot:
        """The scan as it would be."""
        seen = await self._folder.snapshot()
        pages = {s: one for s, one in seen.pages.items() if s not in self._pages}
        problems = tuple(
            one
            for one in seen.problems
            if one.code != model.STRAY_CONFLICT or one.subject not in self._settled
        )
        return replace(seen, pages=pages | self._written(seen), problems=problems)

    def _written(self, seen: model.Snapshot) -> dict[model.Slug, model.PageState]:
        found: dict[model.Slug, model.PageState] = {}
        for slug, page in self._pages.items():
            before = seen.pages.get(self._moved.get(slug, slug))
            if page is not None:
                found[slug] = page.state(before.identity if before else "")
        return found

    async def saved(self, paths: Collection[str]) -> model.Snapshot | None:
        """A dry run scans everything."""
        del paths
        return None

    async def read(self, slug: model.Slug) -> model.Page:
        """The page as it was written, or is."""
        if slug not in self._pages:
            return await self._folder.read(slug)
        page = self._pages[slug]
        if page is None:
            raise NotFound(f"there is no page {slug} in {self.name}")
        return page

    async def having(
        self, slugs: Iterable[model.Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[model.Slug]:
        """Those of the pages whose text is sought."""
        asked = frozenset(slugs)
        found = await self._folder.having(asked - self._pages.keys(), is_sought)
        return found.union(
            slug
            for slug in asked & self._pages.keys()
            if (page := self._pages[slug]) and is_sought(page.content)
        )

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        """Remember a page."""
        del expected
        self._pages[page.slug] = page
        return page

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        """Remember a page under another name."""
        page = replace(await self.read(slug), slug=target)
        await self.delete(slug, expected=expected)
        self._moved[target] = slug
        return await self.write(page, expected=None)

    async def delete(
        self, slug: model.Slug, *, expected: model.Digest, why: str = GONE_THERE
    ) -> None:
        """Remember that a page is gone."""
        del expected, why
        self._pages[slug] = None

    async def late_saves(self) -> Sequence[model.LateSave]:
        """Nobody takes them in a dry run."""
        return ()

    async def acknowledge(self, late: model.LateSave) -> None:
        """Nothing was taken."""

    async def keep(
        self, slug: model.Slug, text: str, why: str, *, is_again: bool = False
    ) -> None:
        """Nothing is replaced."""

    async def conflict_file(self, slug: model.Slug) -> model.ConflictFile | None:
        """The page's conflict file; none where it was taken."""
        return None if slug in self._settled else await self._folder.conflict_file(slug)

    async def write_conflict(
        self,
        slug: model.Slug,
        page_format: model.Format,
        text: str,
        *,
        expected: model.Digest | None = None,
    ) -> str:
        """The one that is there stays."""
        del page_format, text, expected
        file = await self.conflict_file(slug)
        return file.path if file else ""

    async def remove_conflict(
        self, slug: model.Slug, *, expected: model.Digest | None = None
    ) -> None:
        """Remember that the page's conflict file was taken."""
        del expected
        self._settled.add(slug)


class RememberedWiki:
    """A ``RemoteReplica`` that holds what is known of the wiki, and takes nothing."""

    last_window_s = 0.0

    def __init__(self, known: WikiState) -> None:
        self._known = known

    @property
    def name(self) -> str:
        """What messages call it."""
        return "the wiki as it was last seen"

    async def head(self) -> str:
        """Nothing is asked of the history."""
        return ""

    async def follows(self, head: str, earlier: str) -> bool | None:
        """Nothing is asked of the history."""
        raise _refusal(head, earlier)

    async def snapshot(self) -> model.Snapshot:
        """Every page that is known, which is not every page that there is."""
        pages = dict(self._known.remote_pages())
        for slug, record in self._known.conflict_files().items():
            identity = pages[slug].identity if slug in pages else ""
            pages[slug] = _page(slug, record).state(identity)
        return model.Snapshot(pages, is_remembered=True)

    async def read(self, slug: model.Slug) -> model.Page:
        """The page as it was last seen."""
        record = self._known.conflict_files(slug).get(slug)
        if record is not None:
            return _page(slug, record)
        base, text = self._known.base().get(slug), self._known.text(slug)
        if base is None or text is None:
            raise NotFound(f"there is no record of page {slug}")
        return model.Page(slug, base.format, text, wiki_digest=base.remote)

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        """Take nothing."""
        raise _refusal(page.slug, expected)

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        """Take nothing."""
        raise _refusal(slug, target, expected)

    async def delete(self, slug: model.Slug, *, expected: model.Digest) -> None:
        """Take nothing."""
        raise _refusal(slug, expected)

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        """Know nothing."""
        del has_uploads
        return None

    def read_attachment(
        self, path: model.AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """Have nothing."""
        raise _refusal(path, version)

    async def write_attachment(
        self, path: model.AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> model.Attachment:
        """Take nothing."""
        raise _refusal(path, chunks)


def _page(slug: model.Slug, record: ConflictFileRecord) -> model.Page:
    digest = record.wiki_digest
    return model.Page(slug, record.format, record.remote, wiki_digest=digest)


def _refusal(what: str, *_asked: object) -> Unavailable:
    return Unavailable(f"{what} is not requested: the wiki is used as it was last seen")
