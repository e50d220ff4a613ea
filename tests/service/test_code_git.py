"""A project's own repository by git over HTTP."""

import asyncio
from pathlib import Path

import pytest

from tests.service.conftest import WIKIS, Api
from tests.support.git import clone, commit_and_push, needs_git, run_git, with_token
from tests.support.service import EmbeddedService, embedded_service
from wikisync.service.settings import GitService, Settings

pytestmark = needs_git

CODE_GIT = "/docs/handbook.git"
SHOWN = "/api/v4/projects/docs%2Fhandbook"


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x\n", "dir/page": "y\n"})
    return service


@pytest.fixture
async def code(handbook: EmbeddedService, tmp_path: Path) -> Path:
    """A clone of a repository with one commit."""
    await handbook.add_code("docs/handbook", {"README.md": b"# x\n"})
    address = with_token(handbook.url + CODE_GIT, handbook.token)
    return await clone(address, tmp_path / "code")


async def test_address_of_a_project_is_cloned(
    handbook: EmbeddedService, api: Api, tmp_path: Path
) -> None:
    await handbook.add_code("docs/handbook", {"README.md": b"# x\n", "a/b.py": b"1"})
    address = (await api.get(SHOWN)).json["http_url_to_repo"]

    folder = await clone(with_token(address, handbook.token), tmp_path / "code")

    assert (folder / "README.md").read_text() == "# x\n"
    assert (folder / "a/b.py").read_text() == "1"
    assert not (folder / "home.md").exists()


@pytest.mark.parametrize("branch", ["main", "trunk"])
async def test_empty_project_is_cloned_and_filled(
    handbook: EmbeddedService, api: Api, tmp_path: Path, branch: str
) -> None:
    address = with_token(handbook.url + CODE_GIT, handbook.token)
    folder = await clone(address, tmp_path / "code")
    active = await last_activity(api)
    (folder / "README.md").write_text("# x")
    (folder / "a.py").write_text("pass")

    ran = await commit_and_push(folder, "origin", f"HEAD:{branch}")
    shown = (await api.get(SHOWN + "?statistics=true")).json

    assert (ran.code, ran.err) == (0, "")
    assert (shown["default_branch"], shown["empty_repo"]) == (branch, False)
    assert shown["readme_url"].endswith(f"/-/blob/{branch}/README.md")
    assert shown["statistics"]["commit_count"] == 1
    assert shown["last_activity_at"] > active
    assert (await api.get(f"{SHOWN}/languages")).json == {"Python": 100.0}


async def test_push_changes_what_is_shown_of_the_code_and_no_page(
    api: Api, code: Path
) -> None:
    pages = await api.get(WIKIS)
    (code / "README.md").unlink()
    (code / "home.md").write_text("no page")

    ran = await commit_and_push(code)

    assert ran.code == 0
    assert (await api.get(SHOWN)).json["readme_url"] is None
    assert (await api.get(WIKIS)).json == pages.json


@pytest.mark.parametrize("words", [(), ("-o", "ci.skip")])
async def test_push_over_a_limit_of_objects_changes_nothing(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    settings = Settings(git=GitService(objects_max=2))
    async with embedded_service(tmp_path, settings=settings) as service:
        await service.add_project("docs/handbook")
        address = with_token(service.url + CODE_GIT, service.token)
        folder = await clone(address, tmp_path / "copy")
        (folder / "a.txt").write_text("x")
        ran = await commit_and_push(folder, *words, "origin", "HEAD:main")
        left = await run_git("ls-remote", address)

    assert (ran.code, left.out) == (1, "")
    assert "it has more than 2 objects" in ran.err


async def test_code_that_is_still_to_come_cannot_be_pushed_to(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.service.import_gate = asyncio.Event()
    await api.post(f"{SHOWN}/fork", json={"path": "fork"})
    answer = await api.get("/root/fork.git/info/refs?service=git-receive-pack")
    assert (answer.status, answer.body[:12]) == (404, b"A repository")


async def last_activity(api: Api) -> str:
    answer = await api.get("/api/v4/projects/docs%2Fhandbook")
    return str(answer.json["last_activity_at"])
