"""The wiki with its texts as the folder writes them.

A picture beside a page has one name here and another on the wiki, where it is an
upload under a random folder (``linking``).  The engine sees both sides as the folder
writes them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from wikisync.mentions import is_upload
from wikisync.model import (
    AttachmentPath,
    Digest,
    Page,
    PageState,
    Problem,
    Slug,
    Snapshot,
)
from wikisync.sync.base.state import WikiState
from wikisync.sync.replica import RemoteReplica
from wikisync.sync.wiki.linking import FileLinks

NOTED_MAX = 5_000
"""Texts whose other form is remembered, the newest; a watch runs for months."""


class TranslatedWiki:
    """A ``RemoteReplica`` whose texts are as the folder writes them."""

    def __init__(
        self,
        wiki: RemoteReplica,
        state: WikiState,
        links: FileLinks,
    ) -> None:
        self._wiki = wiki
        self._state = state
        self._links = links
        self.head = wiki.head
        self.follows = wiki.follows
        self.write_attachment = wiki.write_attachment
        self.other_files = wiki.other_files
        self.unmet = links.unmet
        """Ways of links to files that were not here when their pages were sent."""
        self.outdated = links.outdated
        """Pages to be sent again for the files they link to."""
        self.is_remembering = False
        """Set while the wiki is taken as it was last seen, and not scanned: for a
        save here, whose page is read anyway before it is written."""
        self.keeps_files = False
        """Set while the files beside the pages are taken as they were last seen."""
        self._last: dict[Slug, PageState] | None = None
        """The last scan, brought up to date with our own writes."""
        self._problems: tuple[Problem, ...] = ()
        """Of the last scan: they are not over because nobody scans."""
        self._unanswered = 0
        """Writes under way: until they are answered nobody knows what there is."""
        # An entry that is missing says nothing: the text is read and translated again.
        self._here: dict[tuple[Slug, Digest], PageState] = {}
        """A text's state as the folder writes it, by the wiki's digest."""
        self._there: dict[tuple[Slug, Digest], Digest] = {}
        """And the other way round."""

    @property
    def name(self) -> str:
        """The wiki's address."""
        return self._wiki.name

    @property
    def last_window_s(self) -> float:
        """From the read to the answer of the last write."""
        return self._wiki.last_window_s

    async def snapshot(self) -> Snapshot:
        """Scan every page; see ``Replica``."""
        if not self.keeps_files:
            self._links.scan_anew()
        if self.is_remembering and self._last is not None and not self._unanswered:
            return Snapshot(
                dict(self._last), problems=self._problems, is_remembered=True
            )
        # ``_last`` is whole, and brought up to date with every write that was answered;
        # while one is not, or after one that failed, only the wiki itself knows.
        seen = await self._wiki.snapshot()
        linked = self._state.pages_with_links()
        pages = dict(seen.pages)
        texts = dict(seen.texts)
        # A page without links to files has one form: its state is the folder's, too.
        for slug in linked & seen.pages.keys():
            page = seen.texts.get(slug)
            pages[slug] = await self._state_in(seen.pages[slug], page)
            if page is not None:
                texts[slug] = await self._links.page_in(page)
        # A page that a partial scan lacks may be there all the same: only a whole one
        # may be taken for the wiki later.
        self._last = dict(pages) if seen.is_complete and not seen.unreadable else None
        self._problems = seen.problems
        return replace(seen, pages=pages, texts=texts)

    async def recognised(self, here: Page, slug: Slug) -> PageState | None:
        """The page's state as the folder writes it, if only links to files differ."""
        there = await self._wiki.read(slug)
        links = await self._links.recognised(here, there)
        if links is None:
            return None
        translated = await self._links.page_in(there, [tuple(links)])
        self._state.settle_written_links(slug, links)
        state = self._note(there, translated)
        if self._last is not None:
            self._last[slug] = state
        return state

    async def _state_in(self, there: PageState, page: Page | None) -> PageState:
        known = self._state.base().get(there.slug)
        if known is not None and known.remote == there.digest:
            return there  # remembered from an earlier scan, and translated then
        here = self._here.get((there.slug, there.digest))
        if here is None:
            page = page or await self._wiki.read(there.slug)
            here = self._note(page, await self._links.page_in(page))
        return replace(here, identity=there.identity)

    def _note(self, there: Page, here: Page) -> PageState:
        state = here.state()
        self._here[here.slug, there.digest] = state
        self._there[here.slug, state.digest] = there.digest
        for noted in (self._here, self._there):
            if len(noted) > NOTED_MAX:
                # whatever is asked for and not noted any more is read again
                del noted[next(iter(noted))]
        return state

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now."""
        there = await self._wiki.read(slug)
        here = await self._links.page_in(there)
        self._note(there, here)
        return here

    async def _expected(self, slug: Slug, expected: Digest) -> Digest:
        """The wiki's digest of a text that is known as the folder writes it."""
        if not self._state.written_links(slug):
            return expected
        if (slug, expected) not in self._there:
            await self.read(slug)
        # Not there even now: the wiki has another text.  The folder's digest is none of
        # the wiki's, so a write that expects it is refused, as it should be.
        return self._there.get((slug, expected), expected)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Upload what the page links to and the wiki lacks, then write the page.

        Raises:
            RemoteError: also where a linked file cannot be uploaded; the page is
                not written then, so that it never has a broken link.
        """
        before = None if expected is None else await self._expected(page.slug, expected)
        there, links = await self._links.page_out(page)
        # Noted before it is sent: without an answer the wiki may hold the links of this
        # attempt or of the one before, and the way back has to know both.
        self._state.begin_written_links(page.slug, links)
        last = self._last
        self._unanswered += 1
        try:
            answer = await self._wiki.write(there, expected=before)
        except BaseException:
            # it may have been done: the wiki must be scanned
            self._last = None
            raise
        finally:
            self._unanswered -= 1
        name = page.slug
        if expected is None and answer.slug != name:
            # a new page goes by the name that the service gave it
            self._state.settle_written_links(name, ())
            name = answer.slug
        # At this point the wiki answered that it took these links: no other attempt is
        # left, and ``page_in`` finds what was written for each of them.
        self._state.settle_written_links(name, links)
        if links:
            # by other links the texts of before have another form here
            self._here = {
                key: here for key, here in self._here.items() if key[0] != name
            }
        here = await self._links.page_in(replace(answer, slug=name))
        here = replace(here, slug=answer.slug)
        state = self._note(answer, here)
        if last is None or last is not self._last or answer.slug != page.slug:
            # a scan meanwhile may have been before it or after, and pages below one
            # that got another name may have got others
            self._last = None
        else:
            identity = last[here.slug].identity if here.slug in last else ""
            last[here.slug] = replace(state, identity=identity)
        return here

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give the page another name, its text unchanged."""
        before = await self._expected(slug, expected)
        # pages below may be renamed along, under names that only a scan shows
        self._last = None
        moved = await self._wiki.move(slug, target, expected=before)
        # the links are on record under the old name until the base learns the new one
        here = await self._links.page_in(replace(moved, slug=slug))
        here = replace(here, slug=moved.slug)
        self._note(moved, here)
        return here

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove the page if it still has the expected digest."""
        before = await self._expected(slug, expected)
        # without an answer it may be done or not
        self._last = None
        await self._wiki.delete(slug, expected=before)

    # -- attachments -------------------------------------------------------------

    def read_attachment(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """The bytes in chunks of what the wiki has for this file of the folder."""
        if is_upload(path):
            path = self._state.place_on_wiki(path)
        return self._wiki.read_attachment(path, version)
