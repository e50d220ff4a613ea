"""Reading groups, those below them, and their projects."""

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.service.tables import Tables

GROUPS = "/api/v4/groups"


async def filled(service: EmbeddedService) -> None:
    await service.add_group("docs")
    await service.add_group("docs/team")
    await service.add_group("docs/team/inner", wiki=False)
    await service.add_group("open", visibility="public")
    await service.add_project("docs/handbook")
    await service.add_project("docs/team/notes")


async def paths(api: Api, path: str, key: str = "full_path") -> list[str]:
    answer = await api.get(path)
    assert answer.status == 200
    return sorted(record[key] for record in answer.json)


async def test_group_is_read_by_path_and_number(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    by_path = await api.get(f"{GROUPS}/docs%2Fteam")
    by_number = await api.get(f"{GROUPS}/{by_path.json['id']}")
    parent = await api.get(f"{GROUPS}/docs")

    assert by_path.json["full_path"] == "docs/team"
    assert by_path.json["parent_id"] == parent.json["id"]
    assert by_path.json["web_url"] == f"{service.url}/groups/docs/team"
    assert by_number.json == by_path.json


async def test_full_name_is_made_of_names(service: EmbeddedService, api: Api) -> None:
    await filled(service)
    await service.ask(Tables.add_group, "docs", name="The Docs", update=True)
    await service.ask(Tables.add_group, "docs/team", name="A/B Team", update=True)
    path = "/api/v4/projects/docs%2Fteam%2Fnotes/groups"

    group = await api.get(f"{GROUPS}/docs%2Fteam%2Finner")
    above = await api.get(path)

    assert group.json["full_name"] == "The Docs / A/B Team / inner"
    assert [found["full_name"] for found in above.json] == [
        "The Docs / A/B Team",
        "The Docs",
    ]


async def test_groups_of_a_project_are_searched_by_their_own_words(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    path = "/api/v4/projects/docs%2Fteam%2Fnotes/groups?search=DOCS"

    assert await paths(api, path) == ["docs"]


async def test_project_is_shared_with_groups_of_the_caller(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    person = api.as_user(await service.add_user("dana"))
    await service.add_group("club")
    await service.add_member("club", "dana", AccessLevel.GUEST)
    await service.add_member("docs/handbook", "dana", AccessLevel.DEVELOPER)
    path = "/api/v4/projects/docs%2Fhandbook/share_locations"
    before = await paths(person, path)
    await service.add_member("docs/handbook", "dana", AccessLevel.MAINTAINER)

    assert before == []
    assert await paths(person, path) == ["club"]
    assert await paths(api, path) == ["club", "docs/team", "docs/team/inner", "open"]


async def test_list_shows_what_the_caller_may_see(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    assert await paths(api, GROUPS) == ["docs", "docs/team", "docs/team/inner", "open"]
    assert await paths(api.as_user(None), GROUPS) == ["open"]
    assert await paths(api, f"{GROUPS}?search=TEAM") == ["docs/team", "docs/team/inner"]


async def test_user_namespace_is_no_group(service: EmbeddedService, api: Api) -> None:
    await service.add_user("dana")

    assert (await api.get(f"{GROUPS}/dana")).status == 404
    assert await paths(api, GROUPS) == []


async def test_member_of_a_project_sees_the_groups_above_it(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/team/notes", "dana", AccessLevel.GUEST)

    assert await paths(person, GROUPS) == ["docs", "docs/team", "open"]
    assert (await person.get(f"{GROUPS}/docs/wikis")).status == 403


async def test_descendants_are_at_any_depth_and_subgroups_at_one(
    service: EmbeddedService, api: Api
) -> None:
    await filled(service)

    deep = await paths(api, f"{GROUPS}/docs/descendant_groups")
    flat = await paths(api, f"{GROUPS}/docs/subgroups")

    assert deep == ["docs/team", "docs/team/inner"]
    assert flat == ["docs/team"]


async def test_projects_of_a_group(service: EmbeddedService, api: Api) -> None:
    await filled(service)
    below = f"{GROUPS}/docs/projects?include_subgroups=true"

    assert await paths(api, f"{GROUPS}/docs/projects", "path") == ["handbook"]
    assert await paths(api, below, "path") == ["handbook", "notes"]
    assert await paths(api, f"{below}&search=note", "path") == ["notes"]


async def test_hidden_group_is_not_found(service: EmbeddedService, api: Api) -> None:
    await filled(service)

    for tail in ("", "/projects", "/descendant_groups", "/wikis"):
        answer = await api.as_user(None).get(f"{GROUPS}/docs{tail}")

        assert answer.status == 404, tail
        assert answer.json == {"message": "404 Group Not Found"}
