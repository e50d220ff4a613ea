"""Create, create for a user, edit and fork: what they make and what they refuse."""

from typing import Any

import aiohttp
import pytest

from tests.service.conftest import Answer, Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import WikiOwner

PROJECTS = "/api/v4/projects"
PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100
TAKEN = ["has already been taken"]
SPECIAL = [
    (
        "must not start or end with a special character and must not contain"
        " consecutive special characters."
    )
]
ENDING = [
    (
        "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-',"
        " end in '.git' or end in '.atom'"
    )
]
NAME = [
    (
        "can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces."
        " It must start with a letter, digit, emoji, or '_'."
    )
]


async def create(api: Api, **attributes: Any) -> Answer:
    return await api.post(PROJECTS, json=attributes)


async def test_new_project_has_the_services_defaults(api: Api) -> None:
    answer = await create(api, name="Ünder The Sea!", description="x")
    refused = answer.status

    made = (await create(api, name="Under The Sea")).json

    assert refused == 400
    assert (made["path"], made["name"]) == ("under-the-sea", "Under The Sea")
    assert (made["visibility"], made["default_branch"]) == ("private", None)
    assert (made["empty_repo"], made["star_count"]) == (True, 0)
    assert made["namespace"]["kind"] == "user"
    assert (made["wiki_access_level"], made["merge_method"]) == ("enabled", "merge")
    assert (made["import_status"], made["archived"]) == ("none", False)


async def test_name_is_the_path_where_there_is_none(api: Api) -> None:
    made = await create(api, path="only-a-path")

    assert (made.status, made.json["name"]) == (201, "only-a-path")


BROKEN: list[tuple[dict[str, Any], object]] = [
    ({"name": "x", "path": "-a"}, {"path": SPECIAL, "project_namespace.path": SPECIAL}),
    ({"path": "a-"}, {"path": SPECIAL, "project_namespace.path": SPECIAL}),
    ({"path": "a--b"}, {"path": SPECIAL, "project_namespace.path": SPECIAL}),
    ({"path": "a.-b"}, {"path": SPECIAL, "project_namespace.path": SPECIAL}),
    (
        {"name": "x", "path": "a/b"},
        {"path": SPECIAL, "project_namespace.path": SPECIAL},
    ),
    ({"path": "a.git"}, {"path": ENDING, "project_namespace.path": ENDING}),
    ({"path": "a.atom"}, {"path": ENDING, "project_namespace.path": ENDING}),
    (
        {"path": "wikis"},
        {
            "path": ["wikis is a reserved name"],
            "project_namespace.path": ["wikis is a reserved name"],
        },
    ),
    ({"path": "a", "name": "(a)"}, {"name": NAME}),
    ({"path": "a", "name": "a/b"}, {"name": NAME}),
    (
        {"path": "a", "name": "n" * 256},
        {"name": ["is too long (maximum is 255 characters)"]},
    ),
    (
        {"name": "a", "description": "d" * 2001},
        {"description": ["is too long (maximum is 2000 characters)"]},
    ),
    (
        {"name": "a", "ci_config_path": "/x"},
        {"ci_config_path": ["cannot include leading slash or directory traversal."]},
    ),
    (
        {"name": "a", "ci_config_path": "x/../../y"},
        {"ci_config_path": ["cannot include leading slash or directory traversal."]},
    ),
    (
        {"name": "a", "build_timeout": 1},
        {"build_timeout": ["needs to be between 10 minutes and 1 month"]},
    ),
    (
        {"name": "a", "topics": ["t" * 256]},
        {"topics": ["is too long (maximum is 255 characters)"]},
    ),
    ({"name": "a", "namespace_id": 999}, {"namespace": ["is not valid"]}),
    (
        {"name": "a", "template_name": "cobol"},
        {"template_name": ["'cobol' is unknown or invalid"]},
    ),
    (
        {"name": "a", "template_project_id": 999},
        {"template_project_id": ["999 is unknown or invalid"]},
    ),
    (
        {"name": "a", "use_custom_template": True},
        {
            "use_custom_template": [
                "must be used with template_name or template_project_id"
            ]
        },
    ),
    (
        {
            "name": "a",
            "import_url": "https://example.com/x.git",
            "initialize_with_readme": True,
        },
        "not a git repository",
    ),
    (
        {"name": "a", "template_name": "x", "initialize_with_readme": True},
        "not a git repository",
    ),
]


async def test_rule_that_is_broken_is_told(api: Api) -> None:
    for attributes, message in BROKEN:
        answer = await create(api, **attributes)

        assert (answer.status, answer.json) == (400, {"message": message}), attributes


