"""Jobs in the background: imports by address or template, and packing."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from tests.service.conftest import Answer, Api
from tests.support.git import needs_git, run_git
from tests.support.git_http import git_server, silent_server
from tests.support.service import AUTHOR, EmbeddedService, embedded_service
from tests.support.waiting import until
from wikisync.core.model import WikiOwner
from wikisync.service import jobs
from wikisync.service.editing import CommitPlan
from wikisync.service.jobs import BUILT_IN
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Imports, Settings

PROJECTS = "/api/v4/projects"
SECRET = "glpat-EXAMPLE"
HOSTS = frozenset({"127.0.0.1"})
SCHEMES = frozenset({"http", "file"})


def allow_imports(service: EmbeddedService, **limits: Any) -> None:
    """Let projects be made from addresses."""
    imports = Imports(HOSTS, SCHEMES, **limits)
    service.running.settings = replace(service.running.settings, imports=imports)


async def create(api: Api, **attributes: Any) -> Answer:
    return await api.post(PROJECTS, json=attributes)


async def shown(api: Api, project: int) -> Any:
    return (await api.get(f"{PROJECTS}/{project}")).json


async def stored_address(service: EmbeddedService, project: int) -> str:
    query = "SELECT import_url FROM project WHERE id = ?"
    row = await service.ask(lambda tables: tables.one(query, (project,)))
    return str(row[0])


async def source_folder(service: EmbeddedService) -> Path:
    """A project with code; gives the folder of its repository."""
    project = await service.add_project("docs/source", visibility="public")
    files = {"README.md": b"# Source", "src/a.py": b"x = 1\n", "LICENSE": b"?"}
    await service.add_code("docs/source", files)
    return service.running.code_folder(project)


@asynccontextmanager
async def imported(
    service: EmbeddedService, api: Api, user: str = "dana", password: str = SECRET
) -> AsyncIterator[tuple[int, str]]:
    """A project imported with a password; gives its id, and the bare address."""
    folder = await source_folder(service)
    allow_imports(service)
    async with git_server(folder.parent, user="dana", password=SECRET) as url:
        place = url.removeprefix("http://")
        address = f"http://{user}:{password}@{place}/{folder.name}"
        made = await create(api, name="a", import_url=address)
        await service.wait_for_imports()
        assert made.json["import_url"] == f"{url}/{folder.name}"
        yield made.json["id"], f"{url}/{folder.name}"


async def test_import_brings_a_repository(service: EmbeddedService, api: Api) -> None:
    folder = await source_folder(service)
    allow_imports(service)

    made = await create(api, name="a", import_url=f"file://{folder}")
    await service.wait_for_imports()
    listed = await api.get(f"{PROJECTS}?imported=true")
    done = await shown(api, made.json["id"])

    assert (made.status, made.json["import_status"]) == (201, "scheduled")
    assert (done["import_status"], done["import_type"]) == ("finished", "git")
    assert done["import_url"] == f"file://{folder}"
    assert [one["id"] for one in listed.json] == [made.json["id"]]


async def test_import_over_http_with_a_password_brings_a_repository(
    service: EmbeddedService, api: Api
) -> None:
    async with imported(service, api) as (project, address):
        done = await shown(api, project)
        languages = await api.get(f"{PROJECTS}/{project}/languages")
        stored = await stored_address(service, project)

    assert stored == address, "the password is forgotten"
    assert (done["import_status"], done["import_error"]) == ("finished", None)
    assert (done["import_url"], done["default_branch"]) == (address, "main")
    assert languages.json == {"Python": 100.0}


@pytest.mark.parametrize(("is_own", "status"), [(True, "finished"), (False, "failed")])
async def test_token_in_an_address_is_its_password(
    service: EmbeddedService, api: Api, is_own: bool, status: str
) -> None:
    """The service imports from itself: a private wiki, by git over HTTP."""
    owner = WikiOwner("project", "docs/book")
    await service.add_project("docs/book", {"home": "# Home"})
    stranger = await service.add_user("eve")
    token = service.token if is_own else stranger
    allow_imports(service)
    place = service.url.removeprefix("http://")
    address = f"http://oauth2:{token}@{place}/{owner.full_path}.wiki.git"

    made = await create(api, name="a", import_url=address)
    await service.wait_for_imports()

    done = await shown(api, made.json["id"])
    tree = await service.running.code(made.json["id"]).tree()
    assert tree is not None
    assert done["import_status"] == status
    assert [file.path for file in tree.files] == ["home.md"] * is_own
    assert token not in str(done)


async def test_password_of_a_failed_import_is_told_nowhere(
    service: EmbeddedService, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async with imported(service, api, user="eve") as (project, address):
        answers = [
            (await api.get(f"{PROJECTS}/{project}")).body.decode(),
            (await api.get(f"{PROJECTS}/{project}/import")).body.decode(),
            (await api.get(f"{PROJECTS}?imported=true")).body.decode(),
        ]
        failed = await shown(api, project)

    start = f"The repository at {address} could not be copied: "
    assert failed["import_status"] == "failed"
    assert failed["import_error"].startswith(start)
    assert "could not be copied" in caplog.text
    assert SECRET not in "".join((*answers, caplog.text))
    assert await stored_address(service, project) == address


async def test_import_that_takes_too_long_fails_and_others_go_on(
    service: EmbeddedService, api: Api
) -> None:
    """Silent servers hold up neither forks nor the service's end."""
    await source_folder(service)
    allow_imports(service, deadline_s=1.0)
    async with silent_server() as silent:
        for name in "abc":
            await create(api, name=name, import_url=f"{silent.url}/{name}.git")
        fork = (await api.post(f"{PROJECTS}/docs%2Fsource/fork")).json
        copies = service.running.imports(is_fetched=False)
        await copies.join()
        forked = await shown(api, fork["id"])
        slow = await shown(api, fork["id"] - 1)
        await service.wait_for_imports()

    failed = await shown(api, fork["id"] - 1)
    assert (forked["import_status"], slow["import_status"]) == ("finished", "scheduled")
    assert (failed["import_status"], failed["import_error"]) == (
        "failed",
        f"The repository at {silent.url}/c.git did not arrive within 1 seconds.",
    )


