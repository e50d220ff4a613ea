"""Plain HTTP as small tools send it: forms, JSON, queries, packed bodies."""

import gzip
from itertools import count
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from tests.support.service import EmbeddedService

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count(1)


class Raw:
    """Requests to the API, sent as they are written."""

    def __init__(self, http: aiohttp.ClientSession, service: EmbeddedService) -> None:
        self.http = http
        self.base = f"{service.url}/api/v4"
        self.headers = service.headers

    async def __call__(self, method: str, target: str, **options: Any) -> Any:
        """Status and JSON of the answer; None for an empty body."""
        answer = await self.response(method, target, **options)
        body = await answer.read()
        return answer.status, await answer.json() if body else None

    async def response(
        self, method: str, target: str, **options: Any
    ) -> aiohttp.ClientResponse:
        wanted = options.pop("headers", {})
        headers = {**self.headers, "Accept-Encoding": "identity", **wanted}
        url = URL(self.base + target, encoded=True)
        return await self.http.request(method, url, headers=headers, **options)


@pytest_asyncio.fixture(loop_scope="module")
async def raw(running: EmbeddedService) -> Any:
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        yield Raw(http, running)


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(running: EmbeddedService) -> str:
    group = f"raw{next(NUMBERS)}"
    await running.add_group(group, visibility="public")
    await running.add_project(f"{group}/handbook", visibility="public")
    return f"{group}/handbook"


async def test_form_and_json_bodies_create_alike(raw: Raw) -> None:
    name = f"Made {next(NUMBERS)}"
    form = {"name": f"{name} a", "topics[]": "a", "lfs_enabled": "false"}
    body = {"name": f"{name} b", "topics": ["a"], "lfs_enabled": False}

    as_form = await raw("POST", "/projects", data=form)
    as_json = await raw("POST", "/projects", json=body)

    assert (as_form[0], as_json[0]) == (201, 201)
    assert as_form[1]["topics"] == as_json[1]["topics"] == ["a"]
    assert as_form[1]["lfs_enabled"] is as_json[1]["lfs_enabled"] is False


async def test_parameters_of_a_write_may_be_in_the_query(
    raw: Raw, handbook: str
) -> None:
    path = handbook.replace("/", "%2F")

    status, project = await raw("PUT", f"/projects/{path}?description=new")

    assert (status, project["description"]) == (200, "new")


async def test_packed_bodies_are_read(raw: Raw, handbook: str) -> None:
    path = handbook.replace("/", "%2F")

    status, _ = await raw(
        "PUT",
        f"/projects/{path}",
        data=gzip.compress(b'{"description": "packed"}'),
        headers={"Content-Encoding": "gzip", "Content-Type": "application/json"},
    )
    after = await raw("GET", f"/projects/{path}")

    assert status == 200
    assert after[1]["description"] == "packed"
