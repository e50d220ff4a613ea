"""WikiReplica: one wiki behind the client, seen as a replica.

A look is one request, the list with content.  What that list cannot be trusted
with is read singly: texts of a mebibyte and more, which the service may cut, and
texts that are absent (``sync.md`` 3.0, Q9).  What the service lists but cannot
give back is a problem and never an absence.

The list also names what is no page of ours to keep under that name:

- ``uploads/...``: attachments that look like pages; they come as attachments;
- the second page of one slug (``a.md`` beside ``a.org``): nothing reaches it;
- a format this version does not know: kept as plain text.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wikisync.api.schema import WikiPageRecord
from wikisync.api.wikis import PageList, Wiki
from wikisync.errors import (
    AuthenticationFailed,
    NotFound,
    PreconditionFailed,
    ProtocolViolation,
    RateLimited,
    RemoteError,
    Unavailable,
    WikisyncError,
)
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    Format,
    Page,
    PageState,
    Problem,
    Slug,
    Snapshot,
)

MEBIBYTE = 1024 * 1024
LISTED_BYTES_MAX = MEBIBYTE
"""Texts from this size on are read singly, whatever the list says."""
READS_MAX = 8
UNAVAILABLE_MAX = 5
"""Single reads that may fail in a row before the service counts as gone."""

GIT_HINT = "clone the wiki's git repository to see it"
_UTF8 = frozenset({"", "utf-8", "us-ascii"})


@dataclass(slots=True)
class _Look:
    """What one look has found so far."""

    pages: dict[Slug, PageState] = field(default_factory=dict)
    texts: dict[Slug, Page] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unreadable: set[Slug] = field(default_factory=set)
    formats: dict[Slug, Format] = field(default_factory=dict)
    """Format of every slug met, read or not."""
    single: list[Slug] = field(default_factory=list)
    """Slugs that have to be read singly."""
    is_complete: bool = True

    def add(self, page: Page) -> None:
        content = page.content.encode("utf-8", "surrogatepass")
        digest = Digest(hashlib.sha256(content).hexdigest())
        self.pages[page.slug] = PageState(page.slug, page.format, digest)
        if len(content) < LISTED_BYTES_MAX:
            self.texts[page.slug] = page

    def fail(self, code: str, slug: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(code, slug, message, hint))


class WikiReplica:
    """The remote side of a sync."""

    def __init__(
        self,
        wiki: Wiki,
        *,
        tag: str = "",
        pages: Mapping[Slug, PageState] | None = None,
        reads_max: int = READS_MAX,
    ) -> None:
        """Name the wiki; nothing is sent.

        Args:
            wiki: behind an open client.
            tag: the mark of an earlier look, or empty.
            pages: what that look saw; the next one is this, if the service says
                that nothing changed.
            reads_max: single reads in flight.
        """
        self._wiki = wiki
        self._tag = tag
        self._known = pages
        self._reads_max = reads_max

    @property
    def name(self) -> str:
        """The wiki's address for people."""
        return self._wiki.web_url

    async def snapshot(self) -> Snapshot:
        """Look at every page: one request, and one more for each big page.

        The texts that came along are in the snapshot.  Its tag is set only when
        every page could be seen as it is.

        Raises:
            RemoteError: the list cannot be had.
        """
        listed = await self._list()
        if listed is None:
            return Snapshot(pages=self._known or {}, tag=self._tag)
        look = _Look()
        for record in listed.pages:
            _sort(record, look)
        await self._read_singly(look)
        # without problems and twins, "nothing changed" says all there is to say
        is_plain = not look.problems and not _has_case_twins(look.pages)
        return Snapshot(
            pages=look.pages,
            problems=tuple(look.problems),
            is_complete=look.is_complete,
            unreadable=frozenset(look.unreadable),
            texts=look.texts,
            tag=(listed.etag or "") if is_plain else "",
        )

    async def read(self, slug: Slug) -> Page:
        """One page as of now.

        Raises:
            NotFound: no such page, or another page hides it.
            ProtocolViolation: the text is missing or was cut.
        """
        record = await self._wiki.get_page(slug)
        if record.slug != slug:
            # looked up without regard to case (service-behaviour 5.4)
            raise NotFound(
                f"cannot read page {slug} of {self._wiki.owner}: the service answers"
                f" with page {record.slug} instead",
                url=self.name,
                hint=GIT_HINT,
            )
        return _whole_page(record, self._wiki)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Create or edit a page; the answer's slug is the page's slug.

        Every edit names full path, format and content, because the service
        changes what is left out (``service-behaviour`` 5.6).

        Raises:
            PreconditionFailed: the page is not what it was expected to be.
            Rejected: the service refuses it.
        """
        held = await self._held(page.slug)
        self._require(page.slug, held, expected)
        if held is None:
            record = await self._wiki.create_page(page.slug, page.content, page.format)
        else:
            record = await self._wiki.edit_page(
                page.slug, title=page.slug, content=page.content, format=page.format
            )
        return _whole_page(record, self._wiki)

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | WikisyncError]:
        """Write pages one after the other, as one repository wants it.

        Raises:
            RemoteError: the service is gone or refuses the token.
        """
        results: list[Page | WikisyncError] = []
        for page, expected in pages:
            try:
                results.append(await self.write(page, expected=expected))
            except (Unavailable, AuthenticationFailed, RateLimited):
                raise
            except (PreconditionFailed, RemoteError) as error:
                results.append(error)
        return results

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Delete a page that still is what it was.

        Raises:
            PreconditionFailed: it changed, or is gone.
        """
        self._require(slug, await self._held(slug), expected)
        await self._wiki.delete_page(slug)

    async def attachment(self, path: AttachmentPath) -> Attachment | None:
        """What the file route serves, read whole; None where it serves nothing."""
        digest, size = hashlib.sha256(), 0
        try:
            async for chunk in self._wiki.read_attachment(path):
                digest.update(chunk)
                size += len(chunk)
        except NotFound:
            return None
        return Attachment(path, Digest(digest.hexdigest()), size)

    def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        """The attachment's bytes from the file route.

        Raises:
            NotFound: it is not there, or not handed out to tokens.
        """
        return self._wiki.read_attachment(path)

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        """Upload a file; the service chooses its path, so adopt the answer's."""
        content = b"".join([chunk async for chunk in chunks])
        record = await self._wiki.upload_attachment(content, path.rpartition("/")[2])
        digest = Digest(hashlib.sha256(content).hexdigest())
        return Attachment(AttachmentPath(record.file_path), digest, len(content))

    async def _list(self) -> PageList | None:
        """The list with content; without, where the service cannot give it whole.

        Some proxies cut or time out on a big wiki's list (``service-behaviour``
        10.26); single reads take longer, but come through.
        """
        known = self._tag if self._known is not None else ""
        try:
            return await self._wiki.poll_pages(known or None, with_content=True)
        except (Unavailable, ProtocolViolation) as error:
            try:
                return await self._wiki.poll_pages()
            except RemoteError:
                raise error from error.__cause__

    async def _held(self, slug: Slug) -> Page | None:
        try:
            return await self.read(slug)
        except NotFound:
            return None

    def _require(self, slug: Slug, held: Page | None, expected: Digest | None) -> None:
        if (held.digest if held else None) != expected:
            raise PreconditionFailed(
                f"page {slug} of {self._wiki.owner} changed since it was read",
                hint="run it again to decide anew",
            )

    # -- single reads --------------------------------------------------------------

    async def _read_singly(self, look: _Look) -> None:
        waiting = iter(look.single)
        failures = _Failures()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._reads_max, len(look.single))):
                group.create_task(self._read_some(waiting, look, failures))
        if failures.fatal is not None:
            raise failures.fatal

    async def _read_some(
        self, waiting: Iterable[Slug], look: _Look, failures: _Failures
    ) -> None:
        for slug in waiting:
            if failures.fatal is not None:
                return
            try:
                page = await self.read(slug)
            except RemoteError as error:
                failures.note(error)
                look.unreadable.add(slug)
                look.fail("page-unreadable", slug, error.message, error.hint or "")
            else:
                failures.in_row = 0
                look.add(Page(slug, look.formats[slug], page.content, page.title))


