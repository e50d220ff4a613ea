"""Attacks on connections: half requests, unread answers, bodies that nobody wants.

They need an address only, so they serve for the service, the preview and the listener
of a watch alike.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

HALF_REQUESTS = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ",
    "a head without its end": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
}
WAIT_S = 30.0
"""How long an attacker waits for the end of a connection."""


@dataclass(frozen=True, slots=True)
class HungUp:
    """How a server ended a connection."""

    seconds: float
    """After the last byte that was sent."""
    answer: bytes
    """What it said before."""


@asynccontextmanager
async def socket_to(
    url: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A plain connection to a server."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def send_half(url: str, sent: bytes) -> HungUp:
    """Send part of a request and wait for the server to hang up.

    Raises:
        TimeoutError: it does not.
    """
    loop = asyncio.get_running_loop()
    async with socket_to(url) as (reader, writer):
        writer.write(sent)
        begin = loop.time()
        answer = await _until_the_end(reader)
        return HungUp(loop.time() - begin, answer)


async def drip(url: str, sent: bytes, drop: bytes, pause_s: float) -> HungUp:
    """Send the beginning of a request, and then drops of the rest for ever.

    Raises:
        TimeoutError: the server does not hang up.
    """
    loop = asyncio.get_running_loop()
    async with socket_to(url) as (reader, writer):
        writer.write(sent)
        begin = loop.time()

        async def drops() -> None:
            while True:
                await asyncio.sleep(pause_s)
                writer.write(drop)

        async with asyncio.TaskGroup() as group:
            dripping = group.create_task(drops())
            answer = await _until_the_end(reader)
            dripping.cancel()
        return HungUp(loop.time() - begin, answer)


async def read_nothing(url: str, request: bytes) -> HungUp:
    """Ask for something large, read its beginning, and then no more.

    Raises:
        TimeoutError: the server does not hang up.
    """
    loop = asyncio.get_running_loop()
    async with socket_to(url) as (reader, writer):
        writer.write(request)
        beginning = await reader.read(1)
        transport = writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        begin = loop.time()
        # an end is seen by writing: to a closed connection that fails
        async with asyncio.timeout(WAIT_S):
            while not writer.transport.is_closing():
                await asyncio.sleep(0.05)
                writer.write(b"\r\n")
        return HungUp(loop.time() - begin, beginning)


@asynccontextmanager
async def held_connections(url: str, count: int) -> AsyncIterator[None]:
    """Hold so many connections that say nothing."""
    async with asyncio.TaskGroup() as group:
        opening = [group.create_task(_opened(url)) for _ in range(count)]
    writers = [task.result() for task in opening]
    try:
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


async def _opened(url: str) -> asyncio.StreamWriter:
    parts = urlsplit(url)
    _reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    return writer


async def send_body(
    url: str, head: Sequence[str], body: AsyncIterator[bytes]
) -> tuple[bytes, int]:
    """Send a head and then a body, until the server answers.

    Returns:
        The answer, and the bytes of the body that were sent by then.
    """
    size = 0
    async with socket_to(url) as (reader, writer):
        writer.write("\r\n".join([*head, "", ""]).encode())

        async def send() -> None:
            nonlocal size
            async for chunk in body:
                writer.write(chunk)
                await writer.drain()
                size += len(chunk)

        async with asyncio.TaskGroup() as group:
            sending = group.create_task(_quietly(send()))
            async with asyncio.timeout(WAIT_S):
                answer = await reader.readline()
            sending.cancel()
    return answer, size


async def _quietly(sending: Awaitable[None]) -> None:
    with suppress(ConnectionError):
        await sending


async def _until_the_end(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(WAIT_S):
        try:
            return await reader.read(-1)
        except ConnectionError:
            return b""
