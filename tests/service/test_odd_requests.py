"""Whatever is sent to whatever route: an answer in JSON, never a traceback."""

# ruff: noqa: E501 - a body and its error belong on one line

import asyncio
import json
from io import BytesIO
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.conftest import Api
from wikisync.contract.parameters import parameters_of
from wikisync.contract.routes import ENDPOINTS, Endpoint

PROJECTS = "/api/v4/projects"
NAMES = sorted({name for endpoint in ENDPOINTS for name in parameters_of(endpoint)})
SEGMENTS = st.sampled_from(["1", "2", "docs/a", "0", "-1", "9" * 30, "", "%", "root"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["true", "1", "private", "2020-01-01", "docs", "1,2", "\0", "a" * 300]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
BODIES = st.dictionaries(
    st.sampled_from(NAMES) | st.text(max_size=5), VALUES, max_size=6
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    endpoint = draw(st.sampled_from(Endpoint))
    names = ("id", "user_id", "group_id", "source_id")
    segments = {name: quote(draw(SEGMENTS), safe="") for name in names}
    path = "/api/v4" + endpoint.template.format_map(segments)
    own = st.dictionaries(
        st.sampled_from(list(parameters_of(endpoint)) or ["none"]), VALUES, max_size=5
    )
    body = draw(own | BODIES)
    if endpoint.method == "GET":
        return endpoint.method, f"{path}?{_query(body)}", {}
    if draw(st.booleans()):
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return endpoint.method, path, {"data": _query(body), "headers": headers}
    return endpoint.method, path, {"json": body}


def _query(body: dict[str, Any]) -> str:
    return "&".join(
        f"{quote(name, safe='[]')}={quote(str(value).encode(errors='replace'))}"
        for name, value in body.items()
    )


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sent=st.lists(requests(), min_size=1, max_size=8), is_admin=st.booleans())
def test_every_request_has_an_answer_in_json(
    running: tuple[asyncio.Runner, Api], sent: list[Any], is_admin: bool
) -> None:
    runner, api = running
    caller = api if is_admin else api.as_user(None)

    async def ask() -> list[Any]:
        return [await caller(method, path, **options) for method, path, options in sent]

    answers = runner.run(ask())

    assert all(answer.status < 500 for answer in answers), [
        (answer.status, request) for answer, request in zip(answers, sent, strict=True)
    ]
    assert all(
        answer.json is not None or answer.status in {204, 301, 304}
        for answer in answers
    )


@pytest.fixture
def running(tmp_path: Any) -> Any:
    from contextlib import AsyncExitStack

    from tests.support.service import embedded_service

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> Api:
            service = await stack.enter_async_context(embedded_service(tmp_path))
            await service.add_project("docs/a", visibility="public")
            await service.add_project("docs/b")
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Api(session, service.url, service.token)

        api = runner.run(start())
        yield runner, api
        runner.run(stack.aclose())


BODIES_WITHOUT_SENSE = [
        (b"{", "the request body is not valid JSON"),
        (b"[1]", "the request body is not a JSON object"),
        (b'"x"', "the request body is not a JSON object"),
        (b"\xff\xfe", "the request body is not valid JSON"),
        (b'{"name": "\xff"}', "the request body is not valid JSON"),
        (b"[" * 10_000_000, "the request body is not valid JSON"),
        (b'{"a":' * 2_000_000, "the request body is not valid JSON"),
        (b'{"name": "a\\u0000b"}', "the request holds invalid UTF-8 or a NUL byte"),
        (
            b'{"topics": ["a\\u0000b"]}',
            "the request holds invalid UTF-8 or a NUL byte",
        ),
        (b'{"name": ["x"]}', "name is invalid"),
        (b'{"name": {"x": 1}}', "name is invalid"),
        (b'{"name": "x", "topics": 1.5}', "topics is invalid"),
        (b'{"name": "x", "topics": [["x"]]}', "topics is invalid"),
        (b'{"name": "x", "visibility": "secret"}', "visibility does not have a valid value"),
        (b'{"name": "x", "build_timeout": "soon"}', "build_timeout is invalid"),
        (b'{"name": "x", "build_timeout": true}', "build_timeout is invalid"),
        (b'{"name": "x", "build_timeout": 1' + b"0" * 40 + b"}", "build_timeout is invalid"),
        (b'{"name": "x", "lfs_enabled": "perhaps"}', "lfs_enabled is invalid"),
        (b'{"name": "x", "avatar": "text"}', "avatar is invalid"),
        (
            b'{"name": "x", "container_expiration_policy_attributes": 1}',
            "container_expiration_policy_attributes is invalid",
        ),
        (
            b'{"name": "x", "container_expiration_policy_attributes": {"keep_n": "x"}}',
            "container_expiration_policy_attributes[keep_n] is invalid",
        ),
        (
            b'{"name": "x", "requirements_access_level": "public"}',
            "requirements_access_level does not have a valid value",
        ),
        (b"{}", "name, path are missing, at least one parameter must be provided"),
        (
            (b'{"name": "x", "import_url": "https://example.com/x.git",'
            b' "template_name": "y"}'),
            "import_url, template_name are mutually exclusive",
        ),
        (
            (b'{"name": "x", "template_project_id": 1, "template_name": "y"}'),
            "template_name, template_project_id are mutually exclusive",
        ),
]  # fmt: skip


async def test_body_that_makes_no_sense_is_refused(api: Api) -> None:
    headers = {"Content-Type": "application/json"}
    for body, error in BODIES_WITHOUT_SENSE:
        answer = await api.post(PROJECTS, data=BytesIO(body), headers=headers)
        assert (answer.status, answer.json) == (400, {"error": error}), body[:80]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_body_that_cannot_be_unpacked_is_refused_without_a_traceback(
    api: Api, coding: str, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer = await api.post(PROJECTS, data=BytesIO(b'{"name": "x"}'), headers=headers)
    assert answer.json == {"error": "the request body cannot be unpacked"}
    # the connection is read to its end before the next request
    assert (await api.get(PROJECTS)).status == 200
    assert "Traceback" not in caplog.text


async def test_deep_nesting_in_a_form_is_refused_or_read(api: Api) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    name = "topics" + "[x]" * 100_000
    answer = await api.post(PROJECTS, data=f"name=x&{name}=1", headers=headers)
    assert answer.status == 400


async def test_large_json_answers_in_time(api: Api) -> None:
    text = json.dumps({"name": "x", "topics": ["a"] * 500_000})
    body = BytesIO(text.encode())
    headers = {"Content-Type": "application/json"}

    async with asyncio.timeout(60):
        answer = await api.post(PROJECTS, data=body, headers=headers)

    assert answer.json["topics"] == ["a"]
