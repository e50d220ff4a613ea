"""From a request to its answer: routes to handlers, and what every answer has."""

import asyncio
import logging
import time
import uuid
from contextlib import nullcontext
from functools import cache

from aiohttp import web

from wikisync.core.system.connections import is_loopback, under_way
from wikisync.service import answers, bodies, git_http
from wikisync.service.call import Call
from wikisync.service.instance import Service
from wikisync.service.offers import Target, route_table
from wikisync.service.pages import PART_BYTES
from wikisync.service.routing import OtherMethods, Router
from wikisync.service.settings import Limits

log = logging.getLogger(__name__)


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
    if is_json and size >= service.settings.limits.gzip_bytes_min:
        response.headers["Vary"] = "Accept-Encoding"
        if _wants_gzip(request, size, service.settings.limits):
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
