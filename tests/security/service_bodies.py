"""Attacks by bodies: sent by nobody, without end, in more parts than there is room."""

import asyncio
from collections.abc import AsyncIterator

from tests.security.connections import send_body, socket_to

BOUNDARY = "b0undary"
PIECE = b"x" * 65_536


def head_of(path: str, token: str | None, *more: str) -> list[str]:
    """The head of a multipart request."""
    return [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
        *([] if token is None else [f"PRIVATE-TOKEN: {token}"]),
        *more,
    ]


async def endless_file() -> AsyncIterator[bytes]:
    """A multipart body in chunks, whose file never ends."""
    start = (
        f"--{BOUNDARY}\r\nContent-Disposition: form-data;"
        ' name="file"; filename="f"\r\n\r\n'
    ).encode()
    yield _chunk(start)
    while True:
        yield _chunk(PIECE)


async def endless_parts(*, are_files: bool) -> AsyncIterator[bytes]:
    """A multipart body in chunks, of small parts with one name, for ever."""
    name = 'name="a[]"' + ('; filename="f"' if are_files else "")
    part = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {name}\r\n\r\nx\r\n"
    while True:
        yield _chunk(part.encode() * 100)


async def spool(
    url: str, path: str, token: str | None = None, *, body: AsyncIterator[bytes]
) -> tuple[bytes, int]:
    """Send a multipart body in chunks until the service answers.

    Returns:
        The first line of the answer, and the bytes sent by then.
    """
    head = head_of(path, token, "Transfer-Encoding: chunked")
    return await send_body(url, head, body)


async def announce(
    url: str, path: str, token: str | None, size: int, *, waits: bool
) -> bytes:
    """Announce a body of a size and send none of it; the first line of the answer.

    Args:
        url: of the service.
        path: where the body is for.
        token: whose it is, if it is somebody's.
        size: in bytes.
        waits: whether the sender waits to be asked for it.
    """
    more = [f"Content-Length: {size}", *(["Expect: 100-continue"] if waits else [])]
    async with socket_to(url) as (reader, writer):
        writer.write("\r\n".join([*head_of(path, token, *more), "", ""]).encode())
        async with asyncio.timeout(20):
            return await reader.readline()


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)
