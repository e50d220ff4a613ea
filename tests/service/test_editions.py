"""The free edition: what it does not know, show and delay."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.service.conftest import Api
from tests.support.service import embedded_service
from wikisync.service.settings import Profile, Settings

BOOK = "/api/v4/projects/docs%2Fbook"
PAID = {"approvals_before_merge", "mirror", "issues_template", "marked_for_deletion_on"}


@pytest.fixture
async def free(tmp_path: Path) -> AsyncIterator[Api]:
    """The administrator of a service of the free edition, with one project."""
    settings = Settings(profile=Profile(is_enterprise=False))
    async with (
        embedded_service(tmp_path / "free", settings=settings) as service,
        aiohttp.ClientSession() as session,
    ):
        await service.add_project("docs/book", {"home": "x"})
        yield Api(session, service.url, service.token)


async def test_free_edition_says_so(free: Api) -> None:
    assert (await free.get("/api/v4/metadata")).json["enterprise"] is False


async def test_paid_attributes_are_neither_taken_nor_shown(free: Api) -> None:
    body = {"approvals_before_merge": 3, "description": "x"}
    edited = await free.put(BOOK, json=body)
    nothing = await free.put(BOOK, json={"approvals_before_merge": "rubbish"})

    assert edited.status == 200, edited.json
    assert edited.json["description"] == "x"
    assert not PAID & edited.json.keys()
    assert (nothing.status, "at least one parameter" in nothing.json["error"]) == (
        400,
        True,
    )
    assert "approvals_before_merge" not in nothing.json["error"]


async def test_paid_attributes_are_shown_by_the_paid_edition(api: Api) -> None:
    made = (await api.post("/api/v4/projects", json={"name": "book"})).json

    assert made.keys() >= PAID


async def test_deletion_is_at_once_and_cannot_be_taken_back(free: Api) -> None:
    restored = await free.post(f"{BOOK}/restore")
    stranger = await free.as_user(None).post(f"{BOOK}/restore")

    deleted = await free.delete(BOOK)

    unknown = {"error": "404 Not Found"}
    assert (restored.status, restored.json) == (404, unknown)
    assert (stranger.status, stranger.json) == (404, unknown)
    assert (deleted.status, (await free.get(BOOK)).status) == (202, 404)


async def test_description_is_of_the_edition(free: Api, api: Api) -> None:
    paid = (await api.get("/api/v4/openapi.json")).json["paths"]
    ours = (await free.get("/api/v4/openapi.json")).json["paths"]

    assert "/projects/{id}/restore" in paid.keys() - ours.keys()
    edit = ours["/projects/{id}"]["put"]["requestBody"]["content"]
    assert "mirror" not in edit["application/json"]["schema"]["properties"]
