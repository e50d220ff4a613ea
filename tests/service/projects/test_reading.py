"""Reading one project and listing many."""

import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel

PROJECTS = "/api/v4/projects"


async def filled(service: EmbeddedService) -> None:
    await service.add_project("docs/alpha", visibility="public", description="First")
    await service.add_project("docs/beta", is_archived=True)
    await service.add_project("docs/team/gamma", visibility="internal")


async def paths(api: Api, query: str = "") -> list[str]:
    answer = await api.get(f"{PROJECTS}?order_by=id&sort=asc&{query}")
    assert answer.status == 200
    return [project["path"] for project in answer.json]


async def test_project_is_read_by_number_or_path(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    project = (await api.get(f"{PROJECTS}/1")).json
    for key in ("docs%2Falpha", "docs%2falpha", "DOCS%2FAlpha"):
        assert (await api.get(f"{PROJECTS}/{key}")).json == project

    assert (project["id"], project["path_with_namespace"]) == (1, "docs/alpha")
    assert project["web_url"] == f"{service.url}/docs/alpha"
    assert project["namespace"]["full_path"] == "docs"
    assert (project["wiki_access_level"], project["wiki_enabled"]) == ("enabled", True)


async def test_name_with_namespace_names_every_group_from_the_top(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    answer = await api.get(f"{PROJECTS}/docs%2Fteam%2Fgamma")

    names = answer.json["name_with_namespace"].split(" / ")
    assert [name.lower() for name in names] == ["docs", "team", "gamma"]


async def test_project_tells_the_callers_levels(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    token = await service.add_user("dana")
    await service.add_member("docs", "dana", AccessLevel.DEVELOPER)
    await service.add_member("docs/alpha", "dana", AccessLevel.OWNER)

    answer = await api.as_user(token).get(f"{PROJECTS}/1")

    assert answer.json["permissions"] == {
        "project_access": {"access_level": 50, "notification_level": 3},
        "group_access": {"access_level": 30, "notification_level": 3},
    }


async def test_hidden_and_absent_projects_answer_alike(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    person = api.as_user(await service.add_user("dana"))

    hidden = await person.get(f"{PROJECTS}/docs%2Fbeta")
    absent = await person.get(f"{PROJECTS}/docs%2Fnothing")

    assert (hidden.status, hidden.json) == (404, {"message": "404 Project Not Found"})
    assert (absent.status, absent.json) == (hidden.status, hidden.json)


async def test_huge_number_is_not_found(api: Api) -> None:
    answer = await api.get(f"{PROJECTS}/{'9' * 40}")

    assert answer.status == 404


async def test_list_shows_what_the_caller_may_see(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    person = api.as_user(await service.add_user("dana"))

    assert await paths(api) == ["alpha", "beta", "gamma"]
    assert await paths(person) == ["alpha", "gamma"]
    assert await paths(api.as_user(None)) == ["alpha"]


async def test_anonymous_list_is_simple(service: EmbeddedService, api: Api) -> None:
    await filled(service)

    simple = (await api.as_user(None).get(PROJECTS)).json[0]
    full = (await api.get(PROJECTS)).json[0]
    asked = (await api.get(f"{PROJECTS}?simple=true")).json[0]

    assert "wiki_access_level" not in simple
    assert "wiki_access_level" not in asked
    assert "wiki_access_level" in full


async def test_list_is_narrowed_to_what_is_archived(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    assert await paths(api, "archived=true") == ["beta"]
    assert await paths(api, "archived=false") == ["alpha", "gamma"]


async def test_active_projects_are_neither_archived_nor_marked(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    await api.delete(f"{PROJECTS}/docs%2Fteam%2Fgamma")

    assert await paths(api, "active=true") == ["alpha"]
    assert await paths(api, "active=false") == ["beta", "gamma"]
    assert await paths(api, "active=false&archived=false") == ["gamma"]
    assert await paths(api, "") == ["alpha", "beta", "gamma"]


async def test_other_lists_are_narrowed_to_what_is_active(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    expected = {
        "groups/docs/projects?active=true": ["alpha"],
        "groups/docs/projects?active=false": ["beta"],
        "users/root/projects?active=false": [],
        "groups?active=true": ["docs", "team"],
        "groups?active=false": [],
        "groups/docs/subgroups?active=false": [],
    }

    found = {path: (await api.get(f"/api/v4/{path}")).json for path in expected}

    assert {
        path: sorted(record["path"] for record in records)
        for path, records in found.items()
    } == expected


async def test_membership_counts_inherited_levels(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/team", "dana", AccessLevel.REPORTER)

    assert await paths(person, "membership=true") == ["gamma"]
    assert await paths(person, "min_access_level=30") == []


async def test_own_namespace_makes_an_owner(service: EmbeddedService, api: Api) -> None:
    person = api.as_user(await service.add_user("dana"))
    await service.add_project("dana/notes", {"home": "x"})

    answer = await person.get(f"{PROJECTS}/dana%2Fnotes")
    deleted = await person.delete(f"{PROJECTS}/dana%2Fnotes/wikis/home")

    assert answer.json["namespace"]["kind"] == "user"
    assert answer.json["owner"]["name"] == "dana"
    assert deleted.status == 204


@pytest.mark.parametrize(
    ("level", "code", "error"),
    [
        (None, True, False),
        (AccessLevel.DEVELOPER, True, False),
        (AccessLevel.MAINTAINER, True, True),
    ],
)
async def test_settings_of_a_public_project_are_told_by_role(
    service: EmbeddedService,
    api: Api,
    level: AccessLevel | None,
    code: bool,
    error: bool,
) -> None:
    await service.add_project("docs/a", visibility="public")
    anna = api.as_user(await service.add_user("anna"))
    if level is not None:
        await service.add_member("docs/a", "anna", level)

    shown = (await anna.get("/api/v4/projects/1")).json
    await api.put("/api/v4/projects/1", json={"repository_access_level": "private"})
    closed = (await anna.get("/api/v4/projects/1")).json

    assert ("ci_config_path" in shown, "import_error" in shown) == (code, error)
    assert ("ci_config_path" in closed) == (level is not None)
