"""Stars, archive, deletion and restoring, sharing, members and custom attributes."""

from typing import Any

import aiohttp
import pytest

from tests.service.conftest import Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.service import jobs

PROJECTS = "/api/v4/projects"
BOOK = f"{PROJECTS}/docs%2Fbook"


async def book(service: EmbeddedService, visibility: str = "private") -> int:
    return await service.add_project("docs/book", visibility=visibility)


async def test_star_counts_once(service: EmbeddedService, api: Api) -> None:
    await book(service)

    first = await api.post(f"{BOOK}/star")
    again = await api.post(f"{BOOK}/star")
    away = await api.post(f"{BOOK}/unstar")
    never = await api.post(f"{BOOK}/unstar")

    assert (first.status, first.json["star_count"]) == (201, 1)
    assert (again.status, again.body) == (304, b"")
    assert (away.status, away.json["star_count"]) == (201, 0)
    assert (never.status, never.body) == (304, b"")


async def starrers(api: Api) -> list[str]:
    found = await api.get(f"{BOOK}/starrers")
    return sorted(entry["user"]["username"] for entry in found.json)


async def test_private_people_see_their_own_star_and_others_do_not(
    service: EmbeddedService, api: Api
) -> None:
    await book(service, "public")
    people = {
        name: api.as_user(await service.add_user(name)) for name in ("dana", "eve")
    }
    await people["dana"].post(f"{BOOK}/star")
    await people["eve"].post(f"{BOOK}/star")
    hide = "UPDATE user SET has_private_profile = 1 WHERE username = 'eve'"
    await service.ask(lambda tables: tables.db.execute(hide))

    answer = await people["dana"].get(f"{BOOK}/starrers")
    none = await people["dana"].get(f"{BOOK}/starrers?search=zoe")

    assert await starrers(people["dana"]) == await starrers(api.as_user(None))
    assert await starrers(people["dana"]) == ["dana"]
    assert await starrers(people["eve"]) == await starrers(api) == ["dana", "eve"]
    assert answer.json[0]["starred_since"].endswith("Z")
    assert (none.json, answer.headers["X-Total"]) == ([], "1")


async def test_archive_again_changes_nothing(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)

    first = await api.post(f"{BOOK}/archive")
    again = await api.post(f"{BOOK}/archive")
    back = await api.post(f"{BOOK}/unarchive")

    assert (first.status, first.json["archived"]) == (201, True)
    assert (again.status, again.json) == (201, first.json)
    assert (back.status, back.json["archived"]) == (201, False)


# deletion


async def test_deletion_marks_and_restoring_takes_the_mark_away(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)

    early = await api.post(f"{BOOK}/restore")
    gone = await api.delete(BOOK)
    marked = (await api.get(BOOK)).json
    again = await api.delete(BOOK)
    back = await api.post(f"{BOOK}/restore")

    assert (early.status, early.json) == (
        400,
        {"message": "Project has not been marked for deletion"},
    )
    assert (gone.status, gone.json) == (202, {"message": "202 Accepted"})
    assert again.status == 202
    assert len(marked["marked_for_deletion_on"]) == 10
    assert (back.status, back.json["marked_for_deletion_on"]) == (201, None)


