"""Git over HTTP: wikis, by the real git."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import aiohttp
import pygit2
import pytest

from tests.service.conftest import PROJECT, WIKIS, Api
from tests.support.git import clone, commit_and_push, needs_git, run_git, with_token
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.service.settings import GitService, Settings

pytestmark = needs_git

WIKI_GIT = "/docs/handbook.wiki.git"
REFERENCES = f"{WIKI_GIT}/info/refs?service=git-upload-pack"


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x\n", "dir/page": "y\n"})
    return service


@pytest.fixture
def address(handbook: EmbeddedService) -> str:
    return with_token(handbook.url + WIKI_GIT, handbook.token)


@pytest.fixture
async def copy(address: str, tmp_path: Path) -> Path:
    return await clone(address, tmp_path / "copy")


async def test_who_may_not_push_is_told_so_and_who_may_not_see_is_not(
    handbook: EmbeddedService,
) -> None:
    """Git shows these words to its user."""
    tokens = [await handbook.add_user("reader"), await handbook.add_user("other")]
    await handbook.add_member("docs/handbook", "reader", 20)
    pushes = f"{WIKI_GIT}/info/refs?service=git-receive-pack"
    said: list[tuple[int, str]] = []
    async with aiohttp.ClientSession() as session:
        for token in tokens:
            address = with_token(handbook.url + pushes, token)
            async with session.get(address) as answer:
                said.append((answer.status, await answer.text()))
    hidden = (
        "The project you were looking for could not be found or you don't have"
        " permission to view it.\n"
    )
    allowed = "You are not allowed to write to this wiki.\n"
    assert said == [(403, allowed), (404, hidden)]


# clone


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_clone_brings_every_file(
    address: str, tmp_path: Path, version: str
) -> None:
    words = ("-c", f"protocol.version={version}", "clone", "-q")
    ran = await run_git(*words, address, tmp_path / "copy")
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "copy/dir/page.md").read_text() == "y\n"


async def test_data_may_lie_below_the_folder_that_the_service_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with embedded_service(Path("data")) as service:
        await service.add_project("docs/handbook", {"home": "x\n"})
        folder = await clone(
            with_token(service.url + WIKI_GIT, service.token), tmp_path / "copy"
        )

    assert (folder / "home.md").read_text() == "x\n"


@pytest.mark.parametrize("words", [("--depth=1",), ("--filter=blob:none", "--bare")])
async def test_clone_may_be_shallow_or_partial(
    address: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = await clone(address, tmp_path / "copy", *words)
    log_lines = (await run_git("log", "--format=%s", folder=folder)).out.split()
    assert log_lines == ["push"]


@pytest.mark.parametrize("depth", [0, 1])
async def test_library_that_wikisync_fetches_with_is_served_too(
    handbook: EmbeddedService, tmp_path: Path, depth: int
) -> None:
    class Callbacks(pygit2.RemoteCallbacks):
        def credentials(self, *_: object) -> pygit2.UserPass:
            return pygit2.UserPass("oauth2", handbook.token)

    def fetch() -> bytes:
        repository = pygit2.init_repository(tmp_path / "copy", bare=True)
        remote = repository.remotes.create_anonymous(handbook.url + WIKI_GIT)
        wanted = ["+refs/heads/*:refs/heads/*"]
        remote.fetch(wanted, callbacks=Callbacks(), depth=depth)
        return bytes(repository.revparse_single("main:home.md").peel(pygit2.Blob).data)

    assert await asyncio.to_thread(fetch) == b"x\n"


async def test_fetch_brings_what_came_since(
    handbook: EmbeddedService, copy: Path
) -> None:
    await handbook.add_pages(PROJECT, {"new": "z"})
    ran = await run_git("pull", "-q", folder=copy)
    assert ran.code == 0
    assert (copy / "new.md").read_text() == "z"


async def test_group_wiki_is_cloned_too(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_group("docs", {"home": "group"})
    address = with_token(service.url + "/docs.wiki.git", service.token)
    folder = await clone(address, tmp_path / "copy")
    assert (folder / "home.md").read_text() == "group"


@pytest.mark.parametrize("branch", ["main", "master"])
async def test_first_branch_of_an_empty_wiki_is_the_one_that_is_shown(
    service: EmbeddedService, api: Api, tmp_path: Path, branch: str
) -> None:
    await service.add_project("docs/handbook")
    address = with_token(service.url + WIKI_GIT, service.token)
    folder = await clone(address, tmp_path / "copy")
    (folder / "home.md").write_text("first")

    await commit_and_push(folder, "origin", f"HEAD:{branch}")

    assert (await api.get(f"{WIKIS}/home")).json["content"] == "first"


async def test_what_the_service_keeps_for_itself_is_not_told(
    handbook: EmbeddedService, address: str, tmp_path: Path
) -> None:
    folder = tmp_path / "load/handbook"
    folder.mkdir(parents=True)
    (folder / "home.md").write_text("loaded")
    await handbook.load_folder(folder)
    address = address.replace("docs/handbook", "local/handbook")

    ran = await run_git("ls-remote", address)

    names = [line.split("\t")[1] for line in ran.out.splitlines()]
    assert names == ["HEAD", "refs/heads/main"]


# push


async def test_push_shows_at_once_in_pages_list_and_activity(
    api: Api, copy: Path
) -> None:
    before = await api.get(WIKIS)
    active = await last_activity(api)
    (copy / "home.md").write_text("pushed")
    (copy / "new.asciidoc").write_text("= new")
    (copy / "dir/page.md").unlink()

    ran = await commit_and_push(copy)
    etag = {"If-None-Match": before.headers["ETag"]}
    after = await api.get(WIKIS, headers=etag)

    assert (ran.code, ran.err) == (0, "")
    assert after.status == 200
    assert [page["slug"] for page in after.json] == ["home", "new"]
    assert (await api.get(f"{WIKIS}/home")).json["content"] == "pushed"
    assert (await api.get(f"{WIKIS}/dir%2Fpage")).status == 404
    assert await last_activity(api) > active


async def test_push_options_are_taken_and_ignored(api: Api, copy: Path) -> None:
    await run_git("config", "push.pushOption", "ci.skip", folder=copy)
    (copy / "home.md").write_text("pushed")
    ran = await commit_and_push(copy, "-o", "merge_request.title=a\tb", "-o", "x")
    await run_git("push", "-q", "origin", "HEAD:draft", folder=copy)
    deleted = await run_git("push", "-q", "origin", ":draft", folder=copy)

    assert (ran.code, ran.err) == (0, "")
    assert (await api.get(f"{WIKIS}/home")).json["content"] == "pushed"
    assert deleted.code == 0, deleted.err


async def test_push_to_another_branch_changes_no_page_and_is_no_activity(
    handbook: EmbeddedService, api: Api, copy: Path
) -> None:
    active = await last_activity(api)
    (copy / "home.md").write_text("draft")

    ran = await commit_and_push(copy, "origin", "HEAD:draft")

    assert ran.code == 0
    assert (await handbook.files(PROJECT))["home.md"] == b"x\n"
    assert await last_activity(api) == active


async def test_id_of_a_page_follows_a_rename_by_git(
    handbook: EmbeddedService, api: Api, copy: Path
) -> None:
    handbook.quirks = {Quirk.META_ID}
    before = {
        page["slug"]: page["wiki_page_meta_id"] for page in (await api.get(WIKIS)).json
    }
    (copy / "home.md").rename(copy / "start.md")
    (copy / "dir/page.md").unlink()
    (copy / "dir/other.md").write_text("something else\n")

    await commit_and_push(copy)
    after = {
        page["slug"]: page["wiki_page_meta_id"] for page in (await api.get(WIKIS)).json
    }

    assert after["start"] == before["home"]
    assert after["dir/other"] not in before.values()


async def test_a_page_that_comes_back_after_a_push_without_it_is_another(
    handbook: EmbeddedService, api: Api, copy: Path
) -> None:
    handbook.quirks = {Quirk.META_ID}
    first = (await api.get(f"{WIKIS}/home")).json["wiki_page_meta_id"]
    (copy / "home.md").unlink()
    await commit_and_push(copy)
    (copy / "home.md").write_text("begun anew\n")
    await commit_and_push(copy)
    assert (await api.get(f"{WIKIS}/home")).json["wiki_page_meta_id"] != first


async def test_an_id_follows_a_page_that_is_all_that_a_push_renames(
    handbook: EmbeddedService, api: Api, copy: Path
) -> None:
    handbook.quirks = {Quirk.META_ID}
    first = (await api.get(f"{WIKIS}/home")).json["wiki_page_meta_id"]
    (copy / "home.md").rename(copy / "start.md")
    await commit_and_push(copy)
    assert (await api.get(f"{WIKIS}/start")).json["wiki_page_meta_id"] == first


async def test_edit_by_the_api_and_push_take_turns(api: Api, copy: Path) -> None:
    await api.put(f"{WIKIS}/home", json={"content": "by api"})
    (copy / "new.md").write_text("by git")

    refused = await commit_and_push(copy)
    await run_git("pull", "-q", "--rebase", folder=copy)
    taken = await run_git("push", "-q", folder=copy)

    assert (refused.code, taken.code) == (1, 0)
    assert "fetch first" in refused.err
    assert (await api.get(f"{WIKIS}/home")).json["content"] == "by api"
    edit = await api.put(f"{WIKIS}/new", json={"content": "by api again"})
    assert edit.status == 200


async def test_push_of_many_files_comes_in_parts(
    handbook: EmbeddedService, copy: Path
) -> None:
    for number in range(20):
        (copy / f"big-{number}.bin").write_bytes(Random(number).randbytes(200_000))
    ran = await commit_and_push(copy)
    assert (ran.code, ran.err) == (0, "")
    assert len(await handbook.files(PROJECT)) == 22


async def test_push_over_the_limit_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    settings = Settings(git=GitService(push_bytes_max=2000))
    async with embedded_service(tmp_path, settings=settings) as service:
        await service.add_project("docs/handbook", {"home": "x"})
        address = with_token(service.url + WIKI_GIT, service.token)
        folder = await clone(address, tmp_path / "copy")
        (folder / "a.bin").write_bytes(Random(1).randbytes(9000))
        ran = await commit_and_push(folder)

        assert (ran.code, "413" in ran.err) == (1, True)
        assert set(await service.files(PROJECT)) == {"home.md"}


async def test_branch_that_is_shown_cannot_be_deleted(
    handbook: EmbeddedService, copy: Path
) -> None:
    ran = await run_git("push", "-q", "origin", ":main", folder=copy)
    assert ran.code == 1
    assert set(await handbook.files(PROJECT)) == {"home.md", "dir/page.md"}


async def test_push_leaves_activity_alone_where_it_stands_still(
    handbook: EmbeddedService, api: Api, copy: Path
) -> None:
    handbook.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    active = await last_activity(api)
    (copy / "home.md").write_text("pushed")
    await commit_and_push(copy)
    assert await last_activity(api) == active


# faults


@pytest.mark.parametrize("name", ["git-upload-pack", "git-receive-pack"])
@pytest.mark.usefixtures("handbook")
async def test_rubbish_is_answered_and_logged(
    api: Api, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await api.post(f"{WIKI_GIT}/{name}", data=b"rubbish")
    assert answer.status == 500
    assert "ended with 128" in caplog.text
    assert (await api.get(WIKIS)).status == 200


@pytest.mark.usefixtures("handbook")
async def test_without_git_there_is_no_such_address(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    with caplog.at_level(logging.WARNING, "wikisync"):
        await api.get(REFERENCES)
        answer = await api.get(REFERENCES)

    assert (answer.status, answer.json) == (404, {"error": "404 Not Found"})
    assert caplog.text.count("there is no git executable on the PATH") == 1


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A service that gives git no time."""
    settings = Settings(git=GitService(seconds_max=0.0))
    async with embedded_service(tmp_path, settings=settings) as service:
        await service.add_project("docs/handbook", {"home": "x"})
        yield service


async def test_git_that_takes_too_long_is_stopped(
    hasty: EmbeddedService, caplog: pytest.LogCaptureFixture
) -> None:
    async with aiohttp.ClientSession() as session:
        answer = await Api(session, hasty.url, hasty.token).get(REFERENCES)
    assert answer.status == 500
    assert "took too long" in caplog.text


async def test_too_many_at_once_are_told_to_wait(tmp_path: Path) -> None:
    settings = Settings(git=GitService(processes_max=0, waiting_s=0.0))
    async with (
        embedded_service(tmp_path, settings=settings) as service,
        aiohttp.ClientSession() as session,
    ):
        await service.add_project("docs/handbook", {"home": "x"})
        answer = await Api(session, service.url, service.token).get(REFERENCES)

    assert (answer.status, answer.headers["Retry-After"]) == (503, "10")


async def last_activity(api: Api) -> str:
    answer = await api.get("/api/v4/projects/docs%2Fhandbook")
    return str(answer.json["last_activity_at"])
