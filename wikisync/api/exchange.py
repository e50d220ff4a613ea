"""One exchange with the service: what is asked and what for, and what comes back.

Every error says what was attempted, with the object named, and what a person can do
next.  An entry of a list of pages that is no record stops no other page.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from wikisync import errors
from wikisync.api.address import ServiceAddress
from wikisync.api.secret import Secret
from wikisync.contract.routes import Method
from wikisync.contract.schema import AnsweredRecord, WikiPageRecord
from wikisync.core.decoding import convert, json_decoder
from wikisync.core.model import OwnerKind
from wikisync.core.terminal import one_line
from wikisync.core.version import __version__

if TYPE_CHECKING:
    from wikisync.api.upload import OpenForm

T = TypeVar("T")

About = Literal["service", "project", "group", "user", "wiki", "page", "attachment"]

NOT_THE_API_HINT = (
    "give the service's base URL, like https://gitlab.example.com; "
    "a sign-in page or a proxy may also be in front of it"
)
NOT_HANDED_OUT_HINT = "attachments of a private wiki are read from its git repository"
UNMARKED = frozenset({"", "text/plain", "application/octet-stream"})
"""Content types that say nothing of what a body is."""
PROXY_HINT = (
    "a proxy in front of the service may decode %2F: give the numeric id, as --project"
    " 42 or as id = 42 next to the path in wikisync.toml; or check the service's URL"
)
TOKEN_HEADER = "PRIVATE-TOKEN"  # noqa: S105 - the header's name, not a token


class Purpose(Struct, frozen=True):
    """What a request is for, in the words of its errors."""

    action: str
    """Completes "cannot ...": ``read page home of project docs/handbook``."""
    about: About = "service"
    owner_kind: OwnerKind | None = None
    owner: str = ""
    """Path or id of the project, group or user."""
    others: str = ""
    """What else it needs, such as ``group 5``: that may be missing, too."""
    is_write: bool = False
    has_token: bool = True


class Request(Struct, frozen=True):
    """What to ask and what for."""

    method: Method
    path: str
    """Percent-encoded, ``/api/v4`` included, as ``routes`` makes it."""
    purpose: Purpose
    query: str = ""
    """Percent-encoded."""
    json: bytes | None = None
    """An encoded JSON body."""
    form: OpenForm | None = None
    """A multipart body, opened anew for every attempt."""
    form_fields: tuple[tuple[str, str], ...] = ()
    """What the multipart body holds, files by their names: for messages."""
    etag: str | None = None
    """Answer 304 when the answer is still this one."""
    is_git: bool = False
    """Whether the path is one that git asks for, outside the API; it only reads."""
    packets: bytes | None = None
    """What git's protocol asks, as the body of a POST."""
    bytes_max: int | None = None
    """Largest answer, decompressed; the client's by default."""
    waits: bool = True
    """Whether it is worth waiting for where the service limits requests."""
    late_attempts_max: int | None = None
    """How often it is made where no answer comes in time; the client's by default."""
    may_change_nothing: bool = False
    """Whether a 304 is an answer: it was so already."""

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET" and not self.is_git

    @property
    def may_be_unchanged(self) -> bool:
        """Whether a 304 is an answer to it."""
        return self.etag is not None or self.may_change_nothing


def headers_of(
    request: Request, address: ServiceAddress, token: Secret | None
) -> dict[str, str]:
    """The headers of a request; those of its body are the network's."""
    headers = {"User-Agent": f"wikisync/{__version__}", "Accept": "application/json"}
    if request.is_git or (
        request.purpose.about == "attachment" and not request.is_write
    ):
        headers["Accept"] = "*/*"
    if address.is_loopback:
        # packing costs more than it saves where nothing leaves the machine
        headers["Accept-Encoding"] = "identity"
    if token is not None and request.is_git:
        # git's side of the service knows passwords only
        headers["Authorization"] = f"Basic {token.reveal_login()}"
    elif token is not None:
        headers[TOKEN_HEADER] = token.reveal()
    if request.json is not None:
        headers["Content-Type"] = "application/json"
    if request.packets is not None:
        headers["Content-Type"] = "application/x-git-upload-pack-request"
    if request.etag is not None:
        headers["If-None-Match"] = request.etag
    return headers


def query_of(values: Mapping[str, object]) -> str:
    """The values as a percent-encoded query; one that is None is empty."""
    return urlencode(fields_of(values), quote_via=quote)


