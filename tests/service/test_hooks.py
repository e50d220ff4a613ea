"""Webhooks: what a receiver is told of which edits, and what it cannot spoil."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from tests.service.conftest import PROJECT, WIKIS, Api, Receiver
from tests.support.git import clone, commit_and_push, needs_git
from tests.support.service import EmbeddedService, embedded_service
from tests.support.streams import stream_server
from wikisync.core.model import Format
from wikisync.service.hooks import WikiEvent
from wikisync.service.import_fetch import shown
from wikisync.service.settings import Hook, HookLimits, Settings
from wikisync.service.tables import Tables
from wikisync.service.tree import PageFile


@pytest.fixture
async def handbook(service: EmbeddedService, receiver: Receiver) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x"}, description="How to")
    service.hooks = (Hook(receiver.url, "s3cret"),)
    return service


def test_secret_of_a_hook_is_not_shown() -> None:
    assert "s3cret" not in repr(Hook("http://127.0.0.1/hook", "s3cret"))


@needs_git
async def test_git_pushes_are_not_told(
    handbook: EmbeddedService, receiver: Receiver, tmp_path: Path
) -> None:
    folder = await clone(handbook.git_url(PROJECT), tmp_path / "copy")
    (folder / "home.md").write_text("pushed")
    await commit_and_push(folder)
    await handbook.wait_for_hooks()

    assert (await handbook.files(PROJECT))["home.md"] == b"pushed"
    assert receiver.told == []


async def test_edit_does_not_wait_for_a_receiver_that_hangs(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    receiver.gate.clear()

    answer = await api.put(f"{WIKIS}/home", json={"content": "2"})
    was_told = bool(receiver.told)
    receiver.gate.set()
    await handbook.wait_for_hooks()

    assert (answer.status, was_told, len(receiver.told)) == (200, False, 1)


async def test_receiver_that_refuses_is_logged_and_told_once(
    handbook: EmbeddedService,
    api: Api,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for number, receiver.status in enumerate((301, 404, 500), start=1):
        with caplog.at_level(logging.INFO, "wikisync"):
            answer = await api.put(f"{WIKIS}/home", json={"content": f"{number}"})
            await handbook.wait_for_hooks()

        assert (answer.status, len(receiver.told)) == (200, number)
        line = f"notified {receiver.url} of the update of home: {receiver.status}"
        assert line in caplog.text
    assert "s3cret" not in caplog.text


async def test_receiver_that_is_not_there_hinders_nobody(
    handbook: EmbeddedService,
    api: Api,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    nobody = Hook("http://user:pass@127.0.0.1:1/hook?key=k")
    handbook.hooks = (nobody, Hook(receiver.url))

    answer = await api.put(f"{WIKIS}/home", json={"content": "2"})
    await handbook.wait_for_hooks()

    assert (answer.status, len(receiver.told)) == (200, 1)
    assert "cannot notify http://127.0.0.1:1/hook of the update of home" in caplog.text
    assert "key=k" not in caplog.text
    assert shown(nobody.url) == "http://127.0.0.1:1/hook"


async def with_limits(
    data: Path, receiver: Receiver, **limits: float
) -> AsyncIterator[tuple[EmbeddedService, Api]]:
    settings = Settings(
        hooks=(Hook(receiver.url),),
        hook_limits=HookLimits(**limits),  # type: ignore[arg-type]
    )
    async with (
        embedded_service(data, settings=settings) as service,
        aiohttp.ClientSession() as session,
    ):
        await service.add_project("docs/handbook", {"home": "x"})
        yield service, Api(session, service.url, service.token)


async def test_slow_receiver_is_given_up(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.gate.clear()
    async for service, api in with_limits(tmp_path, receiver, seconds_max=0.05):
        await api.put(f"{WIKIS}/home", json={"content": "2"})
        await service.wait_for_hooks()
        receiver.gate.set()

    assert "cannot notify" in caplog.text


async def test_events_over_the_limit_are_left_out_and_logged(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.gate.clear()
    async for service, api in with_limits(tmp_path, receiver, waiting_max=2):
        answers = [
            await api.put(f"{WIKIS}/home", json={"content": str(n)}) for n in range(8)
        ]
        receiver.gate.set()
        await service.wait_for_hooks()

    assert [answer.status for answer in answers] == [200] * 8
    assert 2 <= len(receiver.told) <= 3
    assert "too many webhooks wait" in caplog.text


async def test_event_too_large_is_not_sent(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    async for service, api in with_limits(tmp_path, receiver, body_bytes_max=5000):
        await api.put(f"{WIKIS}/home", json={"content": "x" * 5000})
        await api.put(f"{WIKIS}/home", json={"content": "short"})
        await service.wait_for_hooks()

    assert len(receiver.told) == 1
    assert "is too large" in caplog.text


async def test_service_stops_though_a_receiver_hangs(
    tmp_path: Path, receiver: Receiver
) -> None:
    receiver.gate.clear()
    async with asyncio.timeout(10):
        async for _service, api in with_limits(tmp_path, receiver):
            await api.put(f"{WIKIS}/home", json={"content": "2"})
    receiver.gate.set()


async def test_event_of_a_page_that_is_gone_ends_nothing(
    handbook: EmbeddedService,
    api: Api,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A project may be removed between the edit and the telling of it."""
    project = await handbook.ask(Tables.project, "docs/handbook", None)
    user = await handbook.ask(Tables.user_named, "root")
    assert project is not None
    assert user is not None
    event = WikiEvent(
        id=uuid4(),
        action="update",
        project=project,
        user=user,
        page=PageFile("gone.md", b"\0" * 20, "gone", Format.MARKDOWN),
        repository=(await handbook.wiki(PROJECT)).repository,
        message="m",
        version=None,
        base_url=handbook.url,
    )

    handbook.running.deliveries.announce(event, handbook.hooks)
    await api.put(f"{WIKIS}/home", json={"content": "2"})
    await handbook.wait_for_hooks()

    assert receiver.edits == [("update", "home")]
    assert "a webhook for gone failed" in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        b"s3cret s3cret\r\n\r\n",
        b"HTTP/1.1 s3cret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ns3cret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ns3cret\r\n",
        b"HTTP/1.1 200 OK\r\nX-Token: s3cret\r\n",
    ],
)
async def test_nothing_of_an_answer_that_is_no_http_is_logged(
    handbook: EmbeddedService, api: Api, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    """A receiver may repeat the secret that it was sent."""
    caplog.set_level(logging.DEBUG)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with stream_server(meet) as port:
        url = f"http://127.0.0.1:{port}/hook?key=s3cret"
        handbook.hooks = (Hook(url, "s3cret"),)
        await api.put(f"{WIKIS}/home", json={"content": "2"})
        await handbook.wait_for_hooks()
    assert "hook" in caplog.text
    assert "s3cret" not in caplog.text
