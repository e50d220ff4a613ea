"""Connections of our servers: how many there may be, and how long one may dawdle.

The embedded service, the preview and the listener of a watch answer through this
module, which stands between asyncio's transports and aiohttp's protocol:

- an address has so many connections at once, and no more;
- who sends half a request, or no request, is hung up on after some seconds;
- who does not read an answer is hung up on as well;
- the work for a reader ends when the reader leaves.

None of it looks into the bytes: a handler says with ``under_way`` when a request
begins and ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import IPv6Address, ip_address, ip_network
from typing import cast

from aiohttp import web
from msgspec import Struct

from wikisync.malformed import repeat_nothing_malformed

log = logging.getLogger(__name__)

CHECK_S = 5.0
"""Between two looks at a body that comes, or at an answer that goes."""
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
    """For the head of a request, from its first byte or from the connection on."""
    body_s: float = 20.0
    """For the body of a request, besides the time that its bytes are given."""
    body_bytes_per_s: int = 500
    """A body may take one more second for so many bytes."""
    idle_s: float = 75.0
    """Between two requests; proxies keep theirs for 60 s."""
    stalled_s: float = 60.0
    """For a reader of an answer to take another byte."""


USUAL_LIMITS = ConnectionLimits()


@asynccontextmanager
async def listening(
    runner: web.BaseRunner,
    host: str,
    port: int,
    limits: ConnectionLimits | None = None,
) -> AsyncIterator[tuple[str, int]]:
    """Let a server answer at an address while the block lasts.

    Args:
        runner: set up, and cleaned up after the block.
        host: address to listen on.
        port: 0 takes a free one.
        limits: what each connection may do; the usual ones by default.

    Returns:
        The address and the port.

    Raises:
        OSError: nothing can listen there.
    """
    assert runner.server is not None, "the runner was not set up"
    repeat_nothing_malformed(runner.server)
    loop = asyncio.get_running_loop()
    connections = Connections(runner.server, limits or USUAL_LIMITS)
    server = await loop.create_server(connections, host, port)
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
    """Whether only this machine can reach an address.

    Names other than ``localhost`` may change, so they do not count.
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def under_way(request: web.BaseRequest, *, ends_with_caller: bool) -> Iterator[None]:
    """Note that a request is carried out while the block lasts.

    Args:
        request: the request.
        ends_with_caller: cancel the block when the caller hangs up.

    Raises:
        CancelledError: the caller did, before the request could begin.
    """
    transport = request.transport
    if transport is None and ends_with_caller:
        raise asyncio.CancelledError
    connection = None if transport is None else transport.get_protocol()
    if not isinstance(connection, Connection):
        yield
        return
    connection.begin(request, ends_with_caller=ends_with_caller)
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
    """Makes a ``Connection`` for each one that comes, and counts them."""

    def __init__(
        self,
        inner: Callable[[], asyncio.Protocol],
        limits: ConnectionLimits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._inner = inner
        self._counts: Counter[str] = Counter()
        self._clock = clock
        self._refused = 0
        """Connections that no line of the log has counted yet."""
        self._noted_at = clock() - REFUSALS_NOTED_S

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection, for asyncio."""
        return Connection(self, self._inner())

    def take(self, address: str) -> bool:
        """Count a connection in, if it may be."""
        most = self.limits.per_address_max
        is_full = bool(most) and self._counts[address] >= most
        if is_full or self._counts.total() >= self.limits.total_max:
            self._note_refusal(address)
            return False
        self._counts[address] += 1
        return True

    def give_back(self, address: str) -> None:
        """Count a connection out."""
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    def _note_refusal(self, address: str) -> None:
        """Log how many were refused once a minute, so that no caller fills the log."""
        self._refused += 1
        now = self._clock()
        if now - self._noted_at >= REFUSALS_NOTED_S:
            log.warning(
                "too many connections: %d refused, the last one from %s",
                self._refused,
                address,
            )
            self._refused, self._noted_at = 0, now


class Connection(asyncio.Protocol):
    """One connection: what it is waited for, and since when."""

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._connections = connections
        self._limits = connections.limits
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._address: str | None = None
        """None until it is counted."""
        self._request: web.BaseRequest | None = None
        """The one that is carried out."""
        self._reader: asyncio.Task[object] | None = None
        """What ends with the caller."""
        self._is_head_begun = False
        self._due = 0.0
        """When the head must be there, in the loop's time."""
        self._body_begun = 0.0
        self._body_bytes = 0
        self._stalled: tuple[float, int] | None = None
        """Since when nobody reads, and how many bytes lay there then."""
        self._timer: asyncio.TimerHandle | None = None
        limits = connections.limits
        self._check_s = min(CHECK_S, limits.body_s, limits.stalled_s)

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the connection in, or refuse it."""
        self._transport = cast("asyncio.Transport", transport)
        address = _counted_address(transport.get_extra_info("peername"))
        if not self._connections.take(address):
            self._transport.write(_REFUSED)
            self._transport.close()
            return
        self._address = address
        self._inner.connection_made(transport)
        self._wait_for_head(self._limits.head_s)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on, noting when a request begins."""
        if self._address is None:
            return
        if self._request is not None:
            self._body_bytes += len(data)
        elif not self._is_head_begun:
            self._is_head_begun = True
            self._wait_for_head(self._limits.head_s)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass the end on."""
        return None if self._address is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        """Note that the caller does not read as fast as is written."""
        self._stalled = self._loop.time(), self._unread()
        self._inner.pause_writing()
        self._check_in(self._check_s)

    def resume_writing(self) -> None:
        """Note that it reads again."""
        self._stalled = None
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is done for the caller alone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._address is None:
            return
        self._connections.give_back(self._address)
        self._address = None
        self._inner.connection_lost(exc)
        if self._reader is not None:
            self._reader.cancel()
        self._transport = self._request = self._reader = None

    # what handlers say

    def begin(self, request: web.BaseRequest, *, ends_with_caller: bool) -> None:
        """A request's head is there."""
        self._request = request
        self._reader = asyncio.current_task() if ends_with_caller else None
        self._body_begun, self._body_bytes = self._loop.time(), 0
        if self._is_body_awaited():
            self._check_in(self._check_s)

    def end(self) -> None:
        """The request is carried out; its answer may still be on its way."""
        self._request = self._reader = None
        self._is_head_begun = False
        self._wait_for_head(self._limits.idle_s)

    # the one timer

    def _wait_for_head(self, seconds: float) -> None:
        self._due = self._loop.time() + seconds
        self._check_in(seconds)

    def _check_in(self, seconds: float) -> None:
        """Look again then, or earlier."""
        if self._transport is None:
            return
        when = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._transport is None:
            return
        late = self._late()
        if late:
            log.info("hung up on %s: %s", self._address, late)
            self._transport.abort()
        elif self._stalled is not None or self._is_body_awaited():
            self._check_in(self._check_s)
        elif self._request is None:
            self._check_in(self._due - self._loop.time())

    def _late(self) -> str:
        """What has taken too long, if something has."""
        assert self._transport is not None
        now = self._loop.time()
        if self._stalled is not None:
            since, unread = self._stalled
            if self._unread() < unread:
                self._stalled = now, self._unread()
            return "nobody reads" if now - since >= self._limits.stalled_s else ""
        is_busy = not self._transport.is_reading() or self._unread() > 0
        if self._request is None:
            if is_busy:
                # the last answer is on its way
                self._due = max(self._due, now + self._check_s)
            return "no whole request came" if now >= self._due else ""
        if not self._is_body_awaited():
            return ""
        if is_busy:
            # it is us who do not read
            self._body_begun += self._check_s
        given = self._body_bytes / self._limits.body_bytes_per_s
        is_late = now - self._body_begun >= self._limits.body_s + given
        return "no whole body came" if is_late else ""

    def _unread(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _is_body_awaited(self) -> bool:
        return self._request is not None and not self._request.content.is_eof()


def _counted_address(peer: object) -> str:
    """The address under which a connection is counted."""
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
