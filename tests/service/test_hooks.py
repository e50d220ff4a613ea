"""Webhooks: what a receiver is told of which edits, and what it cannot spoil."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDictProxy

from tests.service.conftest import GROUP, GROUP_WIKIS, PROJECT, WIKIS, Api
from tests.support.git import clone, commit_and_push, needs_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from tests.support.streams import stream_server
from wikisync.core.model import Format
from wikisync.service.hooks import WikiEvent
from wikisync.service.import_fetch import shown
from wikisync.service.settings import Hook, HookLimits, Settings
from wikisync.service.tables import Tables
from wikisync.service.tree import PageFile

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class Receiver:
    """A web server that is told of edits."""

    url: str = ""
    status: int = 200
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Nothing is answered until it is set."""
    headers: list[CIMultiDictProxy[str]] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        await self.gate.wait()
        self.headers.append(request.headers)
        self.told.append(json.loads(body))
        return web.Response(status=self.status, headers={"Location": self.url})

    @property
    def edits(self) -> list[tuple[str, str]]:
        """Action and slug of each edit it was told of."""
        attributes = [event["object_attributes"] for event in self.told]
        return [(each["action"], each["slug"]) for each in attributes]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    receiver.gate.set()
    app = web.Application(client_max_size=0)
    app.router.add_post("/hook", receiver.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield receiver
    await runner.cleanup()


@pytest.fixture
async def handbook(service: EmbeddedService, receiver: Receiver) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x"}, description="How to")
    service.hooks = (Hook(receiver.url, "s3cret"),)
    return service


# what is told


@pytest.mark.usefixtures("handbook")
async def test_every_edit_by_the_api_is_told_in_order(
    service: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await api.post(WIKIS, json={"title": "dir/My page", "content": "1"})
    await api.put(f"{WIKIS}/dir%2FMy-page", json={"content": "2"})
    await api.put(f"{WIKIS}/dir%2FMy-page", json={"title": "Other"})
    await api.delete(f"{WIKIS}/dir%2FOther")
    await service.wait_for_hooks()

    assert receiver.edits == [
        ("create", "dir/My-page"),
        ("update", "dir/My-page"),
        ("update", "dir/Other"),
        ("delete", "dir/Other"),
    ]


async def test_headers_are_those_of_the_service(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await api.put(f"{WIKIS}/home", json={"content": "2"})
    await handbook.wait_for_hooks()

    headers = receiver.headers[0]
    version = (await api.get("/api/v4/version")).json["version"]
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Gitlab-Event"] == "Wiki Page Hook"
    assert headers["X-Gitlab-Token"] == "s3cret"
    assert headers["X-Gitlab-Instance"] == handbook.url
    assert headers["User-Agent"] == f"GitLab/{version}"
    for name in ("X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID", "Idempotency-Key"):
        assert UUID.fullmatch(headers[name])


async def test_payload_is_that_of_the_service(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    body = {"title": "dir/A & b", "content": "= x", "format": "asciidoc"}
    await api.post(WIKIS, json={**body, "message": "because"})
    await handbook.wait_for_hooks()

    url = f"{handbook.url}/docs/handbook"
    commit = (await handbook.wiki(PROJECT)).repository.tree().commit
    project = (await api.get("/api/v4/projects/docs%2Fhandbook")).json
    page_url = f"{url}/-/wikis/dir/A-%26-b"
    assert receiver.told == [
        {
            "object_kind": "wiki_page",
            "user": {
                "id": 1,
                "name": "Administrator",
                "username": "root",
                "avatar_url": None,
                "email": "[REDACTED]",
            },
            "project": {
                "id": project["id"],
                "name": "handbook",
                "description": "How to",
                "web_url": url,
                "avatar_url": None,
                "git_ssh_url": project["ssh_url_to_repo"],
                "git_http_url": project["http_url_to_repo"],
                "namespace": "docs",
                "visibility_level": 0,
                "path_with_namespace": "docs/handbook",
                "default_branch": None,
                "ci_config_path": None,
                "homepage": url,
                "url": project["ssh_url_to_repo"],
                "ssh_url": project["ssh_url_to_repo"],
                "http_url": project["http_url_to_repo"],
            },
            "wiki": {
                "web_url": f"{url}/-/wikis/home",
                "git_ssh_url": "git@127.0.0.1:docs/handbook.wiki.git",
                "git_http_url": f"{url}.wiki.git",
                "path_with_namespace": "docs/handbook.wiki",
                "default_branch": "main",
            },
            "object_attributes": {
                "slug": "dir/A-&-b",
                "title": "A & b",
                "format": "asciidoc",
                "message": "because",
                "content": "= x",
                "url": page_url,
                "action": "create",
                "diff_url": f"{page_url}/diff?version_id={commit}",
                "version_id": commit,
            },
        }
    ]


async def test_version_that_is_told_gives_the_text_of_that_edit(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await api.put(f"{WIKIS}/home", json={"content": "mine"})
    await api.put(f"{WIKIS}/home", json={"content": "theirs"})
    await handbook.wait_for_hooks()

    first = receiver.told[0]["object_attributes"]["version_id"]
    then = await api.get(f"{WIKIS}/home?version={first}")
    assert then.json["content"] == "mine"
    assert receiver.told[0]["object_attributes"]["content"] == "mine"


async def test_deletion_tells_the_last_text(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await api.delete(f"{WIKIS}/home")
    await handbook.wait_for_hooks()

    attributes = receiver.told[0]["object_attributes"]
    assert (attributes["action"], attributes["content"]) == ("delete", "x")
    then = await api.get(f"{WIKIS}/home?version={attributes['version_id']}")
    assert then.json["content"] == "x"


async def test_pictures_are_told_by_their_whole_address(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    wiki = f"{handbook.url}/docs/handbook/-/wikis"
    for written, told in (
        ("![a](uploads/0f/a.png)", f"![a]({wiki}/uploads/0f/a.png)"),
        ("![](/uploads/0f/a.png)", f"![]({wiki}/uploads/0f/a.png)"),
        ("[a](uploads/0f/a.pdf)", "[a](uploads/0f/a.pdf)"),
        ("![a](http://x.example/uploads/a.png)",) * 2,
        ("![" * 2000, "![" * 2000),
    ):
        await api.put(f"{WIKIS}/home", json={"content": written})
        await handbook.wait_for_hooks()

        assert receiver.told[-1]["object_attributes"]["content"] == told


async def test_no_secret_no_header(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    handbook.hooks = (Hook(receiver.url),)

    await api.put(f"{WIKIS}/home", json={"content": "2"})
    await handbook.wait_for_hooks()

    assert "X-Gitlab-Token" not in receiver.headers[0]
    assert "s3cret" not in repr(Hook(receiver.url, "s3cret"))


# what is not told


async def test_group_wikis_and_attachments_are_not_told(
    handbook: EmbeddedService,
    api: Api,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    await api.put(f"{GROUP_WIKIS}/home", json={"content": "2"})
    form = aiohttp.FormData({})
    form.add_field("file", b"x", filename="a.png")
    uploaded = await api.post(f"{WIKIS}/attachments", data=form)
    await handbook.wait_for_hooks()

    assert uploaded.status == 201
    assert (await handbook.files(GROUP))["home.md"] == b"2"
    assert (receiver.told, caplog.text) == ([], "")


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


@pytest.mark.usefixtures("handbook")
async def test_pages_that_move_along_are_not_told(
    service: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await service.add_pages(PROJECT, {"home/below": "y"})
    await api.put(f"{WIKIS}/home", json={"title": "start"})
    await service.wait_for_hooks()

    assert receiver.edits == [("update", "start")]


async def test_refused_edit_is_not_told(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    await api.post(WIKIS, json={"title": "home", "content": ""})
    await api.delete(f"{WIKIS}/nowhere")
    await handbook.wait_for_hooks()

    assert receiver.told == []


# faults


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


# quirks


async def test_version_can_be_missing(
    handbook: EmbeddedService, api: Api, receiver: Receiver
) -> None:
    handbook.quirks = {Quirk.HOOKS_WITHOUT_VERSION}

    await api.put(f"{WIKIS}/home", json={"content": "2"})
    await handbook.wait_for_hooks()

    assert not {"version_id", "diff_url"} & set(receiver.told[0]["object_attributes"])


@pytest.mark.parametrize(
    ("quirk", "texts"),
    [(Quirk.LOSES_HOOKS, ["1", "2"]), (Quirk.REPEATS_HOOKS, ["0", "0", "1", "2"])],
)
async def test_webhooks_can_be_lost_and_repeated(
    handbook: EmbeddedService,
    api: Api,
    receiver: Receiver,
    quirk: Quirk,
    texts: list[str],
) -> None:
    handbook.quirks = {quirk}

    for number in range(3):
        await api.put(f"{WIKIS}/home", json={"content": str(number)})
    await handbook.wait_for_hooks()

    assert [each["object_attributes"]["content"] for each in receiver.told] == texts
    keys = {headers["Idempotency-Key"] for headers in receiver.headers}
    assert len(keys) == len(set(texts))


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
