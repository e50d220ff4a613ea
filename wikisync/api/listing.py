"""A paged list: its records one after the other, its parts asked when needed.

The next part is where ``Link`` says, of which only the query is taken (the host may be
a proxy's), and else ``X-Next-Page``.  A proxy may drop both: then a part is not taken
for the whole list unless it is too small to be one of several.  Links of keyset paging
are followed, never made (``docs/service.md`` "Paging").
"""

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Generic, Protocol, Self, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.exchange import NOT_THE_API_HINT, Request
from wikisync.api.settings import ClientSettings
from wikisync.errors import ProtocolViolation

COUNT_DIGITS_MAX = 16
PART_RECORDS_MIN = 20
"""The service gives at least so many records in a part that is not the last, whatever
it is asked for, unless it is asked for fewer."""

_LINK = r"<([^<>]*)>([^<]*)"
_REL = r"(?i);\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))"


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


def may_go_on(query: str, records: int) -> bool:
    """Whether a part with so many records may be one of several, by its size."""
    asked = dict(parse_qsl(query)).get("per_page", "")
    least = int(asked) if asked.isascii() and asked.isdigit() else PART_RECORDS_MIN
    return records >= max(1, min(least, PART_RECORDS_MIN))


def made_query(query: str, last_id: int | None) -> str | None:
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


log = logging.getLogger(__name__)

T = TypeVar("T")


class Part(Struct, Generic[T], frozen=True):
    """One part of a list as the service gave it."""

    records: list[T]
    following: str | None
    """Query of the next part; None where this was the last."""
    total: int | None
    """Records in the whole list; None where the service does not count them."""
    is_last_named: bool = True
    """Whether the service says that this was the last, where nothing follows."""


class PartSource(Protocol):
    """What parts are asked of: the client."""

    settings: ClientSettings

    async def part(self, request: Request, kind: type[T]) -> Part[T]:
        """One part of a list."""

    def shown(self, request: Request) -> str:
        """The URL of a request for messages."""


class Listing(AsyncIterator[T]):
    """The records of a paged list; nothing is asked before the first is wanted."""

    def __init__(
        self,
        source: PartSource,
        request: Request,
        kind: type[T],
        *,
        is_one_page: bool = False,
    ) -> None:
        self.request = request
        self._source = source
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
            self._opening = await self._source.part(self.request, self._kind)
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
            settings = self._source.settings
            if query in asked or len(asked) >= settings.list_requests_max:
                raise ProtocolViolation(
                    f"cannot {self.request.purpose.action}: "
                    "the list of the service never ends",
                    url=self._source.shown(self.request),
                    hint=NOT_THE_API_HINT,
                )
            asked.add(query)
            here = query
            request = replace(self.request, query=query)
            part = await self._source.part(request, self._kind)

    def _beyond(self, part: Part[T], query: str, count: int) -> str | None:
        """The query of what may follow a part that names nothing; None for the end."""
        records = part.records
        is_short = part.total is not None and count < part.total
        if not records or (
            not is_short and (part.is_last_named or not may_go_on(query, len(records)))
        ):
            return None
        made = made_query(query, getattr(records[-1], "id", None))
        if made is None:
            raise ProtocolViolation(
                f"cannot {self.request.purpose.action}: the list stops after {count}"
                f" records without an end marker",
                url=self._source.shown(self.request),
                hint="configure the proxy in front of the service to pass Link headers",
            )
        log.info(
            "%s: an answer with %d records names no next part; asking for what follows",
            self.request.purpose.action,
            len(records),
        )
        return made
