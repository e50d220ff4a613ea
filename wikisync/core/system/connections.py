"""Connections of our servers: how many there may be, and how long one may dawdle.

What aiohttp ends itself is left to it.  Its protocol gets more: an address has so many
connections and no more; who sends half a request or does not read an answer is hung up
on; the work for a reader ends when the reader leaves; nothing of a message that is no
HTTP is logged or sent back, for it may hold a token.  None of it looks into the bytes:
a handler says with ``under_way`` when a request begins and ends.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct

log = logging.getLogger(__name__)

CHECK_S = 5.0
"""Between two looks at what a connection waits for."""
REFUSALS_NOTED_S = 60.0
"""Between two lines of the log about connections that are refused."""
IPV6_NETWORK_BITS = 64
"""One customer of IPv6 has so many addresses that all of them count as one."""
_REFUSAL = b"there are too many connections from your address\n"
_REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
) % (len(_REFUSAL), _REFUSAL)


class ConnectionLimits(Struct, frozen=True):
    """How many connections there may be, and how long each may wait."""

    per_address_max: int = 250
    """Of one address at once; 0 for any number, behind a proxy that counts itself."""
    total_max: int = 750
    """Of all addresses: a process may have 1,024 files open on most systems."""
    head_s: float = 20.0
    """For the head of the first request, from the connection on."""
    body_s: float = 20.0
    """For the body of a request, besides the time that its bytes are given."""
    body_bytes_per_s: int = 500
    """A body may take one more second for so many bytes."""
    idle_s: float = 75.0
    """For the head of each other request, from the answer before it; proxies keep
    their connections for 60 s."""
    stalled_s: float = 60.0
    """For a reader of an answer to take another byte."""


USUAL_LIMITS = ConnectionLimits()


@asynccontextmanager
async def listening(
    runner: web.BaseRunner, host: str, port: int, limits: ConnectionLimits | None = None
) -> AsyncIterator[tuple[str, int]]:
    """Let a server answer at an address, which it gives, while the block lasts."""
    assert runner.server is not None, "the runner was not set up"
    # a runner makes its server itself, and takes no other kind
    runner.server.__class__ = _Server
    made = cast("_Server", runner.server)
    made.counted = Connections(limits or USUAL_LIMITS)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(made, host, port)
    try:
        address = server.sockets[0].getsockname()
        yield address[0], address[1]
    finally:
        server.close()


def base_url(address: tuple[str, int]) -> str:
    """The URL of what listens at an address and a port, without a slash."""
    host, port = address
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; of names only ``localhost``."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def under_way(request: web.BaseRequest, *, ends_with_caller: bool) -> Iterator[None]:
    """Note a request while the block lasts; CancelledError if its caller is gone."""
    transport = request.transport
    if transport is None and ends_with_caller:
        raise asyncio.CancelledError
    connection = None if transport is None else transport.get_protocol()
    if not isinstance(connection, Connection):
        yield
        return
    connection.begin(ends_with_caller=ends_with_caller)
    try:
        yield
    finally:
        connection.end()


@web.middleware
async def note_request(
    request: web.Request,
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> web.StreamResponse:
    """Note each request of an application; what reads ends with its caller."""
    is_reading = request.method in {"GET", "HEAD"}
    with under_way(request, ends_with_caller=is_reading):
        return await handler(request)


class Connections:
    """Counts the connections of a server."""

    def __init__(
        self, limits: ConnectionLimits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self._counts: Counter[str] = Counter()
        self._clock = clock
        self._refused = 0
        """Connections that no line of the log has counted yet."""
        self._noted_at = clock() - REFUSALS_NOTED_S

    def take(self, address: str) -> bool:
        """Count a connection in, if it may be."""
        most = self.limits.per_address_max
        is_full = bool(most) and self._counts[address] >= most
        if is_full or self._counts.total() >= self.limits.total_max:
            # one line a minute, so that no caller fills the log
            self._refused += 1
            now = self._clock()
            if now - self._noted_at >= REFUSALS_NOTED_S:
                log.warning(
                    "too many connections: %d refused, the last one from %s",
                    self._refused,
                    address,
                )
                self._refused, self._noted_at = 0, now
            return False
        self._counts[address] += 1
        return True

    def give_back(self, address: str) -> None:
        """Count a connection out."""
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]


class _Server(web.Server):
    """Makes a ``Connection`` for each one that comes."""

    counted: Connections

    def __call__(self) -> web.RequestHandler:
        kept = {**self._kwargs, "keepalive_timeout": self.counted.limits.idle_s}
        return Connection(self.counted, self, loop=self._loop, **kept)


class Connection(web.RequestHandler):
    """One connection: what it is waited for, and since when."""

    def __init__(self, counted: Connections, server: web.Server, **kept: Any) -> None:
        super().__init__(server, **kept)
        self._counted = counted
        self._limits = counted.limits
        self._address: str | None = None
        """None until it is counted."""
        self._wire: asyncio.Transport | None = None
        """The transport, also while it is closing."""
        self._begun_at: float | None = None
        """When the last request began; None before the first."""
        self._made_at = 0.0
        self._bytes = 0
        """That came since."""
        self._reader: asyncio.Task[object] | None = None
        """What ends with the caller."""
        self._stalled: tuple[float, int] | None = None
        """Since when nobody reads, and how many bytes lay there then."""
        self._timer: asyncio.TimerHandle | None = None
        self._check_s = min(CHECK_S, self._limits.body_s, self._limits.stalled_s)

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the connection in, or refuse it."""
        wire = cast("asyncio.Transport", transport)
        address = _counted_address(transport.get_extra_info("peername"))
        if not self._counted.take(address):
            wire.write(_REFUSED)
            wire.close()
            return
        self._address, self._wire = address, wire
        self._made_at = self._loop.time()
        super().connection_made(transport)
        self._timer = self._loop.call_later(self._check_s, self._check)

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        if self._address is not None:
            self._bytes += len(data)
            super().data_received(data)

    def pause_writing(self) -> None:
        """Note that the caller does not read as fast as is written."""
        self._stalled = self._loop.time(), self._unread()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that it reads again."""
        self._stalled = None
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End what is done for the caller alone."""
        if self._address is None:
            return
        assert self._timer is not None
        self._timer.cancel()
        self._counted.give_back(self._address)
        self._address = self._wire = None
        super().connection_lost(exc)
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    # what handlers say

    def begin(self, *, ends_with_caller: bool) -> None:
        """A request's head is there."""
        self._reader = asyncio.current_task() if ends_with_caller else None
        self._begun_at, self._bytes = self._loop.time(), 0

    def end(self) -> None:
        """The request is carried out; its answer may still be on its way."""
        self._reader = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP, which aiohttp would log and send back."""
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

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Pass over a body that cannot be unpacked, which aiohttp reads once more."""
        if not isinstance(kw.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **kw)

    # the one timer

    def _check(self) -> None:
        assert self._wire is not None, "the timer ends with the connection"
        if late := self._late():
            log.info("hung up on %s: %s", self._address, late)
            self._wire.abort()
        self._timer = self._loop.call_later(self._check_s, self._check)

    def _late(self) -> str:
        assert self._wire is not None
        now = self._loop.time()
        if self._stalled is not None:
            since, unread = self._stalled
            if self._unread() < unread:
                self._stalled = now, self._unread()
            return "nobody reads" if now - since >= self._limits.stalled_s else ""
        if self._begun_at is None:
            is_late = now - self._made_at >= self._limits.head_s
            return "no whole request came" if is_late else ""
        request = self._current_request
        if request is None or request.content.is_eof():
            return ""
        if not self._wire.is_reading() or self._unread():
            # it is us who do not read
            self._begun_at += self._check_s
        given = self._bytes / self._limits.body_bytes_per_s
        is_late = now - self._begun_at >= self._limits.body_s + given
        return "no whole body came" if is_late else ""

    def _unread(self) -> int:
        return 0 if self._wire is None else self._wire.get_write_buffer_size()


def _counted_address(peer: object) -> str:
    if not isinstance(peer, tuple) or not peer:
        return ""
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except ValueError:
        return str(peer[0])
    if isinstance(address, IPv6Address) and not address.is_loopback:
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((address, IPV6_NETWORK_BITS), strict=False))
    return str(address)
