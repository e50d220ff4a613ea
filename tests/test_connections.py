"""Half requests, unread answers and too many connections, on every server of ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from msgspec.structs import replace

from tests.security.connections import (
    HALF_REQUESTS,
    drip,
    held_connections,
    read_nothing,
    send_half,
    socket_to,
)
from tests.support.preview import WIKI, Desk
from tests.support.service import embedded_service
from wikisync.core.system import connections
from wikisync.service.settings import Settings
from wikisync.watch.listen import listening as watch_listening
from wikisync.watch.listen import watch_app
from wikisync.watch.report import WatchReport

HASTY = connections.ConnectionLimits(
    head_s=0.3, body_s=0.3, idle_s=0.3, stalled_s=0.5, body_bytes_per_s=10**6
)
HOST = b"Host: 127.0.0.1\r\n"
MUCH = 32 * 1024 * 1024


class Server:
    """A small application on our connections."""

    def __init__(self) -> None:
        self.url = ""
        self.begun = asyncio.Event()
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.may_end = asyncio.Event()

    def app(self) -> web.Application:
        """Answers at once, at length, and not before it is allowed to."""
        app = web.Application(middlewares=[connections.note_request])
        app.router.add_get("/", self._at_once)
        app.router.add_get("/much", self._at_length)
        app.router.add_route("*", "/wait", self._wait)
        app.router.add_post("/body", self._body)
        return app

    async def _at_once(self, _request: web.Request) -> web.Response:
        return web.Response(text="here")

    async def _at_length(self, _request: web.Request) -> web.Response:
        return web.Response(body=b"x" * MUCH)

    async def _body(self, request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    async def _wait(self, request: web.Request) -> web.Response:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ended.put_nowait(f"{request.method} was cancelled")
            raise
        self.ended.put_nowait(f"{request.method} ended")
        return web.Response(text="here")


async def served(stack: AsyncExitStack, limits: connections.ConnectionLimits) -> Server:
    """The application, until the stack ends."""
    server = Server()
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    address = await stack.enter_async_context(
        connections.listening(runner, "127.0.0.1", 0, limits)
    )
    server.url = connections.base_url(address)
    return server


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """Whatever runs until the test ends."""
    async with AsyncExitStack() as made:
        yield made


@pytest.fixture
async def hasty(stack: AsyncExitStack) -> Server:
    """A server that waits for a third of a second."""
    return await served(stack, HASTY)


@pytest.mark.parametrize("half", HALF_REQUESTS)
async def test_half_a_request_is_hung_up_on(hasty: Server, half: str) -> None:
    ended = await send_half(hasty.url, HALF_REQUESTS[half])

    assert ended.answer == b""
    assert ended.seconds >= 0.2


async def test_head_that_drips_is_hung_up_on(hasty: Server) -> None:
    ended = await drip(hasty.url, b"GET / HTTP/1.1\r\n" + HOST, b"X-A: b\r\n", 0.05)

    assert ended.answer == b""


@pytest.mark.parametrize("drop", [b"", b"x"])
async def test_body_that_does_not_come_is_hung_up_on(
    hasty: Server, drop: bytes
) -> None:
    head = b"POST /body HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n"

    ended = await drip(hasty.url, head, drop, 0.05)

    assert ended.answer == b""


async def test_second_half_request_of_a_connection_is_hung_up_on(hasty: Server) -> None:
    whole = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"

    ended = await send_half(hasty.url, whole + HALF_REQUESTS["half a head"])

    assert ended.answer.endswith(b"here")


async def test_body_may_take_the_time_that_its_size_needs(
    stack: AsyncExitStack,
) -> None:
    limits = replace(HASTY, body_bytes_per_s=1)
    server = await served(stack, limits)
    async with socket_to(server.url) as (reader, writer):
        writer.write(b"POST /body HTTP/1.1\r\n" + HOST + b"Content-Length: 20\r\n\r\n")
        for _ in range(20):
            await asyncio.sleep(0.05)
            writer.write(b"x")

        status = await reader.readline()

    assert b" 200 " in status


async def test_handler_may_take_its_time(hasty: Server) -> None:
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        asked = group.create_task(_status(session, f"{hasty.url}/wait"))
        await hasty.begun.wait()
        # a request of nobody ends after this time
        await send_half(hasty.url, b"")
        await send_half(hasty.url, b"")
        hasty.may_end.set()

    assert asked.result() == 200


async def test_caller_who_reads_nothing_is_hung_up_on(hasty: Server) -> None:
    ended = await read_nothing(hasty.url, b"GET /much HTTP/1.1\r\n" + HOST + b"\r\n")

    assert ended.answer == b"H"


async def test_long_answer_may_take_longer_than_a_pause(hasty: Server) -> None:
    """A reader who is slow, but reads, gets all of it."""
    size = 0
    async with aiohttp.ClientSession(read_bufsize=65_536) as session:
        answer = await session.get(f"{hasty.url}/much")
        async for chunk in answer.content.iter_chunked(MUCH // 40):
            size += len(chunk)
            await asyncio.sleep(0.03)

    assert size == MUCH


async def test_reader_who_leaves_ends_the_work_and_a_writer_does_not(
    hasty: Server,
) -> None:
    for method in (b"GET", b"PUT"):
        async with socket_to(hasty.url) as (_reader, writer):
            writer.write(method + b" /wait HTTP/1.1\r\n" + HOST + b"\r\n")
            await hasty.begun.wait()
        hasty.begun.clear()
    async with asyncio.timeout(60):
        first = await hasty.ended.get()
        hasty.may_end.set()
        second = await hasty.ended.get()

    assert (first, second) == ("GET was cancelled", "PUT ended")


async def test_one_address_has_so_many_connections_and_no_more(
    stack: AsyncExitStack,
) -> None:
    server = await served(stack, connections.ConnectionLimits(per_address_max=5))
    async with held_connections(server.url, 5):
        refused = await send_half(server.url, b"")
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        status = 0
        while status != 200:
            status = (await session.get(server.url)).status

    assert refused.answer.startswith(b"HTTP/1.1 503 ")
    assert b"too many connections from your address" in refused.answer


def test_refused_connections_are_logged_once_a_minute_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [5.0]
    limits = connections.ConnectionLimits(per_address_max=2)
    taking = connections.Connections(limits, clock=lambda: now[0])

    taken = [taking.take("10.0.0.1") for _ in range(1000)]
    now[0] += 61
    taking.take("10.0.0.1")

    assert sum(taken) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "too many connections: 1 refused, the last one from 10.0.0.1",
        "too many connections: 998 refused, the last one from 10.0.0.1",
    ]


async def test_any_number_of_one_address_is_let_in_where_it_is_not_counted(
    stack: AsyncExitStack,
) -> None:
    server = await served(
        stack, connections.ConnectionLimits(per_address_max=0, total_max=50)
    )
    async with held_connections(server.url, 49), aiohttp.ClientSession() as session:
        inside = (await session.get(server.url)).status
        outside = await send_half(server.url, b"")

    assert inside == 200
    assert outside.answer.startswith(b"HTTP/1.1 503 ")


async def test_service_listens_so(tmp_path: Path) -> None:
    settings = Settings(connections=HASTY)
    async with embedded_service(tmp_path, settings=settings) as service:
        ended = await send_half(service.url, HALF_REQUESTS["half a head"])

    assert ended.answer == b""


async def _status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as answer:
        return answer.status


async def test_preview_listens_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "USUAL_LIMITS", HASTY)
    desk = Desk(tmp_path)
    desk.add(WIKI)
    async with desk.previewing() as reader:
        ended = await send_half(reader.origin, HALF_REQUESTS["half a head"])

    assert ended.answer == b""


async def test_listener_of_a_watch_listens_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "USUAL_LIMITS", HASTY)

    # nothing of the watch is asked, for no request is whole
    report = WatchReport(cast("Any", None), (), cast("Any", None))
    app = watch_app("secret", lambda *_: False, report)
    async with watch_listening(app, "127.0.0.1:0") as url:
        ended = await send_half(url, HALF_REQUESTS["half a head"])
        body = b"POST /hook HTTP/1.1\r\nX-Gitlab-Token: secret\r\n" + HOST
        dripped = await drip(url, body + b"Content-Length: 1000\r\n\r\n", b"x", 0.05)

    assert (ended.answer, dripped.answer) == (b"", b"")
