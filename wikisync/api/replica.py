"""WikiReplica: one wiki behind the client, seen as a replica.

What the service lists but cannot give back is a problem and never an absence.

Read next: ``scanning``, how the whole wiki is seen; ``writing``, what stands
around every write; ``attachments``, where files come from.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from pathlib import Path

from wikisync.api.attachments import AttachmentSource
from wikisync.api.git import WikiHistory
from wikisync.api.known import KnownPages
from wikisync.api.rotation import ROTATION_BYTES_MIN
from wikisync.api.scan import LISTED_BYTES_MAX, MEBIBYTE
from wikisync.api.scanning import READS_MAX, REQUEST_COST_BYTES, Scanning
from wikisync.api.tree_cache import TreeCache
from wikisync.api.upload import spooled
from wikisync.api.wikis import Wiki
from wikisync.api.writing import Writing
from wikisync.errors import (
    RemoteError,
)
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    Page,
    PageState,
    Slug,
    Snapshot,
)

log = logging.getLogger(__name__)

__all__ = ["LISTED_BYTES_MAX", "MEBIBYTE", "WikiReplica"]


class WikiReplica:
    """The remote side of a sync."""

    def __init__(
        self,
        wiki: Wiki,
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
        again: Collection[Slug] = (),
        trees: TreeCache | None = None,
        reads_max: int = READS_MAX,
        attachments: AttachmentSource | None = None,
        rotation_bytes_min: int = ROTATION_BYTES_MIN,
        request_cost_bytes: int = REQUEST_COST_BYTES,
        spool: Path | None = None,
    ) -> None:
        """Name the wiki; nothing is sent.

        Args:
            wiki: behind an open client.
            tag: the mark of an earlier scan, or empty.
            pages: what that scan saw; the next one is this, if the service says
                that nothing changed.
            again: pages of which that is not certain.
            trees: those of git at that scan; without, git is not asked what changed.
            reads_max: single reads in flight.
            attachments: where files come from; the file route alone by default.
            rotation_bytes_min: texts together from which on a wiki is big.
            request_cost_bytes: how much of a list costs as much as one request.
            spool: folder for files on their way to the service; the system's own
                for such files by default.
        """
        self._wiki = wiki
        self._spool = spool
        self._attachments = attachments or AttachmentSource(wiki)
        self.history = WikiHistory(wiki.client, wiki.owner)
        """Its commits, where git has them."""
        known = KnownPages(wiki.client.now, tag=tag, pages=pages, again=again)
        self._scanning = Scanning(
            wiki,
            known,
            self.history,
            trees,
            reads_max=reads_max,
            rotation_bytes_min=rotation_bytes_min,
            request_cost_bytes=request_cost_bytes,
        )
        self._writing = Writing(wiki, known)

    @property
    def name(self) -> str:
        """The wiki's address for people."""
        return self._wiki.web_url

    @property
    def last_window_s(self) -> float:
        """From the read to the answer of the last write; 0 where none was sent."""
        return self._writing.last_window_s

    @property
    def oldest_scan_s(self) -> float:
        """How old the oldest part of what the last scan gave is by now.

        More than nothing for big wikis only: an edit of a page there is seen when
        the page's turn comes.
        """
        return self._scanning.oldest_s

    @property
    def is_in_turns(self) -> bool:
        """Whether the wiki is so big that a scan reads a part of its pages."""
        return self._scanning.is_in_turns

    async def head(self) -> str:
        """The newest commit; empty where it is not known now."""
        try:
            return await self.history.head() or ""
        except RemoteError as error:
            log.info("%s: HEAD is not known: %s", self._wiki.owner, error.message)
            return ""

    async def follows(self, head: str, earlier: str) -> bool | None:
        """Whether HEAD has an earlier commit before it; None where that is unknown."""
        return await self.history.follows(head, earlier)

    async def taken_back(
        self,
        head: str,
        earlier: str,
        before: Mapping[Slug, str],
        now: Mapping[Slug, str],
    ) -> frozenset[Slug]:
        """Pages of which no commit from an earlier one to HEAD has the text of before.

        Or the page, where it is gone.
        """
        return await self.history.taken_back(head, earlier, before, now)

    def await_pages(self, slugs: Iterable[Slug]) -> None:
        """Pages that every scan of a big wiki is to read, such as open ones."""
        self._scanning.awaited = frozenset(slugs)

    async def snapshot(self) -> Snapshot:
        """Look at every page: one request, and one more for each big page.

        The texts that came along are in the snapshot.  Its tag is set only when
        every page could be seen as it is.  Of a big wiki, a part of the pages is
        as it was at an earlier scan (``oldest_scan_s``).

        Raises:
            RemoteError: the list cannot be had.
        """
        return await self._scanning.snapshot()

    async def read(self, slug: Slug) -> Page:
        """One page as of now.

        Raises:
            NotFound: no such page, or another page hides it.
            ProtocolViolation: the text is missing or was cut.
        """
        return await self._writing.read(slug)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create or edit a page; the answer's slug is the page's slug.

        A page that is so already is not written: that would be an empty commit.

        Raises:
            PreconditionFailed: the page is not what it was expected to be.
            Rejected: the service refuses it, or takes no pages of its format.
            ProtocolViolation: the answer does not say what became of the page.
        """
        return await self._writing.write(page, expected=expected)

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give a page another name; pages below it may move along.

        Returns:
            The page as the service has it now: its slug may be neither.

        Raises:
            PreconditionFailed: the page changed or is gone, or the name is taken.
            Rejected: the service refuses the name.
            ProtocolViolation: the answer does not say what became of the page.
        """
        return await self._writing.move(slug, target, expected=expected)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Delete a page that still is what it was.

        Raises:
            PreconditionFailed: it changed, or is gone.
        """
        await self._writing.delete(slug, expected=expected)

    def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes, from the file route or the git repository.

        Raises:
            NotFound: it is not there, or neither way hands it out.
        """
        return self._attachments.read(path)

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Upload a file; the service chooses its path, so adopt the answer's.

        Raises:
            FolderError: it cannot be read, or not be kept until it was sent.
        """
        name = path.rpartition("/")[2]
        async with spooled(chunks, self._spool) as spool, self._writing.turn:
            record = await self._wiki.upload_attachment(spool, name)
        path = AttachmentPath(record.file_path)
        return Attachment(path, spool.digest, spool.size)
