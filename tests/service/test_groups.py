"""Groups, those below them and their projects; members; and who is found."""

from typing import Any

import pytest

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


BOOK = "/api/v4/projects/docs%2Fbook"
DOCS = "/api/v4/groups/docs"
INHERITED = (
    "should be greater than or equal to Owner inherited membership from group docs"
)


@pytest.fixture
async def docs(service: EmbeddedService) -> EmbeddedService:
    """A group with its owner ann (2), a project in it with bob (3), and eve (4)."""
    await service.add_group("docs")
    await service.add_project("docs/book")
    for name in ("ann", "bob", "eve"):
        await service.add_user(name)
    await service.add_member("docs", "ann", AccessLevel.OWNER)
    await service.add_member("docs/book", "bob", AccessLevel.DEVELOPER)
    return service


async def as_ann(docs: EmbeddedService, api: Api) -> Api:
    return api.as_user(await docs.add_user("ann"))


async def levels(api: Api, path: str) -> dict[str, int]:
    answer = await api.get(path)
    assert answer.status == 200
    return {one["username"]: one["access_level"] for one in answer.json}


@pytest.mark.usefixtures("docs")
async def test_members_are_listed_by_where_they_come_from(api: Api) -> None:
    expected = {
        f"{BOOK}/members": {"bob": 30},
        f"{BOOK}/members/all": {"ann": 50, "bob": 30},
        f"{BOOK}/members/all?query=AN": {"ann": 50},
        f"{BOOK}/members/all?user_ids=3,4": {"bob": 30},
        f"{DOCS}/members": {"ann": 50},
        f"{DOCS}/members/all": {"ann": 50},
    }

    assert {path: await levels(api, path) for path in expected} == expected


async def test_members_of_a_group_above_are_members_below(
    docs: EmbeddedService, api: Api
) -> None:
    await docs.add_group("docs/inner")
    await docs.add_member("docs/inner", "eve", AccessLevel.GUEST)
    inner = f"{DOCS}%2Finner/members"

    assert await levels(api, inner) == {"eve": 10}
    assert await levels(api, f"{inner}/all") == {"ann": 50, "eve": 10}


@pytest.mark.usefixtures("docs")
async def test_single_member_is_read(api: Api) -> None:
    direct = await api.get(f"{BOOK}/members/3")
    inherited = await api.get(f"{BOOK}/members/all/2")
    absent = await api.get(f"{BOOK}/members/2")

    assert (direct.json["username"], direct.json["access_level"]) == ("bob", 30)
    assert (inherited.json["username"], inherited.json["access_level"]) == ("ann", 50)
    assert (absent.status, absent.json) == (404, {"message": "404 Not found"})


@pytest.mark.parametrize("base", [BOOK, DOCS])
@pytest.mark.parametrize("who", [{"user_id": 4}, {"username": "EVE"}])
async def test_member_is_added_changed_and_removed(
    docs: EmbeddedService, api: Api, base: str, who: dict[str, Any]
) -> None:
    ann = await as_ann(docs, api)
    eve = api.as_user(await docs.add_user("eve"))
    body = who | {"access_level": 30, "expires_at": "2999-01-31"}

    before = await eve.get(base)
    added = await ann.post(f"{base}/members", json=body)
    inside = await eve.get(base)
    again = await ann.post(f"{base}/members", json=body)
    changed = await ann.put(f"{base}/members/4", json={"access_level": 20})
    unended = await ann.put(
        f"{base}/members/4", json={"access_level": 20, "expires_at": None}
    )
    removed = await ann.delete(f"{base}/members/4")

    assert (before.status, inside.status) == (404, 200)
    assert (added.status, added.json["expires_at"]) == (201, "2999-01-31")
    assert (again.status, again.json) == (409, {"message": "Member already exists"})
    assert (changed.json["access_level"], changed.json["expires_at"]) == (
        20,
        "2999-01-31",
    )
    assert unended.json["expires_at"] is None
    assert (removed.status, (await eve.get(base)).status) == (204, 404)


NO_MEMBERS: list[tuple[dict[str, Any], int, Any]] = [
    ({"user_id": 4}, 400, {"error": "access_level is missing"}),
    (
        {"access_level": 30},
        400,
        {
            "error": "user_id, username are missing, at least one parameter must"
            " be provided"
        },
    ),
    (
        {"user_id": 4, "access_level": 31},
        400,
        {"error": "access_level does not have a valid value"},
    ),
    ({"user_id": 99, "access_level": 30}, 404, {"message": "404 User Not Found"}),
    (
        {"user_id": 4, "access_level": 30, "expires_at": "2001-01-01"},
        400,
        {"message": {"expires_at": ["cannot be a date in the past"]}},
    ),
    (
        {"user_id": 2, "access_level": 30},
        400,
        {"message": {"access_level": [INHERITED]}},
    ),
]


@pytest.mark.usefixtures("docs")
async def test_member_that_cannot_be_is_refused(api: Api) -> None:
    for body, status, problem in NO_MEMBERS:
        answer = await api.post(f"{BOOK}/members", json=body)

        assert (answer.status, answer.json) == (status, problem), body


async def test_members_of_a_group_are_changed_by_its_owners(
    docs: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await docs.add_user("pat"))
    await docs.add_group("docs", visibility="public")
    eve = {"user_id": 4, "access_level": 10}

    assert (await person.post(f"{DOCS}/members", json=eve)).status == 403
    for level in AccessLevel:
        if level:
            await docs.add_member("docs", "pat", level)
        added = await person.post(f"{DOCS}/members", json=eve)

        assert added.status == (201 if level == AccessLevel.OWNER else 403), level