async def test_permanent_removal_wants_the_whole_path(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    await api.delete(BOOK)
    text = "`full_path` is incorrect. You must enter the complete path for the project."

    for path in ("", "&full_path=docs/other"):
        answer = await api.delete(f"{BOOK}?permanently_remove=true{path}")

        assert (answer.status, answer.json) == (400, {"message": text})
    assert (await api.get(BOOK)).status == 200


async def test_what_is_not_marked_is_not_removed_permanently(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)

    answer = await api.delete(f"{BOOK}?permanently_remove=true&full_path=docs/book")

    assert (answer.status, answer.json) == (
        400,
        {"message": "Project must be marked for deletion first."},
    )


async def test_permanent_removal_takes_everything_and_no_id_twice(
    service: EmbeddedService, api: Api
) -> None:
    project = await book(service)
    await service.add_code("docs/book", {"a.py": b"x"})
    await api.post(f"{BOOK}/wikis", json={"title": "a", "content": "b"})
    await api.post(f"{BOOK}/star")
    await api.delete(BOOK)

    await api.delete(f"{BOOK}?permanently_remove=true&full_path=docs/book")
    hidden = await api.get(BOOK)
    await jobs.purge(service.running)
    folders = service.running.folders_of(project)
    again = await book(service)

    assert hidden.status == 404
    assert not any(folder.exists() for folder in folders)
    assert (again, (await api.get(f"{PROJECTS}/{project}")).status) == (
        project + 1,
        404,
    )
    assert (await api.get(f"{BOOK}/wikis")).json == []


async def test_purge_waits_until_the_day(service: EmbeddedService, api: Api) -> None:
    await book(service)
    await api.delete(BOOK)

    await jobs.purge(service.running)
    early = await api.get(BOOK)
    service.set_deletion(delay_days=0)
    await jobs.purge(service.running)
    late = await api.get(BOOK)

    assert (early.status, late.status) == (200, 404)


async def test_deletion_without_delay_hides_at_once(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    service.set_deletion(delay_days=0)

    answer = await api.delete(BOOK)

    assert answer.status == 202
    assert (await api.get(BOOK)).status == 404
    assert (await api.get(f"{BOOK}/wikis")).status == 404


async def test_deletion_heeds_when_the_caller_last_looked(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    moments = "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"

    early, late = [
        await api.delete(BOOK, headers={"If-Unmodified-Since": moment})
        for moment in moments
    ]

    assert (early.status, late.status) == (412, 202)


# sharing


async def shared(service: EmbeddedService, api: Api, level: int) -> Any:
    await book(service)
    crew = await service.add_group("crew", visibility="public")
    body = {"group_id": crew, "group_access": level}
    return await api.post(f"{BOOK}/share", json=body)


async def test_share_lets_the_groups_members_in(
    service: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await service.add_user("dana"))
    answer = await shared(service, api, AccessLevel.REPORTER)
    before = await person.get(BOOK)
    await service.add_member("crew", "dana", AccessLevel.MAINTAINER)

    during = await person.get(BOOK)
    listed = await person.get(f"{PROJECTS}?membership=true")
    written = await person.put(BOOK, json={"description": "x"})
    ended = await api.delete(f"{BOOK}/share/{answer.json['group_id']}")
    after = await person.get(BOOK)

    assert (answer.status, answer.json) == (
        201,
        {
            "id": 1,
            "project_id": 1,
            "group_id": 4,
            "group_access": 20,
            "expires_at": None,
        },
    )
    assert (before.status, during.status, after.status) == (404, 200, 404)
    assert [one["id"] for one in listed.json] == [1]
    # a maintainer of the group is a reporter here: the lower of both counts
    assert (written.status, ended.status) == (403, 204)


async def test_share_is_shown_to_those_who_see_the_group(
    service: EmbeddedService, api: Api
) -> None:
    await shared(service, api, 30)
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/book", "dana", 10)
    seen = (await person.get(BOOK)).json["shared_with_groups"]
    await service.add_group("crew", visibility="private")

    hidden = (await person.get(BOOK)).json["shared_with_groups"]

    assert [group["group_full_path"] for group in seen] == ["crew"]
    assert (seen[0]["group_access_level"], hidden) == (30, [])


async def test_share_ends_on_its_last_day(service: EmbeddedService, api: Api) -> None:
    await book(service)
    crew = await service.add_group("crew")
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("crew", "dana", 30)
    body = {"group_id": crew, "group_access": 30, "expires_at": "2001-01-01"}

    answer = await api.post(f"{BOOK}/share", json=body)

    assert answer.json["expires_at"] == "2001-01-01"
    assert (await person.get(BOOK)).status == 404


NO_SHARES: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
    ({}, 400, {"error": "group_id is missing, group_access is missing"}),
    ({"group_id": "x", "group_access": 30}, 400, {"error": "group_id is invalid"}),
    (
        {"group_id": None, "group_access": [30]},
        400,
        {"error": "group_id is missing, group_access is invalid"},
    ),
    (
        {"group_id": 3, "group_access": 35},
        400,
        {"error": "group_access does not have a valid value"},
    ),
    (
        {"group_id": 3, "group_access": 30, "expires_at": "soon"},
        400,
        {"error": "expires_at is invalid"},
    ),
    ({"group_id": 99, "group_access": 30}, 404, {"message": "404 Not Found"}),
    (
        {"group_id": 3, "group_access": 30},
        409,
        {"message": "Project already shared with this group"},
    ),
    (
        {"group_id": 2, "group_access": 30},
        409,
        {
            "message": "Project cannot be shared with the group it is in or one of"
            " its ancestors."
        },
    ),
]


async def test_share_that_cannot_be_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await shared(service, api, 30)
    for body, status, answer in NO_SHARES:
        refused = await api.post(f"{BOOK}/share", json=body)

        assert (refused.status, refused.json) == (status, answer), body


async def test_share_that_is_none_cannot_end(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)

    absent = await api.delete(f"{BOOK}/share/99")
    odd = await api.delete(f"{BOOK}/share/crew")

    assert (absent.status, absent.json) == (
        404,
        {"message": "404 Group Link Not Found"},
    )
    assert (odd.status, odd.json) == (400, {"error": "group_id is invalid"})


async def test_maintainer_ends_no_share_of_owners(
    service: EmbeddedService, api: Api
) -> None:
    group = (await shared(service, api, AccessLevel.OWNER)).json["group_id"]
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/book", "dana", AccessLevel.MAINTAINER)

    refused = await person.delete(f"{BOOK}/share/{group}")
    await service.add_member("docs/book", "dana", AccessLevel.OWNER)
    ended = await person.delete(f"{BOOK}/share/{group}")

    assert (refused.status, refused.json) == (403, {"message": "403 Forbidden"})
    assert ended.status == 204


# members


@pytest.mark.parametrize(
    ("importer", "level"), [(AccessLevel.MAINTAINER, 40), (AccessLevel.OWNER, 50)]
)
async def test_maintainer_makes_nobody_an_owner(
    service: EmbeddedService, api: Api, importer: int, level: int
) -> None:
    await book(service)
    await service.add_project("docs/other")
    person = api.as_user(await service.add_user("dana"))
    boss = api.as_user(await service.add_user("boss"))
    await service.add_member("docs/book", "dana", importer)
    await service.add_member("docs/other", "dana", AccessLevel.MAINTAINER)
    await service.add_member("docs/other", "boss", AccessLevel.OWNER)

    answer = await person.post(f"{PROJECTS}/1/import_project_members/2")

    permissions = (await boss.get(BOOK)).json["permissions"]
    own = (await person.get(BOOK)).json["permissions"]
    assert (answer.status, answer.json) == (201, {"status": "success"})
    assert permissions["project_access"]["access_level"] == level
    assert own["project_access"]["access_level"] == importer


async def test_members_that_cannot_be_imported(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    await service.add_project("docs/other", visibility="public")
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/book", "dana", AccessLevel.OWNER)

    expected = {
        "99": (404, {"message": "404 Project Not Found"}),
        "docs%2Fbook": (400, {"error": "project_id is invalid"}),
        "2": (403, {"message": "403 Forbidden - Project"}),
    }

    for path, refusal in expected.items():
        answer = await person.post(f"{PROJECTS}/1/import_project_members/{path}")

        assert (answer.status, answer.json) == refusal


async def test_users_of_a_project_are_its_members(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    for name in ("dana", "eve"):
        await service.add_user(name)
    await service.add_member("docs", "dana", 30)
    await service.add_member("docs/book", "eve", 10)

    every = (await api.get(f"{BOOK}/users")).json
    found = (await api.get(f"{BOOK}/users?search=EV")).json
    rest = (await api.get(f"{BOOK}/users?skip_users[]={every[0]['id']}")).json

    assert [user["username"] for user in every] == ["dana", "eve"]
    assert [user["username"] for user in found] == ["eve"]
    assert [user["username"] for user in rest] == ["eve"]
    assert set(every[0]) == {
        "id", "username", "name", "state", "avatar_url", "web_url",
    }  # fmt: skip


async def test_groups_of_a_project_are_those_above_and_shared_ones(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/team/book")
    crew = await service.add_group("crew")
    place = f"{PROJECTS}/docs%2Fteam%2Fbook"
    body = {"group_id": crew, "group_access": 20}
    await api.post(f"{place}/share", json=body)

    async def paths(query: str = "") -> list[str]:
        found = (await api.get(f"{place}/groups?{query}")).json
        return [group["full_path"] for group in found]

    assert await paths() == ["docs/team", "docs"]
    assert await paths("with_shared=true") == ["docs/team", "docs", "crew"]
    assert await paths("with_shared=1&shared_min_access_level=30") == [
        "docs/team",
        "docs",
    ]
    assert await paths(f"with_shared=1&skip_groups={crew}&search=team") == ["docs/team"]


async def test_shared_groups_are_only_those_one_sees(
    service: EmbeddedService, api: Api
) -> None:
    await shared(service, api, 30)
    await service.add_group("crew", visibility="private")
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/book", "dana", 10)

    every = await person.get(f"{BOOK}/groups?with_shared=1")
    answer = await person.get(f"{BOOK}/groups?with_shared=1&shared_visible_only=1")

    assert [group["full_path"] for group in every.json] == ["docs"]
    assert [group["full_path"] for group in answer.json] == ["docs"]


async def test_share_locations_leave_out_what_is_shared_or_above(
    service: EmbeddedService, api: Api
) -> None:
    await shared(service, api, 30)
    await service.add_group("others")

    answer = await api.get(f"{BOOK}/share_locations")

    assert [group["full_path"] for group in answer.json] == ["others"]
    assert list(answer.json[0]) == [
        "id", "web_url", "name", "avatar_url", "full_name", "full_path",
    ]  # fmt: skip


async def test_share_locations_are_found_by_their_whole_path(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    for path in ("others", "others/crew", "others/ship"):
        await service.add_group(path)

    whole = await api.get(f"{BOOK}/share_locations?search=others/CREW")
    part = await api.get(f"{BOOK}/groups?search=others/crew")

    assert [group["full_path"] for group in whole.json] == ["others/crew"]
    assert part.json == []


# custom attributes and uploads


async def test_custom_attributes_are_for_administrators(
    service: EmbeddedService, api: Api
) -> None:
    await book(service, "public")
    person = api.as_user(await service.add_user("dana"))

    await api.put(f"{BOOK}/custom_attributes/area", json={"value": "sea"})
    own = (await api.get(f"{BOOK}?with_custom_attributes=1")).json
    other = (await person.get(f"{BOOK}?with_custom_attributes=1")).json
    found = await api.get(f"{PROJECTS}?custom_attributes[area]=sea")
    missed = await api.get(f"{PROJECTS}?custom_attributes[area]=land")
    one = await api.get(f"{BOOK}/custom_attributes/area")
    none = await api.get(f"{BOOK}/custom_attributes/other")
    hidden = await person.get(f"{BOOK}/custom_attributes/area")
    gone = await api.delete(f"{BOOK}/custom_attributes/area")

    assert one.json == {"key": "area", "value": "sea"}
    assert (none.status, hidden.status) == (404, 403)
    assert own["custom_attributes"] == [{"key": "area", "value": "sea"}]
    assert "custom_attributes" not in other
    assert ([one["id"] for one in found.json], missed.json) == ([1], [])
    assert gone.status == 204
    assert (await api.delete(f"{BOOK}/custom_attributes/area")).status == 404


async def test_upload_is_kept_and_read_by_its_address(
    service: EmbeddedService, api: Api
) -> None:
    await book(service)
    content = bytes(range(256)) * 4096
    form = aiohttp.FormData()
    form.add_field("file", content, filename="dk.png")

    sent = await api.post(f"{BOOK}/uploads", data=form)
    api_read = await api.get(f"{BOOK}{sent.json['url']}")
    web_read = await api.get(sent.json["full_path"])
    hidden = await api.as_user(None).get(sent.json["full_path"])
    absent = await api.get(f"{BOOK}/uploads/{'0' * 32}/dk.png")

    url = sent.json["url"]
    assert sent.status == 201
    assert sent.json == {
        "id": 1,
        "alt": "dk",
        "url": url,
        "full_path": f"/-/project/1{url}",
        "markdown": f"![dk]({url})",
    }
    assert api_read.body == web_read.body == content
    assert (hidden.status, absent.status) == (404, 404)
