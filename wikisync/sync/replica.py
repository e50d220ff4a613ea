"""The protocol of a replica: one of the two copies of a wiki.

``folder.replica`` and ``api.replica`` fulfil it without being imported here.  All
methods may wait.  Cancelling a read leaves nothing behind; cancelling a write leaves
either the old or the new content, never a mixture.  What is read and is not there is
NotFound; a write raises PreconditionFailed where the replica holds something else than
expected.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from typing import Protocol

from wikisync.core import model
from wikisync.errors import WikisyncError

GONE_THERE = "deleted on the wiki"
"""Why most files go to the trash."""


class Replica(Protocol):
    """Pages and attachments of one wiki at one place."""

    @property
    def name(self) -> str:
        """How messages call this replica: a folder path or the wiki's URL."""

    async def snapshot(self) -> model.Snapshot:
        """Scan every page once; a part that cannot be seen makes it incomplete."""

    async def read(self, slug: model.Slug) -> model.Page:
        """The page with its text as of now."""

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        """Create the page (``expected`` is None) or replace its text; as held now."""

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        """Give the page another name; as it is held now, perhaps under a third one."""

    async def delete(self, slug: model.Slug, *, expected: model.Digest) -> None:
        """Remove the page if it still has the expected digest."""

    def read_attachment(self, path: model.AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks; NotFound says why it cannot be read."""

    async def write_attachment(
        self, path: model.AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> model.LooseFile:
        """Store an attachment atomically under this path."""


class LocalReplica(Replica, Protocol):
    """The copy that a person edits with any program.

    Writes never lose a save made at the same moment: what comes out of a swap and
    is not what was expected goes back in, and the write fails its precondition.
    What is removed goes to the trash.
    """

    async def delete(
        self, slug: model.Slug, *, expected: model.Digest, why: str = GONE_THERE
    ) -> None:
        """Remove the page, into the trash; ``why`` is for a person."""

    async def write_pages(
        self, pages: Sequence[tuple[model.Page, model.Digest | None]]
    ) -> Sequence[model.Page | WikisyncError]:
        """Write pages, each over a digest; each page as held now, or why not.

        WikisyncError where nothing more can be written: a full disk, a gone service.
        """

    def keeps_out(self, path: model.AttachmentPath) -> bool:
        """Whether a person keeps a file out of the sync."""

    async def attachments(
        self, paths: Collection[model.AttachmentPath]
    ) -> Mapping[model.AttachmentPath, model.LooseFile]:
        """Those of some attachments that can be read here, as they are now."""

    async def write_attachment(
        self,
        path: model.AttachmentPath,
        chunks: AsyncIterator[bytes],
        *,
        replaces: model.Digest | None = None,
    ) -> model.LooseFile:
        """Store an attachment, in the place of a file that is what it was, if given."""

    async def saved(self, paths: Collection[str]) -> model.Snapshot | None:
        """As ``snapshot``, but only these files are read; None where more must be."""

    async def untracked(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        """Those that are kept out, or behind something that cannot be read.

        Their absence means nothing: they are neither deleted on the wiki nor written.
        """

    async def emptied(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        """Those of the missing pages whose directory is there and holds nothing."""

    async def having(
        self, slugs: Iterable[model.Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[model.Slug]:
        """Those of the pages whose text is sought; what cannot be read is not."""

    async def late_saves(self) -> Sequence[model.LateSave]:
        """Saves that reached a file only after it was replaced, until acknowledged."""

    async def acknowledge(self, late: model.LateSave) -> None:
        """Forget a late save, whose text is in a page or in the trash now."""

    async def keep(
        self, slug: model.Slug, text: str, why: str, *, is_again: bool = False
    ) -> None:
        """Put a text into the trash that no file holds; once, if ``is_again``."""

    async def conflict_file(self, slug: model.Slug) -> model.ConflictFile | None:
        """The page's conflict file as it is now; None where there is none."""

    async def write_conflict(
        self,
        slug: model.Slug,
        page_format: model.Format,
        text: str,
        *,
        expected: model.Digest | None = None,
    ) -> str:
        """Write the page's conflict file beside it; its path in the folder.

        Expected is what it says now: ``NO_FILE`` for none, None for anything.
        """

    async def remove_conflict(
        self, slug: model.Slug, *, expected: model.Digest | None = None
    ) -> None:
        """Remove the page's conflict file, into the trash."""


class RemoteReplica(Replica, Protocol):
    """The copy that the service holds and others edit.

    It offers no compare-and-swap: ``write``, ``move`` and ``delete`` read the page,
    compare it and send at once (``docs/sync.md`` "Pushing").
    """

    @property
    def last_window_s(self) -> float:
        """Time between read and answer of the last write, which hides an edit."""

    async def head(self) -> str:
        """The newest commit of the wiki; empty where it cannot be known now."""

    async def follows(self, head: str, earlier: str) -> bool | None:
        """Whether the newest commit has an earlier one before it; None if unknown."""

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        """Git's ids of all files that are no pages, by path; None if unknown."""

    def read_attachment(
        self, path: model.AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """The same, of a file with this id where it may have had other content."""
