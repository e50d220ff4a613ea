"""Client: everything that is asked of a service, typed.

It checks address and token, keeps to what the service allows (``budget``), and follows
lists; ``pool`` makes one exchange, ``refusals`` names what went wrong.

The next part of a list is where ``Link`` says, of which only the query is taken (the
host may be a proxy's), and else ``X-Next-Page``.  A proxy may drop both: then a part is
not taken for the whole list unless it is too small to be one of several.  Links of
keyset paging are followed, never made (``docs/service.md`` "Paging").
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from http import HTTPStatus
from random import random as spread
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.address import ServiceAddress
from wikisync.api.budget import Budget, Clock, Random, Sleep
from wikisync.api.exchange import (
    NOT_THE_API_HINT,
    About,
    Answer,
    Purpose,
    Request,
    decode,
    decode_each,
    query_of,
)
from wikisync.api.pool import Pool
from wikisync.api.proxy import proxy_for
from wikisync.api.refusals import in_words
from wikisync.api.secret import Secret
from wikisync.api.settings import DEFAULT_SETTINGS, ClientSettings
from wikisync.contract import schema
from wikisync.contract.project_schema import ProjectRecord
from wikisync.contract.routes import AnyEndpoint, Endpoint
from wikisync.contract.routes import OtherEndpoint as Other
from wikisync.core.model import OwnerKind, WikiOwner
from wikisync.errors import ProtocolViolation

log = logging.getLogger(__name__)

T = TypeVar("T")

COUNT_DIGITS_MAX = 16
PART_RECORDS_MIN = 20
"""The service gives at least so many records in a part that is not the last, whatever
it is asked for, unless it is asked for fewer."""

_LINK = r"<([^<>]*)>([^<]*)"
_REL = r"(?i);\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))"

Id = int | str
"""A numeric id, or the full path of a project or group."""


class ActiveRecord(Struct, frozen=True):
    """Of a project no more than when something happened in it last."""

    id: int
    last_activity_at: str


class ActiveList(Struct, frozen=True):
    """Projects by their last activity, the newest first."""

    times: Mapping[int, str]
    etag: str | None
    is_cut: bool
    """Whether there may be more of them."""

    def may_lack_changes(self, before: Mapping[int, str]) -> bool:
        """Whether projects behind the last one may have changed, too."""
        return self.is_cut and not self.times.items() & before.items()


class Client:
    """A session with one service; use it as an async context manager."""

    def __init__(
        self,
        base_url: str,
        token: str | Secret | None = None,
        *,
        settings: ClientSettings = DEFAULT_SETTINGS,
        sleep: Sleep = asyncio.sleep,
        random: Random | None = None,
        clock: Clock = time.monotonic,
        before_write: Callable[[Request], None] | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Check the address, the token and the proxy (UsageError); nothing is sent yet.

        Without a token it asks as anybody.  ``before_write`` is shown every request
        that changes something before it is sent, and keeps it back by raising;
        ``notify`` gets a sentence before a long pause, and while an answer is late.
        """
        self.address = ServiceAddress.parse(base_url)
        self.settings = settings
        secret = Secret.from_text(token) if isinstance(token, str) else token
        self.has_token = secret is not None
        self.token = secret
        """For git, which makes connections of its own."""
        self.proxy = proxy_for(self.address)
        """From the environment; git goes through it, too."""
        self.notify = notify or log.info
        """Lets a person know."""
        self._notified_until = self._late_notified_at = float("-inf")
        self.budget = Budget(
            self.address,
            settings,
            clock=clock,
            sleep=sleep,
            notify_pause=self._notify_pause,
            random=random or spread,
        )
        """What may be asked now, and what waits."""
        self._pool = Pool(
            self.address,
            secret,
            settings,
            clock,
            self.proxy,
            self.late_notice,
            self.budget.heard,
        )
        self.wait, self.now = sleep, clock
        """Lets time pass, and seconds since any moment."""
        self._before_write = before_write
        self._write_locks: dict[str, asyncio.Lock] = {}

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._pool.close()

    def __repr__(self) -> str:
        return f"Client({str(self.address)!r})"

    async def version(self) -> schema.VersionRecord:
        """The service's version; needs a token."""
        return await self._one(Other.VERSION, schema.VersionRecord, "read the version")

    async def current_user(self) -> schema.CurrentUserRecord:
        """The user that the token belongs to."""
        action = "read who the token belongs to"
        return await self._one(Other.CURRENT_USER, schema.CurrentUserRecord, action)

    async def current_token(self) -> schema.TokenRecord:
        """The token itself: scopes and expiry; services before 15.5 lack it."""
        action = "read what the token may do"
        return await self._one(Other.CURRENT_TOKEN, schema.TokenRecord, action)

    async def project(self, project: Id) -> ProjectRecord:
        """One project by numeric id or full path; NotFound if absent or hidden."""
        return await self.fetch(self._project(project), ProjectRecord)

    async def address_of(
        self, kind: OwnerKind, owner: Id, *, name: str = ""
    ) -> schema.AddressRecord:
        """Id and path of a project or group, which messages call ``name``."""
        ask = self._project if kind == "project" else self._group
        return await self.fetch(ask(owner, name), schema.AddressRecord)

    def _project(self, project: Id, name: str = "") -> Request:
        path = Endpoint.SHOW.path(id=project)
        purpose = self.purpose(f"read project {name or project}", "project", project)
        return Request("GET", path, purpose)

    async def poll_project(
        self, project: Id, etag: str | None = None
    ) -> tuple[ProjectRecord, str | None] | None:
        """One project with its ETag, or None when it is still the one with ``etag``."""
        request = replace(self._project(project), etag=etag)

        def read(answer: Answer) -> tuple[ProjectRecord, str | None] | None:
            if answer.status == HTTPStatus.NOT_MODIFIED:
                return None
            record = decode(answer, ProjectRecord, request.purpose)
            return record, answer.headers.get("etag")

        return await self.ask(request, read)

    async def group(self, group: Id) -> schema.GroupRecord:
        """One group by numeric id or full path; NotFound if absent or hidden."""
        return await self.fetch(self._group(group), schema.GroupRecord)

    def _group(self, group: Id, name: str = "") -> Request:
        path = Other.GROUP.path(id=group)
        # a group can hold thousands of projects, which have a list of their own
        query = query_of({"with_projects": False})
        purpose = self.purpose(f"read group {name or group}", "group", group)
        return Request("GET", path, purpose, query)

    def projects(
        self, *, membership: bool = False, active_after: str | None = None
    ) -> Listing[ProjectRecord]:
        """Every project the token may see, or those active since then, by rising id.

        Keyset paging, because offset paging ends at 50,000 records.
        """
        return self._paged(
            Endpoint.LIST,
            ProjectRecord,
            "list the projects",
            pagination="keyset",
            order_by="id",
            sort="asc",
            membership=membership or None,
            last_activity_after=active_after,
        )

    def groups(self) -> Listing[schema.GroupRecord]:
        """Every group the token may see, by name."""
        return self._paged(Other.GROUPS, schema.GroupRecord, "list the groups")

    def group_projects(self, group: Id) -> Listing[ProjectRecord]:
        """Every project below a group, without those that are only shared with it."""
        return self._paged(
            Other.GROUP_PROJECTS,
            ProjectRecord,
            f"list the projects of group {group}",
            group,
            include_subgroups=True,
            with_shared=False,
            order_by="id",
            sort="asc",
        )

    def group_descendants(self, group: Id) -> Listing[schema.GroupRecord]:
        """Every group below a group, at any depth."""
        action = f"list the groups below {group}"
        return self._paged(Other.DESCENDANT_GROUPS, schema.GroupRecord, action, group)

    async def active_projects(
        self, group: str, records: int, etag: str | None = None
    ) -> ActiveList | None:
        """The projects that were active last; None where they are as by the ETag."""
        query = query_of(
            {
                "include_subgroups": True,
                "with_shared": False,
                "simple": True,
                "order_by": "last_activity_at",
                "sort": "desc",
                "per_page": records,
            }
        )
        purpose = self.purpose(
            f"list the active projects of group {group}", "group", group
        )
        path = Other.GROUP_PROJECTS.path(id=group)
        request = Request("GET", path, purpose, query, etag=etag, waits=False)
        answer = await self.send(request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        found = decode(answer, list[ActiveRecord], purpose)
        times = {one.id: one.last_activity_at for one in found}
        return ActiveList(times, answer.headers.get("etag"), len(found) >= records)

    def _paged(
        self,
        endpoint: AnyEndpoint,
        kind: type[T],
        action: str,
        group: Id = "",
        **filters: str | bool | None,
    ) -> Listing[T]:
        given = {name: value for name, value in filters.items() if value is not None}
        query = query_of({**given, "per_page": self.settings.per_page})
        purpose = self.purpose(action, "group" if group else "service", group)
        request = Request("GET", endpoint.path(id=group), purpose, query)
        return Listing(self, request, kind)

    async def _one(self, endpoint: AnyEndpoint, kind: type[T], action: str) -> T:
        request = Request("GET", endpoint.path(), self.purpose(action))
        return await self.fetch(request, kind)

    def purpose(
        self,
        action: str,
        about: About = "service",
        owner: WikiOwner | Id = "",
        others: str = "",
        *,
        is_write: bool = False,
    ) -> Purpose:
        """What a request is for, in the words of its errors."""
        kind: OwnerKind | None = None
        if isinstance(owner, WikiOwner):
            kind, owner = owner.kind, owner.full_path
        elif about == "project" or about == "group":
            kind = about
        owner = str(owner)
        return Purpose(action, about, kind, owner, others, is_write, self.has_token)

    async def ask(self, request: Request, read: Callable[[Answer], T]) -> T:
        """What is read of a success: a status below 300, or 304 where there is an ETag.

        Asked again where the answer was cut.
        """

        async def attempt() -> T:
            async with self.budget.turn(request):
                answer = await self._pool.exchange(request)
            return read(answer)

        if self._before_write is not None and request.is_write:
            self._before_write(request)
        return await self.budget.repeated(request, attempt)

    async def fetch(self, request: Request, kind: type[T]) -> T:
        """Ask for one JSON value and decode it."""
        return await self.ask(request, lambda one: decode(one, kind, request.purpose))

    async def send(self, request: Request) -> Answer:
        """Ask for a success, which comes as it is."""
        return await self.ask(request, lambda answer: answer)

    async def part(self, request: Request, kind: type[T]) -> Part[T]:
        """One part of a paged list."""

        def read(answer: Answer) -> Part[T]:
            headers = answer.headers
            return Part(
                list(decode_each(answer, kind, request.purpose)),
                next_query(headers, request.query),
                total_of(headers),
                is_last_named="link" in headers or "x-next-page" in headers,
            )

        return await self.ask(request, read)

    def shown(self, request: Request) -> str:
        """The URL of a request for messages, without secrets."""
        return self.address.url(request.path)

    async def download(self, url: str, purpose: Purpose) -> AsyncGenerator[bytes, None]:
        """Bytes of a file on the service's web side, in chunks; no redirects.

        Repeated only until the first byte has come; NotFound for something else than
        the file.  Who stops early closes it, so that the connection is given back.
        """
        request = Request("GET", urlsplit(url).path, purpose)

        async def attempt() -> tuple[AsyncGenerator[bytes, None], bytes]:
            chunks = self._chunks(url, request)
            return chunks, await anext(chunks, b"")

        chunks, first = await self.budget.repeated(request, attempt)
        async with aclosing(chunks):
            if first:
                yield first
            async for chunk in chunks:
                yield chunk

    @asynccontextmanager
    async def writing(self, wiki: str) -> AsyncIterator[None]:
        """Hold the turn to write to one wiki.

        Two writes at once race on the wiki's branch (``docs/service.md`` "Errors").
        """
        async with self._write_locks.setdefault(wiki, asyncio.Lock()):
            yield

    async def _chunks(self, url: str, request: Request) -> AsyncGenerator[bytes, None]:
        """The turn of a file lasts until its last byte."""
        async with (
            self.budget.turn(request),
            aclosing(self._pool.read_file(url, request.purpose)) as chunks,
        ):
            async for chunk in chunks:
                yield chunk

    # -- what a person hears while it takes long -----------------------------------

    def _notify_pause(self, seconds: float, why: str) -> None:
        until = self.now() + seconds
        if seconds <= self.settings.notice_pause_s or until <= self._notified_until:
            return
        self._notified_until = until + self.settings.notice_pause_s
        self.notify(f"waiting {in_words(seconds)}: {why}")

    @contextmanager
    def late_notice(self, action: str) -> Iterator[None]:
        """Let a person know what is waited for, where that takes long."""
        after_s = self.settings.notice_after_s

        def notify() -> None:
            if self.now() < self._late_notified_at + after_s:
                return  # of many that wait at the same time, one line is enough
            self._late_notified_at = self.now()
            self.notify(
                f"still waiting for {self.address.authority}, for more than"
                f" {after_s:.0f} s: {action}"
            )

        timer = asyncio.get_running_loop().call_later(after_s, notify)
        try:
            yield
        finally:
            timer.cancel()


# -- lists in parts ----------------------------------------------------------------


class Part(Struct, Generic[T], frozen=True):
    """One part of a list as the service gave it."""

    records: list[T]
    following: str | None
    """Query of the next part; None where this was the last."""
    total: int | None
    """Records in the whole list; None where the service does not count them."""
    is_last_named: bool = True
    """Whether the service says that this was the last, where nothing follows."""


class Listing(AsyncIterator[T]):
    """The records of a paged list; nothing is asked before the first is wanted."""

    def __init__(
        self,
        client: Client,
        request: Request,
        kind: type[T],
        *,
        is_one_page: bool = False,
    ) -> None:
        self.request = request
        self._client = client
        self._kind = kind
        self._is_one_page = is_one_page
        self._opening: Part[T] | None = None
        self._records = self._walk()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await anext(self._records)

    async def total(self) -> int | None:
        """How many records there are; None where the service does not count them."""
        return (await self._first()).total

    async def _first(self) -> Part[T]:
        if self._opening is None:
            self._opening = await self._client.part(self.request, self._kind)
        return self._opening

    async def _walk(self) -> AsyncGenerator[T, None]:
        """Every record of every part; ProtocolViolation where they never end."""
        asked = {(here := self.request.query)}
        part, count = await self._first(), 0
        before: list[T] = []
        while True:
            if part.records and part.records == before:
                # a service that does not page gives the whole list again
                return
            for record in part.records:
                yield record
            count += len(part.records)
            if self._is_one_page:
                return
            query = part.following
            if query is None:
                query = self._beyond(part, here, count)
                before = part.records
            if query is None:
                return
            settings = self._client.settings
            if query in asked or len(asked) >= settings.list_requests_max:
                raise ProtocolViolation(
                    f"cannot {self.request.purpose.action}: "
                    "the list of the service never ends",
                    url=self._client.shown(self.request),
                    hint=NOT_THE_API_HINT,
                )
            asked.add(query)
            here = query
            request = replace(self.request, query=query)
            part = await self._client.part(request, self._kind)

    def _beyond(self, part: Part[T], query: str, count: int) -> str | None:
        """The query of what may follow a part that names nothing; None for the end."""
        records = part.records
        is_short = part.total is not None and count < part.total
        if not records or (
            not is_short and (part.is_last_named or not _may_go_on(query, len(records)))
        ):
            return None
        made = _made_query(query, getattr(records[-1], "id", None))
        if made is None:
            raise ProtocolViolation(
                f"cannot {self.request.purpose.action}: the list stops after {count}"
                f" records without an end marker",
                url=self._client.shown(self.request),
                hint="configure the proxy in front of the service to pass Link headers",
            )
        log.info(
            "%s: an answer with %d records names no next part; asking for what follows",
            self.request.purpose.action,
            len(records),
        )
        return made


def next_query(headers: Mapping[str, str], query: str) -> str | None:
    """The query of the next part, or None where this was the last."""
    if links := headers.get("link", ""):
        for target, parameters in re.findall(_LINK, links):
            found = re.findall(_REL, parameters)
            relations = " ".join(quoted or bare for quoted, bare in found)
            if "next" in relations.lower().split():
                return str(target).partition("#")[0].partition("?")[2]
    page = headers.get("x-next-page", "").strip()
    if not page.isascii() or not page.isdigit():
        return None
    asked = parse_qsl(query, keep_blank_values=True)
    kept = [pair for pair in asked if pair[0] != "page"]
    return urlencode([*kept, ("page", page)], quote_via=quote)


def _may_go_on(query: str, records: int) -> bool:
    """Whether a part with so many records may be one of several, by its size."""
    asked = dict(parse_qsl(query)).get("per_page", "")
    least = int(asked) if asked.isascii() and asked.isdigit() else PART_RECORDS_MIN
    return records >= max(1, min(least, PART_RECORDS_MIN))


def _made_query(query: str, last_id: int | None) -> str | None:
    """The query of the part behind one that names none; None where none can be made."""
    asked = parse_qsl(query, keep_blank_values=True)
    values = dict(asked)
    if values.get("pagination") == "keyset":
        if values.get("order_by", "id") != "id" or last_id is None:
            return None
        name = "id_after" if values.get("sort") == "asc" else "id_before"
        value = str(last_id)
    else:
        page = values.get("page", "")
        is_number = page.isascii() and page.isdigit() and len(page) < COUNT_DIGITS_MAX
        name, value = "page", str(int(page) + 1 if is_number else 2)
    kept = [pair for pair in asked if pair[0] not in {"id_after", "id_before", name}]
    return urlencode([*kept, (name, value)], quote_via=quote)


def total_of(headers: Mapping[str, str]) -> int | None:
    """Records in the whole list; None where the service does not count them."""
    text = headers.get("x-total", "").strip()
    is_count = text.isascii() and text.isdigit() and len(text) < COUNT_DIGITS_MAX
    return int(text) if is_count else None
