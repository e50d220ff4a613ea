"""A web server of many faults, for what asks addresses of other servers."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class FaultyServer:
    """The first part of an address names the fault: ``/hang/7``, ``/404/x``."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        """``HEAD /ok/1`` to how often."""
        self.passwords: list[str] = []
        """Lines of requests that hold one."""
        self.at_once = self.most_at_once = 0
        self.url = ""

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    method, target, rest = head.decode("latin-1").split(" ", 2)
                    self.passwords += re.findall("(?im)^authorization:.*", rest)
                    if not await self._answered(method, urlsplit(target).path, writer):
                        break
        finally:
            self.at_once -= 1
            writer.close()

    async def _answered(
        self, method: str, path: str, writer: asyncio.StreamWriter
    ) -> bool:
        self.asked[f"{method} {path}"] += 1
        fault = path.split("/")[1]
        count = self.asked[f"{method} {path}"]
        match fault:
            case "hang":
                await asyncio.Event().wait()
            case "lost":
                return False
            case "noise":
                writer.write(b"\x00\xff\x00 this is no HTTP\r\n\r\n")
                return False
            case "loop":
                writer.write(_status("302 Found", f"Location: {path}\r\n"))
            case "moved":
                writer.write(_status("301 Moved", "Location: /ok/moved\r\n"))
            case "nohead" if method == "HEAD":
                writer.write(_status("405 Method Not Allowed"))
            case "busy" if method == "HEAD" or count == 1:
                writer.write(_status("503 Service Unavailable", "Retry-After: 0\r\n"))
            case _ if fault.isdecimal():
                writer.write(_status(f"{fault} Fault"))
            case _:
                writer.write(OK)
        await writer.drain()
        return True


def _status(status: str, headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n".encode()


@asynccontextmanager
async def faulty_server() -> AsyncIterator[FaultyServer]:
    """Such a server on this machine, until the block ends."""
    faulty = FaultyServer()
    tasks: set[asyncio.Task[object]] = set()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await faulty.answer(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    faulty.url = f"http://{host}:{port}"
    try:
        yield faulty
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.sleep(0)
        await server.wait_closed()
