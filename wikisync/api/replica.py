"""WikiReplica: one wiki behind the client, seen as a replica.

What the service lists but cannot give back is a problem and never an absence.  Without
a compare-and-swap another person's edit goes unseen between read and write; how long
that was is ``last_window_s`` (``docs/sync.md`` "Pushing").  Writes take turns
(``Client.writing``): the next page, and no other, is read while the last one is
written, so that each costs one round trip.  A new page needs no read, for the service
refuses one that has a namesake (Q5).
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from wikisync import errors
from wikisync.api.git import AttachmentSource, WikiHistory
from wikisync.api.known import KnownPages, TreeCache
from wikisync.api.scan import known_format, require_whole, whole_page
from wikisync.api.scanning import REQUEST_COST_BYTES, Scanning
from wikisync.api.upload import spooled
from wikisync.api.wikis import Wiki
from wikisync.contract.schema import WikiPageRecord
from wikisync.core.model import (
    AttachmentPath,
    Digest,
    Format,
    LooseFile,
    Page,
    PageState,
    Slug,
    is_dashed,
    name_key,
    temporary_name,
)

DECIDE_HINT = "run it again"
AHEAD_MAX_S = 2.0
"""A page is written so long after its read at most; the write before it took longer,
or waited for a limit."""


class WikiReplica(Scanning):
    """The remote side of a sync: a wiki that is scanned, and written to."""

    def __init__(
        self,
        wiki: Wiki,
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
        again: Collection[Slug] = (),
        trees: TreeCache | None = None,
        attachments: AttachmentSource | None = None,
        request_cost_bytes: int = REQUEST_COST_BYTES,
        spool: Path | None = None,
    ) -> None:
        """``tag`` and ``pages`` are of an earlier scan, but for ``again``.

        ``trees`` are those of git then, without which it is not asked;
        ``request_cost_bytes`` says how much of a list costs as much as one request;
        ``spool`` is a folder for files on their way to the service.
        """
        super().__init__(
            wiki,
            KnownPages(tag=tag, pages=pages, again=again),
            WikiHistory(wiki.client, wiki.owner),
            trees,
            request_cost_bytes=request_cost_bytes,
        )
        self._spool = spool
        self.read_attachment = (attachments or AttachmentSource(wiki)).read
        """The attachment's bytes, from the file route or git; or NotFound."""
        self.turn = asyncio.Lock()
        """Held while a page is sent."""
        self._ahead = asyncio.Lock()
        """Held while the next page is read, until its turn begins."""
        self.last_window_s = 0.0
        """From the read to the answer of the last write; 0 where none was sent."""

    @property
    def name(self) -> str:
        """The wiki's address for people."""
        return self._wiki.web_url

    async def read(self, slug: Slug) -> Page:
        """One page as of now; NotFound, or ProtocolViolation where the text was cut."""
        page = whole_page(await self._wiki.get_page(slug), slug, self._wiki)
        self._known.note_there(slug, page.digest)
        return page

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create or edit a page; the answer's slug is the page's slug.

        Every edit names full path, format and content, because the service changes what
        is left out (Q2, Q3).  A page that is so already is not written: that would be
        an empty commit.
        """
        if expected is None:
            return await self._create(page)
        async with self._turn_of(page.slug, expected) as (held, read_at):
            if (held.content, held.format) == (page.content, page.format):
                return held
            self._require_writable(held)
            return await self._sent(held, page.slug, page, read_at)

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give a page another name; pages below it may move along.

        Gives the page as it is now: its slug may be neither.
        """
        # pages below it have other names meanwhile: none is read ahead
        async with self._ahead, self.turn:
            self.last_window_s = 0.0
            namesake = await self._namesake(target)
            is_itself = namesake == slug and name_key(target) == name_key(slug)
            if namesake is not None and not is_itself:
                raise self._taken(target, namesake)
            held = await self._held(slug, expected)
            self._require_writable(held)
            if is_dashed(target, slug):
                return held  # the service would give it the name that it has
            if is_itself:
                # the service finds the page itself under its new name, which it
                # takes for the same, and refuses; so it goes by way of another name
                transient = temporary_name(slug, target)
                if await self._namesake(transient) is not None:
                    # left by a rename that nobody finished
                    transient = Slug(f"{transient}-{expected[:8]}")
                held = await self._sent(held, transient, held)
                try:
                    return await self._sent(held, target, held)
                except (errors.Rejected, errors.PreconditionFailed):
                    await self._sent(held, slug, held)
                    raise
            return await self._sent(held, target, held)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Delete a page that still is what it was; else PreconditionFailed."""
        async with self._turn_of(slug, expected) as (_held, read_at):
            await self._wiki.delete_page(slug)
            self.last_window_s = self._wiki.client.now() - read_at
            self._known.note_gone(slug)

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> LooseFile:
        """Upload a file; the service chooses its path, so adopt the answer's."""
        name = path.rpartition("/")[2]
        async with spooled(chunks, self._spool) as spool, self.turn:
            record = await self._wiki.upload_attachment(spool, name)
        path = AttachmentPath(record.file_path)
        return LooseFile(path, spool.digest, spool.size)

    # -- sending ---------------------------------------------------------------------

    @asynccontextmanager
    async def _turn_of(
        self, slug: Slug, expected: Digest
    ) -> AsyncIterator[tuple[Page, float]]:
        """The turn of a page that is what it was, and when that was seen."""
        async with self._ahead:
            self.last_window_s = 0.0
            held = await self._held(slug, expected)
            read_at = self._wiki.client.now()
            await self.turn.acquire()
        try:
            if self._wiki.client.now() - read_at > AHEAD_MAX_S:
                held = await self._held(slug, expected)
                read_at = self._wiki.client.now()
            self.last_window_s = 0.0
            yield held, read_at
        finally:
            self.turn.release()

    async def _create(self, page: Page) -> Page:
        if not self._known.is_free(page.slug):
            namesake = await self._namesake(page.slug)
            if namesake is not None:
                raise self._taken(page.slug, namesake)
        async with self.turn:
            self.last_window_s = 0.0
            started = self._wiki.client.now()
            try:
                record = await self._wiki.create_page(
                    page.slug, page.content, page.format
                )
            except errors.Rejected as error:
                self.last_window_s = self._wiki.client.now() - started
                raise await self._refusal(error, page.slug) from error
            self.last_window_s = self._wiki.client.now() - started
            return self._written(record, page)

    async def _sent(
        self, held: Page, target: Slug, page: Page, read_at: float | None = None
    ) -> Page:
        """PUT a page that was read at a time, or just now."""
        started = self._wiki.client.now() if read_at is None else read_at
        # a title without a slash would keep the folder
        is_moved_up = "/" in held.slug and "/" not in target
        try:
            record = await self._wiki.edit_page(
                held.slug,
                title=f"/{target}" if is_moved_up else target,
                content=page.content,
                format=page.format,
            )
        except errors.NotFound as error:
            raise self._changed(held.slug) from error
        except errors.Rejected as error:
            self.last_window_s = self._wiki.client.now() - started
            raise await self._refusal(error, target, held.slug) from error
        self.last_window_s = self._wiki.client.now() - started
        if record.slug != held.slug:
            self._known.note_gone(held.slug)
        return self._written(record, page)

    def _written(self, record: WikiPageRecord, sent: Page) -> Page:
        if record.content is None:
            raise errors.ProtocolViolation(
                f"page {record.slug} of {self._wiki.owner} came back without its text",
                url=self._wiki.web_url,
            )
        page_format = known_format(record) or Format.PLAINTEXT
        page = Page(Slug(record.slug), page_format, record.content, record.title or "")
        if page.content != sent.content:
            # an answer may be cut as a list may
            require_whole(record.slug, record.content, self._wiki)
        identity = record.wiki_page_meta_id
        self._known.note_written(page, "" if identity is None else str(identity))
        return page

    async def _refusal(
        self, error: errors.Rejected, target: Slug, slug: Slug | None = None
    ) -> errors.RemoteError | errors.PreconditionFailed:
        """What a refusal means: a name that is taken is read, never guessed.

        The service answers some collisions with success and ``null``.
        """
        is_done = error.status is not None and error.status < HTTPStatus.BAD_REQUEST
        # else it was kept back by ourselves, or is not about a name; and a page of a
        # new name may be the one that was just created
        may_be_taken = error.status is not None and target != slug
        if may_be_taken and not (is_done and slug is None):
            namesake = await self._namesake(target)
            if namesake is not None and namesake != slug:
                return self._taken(target, namesake)
        if not is_done:
            return error
        # a success without a page is no refusal: nobody knows what was done
        return errors.ProtocolViolation(
            error.message, url=error.url, status=error.status, hint=error.hint
        )

    async def _held(self, slug: Slug, expected: Digest) -> Page:
        try:
            held = await self.read(slug)
        except errors.NotFound as error:
            raise self._changed(slug) from error
        if held.digest != expected:
            raise self._changed(slug)
        return held

    async def _namesake(self, slug: Slug) -> Slug | None:
        try:
            namesake = Slug((await self._wiki.get_page(slug)).slug)
        except errors.NotFound:
            return None
        self._known.note_there(namesake)
        return namesake

    def _changed(self, slug: Slug) -> errors.PreconditionFailed:
        return errors.PreconditionFailed(
            f"page {slug} of {self._wiki.owner} changed since it was read",
            hint=DECIDE_HINT,
        )

    def _taken(
        self, slug: Slug, namesake: Slug
    ) -> errors.PreconditionFailed | errors.Rejected:
        if namesake == slug:
            return errors.PreconditionFailed(
                f"page {slug} of {self._wiki.owner} already exists", hint=DECIDE_HINT
            )
        # no scan will ever show a page of this name: asking again is no use
        return errors.Rejected(
            f"the service cannot store page {slug} of {self._wiki.owner} next to its"
            f" page {namesake}: it treats both names as the same",
            url=self._wiki.web_url,
            hint="give one of them another name",
        )

    def _require_writable(self, held: Page) -> None:
        if not held.format.is_writable:
            raise errors.Rejected(
                f"page {held.slug} of {self._wiki.owner} is in the format"
                f" {held.format}, which the service does not let anyone change",
                url=self._wiki.web_url,
                hint="change it in the wiki's git repository",
            )
