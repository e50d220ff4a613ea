"""Links to files of the folder, as the wiki has to write them, and back.

A picture beside a page has one name here and another on the wiki, where it is an
upload under a random folder.  The engine sees both sides as the folder writes them:
on the way out each linked file is uploaded once, by its content, and the link leads
to the upload; on the way in the link is again what the person wrote
(``sync.md`` 3.13).  Only real links are touched; ``cli`` brings the parser.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import quote

from msgspec.structs import replace

from wikisync.errors import (
    PreconditionFailed,
    Rejected,
    RemoteError,
    WikisyncError,
)
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    LooseFile,
    Page,
    PageState,
    Slug,
    Snapshot,
    digest_of,
    fold_text,
)
from wikisync.sync.ledger import Intent, Operation
from wikisync.sync.replica import RemoteReplica
from wikisync.sync.state import WikiState

log = logging.getLogger(__name__)

FILE_BYTES_MAX = 100 * 1024 * 1024
"""A linked file larger than this is not uploaded; its page waits."""

NOTED_MAX = 5_000
"""Texts whose other form is remembered, the newest; a watch runs for months."""

Targets = Callable[[Page], Sequence[str]]
"""Where a page's links lead, as its source writes it."""
Retarget = Callable[[Page, Mapping[str, str]], str]
"""A page's source with other targets for some of its links."""


class LinkedFiles(Protocol):
    """The files beside the pages of one folder."""

    async def names(self) -> frozenset[str]:
        """Their names, without folders."""
        ...

    async def find(self, slug: Slug, target: str) -> LooseFile | None:
        """The file that a link on a page leads to, if it is one of them."""
        ...

    def read(self, file: LooseFile) -> AsyncIterator[bytes]:
        """The file's bytes."""
        ...


