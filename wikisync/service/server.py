"""The service's HTTP server: begun on a data folder, and from a request to its answer.

aiohttp's router matches ``%2F`` and ``%25`` encoded, so that a slash inside an id or a
slug is no separator; each segment is decoded once.  ``{slug}`` and ``{path}`` also take
raw slashes, as the real service does (``docs/service.md`` "Endpoints").
"""

import asyncio
import errno
import logging
import re
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar, cast
from urllib.parse import unquote_to_bytes

from aiohttp import web
from msgspec import Struct

from wikisync.core.system.connections import base_url, is_loopback, listening, under_way
from wikisync.core.system.locks import lock, unlock
from wikisync.core.system.private import make_private_folder, private_opener
from wikisync.errors import ServiceError
from wikisync.service import answers, bodies, git_http
from wikisync.service.call import Call
from wikisync.service.instance import ADMIN, Service
from wikisync.service.jobs import running_jobs
from wikisync.service.offers import Target, route_table
from wikisync.service.pages import PART_BYTES
from wikisync.service.settings import Limits, Settings
from wikisync.service.tables import Tables

log = logging.getLogger(__name__)

H = TypeVar("H")

GREEDY = frozenset({"slug", "path", "full_path"})
"""Names of segments that may hold raw slashes."""
_SLASH_AT_END = "_"

SHUTDOWN_S = 3.0
"""How long answers under way may take when the service is to stop."""
LINGERING_S = 5.0
"""How long the rest of a refused body is read, so that its sender hears why."""


class OtherMethods(Struct, frozen=True):
    """The path exists, but not for this method."""

    allowed: tuple[str, ...]


Found: TypeAlias = tuple[H, Mapping[str, str]]
"""The target of a route, with the segments of its path decoded."""


class Router(Generic[H]):
    """Routes by method and template, the more particular ones first."""

    def __init__(self, routes: Sequence[tuple[str, str, H]]) -> None:
        self._dispatcher = web.UrlDispatcher()
        self._targets: dict[web.AbstractRoute, H] = {}
        for method, template, target in routes:
            resource = self._dispatcher.add_resource(_pattern(template))
            # HEAD is answered where GET is
            for name in ("GET", "HEAD") if method == "GET" else (method,):
                self._targets[resource.add_route(name, _unused)] = target

    async def match(self, request: web.BaseRequest) -> Found[H] | OtherMethods | None:
        """What fits a request, None for no such path; 400 for a malformed one."""
        # it reads only the method and the path, which both classes have
        found = await self._dispatcher.resolve(cast(web.Request, request))
        match found.http_exception:
            case None:
                _check(request.rel_url.raw_path)
                segments = {
                    name: text for name, text in found.items() if name != _SLASH_AT_END
                }
                return self._targets[found.route], segments
            case web.HTTPMethodNotAllowed() as error:
                return OtherMethods(tuple(sorted(error.allowed_methods | {"OPTIONS"})))
            case _:
                return None


def _check(raw_path: str) -> None:
    # aiohttp leaves encoded bytes that are not UTF-8 as they are
    try:
        path = unquote_to_bytes(raw_path.encode("utf-8", "surrogateescape")).decode()
    except UnicodeDecodeError:
        raise answers.malformed() from None
    if "\0" in path:
        raise answers.malformed()


async def _unused(_request: web.Request) -> web.StreamResponse:
    raise AssertionError("the router only finds; the service answers")


def _pattern(template: str) -> str:
    def segment(name: re.Match[str]) -> str:
        kind = "(?s:.+?)" if name[1] in GREEDY else "[^/]+"
        return f"{{{name[1]}:{kind}}}"

    # one trailing slash is tolerated; inside a slug it is dropped by the lookup
    return re.sub(r"\{(\w+)\}", segment, template) + f"{{{_SLASH_AT_END}:/?}}"