async def test_import_that_was_under_way_goes_on_at_the_next_start(
    tmp_path: Path,
) -> None:
    """What the interrupted one left behind is removed."""
    async with silent_server() as silent, aiohttp.ClientSession() as http:
        settings = Settings(imports=Imports(HOSTS, SCHEMES))
        async with embedded_service(tmp_path, settings=settings) as service:
            api = Api(http, service.url, service.token)
            made = (await create(api, name="a", import_url=f"{silent.url}/x")).json
            await silent.asked.wait()
            folder = service.running.code_folder(made["id"])
        left = folder.with_name(f"{folder.name}.1.copy")
        left.mkdir()

        settings = Settings(imports=Imports(HOSTS, SCHEMES, deadline_s=1.0))
        async with embedded_service(tmp_path, settings=settings) as service:
            # it does not hold up forks now either
            await service.running.imports(is_fetched=False).join()
            api = Api(http, service.url, service.token)
            again = await shown(api, made["id"])
            await service.wait_for_imports()
            done = await shown(api, made["id"])

    assert (made["import_status"], done["import_status"]) == ("scheduled", "failed")
    assert again["import_status"] in {"scheduled", "started"}
    assert not left.exists()


async def test_address_is_not_changed_while_the_import_is_under_way(
    service: EmbeddedService, api: Api
) -> None:
    service.service.import_gate = asyncio.Event()
    made = (await create(api, name="a", template_name="hugo")).json

    answer = await api.put(
        f"{PROJECTS}/{made['id']}", json={"import_url": "http://example.com/x"}
    )

    assert (answer.status, list(answer.json["message"])) == (400, ["import_url"])


