"""The wiki with its texts as the folder writes them.

A picture beside a page has one name here and another on the wiki, where it is an
upload under a random folder (``linking``).  The engine sees both sides as the folder
writes them; the digest of a page is that of the wiki's own text.
"""

from collections.abc import AsyncIterator

from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.mentions import is_upload, mentioned_attachments
from wikisync.folder.loose import LooseFiles
from wikisync.folder.replica import FolderReplica
from wikisync.sync.base.state import WikiState
from wikisync.sync.replica import RemoteReplica
from wikisync.workspace.linking import FileLinks


class TranslatedWiki:
    """A ``RemoteReplica`` whose texts are as the folder writes them."""

    def __init__(self, wiki: RemoteReplica, state: WikiState, links: FileLinks) -> None:
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
        self._last: dict[model.Slug, model.PageState] | None = None
        """The last scan, brought up to date with our own writes."""
        self._problems: tuple[model.Problem, ...] = ()
        """Of the last scan: they are not over because nobody scans."""
        self._unanswered = 0
        """Writes under way: until they are answered nobody knows what there is."""

    @property
    def name(self) -> str:
        """The wiki's address."""
        return self._wiki.name

    @property
    def last_window_s(self) -> float:
        """From the read to the answer of the last write."""
        return self._wiki.last_window_s

    async def snapshot(self) -> model.Snapshot:
        """Scan every page; see ``Replica``."""
        if not self.keeps_files:
            self._links.fetched = None
        if self.is_remembering and self._last is not None and not self._unanswered:
            return model.Snapshot(
                dict(self._last), problems=self._problems, is_remembered=True
            )
        # ``_last`` is whole, and brought up to date with every write that was answered;
        # while one is not, or after one that failed, only the wiki itself knows.
        seen = await self._wiki.snapshot()
        base, pages = self._state.base(), dict(seen.pages)
        texts = dict(seen.texts)
        uploaded = frozenset(self._state.uploaded())
        for slug, page in seen.texts.items():
            known, state = base.get(slug), pages[slug]
            if known is not None and known.remote != state.digest:
                texts[slug] = here = await self._links.to_folder(page)
                pages[slug] = state if here is page else here.state(state.identity)
            elif uploaded and not uploaded.isdisjoint(
                mentioned_attachments(page.content)
            ):
                # read if it is needed, by the name that the base has then
                del texts[slug]
        # A page that a partial scan lacks may be there all the same: only a whole one
        # may be taken for the wiki later.
        self._last = dict(pages) if seen.is_complete and not seen.unreadable else None
        self._problems = seen.problems
        return replace(seen, pages=pages, texts=texts)

    async def recognised(self, here: model.Page, slug: model.Slug) -> model.Page | None:
        """The page as the folder writes it, if only links to files differ."""
        page = await self._links.recognised(here, await self._wiki.read(slug))
        if page is not None and self._last is not None:
            self._last[slug] = page.state()
        return page

    async def read(self, slug: model.Slug) -> model.Page:
        """The page with its text as of now."""
        return await self._links.to_folder(await self._wiki.read(slug))

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        """Upload what the page links to and the wiki lacks, then write the page."""
        # where a file cannot be uploaded the page is not written: a link would be
        # broken
        there = await self._links.to_wiki(page)
        last = self._last
        self._unanswered += 1
        try:
            answer = await self._wiki.write(there, expected=expected)
        except BaseException:
            # it may have been done: the wiki must be scanned
            self._last = None
            raise
        finally:
            self._unanswered -= 1
        if answer.content == there.content:
            digest = None if there is page else answer.digest
            here = replace(page, wiki_digest=digest, uploads=there.uploads)
        else:
            here = await self._links.to_folder(replace(answer, slug=page.slug))
        here = replace(here, slug=answer.slug, format=answer.format)
        if last is None or last is not self._last or answer.slug != page.slug:
            # a scan meanwhile may have been before it or after, and pages below one
            # that got another name may have got others
            self._last = None
        else:
            identity = last[here.slug].identity if here.slug in last else ""
            last[here.slug] = here.state(identity)
        return here

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        """Give the page another name, its text unchanged."""
        # pages below may be renamed along, under names that only a scan shows
        self._last = None
        moved = await self._wiki.move(slug, target, expected=expected)
        # the base has its text under the old name until it learns the new one
        here = await self._links.to_folder(replace(moved, slug=slug))
        return replace(here, slug=moved.slug)

    async def delete(self, slug: model.Slug, *, expected: model.Digest) -> None:
        """Remove the page if it still has the expected digest."""
        # without an answer it may be done or not
        self._last = None
        await self._wiki.delete(slug, expected=expected)

    # -- attachments -------------------------------------------------------------

    def read_attachment(
        self, path: model.AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """The bytes in chunks of what the wiki has for this file of the folder."""
        if is_upload(path):
            path = self._links.place_on_wiki(path)
        return self._wiki.read_attachment(path, version)


def translated_wiki(
    wiki: RemoteReplica, folder: FolderReplica, known: WikiState
) -> TranslatedWiki:
    """The wiki with its links to files as the folder writes them."""
    files = LooseFiles.of_folder(folder)
    return TranslatedWiki(wiki, known, FileLinks(wiki, files, known))
