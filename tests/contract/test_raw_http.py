"""Plain HTTP as small tools send it: forms, JSON, slashes, HEAD, gzip."""

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


async def test_form_of_a_hash(raw: Raw, handbook: str) -> None:
    path = handbook.replace("/", "%2F")
    form = {"container_expiration_policy_attributes[keep_n]": "5"}

    status, project = await raw("PUT", f"/projects/{path}", data=form)

    assert status == 200
    assert project["container_expiration_policy"]["keep_n"] == 5


async def test_encoded_slash_is_one_project(raw: Raw, handbook: str) -> None:
    lower = handbook.replace("/", "%2f")

    status, project = await raw("GET", f"/projects/{lower}")

    assert (status, project["path_with_namespace"]) == (200, handbook)


async def test_raw_slash_is_no_project(raw: Raw, handbook: str) -> None:
    status, answer = await raw("GET", f"/projects/{handbook}")

    assert (status, answer) == (404, {"error": "404 Not Found"})


async def test_raw_slash_in_a_slug_is_a_page(raw: Raw, handbook: str) -> None:
    path = handbook.replace("/", "%2F")
    values = {"title": "dir/page", "content": "x"}
    await raw("POST", f"/projects/{path}/wikis", data=values)

    encoded = await raw("GET", f"/projects/{path}/wikis/dir%2Fpage")
    bare = await raw("GET", f"/projects/{path}/wikis/dir/page")

    assert encoded == bare
    assert encoded[1]["slug"] == "dir/page"


@pytest.mark.parametrize("target", ["/projects", "/projects/{}", "/projects/{}/users"])
async def test_head_answers_as_get_without_a_body(
    target: str, raw: Raw, handbook: str
) -> None:
    place = target.format(handbook.replace("/", "%2F"))

    head = await raw.response("HEAD", place)
    get = await raw.response("GET", place)

    assert (head.status, await head.read()) == (200, b"")
    assert head.headers["Content-Type"] == get.headers["Content-Type"]
    assert head.headers.get("X-Total") == get.headers.get("X-Total")


async def test_gzip_where_it_is_asked_for(raw: Raw, handbook: str) -> None:
    place = f"/projects/{handbook.replace('/', '%2F')}"

    packed = await raw.response("GET", place, headers={"Accept-Encoding": "gzip"})
    plain = await raw.response("GET", place, headers={"Accept-Encoding": "identity"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(await packed.read()) == await plain.read()
    assert "Content-Encoding" not in plain.headers


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


@pytest.mark.parametrize(
    ("options", "status", "body"),
    [
        ({"data": b"{", "headers": {"Content-Type": "application/json"}}, 400, None),
        (
            {"json": {}},
            400,
            {
                "error": "name, path are missing, at least one parameter must be "
                "provided"
            },
        ),
        (
            {"json": {"name": "x", "visibility": "foo"}},
            400,
            {"error": "visibility does not have a valid value"},
        ),
        ({"json": {"name": ["x"]}}, 400, {"error": "name is invalid"}),
    ],
)
async def test_wrong_bodies_are_answered(
    options: dict[str, Any], status: int, body: object, raw: Raw
) -> None:
    answer = await raw("POST", "/projects", **options)

    assert answer[0] == status
    assert body is None or answer[1] == body


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("per_page=0", "per_page has a value not allowed"),
        ("page=x", "page is invalid"),
        ("order_by=foo", "order_by does not have a valid value"),
        ("archived=maybe", "archived is invalid"),
        ("last_activity_after=foo", "last_activity_after is invalid"),
    ],
)
async def test_wrong_filters_are_answered(query: str, error: str, raw: Raw) -> None:
    assert await raw("GET", f"/projects?{query}") == (400, {"error": error})


async def test_order_without_keyset_is_405(raw: Raw) -> None:
    status, answer = await raw("GET", "/projects?pagination=keyset&order_by=name")

    assert status == 405
    assert answer == {
        "error": "Keyset pagination is not yet available for this type of request"
    }


async def test_methods_that_a_route_lacks(raw: Raw, handbook: str) -> None:
    answer = await raw.response("PATCH", f"/projects/{handbook.replace('/', '%2F')}")

    assert answer.status == 405
    assert "GET" in answer.headers["Allow"]