class App:
    """Answers every request to one service; whoever runs it opens the records.

    Not an ``aiohttp`` application, which asks for a body too early.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._router = _router()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer, with what every answer has."""
        # a write is carried out to its end, whoever waits for it
        is_fetch = request.rel_url.raw_path.endswith("/" + git_http.UPLOAD_PACK)
        is_reading = is_fetch or request.method in {"GET", "HEAD"}
        with under_way(request, ends_with_caller=is_reading):
            request_id = uuid.uuid4().hex
            started = time.perf_counter()
            if (allowed := answers.answer_preflight(request)) is not None:
                return allowed
            response = await self.answer(request, request_id)
            if not response.prepared:
                answers.add_cross_origin(request, response.headers)
                response.headers["X-Request-Id"] = request_id
                response.headers["X-Runtime"] = f"{time.perf_counter() - started:.6f}"
            return response

    async def answer(
        self, request: web.BaseRequest, request_id: str
    ) -> web.StreamResponse:
        """Do what a request asks for; an error is an answer, too."""
        try:
            response = await self._dispatch(request)
        except answers.Refusal as refusal:
            response = answers.refusal_answer(refusal)
        except (asyncio.CancelledError, ConnectionError):
            # the caller went away, or the service is being stopped
            raise
        except Exception as error:
            if broken := answers.disk_refusal(error):
                log.error("%s %s: %s", request.method, _path(request), error)  # noqa: TRY400
                response = answers.refusal_answer(broken)
            else:
                log.exception("%s %s (%s)", request.method, _path(request), request_id)
                response = answers.json_answer(
                    {"message": "500 Internal Server Error"}, status=500
                )
        if isinstance(response, web.Response) and not response.prepared:
            return _dress(self.service, request, response)
        return response

    async def handle(self, call: Call, target: Target) -> web.StreamResponse:
        """What the handler answers."""
        if target.is_for_signed_in:
            await call.signed_in()
        return await target.handler(call)

    async def _dispatch(self, request: web.BaseRequest) -> web.StreamResponse:
        limits = self.service.limits
        match await self._router.match(request):
            case None:
                raise answers.unmatched_route()
            case OtherMethods(allowed) if request.method == "OPTIONS":
                return answers.no_content({"Allow": ", ".join(allowed)})
            case OtherMethods(allowed):
                allow = {"Allow": ", ".join(allowed)}
                raise answers.Refusal(405, {"error": "405 Not Allowed"}, allow)
            case target, segments:
                query = request.rel_url.raw_query_string.encode()
                raw = bodies.read_fields(query, limits)
                if target.is_paid and self.service.is_free:
                    raise answers.unmatched_route()
                about = target.endpoint, target.kind
                call = Call(self.service, request, segments, raw, *about)
                if not request.can_read_body or target.reads_own_body:
                    return await self.handle(call, target)
                bytes_max = await _admit(call, target, limits)
                await bodies.call_for_body(request)
                is_form = request.content_type == bodies.MULTIPART
                spool = self.service.spool
                with (
                    bodies.spool_folder(spool)
                    if is_form
                    else nullcontext(spool) as folder
                ):
                    raw |= await bodies.read_body(request, limits, folder, bytes_max)
                    return await self.handle(call, target)


@cache
def _router() -> Router[Target]:
    return Router(route_table())


async def _admit(call: Call, target: Target, limits: Limits) -> int:
    """How many bytes a body may have, before any is read; raises 401, 403, 404 or 413.

    A small one is read in any case: it may hold the token.
    """
    # of a body that is compressed, or comes in chunks, the size is not certain
    is_packed = "Content-Encoding" in call.request.headers
    size = None if is_packed else call.request.content_length
    bytes_max = limits.unasked_body_bytes_max
    if size is not None and size <= bytes_max:
        return bytes_max
    if target.admit is not None:
        await target.admit(call)
        bytes_max = limits.body_bytes_max
        if call.request.content_type == bodies.MULTIPART:
            bytes_max += limits.attachment_bytes_max
    if size is not None and size > bytes_max:
        raise answers.too_large()
    return bytes_max


