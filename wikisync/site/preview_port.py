"""The port that a preview listens on: the wanted one, or the next that is free."""

from __future__ import annotations

import errno

from aiohttp import web

from wikisync.errors import SiteError

PORTS_TRIED_MAX = 20
"""Ports tried after the usual one where nobody asked for a certain one."""


async def listen(
    runner: web.AppRunner, wanted: str, first: int, *, is_wanted: bool
) -> tuple[str, int]:
    """Take the first port, or the next free one where it need not be that one.

    Returns:
        The address and the port that is listened on.

    Raises:
        SiteError: there is none.
    """
    host = "127.0.0.1" if wanted == "localhost" else wanted
    last = first + (0 if is_wanted or not first else PORTS_TRIED_MAX)
    for port in range(first, min(last, 65_535) + 1):
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE and port < last:
                continue
            raise _not_listening(host, port, exc) from exc
        return host, int(runner.addresses[-1][1])
    raise AssertionError("the last port is taken or refused")


def _not_listening(host: str, port: int, exc: OSError) -> SiteError:
    if exc.errno == errno.EADDRINUSE:
        return SiteError(
            f"port {port} is taken: something else listens there",
            hint="name another with --port, or --port 0 for any free one",
        )
    return SiteError(
        f"cannot listen on {host} port {port}: {exc.strerror or exc}",
        hint="name another port with --port",
    )
