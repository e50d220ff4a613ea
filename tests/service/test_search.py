"""Search in the texts of wikis: where, for whom, and what is shown."""

from typing import Any

import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.service.search import PAGES_AT_ONCE

SCOPE = "scope=wiki_blobs&search="
TEXT = "one\ntwo\nthree\nFour Words\nfive\nsix\nseven\n"


@pytest.fixture
async def wikis(service: EmbeddedService) -> EmbeddedService:
    """The wikis of a project, and of another that everybody may read."""
    await service.add_project("docs/book", {"dir/page": TEXT, "other": "x"})
    await service.add_project("open/book", {"b": "four words"}, visibility="public")
    return service


async def found(api: Api, path: str) -> list[Any]:
    answer = await api.get(f"/api/v4/{path}")
    assert answer.status == 200, answer.json
    return [(one["project_id"], one["path"]) for one in answer.json]


@pytest.mark.usefixtures("wikis")
async def test_hit_is_shown_with_the_lines_around_it(api: Api) -> None:
    answer = await api.get(f"/api/v4/projects/docs%2Fbook/search?{SCOPE}four%20words")

    assert answer.json == [
        {
            "path": "dir/page.md",
            "basename": "dir/page",
            "data": "two\nthree\nFour Words\nfive\nsix",
            "filename": "dir/page.md",
            "id": None,
            "ref": "main",
            "startline": 2,
            "project_id": (await api.get("/api/v4/projects/docs%2Fbook")).json["id"],
        }
    ]
    assert answer.headers["X-Total"] == "1"


async def test_hits_that_touch_are_one(service: EmbeddedService, api: Api) -> None:
    lines = ["x", "", "x", *[""] * 9, "x"]
    await service.add_project("docs/book", {"a": "\n".join(lines), "x": "no"})

    answer = await api.get(f"/api/v4/projects/1/search?{SCOPE}X")

    assert [
        (one["path"], one["startline"], one["data"].count("\n")) for one in answer.json
    ] == [("a.md", 1, 4), ("a.md", 11, 2), ("x.md", 1, 0)]


async def test_nobody_finds_what_he_may_not_read(
    wikis: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await wikis.add_user("dana"))
    query = f"{SCOPE}four+words"

    assert await found(api, f"projects/1/search?{SCOPE}nothing") == []
    assert await found(person, f"projects/2/search?{query}") == [(2, "b.md")]
    await wikis.add_project(
        "open/book", visibility="public", wiki_access_level="private"
    )
    assert await found(person, f"projects/2/search?{query}") == []
    assert (await person.get(f"/api/v4/projects/1/search?{query}")).status == 404
    stranger = await api.as_user(None).get(f"/api/v4/projects/2/search?{query}")
    assert stranger.status == 401


@pytest.mark.usefixtures("wikis")
async def test_scope_and_words_are_needed(api: Api) -> None:
    errors = {
        "search=x": "scope is missing",
        "scope=wiki_blobs": "search is missing",
        "scope=blobs&search=x": "scope does not have a valid value",
    }

    for query, error in errors.items():
        answer = await api.get(f"/api/v4/projects/1/search?{query}")

        assert (answer.status, answer.json) == (400, {"error": error})


async def test_search_ends_at_a_number_of_bytes(
    wikis: EmbeddedService, api: Api
) -> None:
    wikis.set_limits(searched_bytes_max=1)
    texts = {f"{number:03}": "four" for number in range(PAGES_AT_ONCE + 1)}
    await wikis.add_project("docs/book", texts)

    answer = await api.get(f"/api/v4/projects/1/search?{SCOPE}four")
    assert answer.headers["X-Total"] == str(PAGES_AT_ONCE)