@dataclass(slots=True)
class _Failures:
    """Failures of the single reads of one look."""

    in_row: int = 0
    fatal: RemoteError | None = None

    def note(self, error: RemoteError) -> None:
        """One page that cannot be read is a problem; a service that is gone ends it."""
        self.in_row += isinstance(error, Unavailable)
        refused = isinstance(error, AuthenticationFailed | RateLimited)
        if refused or self.in_row >= UNAVAILABLE_MAX:
            self.fatal = self.fatal or error


def _sort(record: WikiPageRecord, look: _Look) -> None:
    """Put one listed page where it belongs."""
    slug = Slug(record.slug)
    if slug.startswith("uploads/"):
        return
    page_format = _format_of(record, look)
    if slug in look.formats:
        _note_twin(slug, page_format, look)
        return
    look.formats[slug] = page_format
    if (record.encoding or "").lower() not in _UTF8:
        look.fail(
            "page-not-utf-8",
            slug,
            f"stored as {record.encoding}, kept here as UTF-8",
            "some characters may be wrong; save the page on the wiki as UTF-8",
        )
    content = record.content
    # a character has at least one byte, so no long text slips through as short
    if content is None or len(content) >= LISTED_BYTES_MAX:
        look.single.append(slug)
        return
    look.add(Page(slug, page_format, content, record.title))
    if slug not in look.texts:
        del look.pages[slug]
        look.single.append(slug)


def _format_of(record: WikiPageRecord, look: _Look) -> Format:
    known = _known_format(record)
    if known is not None:
        return known
    look.fail(
        "unknown-format",
        record.slug,
        f"has the format {record.format}, which is not known; kept as plain text",
        "see whether a newer wikisync knows it",
    )
    return Format.PLAINTEXT


def _note_twin(slug: Slug, page_format: Format, look: _Look) -> None:
    first = look.formats[slug]
    if first is page_format:
        # no repository has one path twice: this list is not what it should be
        look.is_complete = False
        look.fail("page-listed-twice", slug, "listed twice", "run it again")
        return
    look.fail(
        "page-shadowed",
        slug,
        f"there are two pages of this name, {first} and {page_format};"
        f" only the {first} one is kept",
        "rename one of them in the wiki's git repository",
    )


def _whole_page(record: WikiPageRecord, wiki: Wiki) -> Page:
    """A page read singly, if its text is all there."""
    if record.content is None:
        raise ProtocolViolation(
            f"page {record.slug} of {wiki.owner} came without its text",
            url=wiki.web_url,
        )
    size = len(record.content.encode("utf-8", "surrogatepass"))
    if size and size % MEBIBYTE == 0:
        raise ProtocolViolation(
            f"page {record.slug} of {wiki.owner} is exactly {size // MEBIBYTE} MiB:"
            " the service cut it there",
            url=wiki.web_url,
            hint=GIT_HINT,
        )
    page_format = _known_format(record) or Format.PLAINTEXT
    return Page(Slug(record.slug), page_format, record.content, record.title)


def _known_format(record: WikiPageRecord) -> Format | None:
    try:
        return Format(record.format)
    except ValueError:
        return None


def _has_case_twins(pages: Iterable[Slug]) -> bool:
    slugs = list(pages)
    return len({slug.casefold() for slug in slugs}) < len(slugs)
