"""The first reads of a command, without aiohttp.

Most commands ask for one or two small things, a sync with nothing to do among them,
and aiohttp takes five times as long to load as those take.  So they go one after the
other over one plain connection, whose answers the parser reads that aiohttp has too.
Where no whole answer comes, or a redirect, the read is made again by the pool, which
knows what to do about it and what to tell a person.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from http import HTTPStatus

import httptools

from wikisync.api.address import ServiceAddress
from wikisync.api.answers import Answer
from wikisync.api.request import Request, headers_of
from wikisync.api.retry import Clock
from wikisync.api.secret import Secret
from wikisync.api.session import ERROR_BYTES_MAX, REDIRECTS, failure_of, log_answer
from wikisync.api.settings import ClientSettings

log = logging.getLogger(__name__)

READS_MAX = 4
"""Whoever asks for more is better off with a pool."""
CONNECT_TIMEOUT_S = 3.0
"""The pool waits as long as the settings say, and comes after this."""
EYEBALLS_S = 0.25
"""How long one address of a name is tried alone (RFC 8305)."""
CHUNK_BYTES = 64 * 1024
HEAD_BYTES_MAX = 64 * 1024
"""Headers that are longer are none of a service's."""
_GZIP = 16 + zlib.MAX_WBITS


class FirstReads:
    """Reads over one connection, one after the other."""

    def __init__(
        self,
        address: ServiceAddress,
        token: Secret | None,
        settings: ClientSettings,
        clock: Clock,
    ) -> None:
        self._address = address
        self._token = token
        self._settings = settings
        self._clock = clock
        self._connection: _Connection | None = None
        self._left = READS_MAX
        self._is_busy = False
        self.has_answered = False
        """Whether there is such a service."""

    def takes(self, request: Request) -> bool:
        """Whether this request may be made here, now."""
        is_plain = not (request.is_write or request.is_git)
        return is_plain and self._left > 0 and not self._is_busy

    async def read(self, request: Request) -> Answer | None:
        """The whole answer; None where the pool is to be asked.

        Raises:
            PassingFailure: it may be over when the pool is asked.
            RemoteError: it will not.
        """
        self._is_busy = True
        answer = None
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                answer = await self._read(request)
            self._left -= 1
            self.has_answered = True
        except _NOT_TAKEN as exc:
            log.debug("%s is asked anew: %r", request.path, exc)
        finally:
            self._is_busy = False
            if answer is None:
                self._left = 0
            if self._left <= 0:
                await self.close()
        if answer is not None and not _is_success(answer.status, request):
            raise failure_of(answer, request.purpose, self._token)
        return answer

    async def end(self) -> None:
        """Make no further read; the one in flight may come to its end."""
        self._left = 0
        if not self._is_busy:
            await self.close()

    async def close(self) -> None:
        """Let go of the connection; a read in flight is not answered."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _read(self, request: Request) -> Answer:
        started = self._clock()
        address = self._address
        target = address.url(request.path, request.query).removeprefix(address.origin)
        headers = {
            "Host": address.authority,
            "Accept-Encoding": "gzip",
            **headers_of(request, address, self._token),
        }
        if self._connection is None:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                self._connection = await _connected(address)
        connection = self._connection
        async with asyncio.timeout(self._settings.read_timeout_s) as silence:
            status, found = await connection.ask(target, headers)
            shown = address.url(request.path)
            log_answer(request, shown, status, found, self._clock() - started)
            if status in REDIRECTS:
                raise _NotTaken("a redirect")
            is_success = _is_success(status, request)
            limit = self._settings.answer_bytes_max if is_success else ERROR_BYTES_MAX
            body = bytearray()
            async for chunk in connection.body(found.get("content-encoding", "")):
                body += chunk
                if len(body) > limit and is_success:
                    raise _NotTaken("too large")
                if len(body) > limit:
                    break  # the beginning of an error is enough
                now = asyncio.get_running_loop().time()
                silence.reschedule(now + self._settings.read_timeout_s)
        if not connection.is_reusable():
            await self.close()
        return Answer(status, found, body, shown)


def _is_success(status: int, request: Request) -> bool:
    is_unchanged = status == HTTPStatus.NOT_MODIFIED
    return status == HTTPStatus.OK or (is_unchanged and request.may_be_unchanged)


class _NotTaken(Exception):
    """The answer is none that is taken from here."""


_NOT_TAKEN = (OSError, ValueError, zlib.error, httptools.HttpParserError, _NotTaken)


class _Reading:
    """One answer as it comes in; the parser calls the methods ``on_...``."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self.status = 0
        """0 until all headers are there."""
        self.headers: dict[str, str] = {}
        """By their names in lower case; of several the first counts."""
        self.is_whole = False
        self.is_last = False
        """Whether the connection ends with it."""

    def feed(self, content: bytes) -> None:
        """Take what came.

        Raises:
            HttpParserError: it is no HTTP.
            _NotTaken: the connection ended before the answer did.
        """
        if not content:
            raise _NotTaken("cut")
        self._parser.feed_data(content)

    def take_body(self) -> bytes:
        """What came of the body since the last time."""
        body, self._body = b"".join(self._body), []
        return body

    def on_message_begin(self) -> None:
        if self.is_whole:
            raise _NotTaken("more answers than questions")

    def on_header(self, name: bytes, value: bytes) -> None:
        text = value.decode("utf-8", "surrogateescape")
        self.headers.setdefault(name.decode("ascii").lower(), text)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= HTTPStatus.OK:
            self.status = status
        else:
            self.headers.clear()  # what a server says beforehand

    def on_body(self, content: bytes) -> None:
        self._body.append(content)

    def on_message_complete(self) -> None:
        if self.status:
            self.is_whole = True
            self.is_last = not self._parser.should_keep_alive()


class _Connection:
    """One connection to the service."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._reading = _Reading()

    async def ask(
        self, target: str, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str]]:
        """Send a request without a body; status and headers of its answer."""
        if any(mark in value for value in headers.values() for mark in "\r\n\0"):
            raise _NotTaken("a header of several lines")
        lines = [f"GET {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._reading = reading = _Reading()
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await self._writer.drain()
        size = 0
        while not reading.status:
            content = await self._reader.read(CHUNK_BYTES)
            reading.feed(content)
            size += len(content)
            if size > HEAD_BYTES_MAX and not reading.status:
                raise _NotTaken("headers without end")
        return reading.status, reading.headers

    async def body(self, encoding: str) -> AsyncIterator[bytes]:
        """The rest of the answer, unpacked.

        Raises:
            _NotTaken: it is packed in another way, or cut.
        """
        if encoding not in {"", "identity", "gzip"}:
            raise _NotTaken(f"encoding {encoding}")
        reading = self._reading
        unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
        while True:
            if content := reading.take_body():
                yield content if unpacker is None else unpacker.decompress(content)
            if reading.is_whole:
                break
            reading.feed(await self._reader.read(CHUNK_BYTES))
        if unpacker is not None and (not unpacker.eof or unpacker.unused_data):
            raise _NotTaken("cut, or more than one part")

    def is_reusable(self) -> bool:
        """Whether another request may be sent over it."""
        return self._reading.is_whole and not self._reading.is_last

    async def close(self) -> None:
        """Let go of it at once."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _connected(address: ServiceAddress) -> _Connection:
    trust = None
    if address.scheme == "https":
        from wikisync.api.trust import system_trust

        trust = await asyncio.to_thread(system_trust)
    streams = await asyncio.open_connection(
        address.host, address.port, ssl=trust, happy_eyeballs_delay=EYEBALLS_S
    )
    return _Connection(*streams)
