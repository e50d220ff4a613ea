"""A relay before a service that falls silent at a request, as one that hangs does.

async with relay_before(service.url) as relay:
    relay.hangs_at = b"PUT "
    ...                         # with relay.url for the service's
    await relay.hung.wait()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from yarl import URL

CHUNK_BYTES = 1 << 16


@dataclass(slots=True)
class Relay:
    """What goes through, and what no longer does."""

    target: URL
    url: str = ""
    hangs_at: bytes | None = None
    """How a request begins that neither reaches the service nor is answered."""
    hung: asyncio.Event = field(default_factory=asyncio.Event)
    """Such a request came."""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, until its caller goes away."""
        answers, requests = await asyncio.open_connection(
            self.target.host, self.target.port
        )
        with suppress(ConnectionError, asyncio.CancelledError):
            async with asyncio.TaskGroup() as group:
                answering = group.create_task(_pass_on(answers, writer))
                await self._ask(reader, requests)
                answering.cancel()
        requests.close()
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, requests: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(CHUNK_BYTES):
            if self.hangs_at is not None and chunk.startswith(self.hangs_at):
                self.hung.set()
            if not self.hung.is_set():
                requests.write(chunk)
                await requests.drain()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


@asynccontextmanager
async def relay_before(url: str) -> AsyncIterator[Relay]:
    """Run a relay before the service at an address."""
    relay = Relay(URL(url))
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield relay
