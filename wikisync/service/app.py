"""From a request to its answer: routes to handlers, and what every answer has.

The one place where refusals become responses, where unforeseen errors become
500 without a traceback, and where entity tags, compression and request ids are
added.  Handlers live in one module per resource.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from ipaddress import ip_address
from typing import TypeVar

from aiohttp import web
from msgspec import Struct

from wikisync.api import routes
from wikisync.connections import under_way
from wikisync.model import OwnerKind
from wikisync.service import (
    attachments,
    avatars,
    git_http,
    groups,
    identity,
    project_acts,
    project_edits,
    project_forks,
    projects,
    uploads,
    wikis,
)
from wikisync.service.access import Act, Operation
from wikisync.service.answers import (
    PartsAnswer,
    PlainRefusal,
    Refusal,
    etag_matches,
    json_answer,
    no_content,
    old_version,
    too_large,
    unmatched_route,
    weak_etag,
    wrong_method,
)
from wikisync.service.bodies import (
    MULTIPART,
    announced_size,
    call_for_body,
    read_body,
    read_query,
    spool_folder,
)
from wikisync.service.call import Call
from wikisync.service.cors import add_cross_origin, answer_preflight
from wikisync.service.instance import Service
from wikisync.service.pages import PART_BYTES
from wikisync.service.quirks import Quirk, cut_answer, meet_quirks
from wikisync.service.routing import Match, OtherMethods, RouteTable
from wikisync.service.settings import MIB, Limits

log = logging.getLogger(__name__)

Handler = Callable[[Call], Awaitable[web.StreamResponse]]
Admission = Callable[[Call], Awaitable[object]]
"""Refuses who may not send what a handler takes, by the head of the request alone."""
T = TypeVar("T")
WikiHandler = Callable[[Call, OwnerKind], Awaitable[web.StreamResponse]]

_GZIP_WBITS = 31
_AVATAR_PATH = "/uploads/-/system/project/avatar/{id}/{file_name}"
_SHOW_UPLOAD: Handler = uploads.show_upload
_WIKI_ROUTES: tuple[tuple[routes.Route, WikiHandler], ...] = (
    (routes.WIKI_LIST, wikis.list_pages),
    (routes.WIKI_CREATE, wikis.create_page),
    (routes.WIKI_UPLOAD, attachments.upload),
    (routes.WIKI_GET, wikis.show_page),
    (routes.WIKI_EDIT, wikis.edit_page),
    (routes.WIKI_DELETE, wikis.delete_page),
)
_API_ROUTES: tuple[tuple[routes.Route, Handler], ...] = (
    (routes.VERSION, identity.show_version),
    (routes.Route("GET", "/metadata"), identity.show_metadata),
    (routes.CURRENT_USER, identity.show_user),
    (routes.CURRENT_TOKEN, identity.show_token),
    (routes.PROJECTS, projects.list_projects),
    (routes.PROJECT_CREATE, project_edits.create_project),
    (routes.PROJECT_CREATE_FOR_USER, project_edits.create_project_for_user),
    (routes.PROJECT, projects.show_project),
    (routes.PROJECT_EDIT, project_edits.edit_project),
    (routes.PROJECT_DELETE, project_acts.delete_project),
    (routes.PROJECT_USERS, projects.list_users),
    (routes.PROJECT_GROUPS, projects.list_groups),
    (routes.PROJECT_SHARE_LOCATIONS, projects.list_share_locations),
    (routes.PROJECT_STARRERS, projects.list_starrers),
    (routes.PROJECT_LANGUAGES, projects.show_languages),
    (routes.PROJECT_IMPORT, projects.show_import),
    (routes.PROJECT_FORKS, projects.list_forks),
    (routes.PROJECT_FORK, project_forks.fork_project),
    (routes.PROJECT_STAR, project_acts.star_project),
    (routes.PROJECT_UNSTAR, project_acts.unstar_project),
    (routes.PROJECT_ARCHIVE, project_acts.archive_project),
    (routes.PROJECT_UNARCHIVE, project_acts.unarchive_project),
    (routes.Route("PUT", "/projects/{id}/transfer"), project_edits.transfer_project),
    (routes.PROJECT_RESTORE, project_acts.restore_project),
    (routes.PROJECT_SHARE, project_acts.share_project),
    (routes.PROJECT_UNSHARE, project_acts.unshare_project),
    (routes.PROJECT_UPLOAD, uploads.upload_file),
    (routes.PROJECT_UPLOAD_GET, uploads.show_upload),
    (routes.PROJECT_IMPORT_MEMBERS, project_acts.import_members),
    (
        routes.Route("GET", "/projects/{id}/custom_attributes"),
        project_acts.list_custom_attributes,
    ),
    (
        routes.Route("PUT", "/projects/{id}/custom_attributes/{key}"),
        project_acts.set_custom_attribute,
    ),
    (
        routes.Route("DELETE", "/projects/{id}/custom_attributes/{key}"),
        project_acts.delete_custom_attribute,
    ),
    (routes.USER_PROJECTS, projects.list_user_projects),
    (routes.USER_CONTRIBUTED_PROJECTS, projects.list_contributed_projects),
    (routes.USER_STARRED_PROJECTS, projects.list_starred_projects),
    (routes.GROUPS, groups.list_groups),
    (routes.GROUP, groups.show_group),
    (routes.GROUP_PROJECTS, groups.list_group_projects),
    (routes.GROUP_DESCENDANTS, groups.list_descendant_groups),
    (routes.Route("GET", "/groups/{id}/subgroups"), groups.list_subgroups),
)


_WRITES_WIKI = frozenset(
    {wikis.create_page, wikis.edit_page, attachments.upload},
)
_ADMISSIONS: dict[Handler, Admission] = {
    uploads.upload_file: lambda call: call.project_for(Act.UPLOAD),
    project_edits.edit_project: lambda call: call.project_for(Act.EDIT),
}
OLD_PREFIX = "/api/v3/"
_GIT_ROUTES: tuple[tuple[routes.Method, str, Handler], ...] = (
    ("GET", "info/refs", git_http.show_references),
    ("POST", git_http.UPLOAD_PACK, git_http.upload_pack),
    ("POST", git_http.RECEIVE_PACK, git_http.receive_pack),
)


class Target(Struct, frozen=True):
    """What answers one route."""

    handler: Handler
    admit: Admission | None = None
    """Asked before a body is read that is not small; None where none is read."""
    reads_own_body: bool = False


def answering(
    service: Service,
) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """What answers every request to one service; whoever runs it opens the records.

    Not an ``aiohttp`` application: its router works on decoded paths, and ours does
    all the routing.
    """
    table = route_table()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        with under_way(request, ends_with_caller=_only_reads(request)):
            return await _answer(service, table, request)

    return answer


def route_table() -> RouteTable[Target]:
    """Every route of the service, the more particular ones first."""
    table: list[tuple[str, str, Target]] = []
    for route, handler in _API_ROUTES:
        target = Target(handler)
        if route.method != "GET":
            admit = _ADMISSIONS.get(handler, Call.signed_in)
            is_project = route.template.startswith("/projects")
            target = Target(_after_sign_in(handler) if is_project else handler, admit)
        table.append((route.method, routes.API_PREFIX + route.template, target))
    owners: tuple[tuple[str, OwnerKind], ...] = (
        ("projects", "project"),
        ("groups", "group"),
    )
    for segment, kind in owners:
        for route, wiki_handler in _WIKI_ROUTES:
            template = routes.API_PREFIX + route.template.replace("{owner}", segment)
            target = Target(_for(kind, wiki_handler))
            if wiki_handler in _WRITES_WIKI:
                target = Target(target.handler, _for(kind, _admit_writer))
            table.append((route.method, template, target))
    for method, path, git_handler in _GIT_ROUTES:
        target = Target(git_handler, reads_own_body=method == "POST")
        table.append((method, "/{full_path}.wiki.git/" + path, target))
    upload = "/-/project/{id}/uploads/{secret}/{file_name}"
    table.append(("GET", upload, Target(_SHOW_UPLOAD)))
    table.append(("GET", _AVATAR_PATH, Target(avatars.show_avatar)))
    for prefix, kind in (("/groups/{full_path}", "group"), ("/{full_path}", "project")):
        show = Target(_for(kind, attachments.show_file))
        table.append(("GET", prefix + "/-/wikis/uploads/{path}", show))
    sign_in = Target(attachments.show_sign_in)
    table.append(("GET", attachments.SIGN_IN_PATH, sign_in))
    return RouteTable(table)


def _after_sign_in(handler: Handler) -> Handler:
    """A change that tells nothing, not even what it takes, before it knows who asks."""

    async def handle(call: Call) -> web.StreamResponse:
        await call.signed_in()
        return await handler(call)

    return handle


async def _admit_writer(call: Call, kind: OwnerKind) -> None:
    """Refuse who may not write a wiki."""
    await call.wiki(kind, Operation.WRITE)


def _for(
    kind: OwnerKind, handler: Callable[[Call, OwnerKind], Awaitable[T]]
) -> Callable[[Call], Awaitable[T]]:
    def handle(call: Call) -> Awaitable[T]:
        # without the paid edition there are no such routes (2.2)
        if kind == "group" and not call.service.settings.profile.is_enterprise:
            raise unmatched_route()
        return handler(call, kind)

    return handle


def _only_reads(request: web.BaseRequest) -> bool:
    """Whether a request is for its caller alone; a write is carried out to its end."""
    is_fetch = request.rel_url.raw_path.endswith("/" + git_http.UPLOAD_PACK)
    return is_fetch or request.method in {"GET", "HEAD"}


async def _answer(
    service: Service, table: RouteTable[Target], request: web.BaseRequest
) -> web.StreamResponse:
    request_id = uuid.uuid4().hex
    started = time.perf_counter()
    if (allowed := answer_preflight(request)) is not None:
        return allowed
    try:
        if service.settings.faults.latency_s:
            await asyncio.sleep(service.settings.faults.latency_s)
        response = await meet_quirks(
            service.settings.quirks,
            service.turns,
            request,
            lambda: _dispatch(service, table, request),
        )
    except PlainRefusal as plain:
        # tokens in the query are the caller's own, and it knows them already
        response = web.Response(
            status=plain.status, text=plain.text, headers=plain.headers
        )
    except Refusal as refusal:
        response = json_answer(
            refusal.body, status=refusal.status, headers=refusal.headers
        )
    except (asyncio.CancelledError, ConnectionError):
        # the caller went away, or the service is being stopped
        raise
    except Exception:
        log.exception("%s %s (%s)", request.method, _path(request), request_id)
        response = json_answer({"message": "500 Internal Server Error"}, status=500)
    if response.prepared:
        return response
    if isinstance(response, web.Response):
        response = await _dress(service, request, response)
    add_cross_origin(request, response.headers)
    response.headers["X-Request-Id"] = request_id
    response.headers["X-Runtime"] = f"{time.perf_counter() - started:.6f}"
    if isinstance(response, web.Response):
        on = service.settings.quirks
        return await cut_answer(on, service.turns, request, response)
    return response


async def _dispatch(
    service: Service, table: RouteTable[Target], request: web.BaseRequest
) -> web.StreamResponse:
    limits = service.settings.limits_in_force
    match table.match(request.method, request.rel_url.raw_path):
        case None if request.rel_url.raw_path.startswith(OLD_PREFIX):
            raise old_version()
        case None:
            raise unmatched_route()
        case OtherMethods(allowed) if request.method == "OPTIONS":
            return no_content({"Allow": ", ".join(allowed)})
        case OtherMethods(allowed):
            raise wrong_method(allowed)
        case Match(target, segments):
            raw = read_query(request, limits)
            call = Call(service, request, segments, raw)
            if not request.can_read_body or target.reads_own_body:
                return await target.handler(call)
            bytes_max = await _admit(call, target, limits)
            await call_for_body(request)
            is_form = request.content_type == MULTIPART
            spool = service.spool
            with spool_folder(spool) if is_form else nullcontext(spool) as folder:
                raw |= await read_body(request, limits, folder, bytes_max)
                return await target.handler(call)


async def _admit(call: Call, target: Target, limits: Limits) -> int:
    """How many bytes a request's body may have, known before any of it is read.

    A small one is read in any case: it may hold the token, and what is wrong with it
    is told before anything else.

    Raises:
        Refusal: 401, 403 or 404 for a caller who may not send a larger one, or 413.
    """
    size = announced_size(call.request)
    if size is not None and size <= limits.unasked_body_bytes_max:
        return limits.unasked_body_bytes_max
    bytes_max = limits.unasked_body_bytes_max
    if target.admit is not None:
        await target.admit(call)
        bytes_max = limits.body_bytes_max
        if call.request.content_type == MULTIPART:
            bytes_max += limits.attachment_bytes_max
    if size is not None and size > bytes_max:
        raise too_large()
    return bytes_max


async def _dress(
    service: Service, request: web.BaseRequest, response: web.Response
) -> web.Response:
    """Add the entity tag, and compress or leave out the body when asked."""
    body = response.body if isinstance(response.body, bytes) else b""
    if Quirk.NO_ETAG in service.settings.quirks:
        response.headers.popall("ETag", None)
    elif response.status == 200 and request.method in {"GET", "HEAD"}:
        etag = response.headers.setdefault("ETag", weak_etag(body))
        wanted = request.headers.get("If-None-Match", "")
        if wanted and etag_matches(wanted, etag):
            return web.Response(status=304, headers={"ETag": etag})
    if isinstance(response, PartsAnswer):
        response.headers["Vary"] = "Accept-Encoding"
        if _wants_gzip(request, PART_BYTES + 1, service.settings.limits):
            response.headers["Content-Encoding"] = "gzip"
            response.body = _compressed(response.parts)
    elif len(body) >= service.settings.limits.gzip_bytes_min:
        response.headers["Vary"] = "Accept-Encoding"
        if _wants_gzip(request, len(body), service.settings.limits):
            response.headers["Content-Encoding"] = "gzip"
            response.body = await _compress(body)
    return response


async def _compressed(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)
    async for part in parts:
        yield await asyncio.to_thread(packer.compress, part)
    yield packer.flush()


async def _compress(body: bytes) -> bytes:
    # a long list is compressed lightly and aside; the loop must go on
    if len(body) > MIB // 4:
        return await asyncio.to_thread(zlib.compress, body, 1, _GZIP_WBITS)
    return zlib.compress(body, 6, _GZIP_WBITS)


def _wants_gzip(request: web.BaseRequest, size: int, limits: Limits) -> bool:
    if size > limits.gzip_loopback_bytes_max and _is_loopback(request.remote):
        return False
    return _takes_gzip(request.headers.get("Accept-Encoding", ""))


def _is_loopback(address: str | None) -> bool:
    try:
        return address is not None and ip_address(address).is_loopback
    except ValueError:
        return False


def _takes_gzip(header: str) -> bool:
    for part in header.lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() in {"gzip", "*"}:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _path(request: web.BaseRequest) -> str:
    # the query may hold a token, which no log may
    return request.rel_url.raw_path
