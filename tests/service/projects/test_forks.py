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
