"""The protocol of a replica: one of the two copies of a wiki.

``sync`` knows replicas only by this protocol; ``folder.replica`` and
``api.replica`` fulfil it without being imported here.  All methods may wait.
Cancelling a read leaves nothing behind; cancelling a write leaves either the old
or the new content, never a mixture.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from wikisync.errors import WikisyncError
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    Page,
    Slug,
    Snapshot,
)


class Replica(Protocol):
    """Pages and attachments of one wiki at one place."""

    @property
    def name(self) -> str:
        """How messages call this replica: a folder path or the wiki's URL."""
        ...

    async def snapshot(self) -> Snapshot:
        """Look at every page once.

        Raises:
            WikisyncError: when the replica cannot be seen at all.  A part that
                cannot be seen is a problem in an incomplete snapshot instead.
        """
        ...

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now.

        Raises:
            NotFound: no such page.
        """
        ...

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create the page (``expected`` is None) or replace its text.

        Returns:
            The page as the replica holds it now; its slug may differ.

        Raises:
            PreconditionFailed: the replica holds something else than expected.
        """
        ...

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | WikisyncError]:
        """Write many pages, each with the digest that it replaces.

        Returns:
            One result for each page, in order: the page as held now, or why not.

        Raises:
            WikisyncError: nothing more can be written: a full disk, a gone service.
        """
        ...

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove the page if it still has the expected digest.

        Raises:
            PreconditionFailed: it changed, or is gone already.
        """
        ...

    async def attachment(self, path: AttachmentPath) -> Attachment | None:
        """What this replica holds at an attachment path; None where nothing."""
        ...

    def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks.

        Raises:
            NotFound: it cannot be had; the message says why.
        """
        ...

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Store an attachment atomically under this path."""
        ...
