"""Wiki: the operations on one wiki, one method per endpoint.

Slugs are percent-encoded once, whole, so that ``dir/page`` is one segment.
Where a proxy takes ``%2F`` apart the service does not know the address; the
slug is then sent once more with real slashes (``docs/service.md`` "Endpoints").
Writes to one wiki are serial, whoever makes them.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.api import exchange
from wikisync.api.address import encode_path
from wikisync.api.client import Client, Id, Listing
from wikisync.api.exchange import Request, query_of
from wikisync.api.upload import Spool, upload_form
from wikisync.contract.routes import OtherEndpoint as Other
from wikisync.contract.schema import AttachmentRecord, CommentRecord, WikiPageRecord
from wikisync.core.model import WRITABLE_FORMATS, AttachmentPath, Format, WikiOwner
from wikisync.core.terminal import one_line
from wikisync.errors import ProtocolViolation, Rejected

T = TypeVar("T")


class PageList(Struct, frozen=True):
    """A list of pages, and the mark to ask with whether it is still so."""

    pages: tuple[WikiPageRecord, ...]
    etag: str | None
    """None where the service gives no mark."""
    odd: tuple[exchange.OddEntry, ...] = ()
    """Entries that are no records of pages."""


class Wiki:
    """One wiki behind a client."""

    def __init__(
        self,
        client: Client,
        owner: WikiOwner,
        id: Id | None = None,  # noqa: A002 - the API's word
    ) -> None:
        """Name a wiki; its numeric id survives a move, else the full path is asked."""
        self.client = client
        self.owner = owner
        self.id: Id = owner.full_path if id is None else id
        self._plural = f"{owner.kind}s"
        self._has_raw_slashes = False

    @property
    def web_url(self) -> str:
        """Address of the wiki for people."""
        return self.client.address.wiki_file(self.owner, "").rstrip("/")

    def __str__(self) -> str:
        return f"wiki of {self.owner}"

    def __repr__(self) -> str:
        return f"Wiki({self.client!r}, {self.owner!r}, {self.id!r})"

    async def list_pages(
        self, *, with_content: bool = False
    ) -> tuple[WikiPageRecord, ...]:
        """Every page, in one request; the service does not page this list.

        Raises NotFound (no such owner), PermissionDenied (its wiki is disabled).
        """
        request = self._list_request(with_content=with_content)
        return await self.client.fetch(request, tuple[WikiPageRecord, ...])

    async def poll_pages(
        self, etag: str | None = None, *, with_content: bool = False
    ) -> PageList | None:
        """Every page, or None if nothing changed since the list with this ETag.

        Unlike in ``list_pages``, an entry that is no record stops no other page.
        """
        request = self._list_request(with_content=with_content, etag=etag)
        # a list that does not come in time with its texts is asked for without them
        request = replace(request, late_attempts_max=1)
        answer = await self.client.send(request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        pages, odd = exchange.decode_pages(answer, request.purpose)
        return PageList(pages, answer.headers.get("etag"), odd)

    async def get_page(
        self, slug: str, *, render_html: bool = False, version: str | None = None
    ) -> WikiPageRecord:
        """One page with its content, as HTML or as of a commit; NotFound without one.

        The service finds a slug without regard to case, so the answer's slug may differ
        from the one asked.
        """
        asked = {"render_html": render_html, "version": version}
        query = query_of({name: value for name, value in asked.items() if value})
        purpose = self._purpose(f"read page {one_line(slug)}", "page")
        request = Request("GET", "", purpose, query)
        fetch = partial(self.client.fetch, kind=WikiPageRecord)
        return await self._with_slug(slug, request, fetch)

    async def create_page(
        self,
        title: str,
        content: str,
        format: Format = Format.MARKDOWN,  # noqa: A002 - the API's word
        *,
        message: str | None = None,
        front_matter_title: str | None = None,
    ) -> WikiPageRecord:
        """Create a page; the service makes its slug from the title.

        The title is a full path, ``dir/page``, whose spaces become hyphens; the message
        is of the commit.  With ``front_matter_title`` the service puts front matter
        before the text, which must have none; services before 17 ignore it.

        Gives the page as created: adopt its slug.  Rejected for a title that is taken,
        too long or blank, a content that is too long, a format that cannot be written.
        """
        purpose = self._purpose(f"create page {one_line(title)}", "page", is_write=True)
        body = _page_body(
            purpose,
            title=title,
            content=content,
            format=format,
            message=message,
            front_matter_title=front_matter_title,
        )
        path = Other.PAGE_CREATE.path(owner=self._plural, id=self.id)
        return await self._write_page(Request("POST", path, purpose, json=body))

    async def edit_page(
        self,
        slug: str,
        *,
        title: str | None = None,
        content: str | None = None,
        format: Format | None = None,  # noqa: A002 - the API's word
        message: str | None = None,
        front_matter_title: str | None = None,
        last_commit_sha: str | None = None,
    ) -> WikiPageRecord:
        """Edit a page.  Give all three, or the service may change what is left out.

        Without a title it may move the page to the root of the wiki, and without a
        format it may turn the page into markdown (Q2, Q3).  Another title renames the
        page and what is below it; another format renames the file, and converts no
        text; the rest is as in ``create_page``.  With ``last_commit_sha``, the commit
        that the page was read at, the edit is refused if the page changed since.

        Gives the page as it is now: adopt its slug.  Raises NotFound, and Rejected also
        where no change is given.
        """
        purpose = self._purpose(f"edit page {one_line(slug)}", "page", is_write=True)
        body = _page_body(
            purpose,
            title=title,
            content=content,
            format=format,
            message=message,
            front_matter_title=front_matter_title,
            last_commit_sha=last_commit_sha,
        )
        request = Request("PUT", "", purpose, json=body)
        return await self._with_slug(slug, request, self._write_page)

    async def delete_page(self, slug: str) -> None:
        """Delete a page; pages below it stay.  Raises NotFound, PermissionDenied."""
        purpose = self._purpose(f"delete page {one_line(slug)}", "page", is_write=True)
        answer = await self._with_slug(
            slug, Request("DELETE", "", purpose), self._write
        )
        if answer.body and not answer.is_json:
            raise exchange.not_the_api(answer, purpose)

    async def upload_attachment(
        self, file: Path | bytes | Spool, name: str, *, branch: str | None = None
    ) -> AttachmentRecord:
        """Put a file into the wiki's uploads, streamed, in a random folder.

        The service replaces what it does not like in the name.  Raises FolderError for
        a file that cannot be read, Rejected for its name or size.
        """
        action = f"upload {one_line(name) or 'a file without a name'}"
        purpose = self._purpose(action, "wiki", is_write=True)
        if not name or not name.isprintable():
            raise Rejected(
                f"cannot {purpose.action}: this is not a valid attachment name",
                hint="give the file a name without line breaks or control characters",
            )
        path = Other.ATTACHMENT.path(owner=self._plural, id=self.id)
        fields = [] if branch is None else [("branch", branch)]
        form = upload_form("file", file, name, fields)
        form_fields = (("file", name), *fields)
        answer = await self._write(
            Request("POST", path, purpose, form=form, form_fields=form_fields)
        )
        return exchange.decode(answer, AttachmentRecord, purpose)

    def read_attachment(self, path: AttachmentPath) -> AsyncGenerator[bytes, None]:
        """An attachment's bytes, from the web side's file route.

        The API has no way to read one, and the service may keep this route to browsers
        (Q11): NotFound.
        """
        purpose = self._purpose(f"read attachment {one_line(path)}", "attachment")
        url = self.client.address.wiki_file(self.owner, path)
        return self.client.download(url, purpose)

    async def list_comments(self, page_id: int) -> tuple[CommentRecord, ...]:
        """What people wrote below a page, the oldest first; answers stand in between.

        The page is named by the ``wiki_page_meta_id`` of its record, which services
        before 18 lack, with such comments.  The service's own notes of changes are left
        out; ``internal`` comments are in it as far as the token may read them.  Raises
        NotFound, and AuthenticationFailed without a token.
        """
        query = query_of(
            {
                "per_page": self.client.settings.per_page,
                "sort": "asc",
                "activity_filter": "only_comments",
            }
        )
        path = Other.COMMENTS.path(owner=self._plural, id=self.id, page_id=page_id)
        purpose = self._purpose(f"list the comments on page {page_id}", "page")
        request = Request("GET", path, purpose, query)
        listing = Listing(self.client, request, CommentRecord)
        return tuple([one async for one in listing if not one.system])

    def _list_request(self, *, with_content: bool, etag: str | None = None) -> Request:
        path = Other.PAGES.path(owner=self._plural, id=self.id)
        query = query_of({"with_content": True} if with_content else {})
        purpose = self._purpose("list the pages", "wiki")
        return Request("GET", path, purpose, query, etag=etag)

    def _purpose(
        self, action: str, about: exchange.About, *, is_write: bool = False
    ) -> exchange.Purpose:
        action = f"{action} of {self.owner}"
        return self.client.purpose(action, about, self.owner, is_write=is_write)

    async def _with_slug(
        self, slug: str, request: Request, ask: Callable[[Request], Awaitable[T]]
    ) -> T:
        """Ask at the slug's path, once more with raw slashes if that is unknown.

        A write that the service has no address for was not carried out.
        """
        if not slug or not _is_unicode(slug):
            raise Rejected(
                f"cannot {request.purpose.action}: this is not a valid page slug",
                hint="list the pages to see the slugs",
            )
        pages = Other.PAGES.path(owner=self._plural, id=self.id)
        paths = [Other.PAGE.path(owner=self._plural, id=self.id, slug=slug)]
        if "/" in slug:
            raw = f"{pages}/{encode_path(slug)}"
            paths.insert(0 if self._has_raw_slashes else 1, raw)
        try:
            return await ask(replace(request, path=paths[0]))
        except (exchange.UnknownRoute, ProtocolViolation) as error:
            # some proxies have a page of their own for an address with %2F
            if len(paths) == 1 or error.status != HTTPStatus.NOT_FOUND:
                raise
        self._has_raw_slashes = not self._has_raw_slashes
        return await ask(replace(request, path=paths[1]))

    async def _write(self, request: Request) -> exchange.Answer:
        async with self.client.writing(str(self.owner)):
            return await self.client.send(request)

    async def _write_page(self, request: Request) -> WikiPageRecord:
        answer = await self._write(request)
        return exchange.decode_written(answer, WikiPageRecord, request.purpose)


def _page_body(
    purpose: exchange.Purpose,
    *,
    title: str | None,
    content: str | None,
    format: Format | None,  # noqa: A002 - the API's word
    front_matter_title: str | None,
    **about: str | None,
) -> bytes:
    values = {"title": title, "content": content, "format": format}
    if all(value is None for value in values.values()):
        raise Rejected(
            f"cannot {purpose.action}: no change is given",
            hint="give a content, a title or a format",
        )
    if format is not None and not format.is_writable:
        names = ", ".join(sorted(WRITABLE_FORMATS))
        raise Rejected(
            f"cannot {purpose.action}: the service does not accept {format} pages",
            hint=f"formats for writing: {names}",
        )
    values |= about
    given = {name: value for name, value in values.items() if value is not None}
    if not all(
        _is_unicode(text) for text in (*given.values(), front_matter_title or "")
    ):
        raise Rejected(
            f"cannot {purpose.action}: the text contains a lone surrogate, which is"
            f" not valid Unicode",
            hint="remove it; it often shows as a question mark",
        )
    front_matter = {"front_matter": {"title": front_matter_title}}
    return msgspec.json.encode(given | (front_matter if front_matter_title else {}))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