def _dress(
    service: Service, request: web.BaseRequest, response: web.Response
) -> web.Response:
    body = response.body if isinstance(response.body, bytes) else b""
    if response.status == 200 and request.method in {"GET", "HEAD"}:
        etag = response.headers.setdefault("ETag", answers.weak_etag(body))
        if answers.etag_matches(request.headers.get("If-None-Match", ""), etag):
            return web.Response(status=304, headers={"ETag": etag})
    is_in_parts = isinstance(response, answers.PartsAnswer)
    size = PART_BYTES + 1 if is_in_parts else len(body)
    is_json = response.content_type == answers.JSON_TYPE
    if is_json and size >= service.limits.gzip_bytes_min:
        response.headers["Vary"] = "Accept-Encoding"
        if _wants_gzip(request, size, service.limits):
            response.enable_compression(web.ContentCoding.gzip)
    return response


def _wants_gzip(request: web.BaseRequest, size: int, limits: Limits) -> bool:
    if size > limits.gzip_loopback_bytes_max and is_loopback(request.remote or ""):
        return False
    header = request.headers.get("Accept-Encoding", "")
    for part in header.lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() in {"gzip", "*"}:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _path(request: web.BaseRequest) -> str:
    # the query may hold a token, which no log may
    return request.rel_url.raw_path


@asynccontextmanager
async def running_service(
    data: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: Settings | None = None,
    service_type: type[Service] = Service,
    app_type: type[App] = App,
) -> AsyncIterator[Service]:
    """Run a service until the block ends; ServiceError if folder or port is taken."""
    with locked_folder(data) as was_open:
        service = service_type(data, settings)
        service.was_open = was_open
        shutil.rmtree(service.spool, ignore_errors=True)
        await service.records.open()
        try:
            if await service.records.ask(Tables.user_named, ADMIN) is None:
                await service.records.ask(
                    Tables.add_user, ADMIN, name="Administrator", is_admin=True
                )
                service.first_token = await service.new_token()
            server = web.Server(
                app_type(service),
                access_log=None,
                lingering_time=LINGERING_S,
                max_line_size=service.limits.url_bytes_max,
                max_field_size=service.limits.url_bytes_max,
            )
            runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_S)
            await runner.setup()
            async with AsyncExitStack() as stack:
                stack.push_async_callback(runner.cleanup)
                service.url = await _listen(stack, runner, service, host, port)
                await stack.enter_async_context(running_jobs(service))
                yield service
        finally:
            await service.renderer.close()
            await service.records.close()


@contextmanager
def locked_folder(data: Path) -> Iterator[bool]:
    """Hold a data folder alone, or ServiceError; whether others could read it."""
    try:
        was_open = make_private_folder(data)
        # held open by what is returned
        file = open(data / "lock", "w", opener=private_opener)  # noqa: SIM115
    except OSError as error:
        raise ServiceError(
            f"cannot write to the data folder {data}: {error.strerror}",
            hint="choose another folder with --data",
        ) from error
    with file:
        try:
            lock(file.fileno())
        except BlockingIOError as error:
            raise ServiceError(
                f"the data folder {data} is in use by another wikisync serve",
                hint="stop the other one, or choose another folder with --data",
            ) from error
        try:
            yield was_open
        finally:
            unlock(file.fileno())


async def _listen(
    stack: AsyncExitStack,
    runner: web.ServerRunner,
    service: Service,
    host: str,
    port: int,
) -> str:
    limits = service.settings.connections
    try:
        address = await stack.enter_async_context(listening(runner, host, port, limits))
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "name another address with --host"
        if error.errno == errno.EADDRINUSE:
            reason = "something else listens there"
            hint = "name another port with --port, or leave it out for a free one"
        raise ServiceError(
            f"cannot listen on {host} port {port}: {reason}", hint=hint
        ) from error
    return base_url(address)
