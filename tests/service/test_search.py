"""Search in the texts of wikis: where, for whom, and what is shown."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel

SCOPE = "scope=wiki_blobs&search="
TEXT = "one\ntwo\nthree\nFour Words\nfive\nsix\nseven\n"


@pytest.fixture
async def wikis(service: EmbeddedService) -> EmbeddedService:
    """Wikis of a group, of a project in it, of one in a group below, and of another."""
    await service.add_group("docs", {"home": "four words of the group"})
    await service.add_group("docs/low", wiki=False)
    await service.add_project("docs/book", {"dir/page": TEXT, "other": "x"})
    await service.add_project("docs/low/notes", {"a": "FOUR WORDS"})
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
            "group_id": None,
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


@pytest.mark.usefixtures("wikis")
async def test_search_is_in_what_is_named(api: Api) -> None:
    expected = {
        "search": [(None, "home.md"), (1, "dir/page.md"), (2, "a.md"), (3, "b.md")],
        "groups/docs/search": [(None, "home.md"), (1, "dir/page.md"), (2, "a.md")],
        "groups/docs%2Flow/search": [(2, "a.md")],
        "projects/docs%2Flow%2Fnotes/search": [(2, "a.md")],
        "projects/1/search": [(1, "dir/page.md")],
    }

    for path, hits in expected.items():
        assert await found(api, f"{path}?{SCOPE}four+words") == hits
        assert await found(api, f"{path}?{SCOPE}nothing") == []


async def test_nobody_finds_what_he_may_not_read(
    wikis: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await wikis.add_user("dana"))
    await wikis.add_member("docs/low/notes", "dana", AccessLevel.GUEST)
    await wikis.add_project("open/closed", {"c": "four words"}, visibility="public")
    await wikis.add_project("open/closed", wiki_access_level="private")
    query = f"?{SCOPE}four+words"

    assert await found(person, f"search{query}") == [(2, "a.md"), (3, "b.md")]
    assert await found(person, f"groups/docs/search{query}") == [(2, "a.md")]
    assert (await person.get(f"/api/v4/projects/1/search{query}")).status == 404
    assert (await api.as_user(None).get(f"/api/v4/search{query}")).status == 401


@pytest.mark.parametrize("base", ["search", "groups/docs/search", "projects/1/search"])
@pytest.mark.usefixtures("wikis")
async def test_scope_and_words_are_needed(api: Api, base: str) -> None:
    errors = {
        "search=x": "scope is missing",
        "scope=wiki_blobs": "search is missing",
        "scope=blobs&search=x": "scope does not have a valid value",
    }

    for query, error in errors.items():
        answer = await api.get(f"/api/v4/{base}?{query}")

        assert (answer.status, answer.json) == (400, {"error": error})


async def test_free_edition_searches_single_projects(
    wikis: EmbeddedService, api: Api
) -> None:
    settings = wikis.running.settings
    profile = replace(settings.profile, is_enterprise=False)
    wikis.running.settings = replace(settings, profile=profile)
    everywhere = await api.get(f"/api/v4/search?{SCOPE}four")

    assert everywhere.status == 400
    assert "only with advanced search" in everywhere.json["message"]["error"]
    assert await found(api, f"projects/1/search?{SCOPE}four") == [(1, "dir/page.md")]


async def test_search_ends_at_a_number_of_bytes(
    wikis: EmbeddedService, api: Api
) -> None:
    wikis.set_limits(searched_bytes_max=30)

    assert await found(api, f"search?{SCOPE}four") == [
        (None, "home.md"),
        (1, "dir/page.md"),
    ]
