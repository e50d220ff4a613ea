"""Connections to a server, passed on byte for byte until they are reset."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.support.streams import stream_server

CHUNK_BYTES = 1 << 16


class Relay:
    """A TCP server before one that listens at a socket in a folder."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, until either side ends it."""
        # cancelled as its server ends
        with suppress(OSError, asyncio.CancelledError):
            there = await asyncio.open_unix_connection(self._socket)
            ends = {writer, there[1]}
            self._open |= ends
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pass_on(reader, there[1]))
                    group.create_task(_pass_on(there[0], writer))
            finally:
                self._open -= ends
                there[1].close()

    def reset(self) -> None:
        """Cut every connection off in the middle of what it says."""
        for writer in self._open:
            writer.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def relay(socket: Path, host: str) -> AsyncIterator[Relay]:
    """Run one on a free port of an address."""
    one = Relay(socket)
    async with stream_server(one.serve, host) as port:
        one.port = port
        yield one
