"""Forks: there at once, filled later, and what is refused."""

import asyncio
import shutil
from pathlib import Path

import aiohttp
import pygit2

from tests.service.conftest import Api
from tests.support.service import EmbeddedService, embedded_service
from wikisync.service import jobs

PROJECTS = "/api/v4/projects"


async def source(service: EmbeddedService, visibility: str = "public") -> int:
    project = await service.add_project("docs/source", visibility=visibility)
    files = {"README.md": b"# Source", "src/a.py": b"x = 1\n", "LICENSE": b"?"}
    await service.add_code("docs/source", files)
    return project


async def test_fork_is_there_at_once_and_filled_later(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    gate = asyncio.Event()
    service.service.import_gate = gate

    made = await api.post(f"{PROJECTS}/{project}/fork")
    waiting = await api.get(f"{PROJECTS}/{made.json['id']}/import")
    gate.set()
    await service.wait_for_imports()
    done = await api.get(f"{PROJECTS}/{made.json['id']}")

    tree = await service.running.code(made.json["id"]).tree()
    assert tree is not None
    assert (made.status, made.json["import_status"]) == (201, "scheduled")
    assert waiting.json["import_status"] in {"scheduled", "started"}
    assert (done.json["import_status"], done.json["default_branch"]) == (
        "finished",
        "main",
    )
    assert done.json["forked_from_project"]["id"] == project
    assert done.json["mr_default_target_self"] is False
    assert [file.path for file in tree.files] == ["LICENSE", "README.md", "src/a.py"]


async def test_fork_has_some_attributes_of_its_source(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    texts = {"merge_commit_template": "%{title}", "pages_access_level": "enabled"}
    await api.put(f"{PROJECTS}/{project}", json={"merge_method": "ff", **texts})

    made = (await api.post(f"{PROJECTS}/{project}/fork")).json

    assert {name: made[name] for name in texts} == texts
    assert made["merge_method"] == "merge"


async def test_only_a_fork_has_a_target_to_choose(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    fork = (await api.post(f"{PROJECTS}/{project}/fork")).json["id"]
    body = {"mr_default_target_self": True}

    refused = await api.put(f"{PROJECTS}/{project}", json=body)
    same = await api.put(f"{PROJECTS}/{project}", json={"mr_default_target_self": 0})
    taken = await api.put(f"{PROJECTS}/{fork}", json=body)

    text = "This setting is allowed for forked projects only"
    assert (refused.status, refused.json) == (
        400,
        {"message": {"project_setting.mr_default_target_self": [text]}},
    )
    assert (same.status, taken.status) == (200, 200)
    assert taken.json["mr_default_target_self"] is True


async def test_fork_stays_when_its_source_goes(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    made = (await api.post(f"{PROJECTS}/{project}/fork")).json
    await service.wait_for_imports()
    folder = service.running.code_folder(project)
    code = service.running.code(made["id"])

    await asyncio.to_thread(shutil.rmtree, folder)
    tree = await code.tree()

    assert tree is not None
    assert await code.read(tree.files[1].blob) == b"# Source"


async def test_fork_whose_source_is_broken_fails_and_says_so(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    person = api.as_user(await service.add_user("dana"))
    for file in service.running.code_folder(project).rglob("*"):
        if file.is_file() and "objects" in file.parts:
            file.unlink()
    made = (await api.post(f"{PROJECTS}/{project}/fork")).json
    await service.wait_for_imports()

    own = (await api.get(f"{PROJECTS}/{made['id']}/import")).json
    other = (await person.get(f"{PROJECTS}/{made['id']}/import")).json

    assert own["import_status"] == "failed"
    assert own["import_error"] == "The repository could not be copied."
    assert other["import_error"] == "Ask a maintainer for the reason."


async def test_fork_of_one_branch_has_only_that(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    git = pygit2.Repository(str(service.running.code_folder(project)))
    git.branches.create("side", git.head.peel(pygit2.Commit))

    missing = await api.post(f"{PROJECTS}/{project}/fork", json={"branches": "no"})
    made = await api.post(f"{PROJECTS}/{project}/fork", json={"branches": "side"})
    await service.wait_for_imports()

    fork = service.running.code(made.json["id"]).repository
    assert (missing.status, missing.json) == (
        404,
        {"message": "404 Source Branch Not Found"},
    )
    assert (fork.branch(), fork.has_branch("main")) == ("side", False)


async def test_fork_that_cannot_be_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service, "internal")
    await api.post(f"{PROJECTS}/{project}/fork")
    stranger = api.as_user(await service.add_user("eve"))
    await service.add_group("docs/inner")

    again = await api.post(f"{PROJECTS}/{project}/fork", json={"path": "other"})
    closed = await stranger.post(
        f"{PROJECTS}/{project}/fork", json={"namespace_path": "root"}
    )
    hidden = await stranger.post(
        f"{PROJECTS}/{project}/fork", json={"namespace_path": "docs/inner"}
    )
    space = await api.post(f"{PROJECTS}/{project}/fork", json={"namespace_id": 999})
    old = await api.post(f"{PROJECTS}/{project}/fork", json={"namespace": "docs"})

    assert again.status == old.status == 409
    assert again.json["message"] == [
        "Name has already been taken",
        "Project namespace name has already been taken",
    ]
    assert old.json["message"] == [
        "Name has already been taken",
        "Path has already been taken",
        "Project namespace name has already been taken",
    ]
    assert (space.status, space.json) == (hidden.status, hidden.json)
    assert (space.status, space.json) == (404, {"message": "404 Namespace Not Found"})
    assert (closed.status, closed.json) == (
        404,
        {"message": "404 Target Namespace Not Found"},
    )


async def test_visibility_of_a_fork_is_lowered_to_what_may_be(
    service: EmbeddedService, api: Api
) -> None:
    for number, (source_is, group_is, wanted, becomes) in enumerate(
        [
            ("public", "public", "internal", "internal"),
            ("internal", "public", "public", "internal"),
            ("public", "private", "public", "private"),
            ("public", "internal", None, "internal"),
            ("private", "public", None, "private"),
        ]
    ):
        project = await service.add_project(f"docs/s{number}", visibility=source_is)
        await service.add_group(f"target{number}", visibility=group_is)
        asked = {"namespace_path": f"target{number}", "visibility": wanted}

        made = await api.post(f"{PROJECTS}/{project}/fork", json=asked)

        assert (made.status, made.json["visibility"]) == (201, becomes), number


async def test_number_of_a_namespace_wins_over_its_path(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    number = await service.add_group("wins")
    await service.add_group("loses")
    asked = {"namespace_id": number, "namespace_path": "loses"}

    made = await api.post(f"{PROJECTS}/{project}/fork", json=asked)

    assert made.json["path_with_namespace"] == "wins/source"


async def test_fork_takes_the_picture_and_no_topics(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    form = aiohttp.FormData({"topics": "sea"})
    picture = b"\x89PNG\r\n\x1a\nbytes"
    form.add_field("avatar", picture, filename="a.png")
    sent = await api.put(f"{PROJECTS}/{project}", data=form)

    made = await api.post(f"{PROJECTS}/{project}/fork")
    await api.put(f"{PROJECTS}/{project}", json={"avatar": ""})
    shown = await api.get(made.json["avatar_url"].removeprefix(api.base))

    assert (sent.json["topics"], made.json["topics"]) == (["sea"], [])
    assert (shown.status, shown.body) == (200, picture)


async def test_a_picture_that_is_gone_hinders_no_fork(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    form = aiohttp.FormData()
    form.add_field("avatar", b"\x89PNG\r\n\x1a\nbytes", filename="a.png")
    await api.put(f"{PROJECTS}/{project}", data=form)
    (service.service.avatar_folder(project) / "a.png").unlink()

    made = await api.post(f"{PROJECTS}/{project}/fork")

    assert (made.status, made.json["avatar_url"]) == (201, None)


async def test_project_that_members_alone_may_fork_has_none_for_a_stranger(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    settings = {"visibility": "public", "forking_access_level": "private"}
    await api.put(f"{PROJECTS}/{project}", json=settings)
    stranger = api.as_user(await service.add_user("ann"))

    seen = await stranger.get(f"{PROJECTS}/{project}")
    refused = await stranger.post(f"{PROJECTS}/{project}/fork")

    assert (seen.status, refused.status) == (200, 404)


async def test_project_that_lets_nobody_fork_seems_to_have_no_fork(
    service: EmbeddedService, api: Api
) -> None:
    project = await source(service)
    await api.put(f"{PROJECTS}/{project}", json={"forking_access_level": "disabled"})

    answer = await api.post(f"{PROJECTS}/{project}/fork")

    assert (answer.status, answer.json) == (404, {"message": "404 Not Found"})


async def test_unfinished_forks_go_on_at_the_next_start(tmp_path: Path) -> None:
    """Those that were under way, and one that had to wait for them."""
    async with embedded_service(tmp_path) as service, aiohttp.ClientSession() as http:
        project = await source(service)
        service.service.import_gate = asyncio.Event()
        api = Api(http, service.url, service.token)
        names = [f"fork-{number}" for number in range(jobs.IMPORTS_AT_ONCE + 1)]
        for name in names:
            asked = {"name": name, "path": name}
            await api.post(f"{PROJECTS}/{project}/fork", json=asked)

    async with embedded_service(tmp_path) as service, aiohttp.ClientSession() as http:
        await service.wait_for_imports()
        api = Api(http, service.url, service.token)
        done = [(await api.get(f"{PROJECTS}/root%2F{name}")).json for name in names]

    assert {one["import_status"] for one in done} == {"finished"}
    assert not any(one["empty_repo"] for one in done)
