"""A forward proxy, as companies have: the only machine that knows other hosts.

async with forward_proxy() as proxy:
    proxy.hosts["gitlab.example.com:80"] = ("127.0.0.1", port)
    ...                     # with HTTP_PROXY=proxy.url
    assert proxy.targets == ["gitlab.example.com:80", ...]

It answers ``CONNECT`` and requests for whole URLs, one for each connection.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.support.streams import stream_server

CHUNK_BYTES = 1 << 16


@dataclass(slots=True)
class ForwardProxy:
    """Where it leads, and what it was asked for."""

    url: str = ""
    hosts: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Host and port of a URL to the address of a socket."""
    login: str | None = None
    """``USER:PASSWORD`` that it wants."""
    targets: list[str] = field(default_factory=list)
    """Host and port of each connection that it made."""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, until one of both sides ends it."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, url, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
        target = f"{parts.hostname}:{parts.port or 80}"
        if not self._lets_in(head):
            writer.write(b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n")
            return
        if target not in self.hosts:
            writer.write(b"HTTP/1.1 502 No Such Host\r\nContent-Length: 0\r\n\r\n")
            return
        self.targets.append(target)
        answers, requests = await asyncio.open_connection(*self.hosts[target])
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            rest = head.split(b"\r\n", 1)[1]
            path = url.partition(parts.netloc)[2]
            requests.write(f"{method} {path} HTTP/1.1\r\n".encode() + rest)
        try:
            async with asyncio.TaskGroup() as group:
                back = group.create_task(_pass_on(answers, writer))
                await _pass_on(reader, requests)
                back.cancel()
        finally:
            requests.close()

    def _lets_in(self, head: bytes) -> bool:
        if self.login is None:
            return True
        expected = b"Proxy-Authorization: Basic " + b64encode(self.login.encode())
        return expected.lower() in head.lower()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def forward_proxy() -> AsyncIterator[ForwardProxy]:
    """Run a proxy on a free port of this machine."""
    proxy = ForwardProxy()
    async with stream_server(proxy.serve) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy
