"""Answers and refusals in the service's three error shapes.

A ``Refusal`` becomes a response in ``server`` (``docs/service.md`` "Errors").  A full
or broken disk is 507 or 500: a client that gets 400 never sends its request again.  A
page of another origin may call the API from a browser (CORS), without cookies.
"""

import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Mapping, MutableMapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
import pygit2
from aiohttp import web

from wikisync.contract.routes import API_PREFIX
from wikisync.service.access import Verdict

JSON_TYPE = "application/json"
COLLISION = "There is already a page with the same title in that path."
# no charset parameter, as the real service; clients know JSON is UTF-8
JSON_HEADERS = {
    "Content-Type": JSON_TYPE,
    "Cache-Control": "max-age=0, private",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}
ASIDE_BYTES = 256 * 1024
"""More than that is compressed beside the loop."""
_ENCODER = msgspec.json.Encoder()


class Refusal(Exception):
    """An answer other than success; carries status, JSON body and headers."""

    def __init__(
        self, status: int, body: object, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})


class PlainRefusal(Refusal):
    """A refusal in plain text, where the callers do not read JSON."""

    def __init__(
        self, status: int, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, None, headers)
        self.text = text


def json_answer(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A response with a JSON body; structs, mappings and sequences alike."""
    return bytes_answer(_ENCODER.encode(body), status=status, headers=headers)


def bytes_answer(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A response whose JSON is already encoded."""
    every = JSON_HEADERS | dict(headers or {})
    return web.Response(
        body=body, status=status, headers=every, zlib_executor_size=ASIDE_BYTES
    )


def refusal_answer(refusal: Refusal) -> web.Response:
    """What a refusal says, as a response."""
    if isinstance(refusal, PlainRefusal):
        # tokens in the query are the caller's own, and it knows them already
        return web.Response(
            status=refusal.status, text=refusal.text, headers=refusal.headers
        )
    return json_answer(refusal.body, status=refusal.status, headers=refusal.headers)


class PartsAnswer(web.Response):
    """A response whose JSON comes in parts, each made when the last one was sent."""

    def __init__(self, parts: AsyncIterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(body=parts, headers=JSON_HEADERS | dict(headers))
        self.parts = parts


def fields_of(record: object, names: str) -> dict[str, Any]:
    """Attributes of a record that the API calls so, too."""
    return {name: getattr(record, name) for name in names.split()}


def no_content(headers: Mapping[str, str] | None = None) -> web.Response:
    """204 with an empty body."""
    return web.Response(status=204, headers=headers)


def weak_etag(*parts: bytes | str) -> str:
    """A weak entity tag over some bytes that decide a body."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return f'W/"{digest.hexdigest()}"'


def etag_matches(header: str, etag: str) -> bool:
    """Whether an ``If-None-Match`` names the tag, by weak comparison."""
    wanted = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in wanted or etag.removeprefix("W/") in wanted


def unmatched_route() -> Refusal:
    """No such path in the API."""
    return Refusal(404, {"error": "404 Not Found"})


def not_found(thing: str) -> Refusal:
    """Absent, or hidden from this caller: ``Project``, ``Wiki Page``."""
    return Refusal(404, {"message": f"404 {thing} Not Found"})


def forbidden(reason: str = "") -> Refusal:
    """The caller sees the thing but may not do this."""
    text = f"403 Forbidden - {reason}" if reason else "403 Forbidden"
    return Refusal(403, {"message": text})


def unauthorized() -> Refusal:
    """No credential where one is needed, or one that nobody knows."""
    return Refusal(401, {"message": "401 Unauthorized"})


def dead_token(description: str) -> Refusal:
    """A credential that was good once."""
    body = {"error": "invalid_token", "error_description": description}
    challenge = 'Bearer realm="Protected by OAuth 2.0", error="invalid_token"'
    return Refusal(401, body, {"WWW-Authenticate": challenge})


def insufficient_scope() -> Refusal:
    """The token's scopes do not reach this far."""
    return Refusal(
        403,
        {
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than"
            " provided by the access token.",
            "scope": "api read_api",
        },
    )


def bad_parameters(problems: Sequence[str]) -> Refusal:
    """Parameters that do not validate, before anything is read."""
    return Refusal(400, {"error": ", ".join(problems)})


def malformed() -> Refusal:
    """Text that is not UTF-8, or holds a NUL byte."""
    return bad_parameters(["the request holds invalid UTF-8 or a NUL byte"])


def changed() -> Refusal:
    """An edit of a page that is not any more what its caller read."""
    text = "The page was changed after the commit in last_commit_sha."
    return Refusal(409, {"message": text})


def invalid(field: str, text: str) -> Refusal:
    """A value that the model refuses; ``base`` for the record as a whole."""
    return Refusal(400, {"message": {field: [text]}})


def bad_request(text: str) -> Refusal:
    """A refusal in plain words."""
    return Refusal(400, {"message": text})


def too_large() -> Refusal:
    """A body over the limit."""
    return Refusal(413, {"message": "413 Request Entity Too Large"})


def unreadable(reason: str) -> Refusal:
    """A wiki that holds more than is shown; it is there, so it is not absent."""
    text = (
        f"503 Service Unavailable - this version of the wiki cannot be read: {reason}"
    )
    return Refusal(503, {"message": text})


def refuse(verdict: Verdict, thing: str) -> None:
    """Raise what a verdict other than ALLOWED means for ``thing``."""
    match verdict:
        case Verdict.HIDDEN:
            raise not_found(thing)
        case Verdict.FORBIDDEN:
            raise forbidden()
        case Verdict.UNAUTHENTICATED:
            raise unauthorized()
        case Verdict.ALLOWED:
            return


_WORDS = {
    errno.ENOSPC: (507, "no space left on device"),
    errno.EDQUOT: (507, "disk quota exceeded"),
    errno.EROFS: (500, "read-only file system"),
    errno.EIO: (500, "input/output error"),
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
}


def disk_refusal(error: BaseException | None) -> Refusal | None:
    """The answer where an error, or what it came from, is of the disk; else None."""
    while error is not None:
        code = _code_of(error)
        if code in _WORDS:
            status, words = _WORDS[code]
            return Refusal(status, {"message": f"{status} {words}"})
        error = error.__cause__ or error.__context__
    return None


def disk_error(error: Exception, folder: str, size: int) -> OSError:
    """The error of the disk behind one of git's library, which often has no words."""
    code = _code_in(str(error))
    if code is None:
        disk = os.statvfs(folder)
        room = disk.f_bavail * disk.f_frsize
        is_full = room < size + disk.f_frsize or not disk.f_favail
        code = errno.ENOSPC if is_full else errno.EIO
    return OSError(code, os.strerror(code))


def _code_in(words: str) -> int | None:
    """The code whose words git's library repeats; it has lost the code."""
    said = words.lower()
    return next((code for code in _WORDS if os.strerror(code).lower() in said), None)


def _code_of(error: BaseException) -> int | None:
    if isinstance(error, OSError | pygit2.GitError):
        return getattr(error, "errno", None) or _code_in(str(error))
    if isinstance(error, sqlite3.Error):
        # the lowest byte is the kind, those above it say more
        return _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return None


EXPOSED = (
    "Link",
    "X-Total",
    "X-Total-Pages",
    "X-Per-Page",
    "X-Page",
    "X-Next-Page",
    "X-Prev-Page",
    "X-Request-Id",
    "ETag",
)
"""Headers of answers that scripts of another origin may read."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PREFLIGHT_S = 7200
"""How long a browser may keep what a preflight said."""


def answer_preflight(request: web.BaseRequest) -> web.Response | None:
    """The answer to a browser that asks before it sends; None for other requests."""
    wanted = request.headers.get("Access-Control-Request-Method")
    if request.method != "OPTIONS" or wanted is None or not _is_from_afar(request):
        return None
    response = web.Response()
    if wanted.upper() in METHODS:
        add_cross_origin(request, response.headers)
        asked = request.headers.get("Access-Control-Request-Headers")
        if asked:
            response.headers["Access-Control-Allow-Headers"] = asked
    return response


def add_cross_origin(
    request: web.BaseRequest, headers: MutableMapping[str, str]
) -> None:
    """Add to an answer's headers what lets scripts of another origin read it."""
    if _is_from_afar(request):
        headers.update(
            {
                "Access-Control-Allow-Origin": "*",
                "Access-Control-Allow-Methods": ", ".join(METHODS),
                "Access-Control-Expose-Headers": ", ".join(EXPOSED),
                "Access-Control-Max-Age": str(PREFLIGHT_S),
            }
        )
    if _is_of_api(request):
        # also without an origin, or a cache would give this answer to one
        held = headers.get("Vary")
        headers["Vary"] = f"{held}, Origin" if held else "Origin"


def _is_from_afar(request: web.BaseRequest) -> bool:
    return _is_of_api(request) and "Origin" in request.headers


def _is_of_api(request: web.BaseRequest) -> bool:
    return request.rel_url.raw_path.startswith(API_PREFIX + "/")
