"""Where the bytes of attachments come from: the file route, or git.

The service's web side serves files to browsers and may keep them from tokens
(``service-behaviour`` 6.2): it sends to its sign-in page, or answers with a web
page.  What came that way once is not asked that way again; the wiki's git
repository has the same files.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from wikisync.api.answers import NotHandedOut
from wikisync.api.wikis import Wiki
from wikisync.errors import NotFound
from wikisync.model import AttachmentPath

if TYPE_CHECKING:
    from wikisync.api.git import WikiRepository

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 * 1024
SNIFFED_BYTES = 64
MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tiff", ".ico", ".webp"),
    *(".mp4", ".m4v", ".mov", ".webm", ".ogv"),
    *(".mp3", ".oga", ".ogg", ".spx", ".wav", ".pdf", ".zip"),
)
"""Names of files that no web page can be."""


class AttachmentSource:
    """The attachments of one wiki."""

    def __init__(self, wiki: Wiki, repository: WikiRepository | None = None) -> None:
        """Name the wiki; nothing is asked.

        Args:
            wiki: behind an open client.
            repository: where files come from that the file route keeps; without
                it they are missing.
        """
        self._wiki = wiki
        self._repository = repository
        self._is_kept = False
        """Whether the file route keeps files to browsers, as learned in this run."""

    async def read(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes in chunks.

        Raises:
            NotFound: it is not there, or neither way hands it out; the message
                says which.
            RemoteError: in its other kinds.
        """
        if not self._is_kept:
            async with aclosing(self._wiki.read_attachment(path)) as chunks:
                try:
                    first = await self._beginning(path, chunks)
                except NotHandedOut as error:
                    if self._repository is None:
                        raise
                    log.info("%s; trying git", error.message)
                    self._is_kept = True
                else:
                    yield first
                    async for chunk in chunks:
                        yield chunk
                    return
        async for chunk in self._by_git(path):
            yield chunk

    async def _beginning(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> bytes:
        """The first bytes, unless they are a web page that says to be a picture."""
        first = b""
        async for chunk in chunks:
            first += chunk
            if len(first) >= SNIFFED_BYTES:
                break
        if path.lower().endswith(MEDIA) and _is_web_page(first):
            raise NotHandedOut(
                f"cannot read attachment {path} of {self._wiki.owner}: the service"
                " answers with a web page instead",
                url=self._wiki.web_url,
                hint="attachments of a private wiki come with its git repository",
            )
        return first

    async def _by_git(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        from wikisync.api.git import NoRepository

        assert self._repository is not None
        try:
            content = await self._repository.read(path)
        except NoRepository as error:
            raise NotFound(
                f"cannot read attachment {path} of {self._wiki.owner}: the service"
                f" hands files out to browsers only, and {error.message}",
                url=error.url,
                hint=error.hint,
            ) from error
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]


def _is_web_page(first: bytes) -> bool:
    start = first.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html"))
