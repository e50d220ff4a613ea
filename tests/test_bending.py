"""The proxy that tests put before the embedded service bends what they say."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from tests.support.bending import SIGN_IN_PAGE, BendingProxy, bending_proxy
from tests.support.service import EmbeddedService, embedded_service
from wikisync.core.model import WikiOwner

OWNER = WikiOwner("project", "docs/handbook")
PAGES = "/api/v4/projects/docs%2Fhandbook/wikis"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        yield running


@pytest.fixture
async def proxy(service: EmbeddedService) -> AsyncIterator[BendingProxy]:
    async with bending_proxy(service.url) as running:
        yield running


@pytest.fixture
async def session(service: EmbeddedService) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=service.headers) as opened:
        yield opened


def at(proxy: BendingProxy, path: str) -> URL:
    return URL(proxy.url + path, encoded=True)


async def test_rules_take_the_requests_they_name_as_often_as_they_say(
    proxy: BendingProxy, session: aiohttp.ClientSession
) -> None:
    rule = proxy.bend("/wikis$", method="GET", skip=1, count=1, status=500)
    statuses = []
    for _ in range(3):
        async with session.get(at(proxy, PAGES)) as answer:
            statuses.append(answer.status)
    assert statuses == [200, 500, 200]
    assert rule.met == 1


async def test_answer_gets_another_body_and_other_headers(
    proxy: BendingProxy, session: aiohttp.ClientSession
) -> None:
    proxy.bend(
        "/projects", body=lambda body: body.upper(), headers={"X-Total": None, "A": "b"}
    )
    async with session.get(at(proxy, "/api/v4/projects?per_page=1")) as answer:
        assert b'"DOCS/HANDBOOK"' in await answer.read()
        assert "X-Total" not in answer.headers
        assert answer.headers["A"] == "b"


async def test_redirects_and_pages_come_without_asking_the_service(
    proxy: BendingProxy, session: aiohttp.ClientSession
) -> None:
    proxy.bend("version", redirect="https://sso.example.com/in")
    proxy.bend("metadata", status=403, html=SIGN_IN_PAGE)
    async with session.get(
        at(proxy, "/api/v4/version"), allow_redirects=False
    ) as answer:
        assert answer.headers["Location"] == "https://sso.example.com/in"
    async with session.get(at(proxy, "/api/v4/metadata")) as answer:
        assert (answer.status, answer.content_type) == (403, "text/html")
        assert await answer.read() == SIGN_IN_PAGE


async def test_write_may_be_done_and_its_answer_lost(
    proxy: BendingProxy, session: aiohttp.ClientSession
) -> None:
    proxy.bend(method="POST", status=502, reaches=True)
    async with session.post(
        at(proxy, PAGES), json={"title": "b", "content": "b"}
    ) as answer:
        assert answer.status == HTTPStatus.BAD_GATEWAY
    async with session.get(at(proxy, f"{PAGES}/b")) as answer:
        assert answer.status == HTTPStatus.OK


async def test_body_is_cut_or_comes_byte_by_byte(
    proxy: BendingProxy, session: aiohttp.ClientSession
) -> None:
    cut = proxy.bend(PAGES, cut_after=5)
    with pytest.raises(aiohttp.ClientPayloadError):
        async with session.get(at(proxy, PAGES)) as answer:
            await answer.read()
    cut.end()
    proxy.bend(PAGES, drip_s=0.0001, delay_s=0.01)
    async with session.get(at(proxy, PAGES)) as answer:
        assert [page["slug"] for page in await answer.json()] == ["home"]
