"""A service at the level of bytes: it plays answers written in advance.

For what no honest server can be made to do: a body cut short, a broken
connection, a redirect elsewhere, a path that must arrive byte for byte.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.support.streams import stream_server

BREAK = b""
"""Instead of an answer: the connection is closed."""
TLS_HANDSHAKE = b"\x16"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


@dataclass
class Wire:
    """A listening socket, what was asked of it and what it will answer."""

    url: str = ""
    requests: list[WireRequest] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    repeats: bool = False
    """Whether the last answer is given again and again."""
    pauses_s: float = 0.0
    """Between two bytes of an answer's body."""
    connections: int = 0
    """How many were made."""

    @property
    def targets(self) -> list[str]:
        return [request.target for request in self.requests]

    @property
    def tokens(self) -> list[str | None]:
        return [request.headers.get("private-token") for request in self.requests]

    def will(self, *answers: bytes) -> None:
        self.answers.extend(answers)

    def next_answer(self) -> bytes:
        if self.repeats and len(self.answers) == 1:
            return self.answers[0]
        return self.answers.pop(0) if self.answers else BREAK

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        while request := await _read_request(reader, writer):
            self.requests.append(request)
            answer = self.next_answer()
            with suppress(ConnectionError):
                await self._send(writer, answer)
            if not answer or b"Connection: close" in answer:
                break

    async def _send(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        if self.pauses_s:
            head, end, body = answer.partition(b"\r\n\r\n")
            writer.write(head + end)
            for byte in body:
                await asyncio.sleep(self.pauses_s)
                writer.write(bytes([byte]))
                await writer.drain()
        else:
            writer.write(answer)
            await writer.drain()


def http(
    status: int, body: bytes = b"", content_type: str = "", **headers: str
) -> bytes:
    """An answer; ``Retry_After="3"`` becomes ``Retry-After: 3``."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def json_answer(value: object, status: int = 200, **headers: str) -> bytes:
    return http(status, json.dumps(value).encode(), "application/json", **headers)


def cut(answer: bytes, missing: int = 5) -> bytes:
    """The answer without its last bytes, on a connection that then ends."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return head + b"\r\nConnection: close\r\n\r\n" + body[:-missing]


@asynccontextmanager
async def listening_wire(tls: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
    wire = Wire()
    async with stream_server(wire.serve, tls=tls) as port:
        wire.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        yield wire


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> WireRequest | None:
    try:
        start = await reader.readexactly(1)
        if start == TLS_HANDSHAKE:  # what a plain port says to it
            writer.write(http(400))
            return None
        head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.split(": ", 1) for line in lines)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return WireRequest(method, target, headers, body)
