"""The port that a preview listens on: the wanted one, or the next that is free."""

import errno
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web

from wikisync.core.system import connections
from wikisync.errors import SiteError

PORTS_TRIED_MAX = 20
"""Ports tried after the usual one where nobody asked for a certain one."""


@asynccontextmanager
async def listening(
    runner: web.AppRunner, wanted: str, first: int, *, is_wanted: bool
) -> AsyncIterator[tuple[str, int]]:
    """Answer at the first port, or the next free one where it need not be that one.

    Returns:
        The address and the port that is listened on.

    Raises:
        SiteError: there is none.
    """
    host = "127.0.0.1" if wanted == "localhost" else wanted
    last = first + (0 if is_wanted or not first else PORTS_TRIED_MAX)
    for port in range(first, min(last, 65_535) + 1):
        async with AsyncExitStack() as stack:
            attempt = connections.listening(runner, host, port)
            try:
                _host, taken = await stack.enter_async_context(attempt)
            except OSError as exc:
                if exc.errno == errno.EADDRINUSE and port < last:
                    continue
                raise _not_listening(host, port, exc) from exc
            yield host, taken
            return
    raise AssertionError("the last port is in use or not allowed")


def _not_listening(host: str, port: int, exc: OSError) -> SiteError:
    if exc.errno == errno.EADDRINUSE:
        return SiteError(
            f"port {port} is in use by another program",
            hint="choose another with --port, or use --port 0 for any free port",
        )
    return SiteError(
        f"cannot listen on {host} port {port}: {exc.strerror or exc}",
        hint="choose another port with --port",
    )
