"""Pages of another origin call the API, and only the API."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from tests.service.conftest import WIKIS, Api
from tests.support.browser import running_chromium
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

ORIGIN = {"Origin": "https://tools.example.com"}
PROJECTS = "/api/v4/projects"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"


def shared(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    """What an answer says to other origins."""
    return {
        name.removeprefix("Access-Control-"): value
        for name, value in headers.items()
        if name.startswith("Access-Control-")
    }


async def test_browser_may_ask_before_it_sends(api: Api) -> None:
    asked = {
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "private-token, content-type",
    }
    for path in (PROJECTS, f"{WIKIS}/home", "/api/v4/nothing"):
        answer = await api.as_user(None)("OPTIONS", path, headers=ORIGIN | asked)

        assert (answer.status, answer.body) == (200, b"")
        assert shared(answer.headers) == {
            "Allow-Origin": "*",
            "Allow-Methods": METHODS,
            "Allow-Headers": "private-token, content-type",
            "Expose-Headers": "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page,"
            " X-Next-Page, X-Prev-Page, X-Request-Id, ETag",
            "Max-Age": "7200",
        }


async def test_method_that_nothing_has_is_not_allowed(api: Api) -> None:
    asked = {"Access-Control-Request-Method": "STEAL"}
    answer = await api("OPTIONS", PROJECTS, headers=ORIGIN | asked)

    assert (answer.status, shared(answer.headers)) == (200, {})


async def test_every_answer_may_be_read_elsewhere(api: Api) -> None:
    for path, status in ((PROJECTS, 200), (f"{PROJECTS}/7", 404), (f"{WIKIS}/x", 404)):
        answer = await api.get(path, headers=ORIGIN)

        assert answer.status == status
        assert shared(answer.headers)["Allow-Origin"] == "*"
        assert "Allow-Credentials" not in shared(answer.headers)
        assert answer.headers["Vary"].endswith("Origin")


async def test_file_and_refusal_in_front_may_be_read_elsewhere(
    service: EmbeddedService, api: Api
) -> None:
    project_id = await service.add_project("docs/handbook")
    path = f"{PROJECTS}/{project_id}/uploads"
    sent = await api.post(path, data={"file": io.BytesIO(b"x")})
    file = await api.get(PROJECTS + f"/{project_id}{sent.json['url']}", headers=ORIGIN)
    service.quirks = {Quirk.RATE_LIMITED}
    limited = await api.get(PROJECTS, headers=ORIGIN)

    assert (file.status, shared(file.headers)["Allow-Origin"]) == (200, "*")
    assert (limited.status, shared(limited.headers)["Allow-Origin"]) == (429, "*")


async def test_answer_to_the_same_origin_says_that_it_depends_on_it(api: Api) -> None:
    answer = await api.get("/api/v4/version")

    assert shared(answer.headers) == {}
    assert answer.headers["Vary"] == "Origin"


async def test_nothing_but_the_api_is_open_to_other_origins(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    for path in ("/docs/handbook.wiki.git/info/refs", "/x", "/api"):
        answer = await api.get(path, headers=ORIGIN)

        assert shared(answer.headers) == {}, path
        assert "Vary" not in answer.headers


async def test_options_names_the_methods(api: Api) -> None:
    answer = await api.as_user(None)("OPTIONS", f"{WIKIS}/home")

    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"


async def test_options_of_no_route_is_not_found(api: Api) -> None:
    answer = await api("OPTIONS", "/api/v4/nothing")

    assert (answer.status, answer.json) == (404, {"error": "404 Not Found"})


@pytest.mark.browser
async def test_page_of_another_origin_edits_a_wiki(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    script = """async ([url, token]) => {
        const headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"};
        const body = JSON.stringify({title: "home", content: "from afar"});
        const made = await fetch(url + "%s", {method: "POST", headers, body});
        const list = await fetch(url + "%s", {headers});
        return [made.status, list.headers.get("X-Total")];
    }"""
    async with running_chromium() as browser:
        page = await browser.new_page()
        told = await page.evaluate(
            script % (WIKIS, PROJECTS), [service.url, service.token]
        )

    assert told == [201, "1"]
    assert (await api.get(f"{WIKIS}/home")).json["content"] == "from afar"
