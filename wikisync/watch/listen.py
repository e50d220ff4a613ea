"""What a watch answers on this machine: webhooks, health, figures.

Workers of a fleet take webhooks alike (``new_app``).

A webhook is a hint: it says which wiki to scan, and what it says of pages is not
believed.  The secret is compared before anything is read.
"""

import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
from aiohttp import web

from wikisync.core.decoding import json_decoder
from wikisync.core.model import Slug
from wikisync.core.system import connections
from wikisync.core.system.connections import note_request
from wikisync.core.terminal import printable, visible_line
from wikisync.errors import UsageError
from wikisync.watch.report import WatchReport, health_lines, metrics

log = logging.getLogger(__name__)

BODY_BYTES_MAX = 1024 * 1024
SHUTDOWN_S = 0.5
TOKEN_HEADER = "X-Gitlab-Token"  # noqa: S105 - the header's name
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NAME_CHARS_MAX = 200
SLUG_CHARS_MAX = 2000

Ask = Callable[[str, Slug], bool]
"""Requests a scan of the page of a wiki, at the path of its project, which somebody may
have edited; whether it is ours."""


class _Project(msgspec.Struct):
    path_with_namespace: str


class _Page(msgspec.Struct):
    slug: str = ""
    action: str = ""
    version_id: str | None = None


class _Event(msgspec.Struct):
    object_kind: str
    project: _Project
    object_attributes: _Page = msgspec.field(default_factory=_Page)


_EVENTS = json_decoder(_Event)
See = Callable[[_Event, str, Slug], Awaitable[bool]]
"""Whether the page of a wiki, at the path of its project, is ours; it is scanned."""


def watch_app(secret: str, ask: Ask, report: WatchReport) -> web.Application:
    """What answers at ``/hook``, ``/healthz`` and ``/metrics`` of a watch."""

    async def see(event: _Event, path: str, slug: Slug) -> bool:
        report.hooks += 1
        return event.object_kind == "wiki_page" and ask(path, slug)

    async def show_health(request: web.Request) -> web.Response:
        _refuse_foreign(request)
        health = report.health()
        lines = map(visible_line, health_lines(health))
        return _said(200 if health["is_healthy"] else 503, "\n".join(lines))

    async def show_metrics(request: web.Request) -> web.Response:
        _refuse_foreign(request)
        body = metrics(report.health()).encode()
        return web.Response(body=body, headers={"Content-Type": METRICS_TYPE})

    app = new_app(secret.encode(), see)
    app.router.add_get("/healthz", show_health)
    app.router.add_get("/metrics", show_metrics)
    return app


def new_app(secret: bytes, see: See) -> web.Application:
    """An application that takes webhooks at ``/hook``."""
    app = web.Application(middlewares=[note_request], client_max_size=BODY_BYTES_MAX)

    async def hook(request: web.Request) -> web.Response:
        return await _take_hook(secret, see, request)

    app.router.add_post("/hook", hook)
    return app


async def _take_hook(secret: bytes, see: See, request: web.Request) -> web.Response:
    """Take a webhook, if it brings the secret."""
    if not secret:
        return _said(403, "webhooks need a secret: set WIKISYNC_HOOK_SECRET")
    given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, secret):
        return _said(401, "the secret does not match")
    try:
        body = await request.read()
        event = _EVENTS.decode(body)
    except web.HTTPRequestEntityTooLarge:
        return _said(413, "an event is at most 1 MiB")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _said(400, "this is not a wiki page event")
    path = event.project.path_with_namespace[:NAME_CHARS_MAX]
    page = event.object_attributes
    slug = Slug(printable(page.slug)[:SLUG_CHARS_MAX])
    if not await see(event, path, slug):
        return _said(202, "nothing of ours")
    log.info(
        "webhook: %r of page %r of %r, version %r",
        page.action[:NAME_CHARS_MAX],
        page.slug[:NAME_CHARS_MAX],
        path,
        (page.version_id or "")[:NAME_CHARS_MAX],
    )
    return _said(202, "asked")


def _refuse_foreign(request: web.Request) -> None:
    """Refuse what a web page asks that has our address by a name of its own."""
    host = request.url.host or ""
    if host not in LOOPBACK or "Origin" in request.headers:
        raise web.HTTPForbidden(text="only this machine can access this\n")


def _said(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=sentence + "\n")


@asynccontextmanager
async def listening(
    app: web.Application, address: str, named: str = "[sync] listen"
) -> AsyncIterator[str]:
    """Answer at an address until the block ends; the URL.

    ``named`` is the setting or option that names it, for messages.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_S
    )
    await runner.setup()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(runner.cleanup)
        try:
            bound = await stack.enter_async_context(
                connections.listening(runner, host, int(port))
            )
        except OSError as exc:
            raise UsageError(
                f"cannot listen at {address}: {exc.strerror or exc}",
                hint=f"set {named} to another port",
            ) from exc
        yield connections.base_url(bound)