async def test_names_of_every_script_are_taken(api: Api) -> None:
    names = ("Ä b", "日本語", "🎉 party", "_x", "a+b.c-d – e")
    for number, name in enumerate(names):
        answer = await create(api, name=name, path=f"x{number}")

        assert (answer.status, answer.json["name"]) == (201, name)


async def test_same_name_and_path_are_taken_once(api: Api) -> None:
    await create(api, name="a", path="a")

    both = await create(api, name="a", path="A")
    name = await create(api, name="a", path="b")
    path = await create(api, name="b", path="A")

    assert both.json["message"] == {
        "name": TAKEN,
        "path": TAKEN,
        "project_namespace.name": TAKEN,
    }
    assert set(name.json["message"]) == {"name", "project_namespace.name"}
    assert path.json["message"] == {"path": TAKEN}


async def test_visibility_is_not_above_the_groups(
    service: EmbeddedService, api: Api
) -> None:
    group = await service.add_group("docs", visibility="internal")

    answer = await create(api, name="a", namespace_id=group, visibility="public")

    text = "public is not allowed in a internal group."
    assert (answer.status, answer.json) == (
        400,
        {"message": {"visibility_level": [text]}},
    )


@pytest.mark.parametrize(("level", "status"), [(AccessLevel.REPORTER, 400), (30, 201)])
async def test_developers_make_projects_in_their_group(
    service: EmbeddedService, api: Api, level: int, status: int
) -> None:
    group = await service.add_group("docs")
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs", "dana", level)

    assert (await create(person, name="a", namespace_id=group)).status == status


async def test_limit_of_own_projects(service: EmbeddedService, api: Api) -> None:
    person = api.as_user(await service.add_user("dana"))
    db = "UPDATE user SET projects_limit = 0"
    await service.ask(lambda tables: tables.db.execute(db))

    own = await create(person, name="a")
    given = await api.post(f"{PROJECTS}/user/2", json={"name": "a"})

    text = (
        "You've reached your limit of 0 projects created."
        " Contact your GitLab administrator."
    )
    assert (own.status, own.json) == (403, {"error": [text]})
    assert (given.status, list(given.json["message"])) == (400, ["limit_reached"])


