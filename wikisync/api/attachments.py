"""Where the bytes of attachments come from: the file route, or git.

The service may keep its files from tokens (``docs/service.md`` "Attachments"): it
redirects to its sign-in page, or answers with a web page, even as if it were the file.
So a file that a web page could have the name of comes by git, where there is a
repository.  An empty answer, or one that may be a web page, is taken from the file
route only if the route says of a file that cannot exist that it is missing.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from wikisync.api.answers import NotHandedOut
from wikisync.api.git import NoRepository, RemoteRepository, refuse_pointer
from wikisync.api.wikis import Wiki
from wikisync.core.contents import BEGINNING_BYTES, is_web_page
from wikisync.core.model import AttachmentPath
from wikisync.errors import NotFound, RateLimited, RefusedInFront, Unavailable

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 * 1024
MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tiff", ".ico", ".webp"),
    *(".mp4", ".m4v", ".mov", ".webm", ".ogv"),
    *(".mp3", ".oga", ".ogg", ".spx", ".wav", ".pdf", ".zip"),
)
"""Names of files that no web page can be."""


PAGES = (".html", ".htm", ".xhtml", ".xht", ".shtml")
"""Names of files that are web pages."""
KEPT_S = 900.0
"""A file route that keeps files to browsers is asked again after this time."""
NOWHERE = "0" * 32
"""A folder of uploads that no service makes: its names are random."""
HINT = "attachments of a private wiki are read from its git repository"


class AttachmentSource:
    """The attachments of one wiki."""

    def __init__(self, wiki: Wiki, repository: RemoteRepository | None = None) -> None:
        self._wiki = wiki
        self._repository = repository
        self._kept_until = float("-inf")
        """The file route keeps files to browsers, as learned in this run."""

    async def read(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncGenerator[bytes, None]:
        """The attachment's bytes in chunks; NotFound says which way it is not there.

        ``version`` is git's id of it; empty for an upload.
        """
        is_named_page = path.lower().endswith(PAGES)
        content = await self._content_in_git(path, version) if is_named_page else None
        if content is None and self._wiki.client.now() >= self._kept_until:
            async with aclosing(self._wiki.read_attachment(path)) as chunks:
                try:
                    first = await self._beginning(chunks)
                    content = await self._checked(path, version, first)
                except (NotHandedOut, RefusedInFront) as error:
                    if self._repository is None:
                        raise
                    log.info("%s; trying git", error.message)
                    self._kept_until = self._wiki.client.now() + KEPT_S
                else:
                    if content is None:
                        yield first
                        async for chunk in chunks:
                            yield chunk
                        return
        if content is None:
            content = await self._by_git(path, version)
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]

    async def _beginning(self, chunks: AsyncIterator[bytes]) -> bytes:
        first = b""
        async for chunk in chunks:
            first += chunk
            if len(first) >= BEGINNING_BYTES:
                break
        return first

    async def _checked(
        self, path: AttachmentPath, version: str, first: bytes
    ) -> bytes | None:
        """Another content than the one that begins so; None where that is the file.

        NotHandedOut for a web page instead, NotFound for a pointer to the file.
        """
        refuse_pointer(first, path, self._wiki.owner, self._wiki.web_url)
        if first and not is_web_page(first):
            return None
        content = await self._content_in_git(path, version)
        if content is not None:
            return content
        is_wrong = bool(first) and path.lower().endswith(MEDIA)
        if not is_wrong and await self._admits_to_lack(path):
            return None
        what = "a web page" if first else "nothing"
        raise NotHandedOut(
            f"cannot read attachment {path} of {self._wiki.owner}: the service"
            f" answers with {what} instead",
            url=self._wiki.web_url,
            hint=HINT,
        )

    async def _admits_to_lack(self, path: AttachmentPath) -> bool:
        name = path.rpartition(".")[2]
        nowhere = AttachmentPath(f"uploads/{NOWHERE}/nothing.{name}")
        async with aclosing(self._wiki.read_attachment(nowhere)) as chunks:
            try:
                async for _ in chunks:
                    return False
            except NotHandedOut:
                return False
            except NotFound:
                return True
        return False

    async def _content_in_git(self, path: AttachmentPath, version: str) -> bytes | None:
        """The file as git has it, or NotFound; None where git does not answer now."""
        if self._repository is None:
            return None
        try:
            return await self._repository.read(path, version)
        except (NoRepository, Unavailable, RateLimited) as error:
            log.info("%s is not compared with git: %s", path, error.message)
            return None

    async def _by_git(self, path: AttachmentPath, version: str) -> bytes:
        assert self._repository is not None
        try:
            return await self._repository.read(path, version)
        except NoRepository as error:
            raise NotFound(
                f"cannot read attachment {path} of {self._wiki.owner}: the service"
                f" serves files to browsers only, and {error.message}",
                url=error.url,
                hint=error.hint,
            ) from error
