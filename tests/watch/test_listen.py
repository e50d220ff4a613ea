"""Webhooks and questions to a watch, over real sockets."""

import io
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.support.service import EmbeddedService, embedded_service
from tests.support.watching import OWNER, WatchProcess, watching
from wikisync.service.settings import Hook
from wikisync.watch.listen import BODY_BYTES_MAX, listening, new_app

pytestmark = pytest.mark.slow
SECRET = "open sesame"
HEADERS = {"X-Gitlab-Token": SECRET}
EVENT = {
    "object_kind": "wiki_page",
    "project": {"path_with_namespace": OWNER.full_path},
    "object_attributes": {"slug": "home", "action": "update", "version_id": "0a1b"},
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        yield running


Asked = tuple[WatchProcess, str, aiohttp.ClientSession]


@asynccontextmanager
async def answering(service: EmbeddedService, root: Path) -> AsyncIterator[Asked]:
    """A watch that listens, its address, and who asks."""
    more = '[sync]\nlisten = "127.0.0.1:0"\n'
    environment = {"WIKISYNC_HOOK_SECRET": SECRET}
    async with (
        watching(service, root, more=more, environment=environment) as watch,
        aiohttp.ClientSession() as session,
    ):
        await watch.said("webhooks and health: ")
        await watch.in_sync()
        line = next(line for line in watch.lines if "webhooks and health" in line)
        yield watch, line.rpartition(": ")[2], session


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asked]:
    """A watch for all who only ask, or whose webhooks change nothing."""
    place = tmp_path_factory.mktemp("asked")
    async with embedded_service(place) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        async with answering(running, place / "ws") as answers:
            yield answers


async def test_edit_on_the_wiki_is_here_within_half_a_second_of_its_webhook(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with answering(service, tmp_path / "ws") as (watch, url, session):
        service.hooks = (Hook(f"{url}/hook", SECRET),)
        path = f"{service.url}/api/v4/projects/docs%2Fhandbook/wikis/home"
        times: list[float] = []
        for number in range(5):
            text = f"edit {number}\n"
            answer = await session.put(
                path,
                json={"content": text, "title": "home", "format": "markdown"},
                headers=service.headers,
            )
            assert answer.status == 200
            began = time.monotonic()
            await watch.until(lambda: watch.text("home") == text)  # noqa: B023
            times.append(time.monotonic() - began)
        assert min(times) < 0.5, times


@pytest.mark.asyncio(loop_scope="module")
async def test_wrong_secret_or_none_is_refused(asked: Asked) -> None:
    watch, url, session = asked
    for headers in ({}, {"X-Gitlab-Token": "open"}, {"X-Gitlab-Token": "é" * 100}):
        answer = await session.post(f"{url}/hook", json=EVENT, headers=headers)
        assert answer.status == 401
    assert SECRET not in watch.log


RUBBISH = [b"", b"rubbish", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000]


@pytest.mark.asyncio(loop_scope="module")
async def test_rubbish_is_refused_as_such(asked: Asked) -> None:
    _, url, session = asked
    for body in (*RUBBISH, b'{"object_kind": 1}'):
        answer = await session.post(f"{url}/hook", data=body, headers=HEADERS)
        assert answer.status == 400, body[:20]


@pytest.mark.asyncio(loop_scope="module")
async def test_ten_megabytes_are_not_taken(asked: Asked) -> None:
    _, url, session = asked
    body = io.BytesIO(b" " * (10 * BODY_BYTES_MAX))
    try:
        answer = await session.post(f"{url}/hook", data=body, headers=HEADERS)
        status = answer.status
    except aiohttp.ClientError:
        status = 413  # it hung up before all was sent
    assert status == 413
    assert (await session.get(f"{url}/healthz")).status == 200


async def test_without_a_secret_no_webhook_is_taken() -> None:
    async def see(*_event: object) -> bool:
        raise AssertionError

    async with (
        listening(new_app(b"", see), "127.0.0.1:0") as url,
        aiohttp.ClientSession() as session,
    ):
        answer = await session.post(f"{url}/hook", json=EVENT)
        assert answer.status == 403


@pytest.mark.asyncio(loop_scope="module")
async def test_webhook_of_another_project_asks_for_nothing(asked: Asked) -> None:
    _, url, session = asked
    project = {"path_with_namespace": "docs/other"}
    answer = await session.post(
        f"{url}/hook", json={**EVENT, "project": project}, headers=HEADERS
    )
    assert answer.status == 202
    assert await answer.text() == "nothing of ours\n"


@pytest.mark.asyncio(loop_scope="module")
async def test_metrics_are_lines_that_prometheus_reads(asked: Asked) -> None:
    _, url, session = asked
    answer = await session.get(f"{url}/metrics")
    text = await answer.text()
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "wikisync_up 1\n" in text
    assert 'wikisync_condition{wiki="handbook",condition="in sync"} 1\n' in text


@pytest.mark.asyncio(loop_scope="module")
async def test_foreign_web_page_is_told_nothing(asked: Asked) -> None:
    _, url, session = asked
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        for path in ("healthz", "metrics"):
            answer = await session.get(f"{url}/{path}", headers=headers)
            assert answer.status == 403


async def test_port_that_is_taken_is_told_with_the_key(
    service: EmbeddedService, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        more = f'[sync]\nlisten = "127.0.0.1:{port}"\n'
        async with watching(service, tmp_path / "ws", more=more) as watch:
            assert await watch.ended() == 2
            await watch.said("[sync] listen")