async def test_administrator_creates_for_someone(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_user("dana")

    made = await api.post(f"{PROJECTS}/user/2", json={"name": "a"})
    nobody = await api.post(f"{PROJECTS}/user/99", json={"name": "a"})
    nameless = await api.post(f"{PROJECTS}/user/2", json={"path": "a"})
    odd = await api.post(f"{PROJECTS}/user/dana", json={"name": "a"})

    assert made.json["path_with_namespace"] == "dana/a"
    assert made.json["owner"]["name"] == "dana"
    assert (nobody.status, nobody.json) == (404, {"message": "404 User Not Found"})
    assert (nameless.status, nameless.json) == (400, {"error": "name is missing"})
    assert (odd.status, odd.json) == (400, {"error": "user_id is invalid"})


async def test_readme_makes_a_real_repository(
    service: EmbeddedService, api: Api
) -> None:
    made = await create(
        api,
        name="Sea",
        description="Deep.",
        initialize_with_readme=True,
        default_branch="trunk",
    )

    code = service.running.code(made.json["id"])
    tree = await code.tree()
    assert tree is not None
    assert (made.json["default_branch"], made.json["empty_repo"]) == ("trunk", False)
    assert made.json["readme_url"].endswith("/root/sea/-/blob/trunk/README.md")
    assert await code.read(tree.files[0].blob) == b"# Sea\n\nDeep.\n"


async def test_branch_that_git_cannot_hold_is_refused_and_leaves_no_project(
    api: Api,
) -> None:
    readme = {"name": "a", "initialize_with_readme": True}
    text = {"message": {"default_branch": ["is not a valid branch name"]}}

    for name in ("a..b", "../x", "-x", "x.lock", "b" * 245, "a b"):
        made = await create(api, **readme, default_branch=name)

        assert (made.status, made.json) == (400, text), name
    assert (await api.get(PROJECTS)).json == []


async def test_person_owns_what_is_in_the_own_namespace(
    service: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await service.add_user("dana"))
    made = (await create(person, name="a")).json

    listed = (await person.get(PROJECTS)).json[0]
    other = (await api.get(f"{PROJECTS}/{made['id']}")).json

    owner = {"access_level": AccessLevel.OWNER, "notification_level": 3}
    assert made["permissions"] == {"project_access": owner, "group_access": None}
    assert listed["permissions"] == made["permissions"]
    assert other["permissions"]["project_access"] is None


async def test_old_names_are_taken_and_new_ones_win(api: Api) -> None:
    made = await create(
        api,
        name="a",
        tag_list="x, y,x",
        wiki_enabled=False,
        issues_enabled=False,
        issues_access_level="private",
        emails_disabled=True,
    )

    shown = made.json
    assert shown["topics"] == shown["tag_list"] == ["x", "y"]
    assert (shown["wiki_access_level"], shown["wiki_enabled"]) == ("disabled", False)
    assert (shown["issues_access_level"], shown["issues_enabled"]) == ("private", True)
    assert (shown["emails_enabled"], shown["emails_disabled"]) == (False, True)


async def test_form_brings_arrays_and_hashes(api: Api) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    policy = "container_expiration_policy_attributes"
    body = f"name=a&topics[]=x&topics[]=y&{policy}[keep_n]=5&{policy}[name_regex]=z"

    made = await api.post(PROJECTS, data=body, headers=headers)

    shown = made.json["container_expiration_policy"]
    assert made.json["topics"] == ["x", "y"]
    assert (shown["keep_n"], shown["name_regex_delete"]) == (5, "z")


async def test_edit_changes_what_is_sent_and_nothing_else(api: Api) -> None:
    made = (await create(api, name="a", description="x", merge_method="ff")).json

    edited = await api.put(
        f"{PROJECTS}/{made['id']}", json={"squash_option": "always", "topics": ["t"]}
    )

    kept = ("name", "path", "description", "merge_method", "created_at")
    assert edited.status == 200
    assert (edited.json["squash_option"], edited.json["topics"]) == ("always", ["t"])
    assert [edited.json[name] for name in kept] == [made[name] for name in kept]


async def test_edit_without_attributes_names_them_all(api: Api) -> None:
    made = (await create(api, name="a")).json

    answer = await api.put(f"{PROJECTS}/{made['id']}", json={"nothing": 1})

    text = answer.json["error"]
    assert answer.status == 400
    assert text.endswith(" are missing, at least one parameter must be provided")
    assert text.count(",") == 89


async def test_description_of_null_is_taken_away(api: Api) -> None:
    made = (await create(api, name="a", description="x")).json

    answer = await api.put(f"{PROJECTS}/{made['id']}", json={"description": None})

    assert (answer.status, answer.json["description"]) == (200, None)


async def test_branch_that_is_not_there_is_not_shown(api: Api) -> None:
    made = (await create(api, name="a", initialize_with_readme=True)).json

    answer = await api.put(f"{PROJECTS}/{made['id']}", json={"default_branch": "x"})

    text = "Could not change HEAD: branch 'x' does not exist"
    assert (answer.status, answer.json) == (400, {"message": {"base": [text]}})


async def test_new_path_leaves_a_way_from_the_old_one(api: Api) -> None:
    made = (await create(api, name="a", path="old")).json
    await api.put(f"{PROJECTS}/{made['id']}", json={"path": "new-one"})

    read = await api.get(f"{PROJECTS}/root%2Fold?simple=1")
    wiki = await api.get(f"{PROJECTS}/root%2Fold/wikis")
    written = await api.put(f"{PROJECTS}/root%2Fold", json={"name": "x"})
    hidden = await api.as_user(None).get(f"{PROJECTS}/root%2Fold")
    again = await create(api, name="b", path="old")
    found = await api.get(f"{PROJECTS}/root%2Fold")

    target = f"{api.base}{PROJECTS}/{made['id']}"
    assert (read.status, read.headers["Location"]) == (301, target + "?simple=1")
    assert wiki.headers["Location"] == target + "/wikis"
    assert read.body.decode().startswith("This resource has been moved permanently")
    assert (written.status, written.json) == (
        405,
        {"message": "Non GET methods are not allowed for moved projects"},
    )
    assert hidden.status == 404
    assert (again.status, found.json["id"]) == (201, again.json["id"])


async def test_only_administrators_name_a_storage_and_only_one_that_is(
    service: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await service.add_user("dana"))
    made = (await create(person, name="a", repository_storage="other")).json
    place = f"{PROJECTS}/{made['id']}"

    before = (await api.get(place)).json["repository_storage"]
    moved = await api.put(place, json={"repository_storage": "other"})
    kept = await api.put(place, json={"repository_storage": "default"})

    assert (before, kept.json["repository_storage"]) == ("default", "default")
    assert (moved.status, moved.json) == (
        400,
        {"message": {"repository_storage_moves": ["is invalid"]}},
    )
    assert "repository_storage" not in made


async def test_policy_that_can_be_is_kept(api: Api) -> None:
    policy = {
        "cadence": "1month",
        "keep_n": 10,
        "older_than": None,
        "name_regex_delete": "^old-.*$",
        "name_regex_keep": "release",
        "enabled": True,
    }
    sent = {"container_expiration_policy_attributes": policy}

    made = await create(api, name="a", **sent)

    shown = made.json["container_expiration_policy"]
    assert made.status == 201
    assert {name: shown[name] for name in policy} == policy


async def test_count_of_approvals_is_a_number(api: Api) -> None:
    made = (await create(api, name="a")).json
    text = {"message": {"approvals_before_merge": ["is not a number"]}}

    for nothing in (None, ""):
        answer = await api.put(
            f"{PROJECTS}/{made['id']}", json={"approvals_before_merge": nothing}
        )

        assert (answer.status, answer.json) == (400, text)


# pictures


def picture(name: str, content: bytes) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("avatar", content, filename=name)
    return form


async def test_picture_is_kept_served_and_removed(api: Api) -> None:
    made = (await create(api, name="a")).json
    place = f"{PROJECTS}/{made['id']}"

    sent = await api.put(place, data=picture("ab.png", PNG))
    path = sent.json["avatar_url"].removeprefix(api.base)
    shown = await api.get(path)
    hidden = await api.as_user(None).get(path)
    removed = await api.put(place, json={"avatar": ""})
    gone = await api.get(path)

    assert (sent.status, path) == (
        200,
        f"/uploads/-/system/project/avatar/{made['id']}/ab.png",
    )
    assert (shown.body, shown.headers["Content-Type"]) == (PNG, "image/png")
    assert (removed.status, removed.json["avatar_url"]) == (200, None)
    assert (hidden.status, gone.status) == (404, 404)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.png", PNG + b"x" * 200 * 1024, "is too big (should be at most 200 KiB)"),
        (
            "a.png",
            b"<script>",
            (
                "file format is not supported. Please try one of the following"
                " supported formats: image/png, image/jpeg, image/gif, image/bmp,"
                " image/tiff, image/vnd.microsoft.icon"
            ),
        ),
    ],
)
async def test_picture_that_is_none_is_refused(
    api: Api, name: str, content: bytes, text: str
) -> None:
    made = (await create(api, name="a")).json

    answer = await api.put(f"{PROJECTS}/{made['id']}", data=picture(name, content))

    assert (answer.status, answer.json) == (400, {"message": {"avatar": [text]}})


