"""Pages of another origin call the API, and only the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.conftest import WIKIS, Api
from tests.support.browser import running_chromium
from tests.support.service import EmbeddedService

if TYPE_CHECKING:
    pass

PROJECTS = "/api/v4/projects"


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
