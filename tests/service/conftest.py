"""A running service and a plain HTTP caller, for every test of this folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDictProxy
from yarl import URL

from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import WikiOwner

PROJECT = WikiOwner("project", "docs/handbook")
GROUP = WikiOwner("group", "docs")
WIKIS = "/api/v4/projects/docs%2Fhandbook/wikis"
GROUP_WIKIS = "/api/v4/groups/docs/wikis"


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, read to its end."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    json: Any


class Api:
    """Sends requests with paths exactly as given, and a token."""

    def __init__(
        self, session: aiohttp.ClientSession, base: str, token: str | None
    ) -> None:
        self._session = session
        self.base = base
        self.token = token

    def as_user(self, token: str | None) -> Api:
        """The same caller with another token, or none."""
        return Api(self._session, self.base, token)

    async def __call__(self, method: str, path: str, **options: Any) -> Answer:
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers.setdefault("PRIVATE-TOKEN", self.token)
        url = URL(self.base + path, encoded=True)
        async with self._session.request(
            method, url, headers=headers, allow_redirects=False, **options
        ) as response:
            body = await response.read()
            is_json = response.content_type == "application/json" and body
            value = await response.json() if is_json else None
            return Answer(response.status, response.headers, body, value)

    async def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return await self("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Answer:
        """POST."""
        return await self("POST", path, **options)

    async def put(self, path: str, **options: Any) -> Answer:
        """PUT."""
        return await self("PUT", path, **options)

    async def delete(self, path: str, **options: Any) -> Answer:
        """DELETE."""
        return await self("DELETE", path, **options)


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
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A service with nothing in it."""
    async with embedded_service(tmp_path) as running:
        yield running


@pytest.fixture
async def api(service: EmbeddedService) -> AsyncIterator[Api]:
    """The administrator, speaking HTTP."""
    async with aiohttp.ClientSession() as session:
        yield Api(session, service.url, service.token)
