"""The wiki as it was last seen, for whoever decides without asking the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from wikisync.core.model import Attachment, AttachmentPath, Digest, Page, Slug, Snapshot
from wikisync.errors import NotFound, Unavailable
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import ConflictFileRecord


class RememberedWiki:
    """A ``RemoteReplica`` that holds what is known of the wiki, and takes nothing.

    What clashed is as it was when its conflict was found; all else is as both sides
    last agreed on it.
    """

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

    async def snapshot(self) -> Snapshot:
        """Every page that is known, which is not every page that there is."""
        pages = dict(self._known.remote_pages())
        for slug, record in self._known.conflict_files().items():
            identity = pages[slug].identity if slug in pages else ""
            pages[slug] = _page(slug, record).state(identity)
        return Snapshot(pages, is_remembered=True)

    async def read(self, slug: Slug) -> Page:
        """The page as it was last seen."""
        record = self._known.conflict_file(slug)
        if record is not None:
            return _page(slug, record)
        base, text = self._known.base().get(slug), self._known.text(slug)
        if base is None or text is None:
            raise NotFound(f"there is no record of page {slug}")
        return Page(slug, base.format, text, wiki_digest=base.remote)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Take nothing."""
        raise _refusal(page.slug, expected)

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Take nothing."""
        raise _refusal(slug, target, expected)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Take nothing."""
        raise _refusal(slug, expected)

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        """Know nothing."""
        del has_uploads
        return None

    def read_attachment(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """Have nothing."""
        raise _refusal(path, version)

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Take nothing."""
        raise _refusal(path, chunks)


def _page(slug: Slug, record: ConflictFileRecord) -> Page:
    digest = record.wiki_digest
    return Page(slug, record.format, record.remote, wiki_digest=digest)


def _refusal(what: str, *_asked: object) -> Unavailable:
    return Unavailable(f"{what} is not requested: the wiki is used as it was last seen")