async def test_page_that_is_written_makes_a_contribution(
    service: EmbeddedService, api: Api
) -> None:
    person = api.as_user(await service.add_user("dana"))
    project = await service.add_project("docs/book", visibility="public")
    await service.add_member("docs/book", "dana", 30)
    await service.add_pages(WikiOwner("project", "docs/book"), {"x": "y"})
    place = "/api/v4/users/dana/contributed_projects"
    before = (await api.get(place)).json

    await person.post(
        f"{PROJECTS}/{project}/wikis", json={"title": "a", "content": "b"}
    )

    assert before == []
    assert [one["id"] for one in (await api.get(place)).json] == [project]


# -- transfer ----------------------------------------------------------------------


async def test_project_goes_to_another_namespace_and_keeps_its_id(
    service: EmbeddedService, api: Api
) -> None:
    number = await service.add_project("docs/book", {"home": "one\n"})
    team = await service.add_group("team")
    answer = await api.put(f"{PROJECTS}/{number}/transfer", json={"namespace": "team"})
    old = await api.get(f"{PROJECTS}/docs%2Fbook/wikis/home")
    assert (answer.status, answer.json["id"]) == (200, number)
    assert answer.json["path_with_namespace"] == "team/book"
    assert (old.status, old.headers["Location"]) == (
        301,
        f"{service.url}{PROJECTS}/{number}/wikis/home",
    )
    assert set(await service.files(WikiOwner("project", "team/book"))) == {"home.md"}
    again = await api.put(f"{PROJECTS}/{number}/transfer", json={"namespace": team})
    assert again.status == 400


async def test_transfer_to_where_the_path_is_taken_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    number = await service.add_project("docs/book")
    await service.add_project("team/book")
    answer = await api.put(f"{PROJECTS}/{number}/transfer", json={"namespace": "team"})
    assert answer.status == 400
    assert "target namespace already exists" in answer.json["message"]


async def test_transfer_wants_an_owner_and_a_namespace_that_it_may_use(
    service: EmbeddedService, api: Api
) -> None:
    number = await service.add_project("docs/book")
    await service.add_group("team")
    path = f"{PROJECTS}/{number}/transfer"
    person = api.as_user(await service.add_user("dana"))
    await service.add_member("docs/book", "dana", AccessLevel.MAINTAINER)
    refused = await person.put(path, json={"namespace": "team"})
    await service.add_member("docs/book", "dana", AccessLevel.OWNER)
    hidden = await person.put(path, json={"namespace": "team"})
    missing = await api.put(path, json={"namespace": "nowhere"})
    unsaid = await api.put(path, json={})
    assert (refused.status, hidden.status, missing.status) == (403, 404, 404)
    assert (unsaid.status, unsaid.json["error"]) == (400, "namespace is missing")