async def test_maintainer_makes_and_unmakes_no_owner(
    docs: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await docs.add_user("pat"))
    await docs.add_member("docs/book", "pat", AccessLevel.MAINTAINER)
    await docs.add_member("docs/book", "eve", AccessLevel.OWNER)
    owner = {"access_level": 50}

    answers = [
        await person.post(f"{BOOK}/members", json=owner | {"username": "root"}),
        await person.put(f"{BOOK}/members/3", json=owner),
        await person.put(f"{BOOK}/members/4", json={"access_level": 10}),
        await person.delete(f"{BOOK}/members/4"),
    ]

    assert [answer.status for answer in answers] == [403] * 4
    assert (await levels(api, f"{BOOK}/members"))["eve"] == 50


async def test_member_leaves_but_not_as_the_last_owner(
    docs: EmbeddedService, api: Api
) -> None:
    bob = api.as_user(await docs.add_user("bob"))
    ann = await as_ann(docs, api)

    left = await bob.delete(f"{BOOK}/members/3")
    gone = await ann.delete(f"{BOOK}/members/3")
    last = await ann.delete(f"{DOCS}/members/2")
    lower = await ann.put(f"{DOCS}/members/2", json={"access_level": 30})

    assert (left.status, gone.status) == (204, 404)
    assert (last.status, lower.status) == (403, 403)
    assert await levels(api, f"{DOCS}/members") == {"ann": 50}


async def test_group_is_made_and_belongs_to_its_maker(
    docs: EmbeddedService, api: Api
) -> None:
    ann = await as_ann(docs, api)
    top = await ann.post("/api/v4/groups", json={"name": "New One", "path": "new-one"})
    body = {"name": "In", "path": "in", "parent_id": top.json["id"]}
    inner = await ann.post("/api/v4/groups", json=body)

    assert (top.status, top.json["full_path"]) == (201, "new-one")
    assert (top.json["name"], top.json["visibility"]) == ("New One", "private")
    assert (inner.status, inner.json["full_path"]) == (201, "new-one/in")
    assert inner.json["parent_id"] == top.json["id"]
    assert await levels(ann, "/api/v4/groups/new-one/members") == {"ann": 50}


NO_GROUPS: list[tuple[dict[str, Any], int, str]] = [
    ({"path": "docs"}, 400, 'Failed to save group {:path=>["has already been tak'),
    ({"path": "bob"}, 400, 'Failed to save group {:path=>["has already been tak'),
    ({"path": "api"}, 400, 'Failed to save group {:path=>["has already been tak'),
    ({"path": "-x"}, 400, 'Failed to save group {:path=>["must not start or end'),
    ({"name": " "}, 400, 'Failed to save group {:name=>["can\'t be blank"]}'),
    (
        {"parent_id": 2, "visibility": "public"},
        400,
        'Failed to save group {:visibility_level=>["public is not allowed since',
    ),
    ({"parent_id": 99}, 404, "404 Group Not Found"),
]


@pytest.mark.usefixtures("docs")
async def test_group_that_cannot_be_is_refused(api: Api) -> None:
    for body, status, message in NO_GROUPS:
        answer = await api.post(
            "/api/v4/groups", json={"name": "x", "path": "x"} | body
        )

        assert answer.status == status, body
        assert answer.json["message"].startswith(message)


async def test_maintainers_make_groups_in_a_group(
    docs: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await docs.add_user("pat"))
    body = {"name": "x", "path": "x", "parent_id": (await api.get(DOCS)).json["id"]}

    statuses = [(await person.post("/api/v4/groups", json=body)).status]
    for level in (AccessLevel.DEVELOPER, AccessLevel.MAINTAINER):
        await docs.add_member("docs", "pat", level)
        statuses.append((await person.post("/api/v4/groups", json=body)).status)

    assert statuses == [404, 403, 201]


async def test_users_are_found(docs: EmbeddedService, api: Api) -> None:
    await docs.block("eve")
    expected = {
        "": ["eve", "bob", "ann", "root"],
        "username=BOB": ["bob"],
        "username=nobody": [],
        "search=o": ["bob", "root"],
        "active=true": ["bob", "ann", "root"],
        "blocked=true": ["eve"],
        "per_page=1&page=2": ["bob"],
    }

    found = {query: await api.get(f"/api/v4/users?{query}") for query in expected}

    assert {
        query: [user["username"] for user in answer.json]
        for query, answer in found.items()
    } == expected


async def test_stranger_looks_up_one_username_and_no_more(
    docs: EmbeddedService, api: Api
) -> None:
    nobody = api.as_user(None)
    reader = api.as_user(await docs.add_user("ann", scopes=("read_user",)))
    named = await nobody.get("/api/v4/users?username=bob")
    every = await nobody.get("/api/v4/users?search=bob")
    single = await nobody.get("/api/v4/users/3")

    assert [user["id"] for user in named.json] == [3]
    text = "403 Forbidden - Not authorized to access /api/v4/users"
    assert (every.status, every.json) == (403, {"message": text})
    assert (single.status, single.json) == (
        403,
        {"message": "403 Forbidden - Not authorized!"},
    )
    assert (await reader.get("/api/v4/users/3")).json["username"] == "bob"
    assert (await reader.get("/api/v4/users/99")).json == {
        "message": "404 User Not Found"
    }
    assert (await reader.get("/api/v4/users/bob")).json == {"error": "404 Not Found"}
