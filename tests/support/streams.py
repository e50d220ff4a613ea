"""A server of plain connections that takes every one of them with it when it ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LIMIT_BYTES = 1 << 16


@asynccontextmanager
async def stream_server(
    serve: Serve,
    host: str = "127.0.0.1",
    *,
    limit: int = LIMIT_BYTES,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Serve connections on a free port of loopback; gives the port.

    A connection that is left open belongs to no test any more: its socket would be
    found, and reported, in whatever test runs when it is collected.
    """
    open_writers: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            open_writers[writer] = task
        # Python 3.11 prints a traceback for a connection whose task was cancelled
        with suppress(asyncio.CancelledError):
            try:
                await serve(reader, writer)
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
                open_writers.pop(writer, None)

    server = await asyncio.start_server(meet, host, 0, limit=limit, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        left = dict(open_writers)
        for writer, task in left.items():
            writer.transport.abort()
            task.cancel()
        if left:
            await asyncio.wait(left.values())