async def test_built_in_template_begins_a_project_with_a_commit(
    service: EmbeddedService, api: Api
) -> None:
    for name in BUILT_IN:
        made = await create(api, name=f"My {name}", path=name, template_name=name)
        await service.wait_for_imports()
        done = await shown(api, made.json["id"])

        code = service.running.code(made.json["id"])
        tree = await code.tree()
        assert tree is not None
        readme = await code.read(tree.files[0].blob)
        assert (made.status, made.json["import_status"]) == (201, "scheduled")
        assert (done["import_status"], done["import_type"]) == (
            "finished",
            "gitlab_built_in_project_template",
        )
        assert (done["default_branch"], done["import_url"]) == ("main", None)
        assert done["readme_url"].endswith(f"/root/{name}/-/blob/main/README.md")
        assert readme.decode().startswith(f"# My {name}\n")
        assert f"`{name}`" in readme.decode()


async def test_project_removed_while_it_is_filled_leaves_nothing(
    service: EmbeddedService, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()
    service.service.import_gate = gate
    service.set_deletion(delay_days=0)
    await source_folder(service)
    made = (await create(api, name="a", template_name="hugo")).json
    fork = (await api.post(f"{PROJECTS}/docs%2Fsource/fork")).json

    await api.delete(f"{PROJECTS}/{made['id']}")
    await api.delete(f"{PROJECTS}/{fork['id']}")
    await jobs.purge(service.running)
    gate.set()
    await service.wait_for_imports()

    folders = [service.running.code_folder(one["id"]) for one in (made, fork)]
    assert [folder.exists() for folder in folders] == [False, False]
    assert "Traceback" not in caplog.text


async def test_fork_whose_end_could_not_be_noted_is_tried_again(
    service: EmbeddedService, api: Api
) -> None:
    """A full disk lets nothing be noted, and has room later."""
    settings = service.running.settings
    service.running.settings = replace(settings, measure_interval_s=0.05)
    refuse = "CREATE TRIGGER full BEFORE UPDATE OF import_status ON project"
    refuse += " BEGIN SELECT RAISE(ABORT, 'full'); END"
    await source_folder(service)
    await service.ask(lambda tables: tables.one(refuse, ()))
    fork = (await api.post(f"{PROJECTS}/docs%2Fsource/fork")).json["id"]
    await service.wait_for_imports()
    assert (await shown(api, fork))["import_status"] == "scheduled"
    await service.ask(lambda tables: tables.one("DROP TRIGGER full", ()))

    async def is_done() -> bool:
        return bool((await shown(api, fork))["import_status"] == "finished")

    await until(is_done)


@needs_git
async def test_service_packs_a_wiki_that_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PACK", ("-c", "gc.auto=1", *jobs.PACK[2:]))
    loop, packed, close = (
        asyncio.get_running_loop(),
        asyncio.Event(),
        WikiRepository.close_packs,
    )

    def close_then_tell(repository: WikiRepository) -> None:
        close(repository)
        loop.call_soon_threadsafe(packed.set)

    monkeypatch.setattr(WikiRepository, "close_packs", close_then_tell)
    settings = Settings(measure_interval_s=0.05)
    pages = tmp_path / "wiki"
    pages.mkdir()
    for number in range(1500):
        (pages / f"page-{number}.md").write_text(f"# Page\n\nText {number}.\n")
    async with embedded_service(tmp_path / "data", settings=settings) as service:
        await service.load_folder(pages)
        storage = await service.wiki(WikiOwner("project", "local/wiki"))
        repository = storage.repository
        async with asyncio.timeout(30):
            await packed.wait()
        assert list((repository.path / "objects" / "pack").glob("*.pack"))
        assert not (repository.path / "gc.pid").exists()
        change = CommitPlan("edit", writes={"page-1.md": b"# Page"})
        await storage.change(lambda _tree: change, AUTHOR)

        checked = await run_git("fsck", "--full", "--strict", folder=repository.path)
        assert (checked.code, checked.err) == (0, "")
        blobs = [file.blob for file in repository.tree().files]
        texts = list(repository.read_many(blobs))
        assert len(texts) == 1500
        assert all(text.startswith(b"# Page") for text in texts)