def fields_of(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """The values as fields of a form: ``a[]`` for lists, ``a[key]`` for hashes."""
    fields: list[tuple[str, str]] = []
    for name, value in values.items():
        match value:
            case Mapping():
                inner = {f"{name}[{key}]": held for key, held in value.items()}
                fields += fields_of(inner)
            case list() | tuple() if not value:
                fields.append((name, ""))
            case list() | tuple():
                fields += [(f"{name}[]", _written(item)) for item in value]
            case _:
                fields.append((name, _written(value)))
    return fields


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


class Answer(Struct, frozen=True):
    """One whole answer of the service."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes | bytearray
    url: str
    """The URL asked, without secrets."""

    @property
    def content_type(self) -> str:
        """Media type in lower case without parameters; empty when absent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_json(self) -> bool:
        """Whether the service says that the body is JSON."""
        return self.content_type == "application/json" or self.content_type.endswith(
            "+json"
        )


class CutAnswer(errors.ProtocolViolation):
    """The answer ended before its end; asking again may help."""

    may_pass = True


class UnknownRoute(errors.NotFound):
    """The service knows no such address, rather than no such object."""


class PermissionLacked(errors.PermissionDenied):
    """A token of single permissions lacks one, which the service names."""


class NotHandedOut(errors.NotFound):
    """The file route keeps a file to browsers; git may have it."""


def decode(answer: Answer, kind: type[T], purpose: Purpose) -> T:
    """The answer's body as a record; CutAnswer where JSON ends early, else if odd.

    ProtocolViolation for what is no JSON: a sign-in page, a proxy, a wrong URL.
    """
    # a proxy may take the content type away or replace it; an empty list without it
    # proves nothing: it would be an emptied wiki
    is_unmarked = answer.content_type in UNMARKED
    if not (answer.is_json and answer.body) and not (
        is_unmarked and answer.body.lstrip().startswith((b"[{", b'{"'))
    ):
        if answer.is_json or not answer.body:
            raise violation(answer, purpose, "the answer is empty")
        raise not_the_api(answer, purpose)
    return _decoded(answer.body, kind, answer, purpose)


def decode_each(answer: Answer, kind: type[T], purpose: Purpose) -> Iterator[T]:
    """The records of a list, each made when it is wanted; the list is checked first."""
    for part in decode(answer, list[msgspec.Raw], purpose):
        yield _decoded(part, kind, answer, purpose)


def _decoded(
    body: bytes | bytearray | msgspec.Raw,
    kind: type[T],
    answer: Answer,
    purpose: Purpose,
) -> T:
    try:
        record = json_decoder(kind).decode(body)
    except msgspec.ValidationError as exc:
        raise violation(
            answer, purpose, f"the JSON has another shape: {errors.lowered(str(exc))}"
        ) from exc
    except msgspec.DecodeError as exc:
        if "truncated" not in str(exc):
            why = str(exc).removeprefix("JSON is malformed: ")
            raise violation(answer, purpose, f"the JSON is wrong: {why}") from exc
        raise CutAnswer(
            f"cannot {purpose.action}: the response was truncated after"
            f" {len(answer.body)} bytes",
            url=answer.url,
            status=answer.status,
            hint=cut_hint(purpose),
        ) from exc
    except UnicodeDecodeError as exc:
        raise violation(answer, purpose, "the JSON is not UTF-8") from exc
    except RecursionError as exc:
        raise violation(answer, purpose, "the JSON is nested too deep") from exc
    if isinstance(record, AnsweredRecord):
        # its own copy: a part of a list would keep all of the list in memory
        record.keep_sent(bytes(body))
    return record


def decode_written(answer: Answer, kind: type[T], purpose: Purpose) -> T:
    """The record that a create or an edit answers with; else ``Rejected``.

    The service answers a collision with success and ``null``.
    """
    written = decode(answer, object, purpose)
    try:
        return convert(written, kind)
    except msgspec.ValidationError as exc:
        raise errors.Rejected(
            f"cannot {purpose.action}: the service reported success but did not return"
            f" the page",
            url=answer.url,
            status=answer.status,
            hint="another page may have that title, or the page was changed "
            "meanwhile; list the pages and try again",
        ) from exc


def not_the_api(answer: Answer, purpose: Purpose) -> errors.ProtocolViolation:
    """The error for an answer that is a web page or another kind of file."""
    what = "a web page" if "html" in answer.content_type else "no JSON"
    is_unknown = answer.status == HTTPStatus.NOT_FOUND and "/" in purpose.owner
    return errors.ProtocolViolation(
        f"cannot {purpose.action}: {answer.url} answers with {what}; "
        "this is not a GitLab-compatible API",
        url=answer.url,
        status=answer.status,
        hint=f"{NOT_THE_API_HINT}; {PROXY_HINT}" if is_unknown else NOT_THE_API_HINT,
    )


def cut_hint(purpose: Purpose) -> str:
    """What to do when an answer did not arrive whole."""
    if purpose.is_write:
        return "the change may have been made; check before repeating it"
    return "a proxy may end long answers early; try again"


def violation(
    answer: Answer, purpose: Purpose, reason: str
) -> errors.ProtocolViolation:
    """The error for an answer that no service of this kind gives."""
    return errors.ProtocolViolation(
        f"cannot {purpose.action}: {reason} ({answer.url})",
        url=answer.url,
        status=answer.status,
        hint=NOT_THE_API_HINT,
    )


_PAGE = json_decoder(WikiPageRecord)


class OddEntry(Struct, frozen=True):
    """An entry that is no record of a page."""

    number: int
    """In the list, from 1."""
    slug: str
    """Empty where it has none that is text."""
    title: str
    reason: str


def decode_pages(
    answer: Answer, purpose: Purpose
) -> tuple[tuple[WikiPageRecord, ...], tuple[OddEntry, ...]]:
    """The list's records, and what else is in it; ProtocolViolation for no pages."""
    try:
        return decode(answer, tuple[WikiPageRecord, ...], purpose), ()
    except errors.ProtocolViolation:
        parts = decode(answer, list[msgspec.Raw], purpose)
        records: list[WikiPageRecord] = []
        odd: list[OddEntry] = []
        for number, part in enumerate(parts, start=1):
            try:
                records.append(_PAGE.decode(part))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
                odd.append(_odd(number, part, str(exc)))
        if not records and not any(entry.slug for entry in odd):
            raise
        return tuple(records), tuple(odd)


def _odd(number: int, part: msgspec.Raw, said: str) -> OddEntry:
    try:
        entry = msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        entry = None
    fields = entry if isinstance(entry, dict) else {}
    slug, title = fields.get("slug"), fields.get("title")
    return OddEntry(
        number,
        slug if isinstance(slug, str) else "",
        one_line(title) if isinstance(title, str) else "",
        errors.lowered(said.replace(" - at `$.", " at `")),
    )
