"""What our HTTP servers say of a message that is no HTTP: nothing of what it holds.

A message that is no HTTP may hold a token, or bytes meant for whoever reads the log.
aiohttp logs it with a traceback and sends it back in its answer; here neither has
any of it.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

log = logging.getLogger(__name__)


class _Protocol(web.RequestHandler):
    """One connection."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP, and what a handler of ours failed at."""
        if not isinstance(exc, HttpProcessingError | web.RequestPayloadError):
            return super().handle_error(request, status, exc, message)
        log.debug("malformed request from %s: %s", request.remote, type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        refused = HTTPStatus.BAD_REQUEST
        response = web.Response(
            status=refused, text=f"{refused.value} {refused.phrase}\n"
        )
        response.force_close()
        return response


class _Server(web.Server):
    """Makes the connections."""

    def __call__(self) -> web.RequestHandler:
        connection = super().__call__()
        connection.__class__ = _Protocol
        return connection


def repeat_nothing_malformed(server: web.Server) -> None:
    """Let a server that does not listen yet neither log nor repeat what is no HTTP."""
    # a runner makes its server itself, and takes no other kind
    server.__class__ = _Server