class TranslatedWiki:
    """A ``RemoteReplica`` whose texts are as the folder writes them."""

    def __init__(
        self,
        wiki: RemoteReplica,
        files: LinkedFiles,
        state: WikiState,
        *,
        targets: Targets,
        retarget: Retarget,
        clock: Callable[[], float],
    ) -> None:
        self._wiki = wiki
        self._files = files
        self._state = state
        self._targets = targets
        self._retarget = retarget
        self._clock = clock
        self.is_remembering = False
        """Set while the wiki is taken as it was last seen, and not looked at: for a
        save here, whose page is read anyway before it is written."""
        self._last: dict[Slug, PageState] | None = None
        """The last look, brought up to date with our own writes."""
        self._unanswered = 0
        """Writes under way: until they are answered nobody knows what there is."""
        self._uploading = asyncio.Lock()
        self._names: frozenset[str] | None = None
        self._here: dict[Digest, PageState] = {}
        """A text's state as the folder writes it, by the wiki's digest."""
        self._there: dict[Digest, Digest] = {}
        """And the other way round."""

    @property
    def name(self) -> str:
        """The wiki's address."""
        return self._wiki.name

    @property
    def last_window_s(self) -> float:
        """From the read to the answer of the last write."""
        return self._wiki.last_window_s

    # -- in ----------------------------------------------------------------------

    async def snapshot(self) -> Snapshot:
        """Look at every page; see ``Replica``."""
        self._names = None
        if self.is_remembering and self._last is not None and not self._unanswered:
            return Snapshot(dict(self._last))
        seen = await self._wiki.snapshot()
        linked = self._state.pages_with_links()
        pages = dict(seen.pages)
        texts = dict(seen.texts)
        for slug in linked & seen.pages.keys():
            page = seen.texts.get(slug)
            pages[slug] = await self._state_in(seen.pages[slug], page)
            if page is not None:
                texts[slug] = self._page_in(page)
        self._last = dict(pages) if seen.is_complete and not seen.unreadable else None
        return replace(seen, pages=pages, texts=texts)

    async def _state_in(self, there: PageState, page: Page | None) -> PageState:
        known = self._state.base().get(there.slug)
        if known is not None and known.remote == there.digest:
            return there  # remembered from an earlier look, and translated then
        if there.digest not in self._here:
            page = page or await self._wiki.read(there.slug)
            self._note(page, self._page_in(page))
        here = self._here[there.digest]
        return replace(here, identity=there.identity)

    def _page_in(self, page: Page) -> Page:
        links = self._state.written_links(page.slug)
        present = {
            str(path): link for path, link in links.items() if path in page.content
        }
        if not present:
            return page
        return replace(page, content=self._retarget(page, present))

    def _note(self, there: Page, here: Page) -> None:
        content = here.content
        self._here[there.digest] = PageState(
            here.slug,
            here.format,
            here.digest,
            digest_of(fold_text(content)),
            size=len(content.encode("utf-8", "surrogatepass")),
        )
        self._there[here.digest] = there.digest
        for noted in (self._here, self._there):
            if len(noted) > NOTED_MAX:
                # whatever is asked for and not noted any more is read again
                del noted[next(iter(noted))]

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now."""
        there = await self._wiki.read(slug)
        here = self._page_in(there)
        self._note(there, here)
        return here

    async def _expected(self, slug: Slug, expected: Digest) -> Digest:
        """The wiki's digest of a text that is known as the folder writes it."""
        if not self._state.written_links(slug):
            return expected
        if expected not in self._there:
            await self.read(slug)
        return self._there.get(expected, expected)

    # -- out ---------------------------------------------------------------------

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Upload what the page links to and the wiki lacks, then write the page.

        Raises:
            RemoteError: also where a linked file cannot be uploaded; the page is
                not written then, so that it never has a broken link.
        """
        before = None if expected is None else await self._expected(page.slug, expected)
        there = await self._page_out(page)
        last = self._last
        self._unanswered += 1
        try:
            answer = await self._wiki.write(there, expected=before)
        except BaseException:
            # it may have been done: the wiki must be looked at
            self._last = None
            raise
        finally:
            self._unanswered -= 1
        here = self._page_in(replace(answer, slug=page.slug))
        here = replace(here, slug=answer.slug)
        self._note(answer, here)
        if last is None or last is not self._last:
            # a look meanwhile may have been before it or after
            self._last = None
        else:
            identity = last[here.slug].identity if here.slug in last else ""
            last[here.slug] = replace(self._here[answer.digest], identity=identity)
        return here

    async def _page_out(self, page: Page) -> Page:
        links = await self._links_out(page)
        written = {AttachmentPath(path): link for link, path in links.items()}
        self._state.record_written_links(page.slug, written)
        return replace(page, content=self._retarget(page, links)) if links else page

    async def _links_out(self, page: Page) -> dict[str, str]:
        """The page's links to files here, each with its path on the wiki."""
        before = {
            link: path for path, link in self._state.written_links(page.slug).items()
        }
        if not before and not await self._mentions_file(page):
            return {}
        links: dict[str, str] = {}
        for target in self._targets(page):
            file = await self._files.find(page.slug, target)
            if file is not None:
                links[target] = await self._uploaded(page.slug, file)
            elif target in before:
                # the file is gone here; the wiki still has it
                links[target] = before[target]
        return links

    async def _mentions_file(self, page: Page) -> bool:
        """Whether a file's name stands anywhere in the page: parsing costs more."""
        if self._names is None:
            names = await self._files.names()
            self._names = names | {quote(name) for name in names}
        return any(name in page.content for name in self._names)

    async def outdated(self) -> frozenset[Slug]:
        """Pages that link to a file whose content is another one than the wiki's."""
        uploads = self._state.uploads()
        found: set[Slug] = set()
        for slug in self._state.pages_with_links():
            for path, link in self._state.written_links(slug).items():
                file = await self._files.find(slug, link)
                if file is not None and uploads.get(file.digest) != path:
                    found.add(slug)
        return frozenset(found)

    async def _uploaded(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        """Where the wiki has the file; uploaded once, whatever it is called here."""
        async with self._uploading:
            # another page may have sent the same file meanwhile
            known = self._state.uploads().get(file.digest)
            return known or await self._upload(slug, file)

    async def _upload(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        if file.size > FILE_BYTES_MAX:
            raise Rejected(
                f"{file.path}, which {slug} links to, is larger than"
                f" {FILE_BYTES_MAX >> 20} MiB",
                hint="make the file smaller, or link to it elsewhere",
            )
        intent = self._state.begin(
            Intent(Operation.UPLOAD, slug, text=file.path, at=self._clock())
        )
        name = file.path.rpartition("/")[2]
        try:
            stored = await self._wiki.write_attachment(
                AttachmentPath(f"uploads/{name}"), self._files.read(file)
            )
        except RemoteError:
            self._state.settle(intent)
            raise
        with self._state.together():
            self._state.record_upload(file.digest, stored.path, file.path, file.size)
            self._state.settle(intent)
        log.info("uploaded %s as %s", file.path, stored.path)
        return stored.path

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | WikisyncError]:
        """Write pages one after the other."""
        results: list[Page | WikisyncError] = []
        for page, expected in pages:
            try:
                results.append(await self.write(page, expected=expected))
            except PreconditionFailed as error:
                results.append(error)
        return results

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give the page another name, its text unchanged."""
        before = await self._expected(slug, expected)
        self._last = None
        moved = await self._wiki.move(slug, target, expected=before)
        here = replace(self._page_in(replace(moved, slug=slug)), slug=moved.slug)
        self._note(moved, here)
        return here

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove the page if it still has the expected digest."""
        before = await self._expected(slug, expected)
        self._last = None
        await self._wiki.delete(slug, expected=before)

    # -- attachments -------------------------------------------------------------

    async def attachment(self, path: AttachmentPath) -> Attachment | None:
        """What the wiki holds at an attachment path."""
        return await self._wiki.attachment(path)

    def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks."""
        return self._wiki.read_attachment(path)

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Upload a file; the service chooses its path."""
        return await self._wiki.write_attachment(path, chunks)
