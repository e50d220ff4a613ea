"""A git server over HTTP for tests: ``git http-backend`` behind aiohttp, and worse.

Everything listens on 127.0.0.1, port 0.
"""

import asyncio
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientSession, web
from yarl import URL

from tests.support.streams import stream_server

MOVED = "/moved"


@asynccontextmanager
async def git_server(
    folder: Path, *, user: str = "", password: str = ""
) -> AsyncIterator[str]:
    """Serve the bare repositories in a folder; gives the URL of the server.

    With a user, only a caller who names it and the password is let in.  What is asked
    below ``/moved`` is sent on to the path without that.
    """

    wanted = b64encode(f"{user}:{password}".encode()).decode()

    async def answer(request: web.Request) -> web.Response:
        sent = request.headers.get("Authorization", "")
        if user and sent != f"Basic {wanted}":
            return web.Response(
                status=401, headers={"WWW-Authenticate": 'Basic realm="git"'}
            )
        place = str(request.rel_url)
        if place.startswith(MOVED):
            headers = {"Location": place.removeprefix(MOVED)}
            return web.Response(status=301, headers=headers)
        return await _run_backend(folder, request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with _listening(app) as url:
        yield url


MOVED = "/moved"
"""What a ``RedirectingProxy`` takes off a path before it passes a request on."""


@dataclass(slots=True)
class RedirectingProxy:
    """What a server between us and a service did, and may still do."""

    url: str = ""
    goal: str = ""
    """Where requests of git's library go for ``info/refs``; others pass."""
    only_with_login: bool = False
    """Redirect only what brings the password, which git's library sends when asked."""
    redirected: int = 0


@asynccontextmanager
async def redirecting_proxy(service: str) -> AsyncIterator[RedirectingProxy]:
    """Pass everything on to a service, but send git's library elsewhere.

    It is told by its ``User-Agent``, so a look at the same address beforehand
    does not show the redirect.
    """
    proxy = RedirectingProxy()

    async def answer(request: web.Request) -> web.StreamResponse:
        is_git = "libgit2" in request.headers.get("User-Agent", "")
        is_moved = request.path.startswith(MOVED)
        is_first = request.path.endswith("/info/refs") and not is_moved
        is_due = "Authorization" in request.headers or not proxy.only_with_login
        if proxy.goal and is_git and is_first and is_due:
            proxy.redirected += 1
            place = f"{proxy.goal}{request.rel_url}"
            return web.Response(status=302, headers={"Location": place})
        headers = request.headers.copy()
        headers.popall("Host")
        async with http.request(
            request.method,
            URL(f"{service}{request.rel_url}".replace(MOVED, ""), encoded=True),
            data=await request.read(),
            headers=headers,
            allow_redirects=False,
        ) as passed:
            kept = {"Content-Type", "Location", "WWW-Authenticate"}
            return web.Response(
                status=passed.status,
                body=await passed.read(),
                headers={k: v for k, v in passed.headers.items() if k in kept},
            )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with ClientSession(auto_decompress=False) as http, _listening(app) as url:
        proxy.url = url
        yield proxy


@asynccontextmanager
async def asking_server(login: list[str]) -> AsyncIterator[str]:
    """Ask everybody for Basic authentication and keep what they sent."""

    async def answer(request: web.Request) -> web.Response:
        login.append(request.headers.get("Authorization", ""))
        wanted = {"WWW-Authenticate": 'Basic realm="git"'}
        return web.Response(status=401, headers=wanted)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with _listening(app) as url:
        yield url


@asynccontextmanager
async def redirecting_server(target: str) -> AsyncIterator[str]:
    """Send every request to the same path of another server; gives its URL."""

    async def answer(request: web.Request) -> web.Response:
        place = f"{target}{request.rel_url}"
        return web.Response(status=302, headers={"Location": place})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with _listening(app) as url:
        yield url


@asynccontextmanager
async def _listening(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass(slots=True)
class SilentServer:
    """A server that takes every connection and never says a word."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Someone sent something."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """That someone went away."""


@asynccontextmanager
async def silent_server() -> AsyncIterator[SilentServer]:
    """Run a server that never answers."""
    silent = SilentServer()

    async def listen(
        reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        try:
            while await reader.read(1000):
                silent.asked.set()
        except ConnectionError:
            pass
        silent.hung_up.set()

    async with stream_server(listen) as port:
        silent.url = f"http://127.0.0.1:{port}"
        yield silent


async def _run_backend(folder: Path, request: web.Request) -> web.Response:
    process = await asyncio.create_subprocess_exec(
        "git",
        "http-backend",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        },
    )
    output, _errors = await process.communicate(await request.read())
    head, _blank, body = output.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    status = int(headers.pop("Status", "200").split()[0])
    return web.Response(status=status, headers=headers, body=body)
