"""The wiki's git repository over HTTP, against the embedded service."""

import asyncio
import gc
import logging
import threading
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.conftest import TOKEN
from tests.api.faketime import FakeTime
from tests.api.wire import Wire, http
from tests.support import git_http
from tests.support.bending import bending_proxy
from tests.support.commits import committed_as_it_is
from tests.support.git import needs_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api import git, git_fetch
from wikisync.api.client import Client
from wikisync.api.proxy import Proxy
from wikisync.api.secret import Secret
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.core.versions import UNKNOWN
from wikisync.errors import FolderError, NotFound, Unavailable

pytestmark = needs_git

OWNER = WikiOwner("project", "docs/handbook")
FOLDER = "uploads/" + "0123456789abcdef" * 2
PICTURE = AttachmentPath(f"{FOLDER}/p.png")
OTHER = AttachmentPath(f"{FOLDER}/other naïve.png")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "hello"})
        await running.put_file(OWNER, PICTURE, b"\x89PNG one")
        yield running


@pytest.fixture
async def client(service: EmbeddedService, time: FakeTime) -> AsyncIterator[Client]:
    async with Client(service.url, service.token, clock=time.clock) as opened:
        yield opened


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "not there yet" / "cache"


@pytest.fixture
def repository(client: Client, cache: Path) -> git.RemoteRepository:
    return git.RemoteRepository(client, OWNER, cache)


def packs(cache: Path) -> list[Path]:
    return list(cache.glob("*/objects/pack/*.pack"))


# -- HEAD --------------------------------------------------------------------------


async def test_head_moves_with_every_edit(
    service: EmbeddedService, client: Client
) -> None:
    first = await git.WikiHistory(client, OWNER).head()
    assert await git.WikiHistory(client, OWNER).head() == first
    await service.put_file(OWNER, "home.md", b"other")
    second = await git.WikiHistory(client, OWNER).head()
    assert first
    assert second
    assert first != second


async def test_wiki_without_a_page_has_no_head(
    service: EmbeddedService, client: Client
) -> None:
    await service.add_project("docs/empty")
    assert (
        await git.WikiHistory(client, WikiOwner("project", "docs/empty")).head() is None
    )


async def test_group_wiki_has_a_head(service: EmbeddedService, client: Client) -> None:
    await service.add_group("team", {"home": "x"})
    assert await git.WikiHistory(client, WikiOwner("group", "team")).head()


async def test_public_wiki_has_a_head_for_anybody(service: EmbeddedService) -> None:
    await service.add_project(OWNER.full_path, visibility="public")
    async with Client(service.url) as anybody:
        assert await git.WikiHistory(anybody, OWNER).head()


@pytest.mark.parametrize("scopes", [("read_api",), ("read_user",)])
async def test_head_is_not_known_to_a_token_without_git(
    service: EmbeddedService, scopes: tuple[str, ...]
) -> None:
    token = await service.add_user("ann", scopes=scopes, is_admin=True)
    async with Client(service.url, token) as client:
        assert await git.WikiHistory(client, OWNER).head() is None


async def test_head_is_not_known_where_wikis_cannot_be_cloned(
    service: EmbeddedService, client: Client
) -> None:
    service.quirks = {Quirk.NO_GIT}
    assert await git.WikiHistory(client, OWNER).head() is None


async def test_web_page_is_no_head(wired: Client, wire: Wire) -> None:
    line = b"003f" + b"ab" * 20 + b" HEAD\n"
    wire.will(http(200, b"<html>" + line, "text/html"))
    assert await git.WikiHistory(wired, OWNER).head() is None


async def test_head_of_a_longer_kind_of_id_is_read_too(
    wired: Client, wire: Wire
) -> None:
    line = b"00" + b"ab" * 33
    body = b"001e# service=git-upload-pack\n0000" + line + b" HEAD\0caps\n0000"
    wire.will(http(200, body, git.ADVERTISEMENT))
    assert await git.WikiHistory(wired, OWNER).head() == "ab" * 32


async def test_service_that_is_gone_is_an_error_and_no_missing_head(
    wired: Client, wire: Wire
) -> None:
    wire.will(http(503))
    wire.repeats = True
    with pytest.raises(Unavailable):
        await git.WikiHistory(wired, OWNER).head()


async def test_token_goes_to_git_as_a_password_and_not_elsewhere(
    wired: Client, wire: Wire
) -> None:
    elsewhere = "https://elsewhere.example.com/docs/handbook.wiki.git/info/refs"
    wire.will(http(302, Location=elsewhere))
    assert await git.WikiHistory(wired, OWNER).head() is None
    (request,) = wire.requests
    target = "/docs/handbook.wiki.git/info/refs?service=git-upload-pack"
    assert request.target == target
    login = b64encode(b"oauth2:glpat-EXAMPLE").decode()
    assert request.headers["authorization"] == f"Basic {login}"
    assert "private-token" not in request.headers


# -- files -------------------------------------------------------------------------


async def test_file_is_fetched_once_and_read_from_disk_then(
    service: EmbeddedService, repository: git.RemoteRepository, cache: Path
) -> None:
    assert await repository.read(PICTURE) == b"\x89PNG one"
    service.quirks = {Quirk.NO_GIT}
    assert await repository.read(PICTURE) == b"\x89PNG one"
    assert len(packs(cache)) == 1


async def test_commits_older_than_the_limit_are_not_fetched(
    service: EmbeddedService,
    repository: git.RemoteRepository,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(git_fetch, "COMMITS_MAX", 1)
    await service.put_file(OWNER, "home.md", b"second")
    await repository.read(PICTURE)
    assert list(cache.glob("*/shallow"))


async def test_file_that_is_new_on_the_wiki_is_fetched_too(
    service: EmbeddedService, repository: git.RemoteRepository, time: FakeTime
) -> None:
    await repository.read(PICTURE)
    await service.put_file(OWNER, OTHER, b"\x89PNG two")
    time.now += git.RECHECK_S
    assert await repository.read(OTHER) == b"\x89PNG two"
    assert await repository.read(PICTURE) == b"\x89PNG one"


async def test_file_that_is_missing_is_not_asked_for_again_and_again(
    service: EmbeddedService, repository: git.RemoteRepository, time: FakeTime
) -> None:
    with pytest.raises(NotFound, match="it is not in the wiki's git repository"):
        await repository.read(OTHER)
    await service.put_file(OWNER, OTHER, b"\x89PNG two")
    with pytest.raises(NotFound):
        await repository.read(OTHER)
    time.now += git.RECHECK_S
    assert await repository.read(OTHER) == b"\x89PNG two"


async def test_commit_that_is_here_is_not_fetched_again(
    repository: git.RemoteRepository, time: FakeTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(NotFound):
        await repository.read(OTHER)
    time.now += git.RECHECK_S
    with pytest.raises(NotFound):
        await repository.read(OTHER)
    assert caplog.text.count("fetching the git repository") == 1


async def test_folder_is_no_file(repository: git.RemoteRepository) -> None:
    with pytest.raises(NotFound):
        await repository.read(AttachmentPath(FOLDER))


async def test_pointer_to_a_big_file_elsewhere_is_no_file(
    service: EmbeddedService, repository: git.RemoteRepository
) -> None:
    pointer = (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:"
        + b"0f" * 32
        + b"\nsize 9\n"
    )
    await service.put_file(OWNER, OTHER, pointer)
    with pytest.raises(NotFound, match="Git LFS"):
        await repository.read(OTHER)


async def test_repository_of_another_run_is_used(
    client: Client, cache: Path, service: EmbeddedService
) -> None:
    await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
    service.quirks = {Quirk.NO_GIT}
    assert (
        await git.RemoteRepository(client, OWNER, cache).read(PICTURE) == b"\x89PNG one"
    )


async def test_damaged_repository_is_fetched_anew(client: Client, cache: Path) -> None:
    await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
    (pack,) = packs(cache)
    pack.chmod(0o600)
    pack.write_bytes(b"PACK" + b"\0" * (pack.stat().st_size - 4))
    again = git.RemoteRepository(client, OWNER, cache)
    assert await again.read(PICTURE) == b"\x89PNG one"


async def test_what_a_cut_fetch_left_is_removed_by_the_next_one(
    service: EmbeddedService, client: Client, cache: Path
) -> None:
    await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
    left = packs(cache)[0].parent / "pack_ab12cd"
    left.write_bytes(b"half a pack")
    await service.put_file(OWNER, OTHER, b"\x89PNG two")
    await git.RemoteRepository(client, OWNER, cache).read(OTHER)
    assert not left.exists()


async def test_fetch_that_is_cancelled_leaves_no_error_behind(
    repository: git.RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python printed it at the end of an export that a person stopped."""
    begun, told, fetch = asyncio.Event(), [], git_fetch.fetch
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, what: told.append(what["message"]))

    def fetch_once_stopped(
        address: str, folder: Path, fetching: git_fetch.Fetching, proxy: Proxy | None
    ) -> None:
        loop.call_soon_threadsafe(begun.set)
        fetching.stop.wait()
        fetch(address, folder, fetching, proxy)

    monkeypatch.setattr(git_fetch, "fetch", fetch_once_stopped)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(repository.read(PICTURE))
        await begun.wait()
        reading.cancel()
    assert reading.cancelled()
    del reading
    gc.collect()
    assert told == []


async def test_fetch_that_is_cancelled_twice_is_waited_for(
    repository: git.RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's lock must not be given up while git's library writes there."""
    begun, goes_on, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def fetch_to_its_end(*_: object) -> None:
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait()
        ended.set()

    monkeypatch.setattr(git_fetch, "fetch", fetch_to_its_end)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(repository.read(PICTURE))
        await begun.wait()
        for _ in range(2):
            reading.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
        was_done = reading.done()
        goes_on.set()
    assert (was_done, ended.is_set()) == (False, True)
    assert reading.cancelled()


async def test_history_with_a_date_that_is_none_is_not_known(
    service: EmbeddedService, repository: git.RemoteRepository
) -> None:
    """Git's library walks no further; what comes later is fetched all the same."""
    place = (await service.wiki(OWNER)).repository.path
    committed_as_it_is(place, f"Bob <b@example.com> {10**20} +0000", "second\n")
    committed_as_it_is(place, "Cid <c@example.com> 1767400000 +0000", "third\n")
    assert not (await repository.versions(UNKNOWN)).rows
    committed_as_it_is(place, "Dan <d@example.com> 1767500000 +0000", "fourth\n")
    assert not (await repository.versions(UNKNOWN)).rows


async def test_repository_that_grew_by_many_fetches_is_fetched_anew(
    service: EmbeddedService,
    client: Client,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(git_fetch, "PACKS_MAX", 1)
    await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
    await service.put_file(OWNER, OTHER, b"\x89PNG two")
    await git.RemoteRepository(client, OWNER, cache).read(OTHER)
    assert len(packs(cache)) == 1


async def test_requests_of_git_s_library_count_against_the_budget(
    service: EmbeddedService, cache: Path
) -> None:
    async with (
        bending_proxy(service.url) as proxy,
        Client(proxy.url, service.token) as client,
    ):
        await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
        made = proxy.requests(r"\.wiki\.git/")
        assert len(made) == 1 + git.FETCH_REQUESTS
        assert client.budget.made == len(proxy.requests())


async def test_repository_that_is_too_large_is_not_fetched_whole(
    repository: git.RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_fetch, "REPOSITORY_BYTES_MAX", 10)
    with pytest.raises(Unavailable, match="larger than 10 bytes"):
        await repository.read(PICTURE)


async def test_file_that_is_too_large_is_not_read(
    repository: git.RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_fetch, "FILE_BYTES_MAX", 3)
    with pytest.raises(NotFound):
        await repository.read(PICTURE)


async def test_token_that_git_refuses_is_told_and_not_tried_again_at_once(
    service: EmbeddedService, cache: Path, time: FakeTime
) -> None:
    token = await service.add_user("ann", scopes=("read_api",), is_admin=True)
    async with Client(service.url, token, clock=time.clock) as client:
        repository = git.RemoteRepository(client, OWNER, cache)
        with pytest.raises(git.NoRepository, match="the token may not read") as refused:
            await repository.read(PICTURE)
        assert "read_repository" in (refused.value.hint or "")
        with pytest.raises(git.NoRepository) as again:
            await repository.read(PICTURE)
        assert again.value is refused.value
        time.now += git.REFUSED_S
        with pytest.raises(git.NoRepository) as later:
            await repository.read(PICTURE)
        assert later.value is not refused.value
    assert not cache.exists()


async def test_service_hears_no_error_when_a_fetch_is_done(
    tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The library hangs up as soon as it has all objects."""
    async with embedded_service(tmp_path) as service:
        await service.add_project(OWNER.full_path)
        await service.put_file(OWNER, PICTURE, b"\x89PNG one")
        async with Client(service.url, service.token) as client:
            await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


async def test_token_that_is_refused_in_a_fetch_is_offered_once(
    service: EmbeddedService, tmp_path: Path
) -> None:
    address = f"{service.url}/{OWNER.full_path}.wiki.git"
    fetching = git_fetch.Fetching(Secret("glpat-EXAMPLE"), address)
    with pytest.raises(git_fetch.FetchRefused, match="the token may not read"):
        await asyncio.to_thread(git_fetch.fetch, address, tmp_path / "x.git", fetching)


@pytest.mark.parametrize("only_with_login", [False, True])
async def test_redirect_of_git_gives_the_token_to_no_other_port(
    service: EmbeddedService, cache: Path, only_with_login: bool
) -> None:
    """Only git's library is redirected, so the request before does not show it."""
    sent: list[str] = []
    async with (
        git_http.asking_server(sent) as other,
        git_http.redirecting_proxy(service.url) as proxy,
        Client(proxy.url, service.token) as client,
    ):
        proxy.goal, proxy.only_with_login = other, only_with_login
        with pytest.raises(
            Unavailable, match="another server, to which the token is not sent"
        ):
            await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
        assert proxy.redirected == 1
    assert set(sent) == {""}


async def test_redirect_of_git_to_another_host_is_not_followed(
    service: EmbeddedService, cache: Path
) -> None:
    sent: list[str] = []
    async with (
        git_http.asking_server(sent) as other,
        git_http.redirecting_proxy(service.url) as proxy,
        Client(proxy.url, service.token) as client,
    ):
        proxy.goal = other.replace("127.0.0.1", "localhost")
        with pytest.raises(Unavailable, match="cannot redirect"):
            await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
        assert proxy.redirected == 1
    assert sent == []


async def test_git_gets_the_token_for_the_address_of_the_service_alone(
    service: EmbeddedService, tmp_path: Path
) -> None:
    """Git's own settings may replace the address, too (``insteadOf``)."""
    asked: list[str] = []
    async with git_http.asking_server(asked) as other:
        fetching = git_fetch.Fetching(Secret(service.token), service.url)
        with pytest.raises(git_fetch.FetchStopped, match="another server"):
            await asyncio.to_thread(
                git_fetch.fetch, f"{other}/x.wiki.git", tmp_path / "x.git", fetching
            )
    assert set(asked) == {""}


async def test_wiki_that_moved_on_its_service_is_fetched_where_it_is_now(
    service: EmbeddedService, cache: Path
) -> None:
    async with (
        git_http.redirecting_proxy(service.url) as proxy,
        Client(proxy.url, service.token) as client,
    ):
        proxy.goal = proxy.url + git_http.MOVED
        content = await git.RemoteRepository(client, OWNER, cache).read(PICTURE)
        assert proxy.redirected == 1
    assert content == b"\x89PNG one"


async def test_token_is_in_no_error_log_or_file(
    service: EmbeddedService,
    repository: git.RemoteRepository,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    await repository.read(PICTURE)
    with pytest.raises(NotFound) as missing:
        await repository.read(OTHER)
    assert service.token not in caplog.text + str(missing.value)
    kept = b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file())
    assert service.token.encode() not in kept


async def test_token_that_a_git_server_repeats_is_in_no_error(
    wired: Client, wire: Wire, cache: Path
) -> None:
    line = b"003f" + b"ab" * 20 + b" HEAD\n"
    wire.will(http(200, line, git.ADVERTISEMENT), http(200, b"", f"text/{TOKEN}"))
    wire.repeats = True
    with pytest.raises(Unavailable) as failed:
        await git.RemoteRepository(wired, OWNER, cache).read(PICTURE)
    told = "".join(traceback.format_exception(failed.value))
    assert "invalid content-type: 'text/***'" in told
    assert TOKEN not in told


async def test_server_that_falls_silent_in_a_fetch_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_fetch, "SILENCE_S", 0.2)
    async with git_http.silent_server() as silent:
        with pytest.raises(git_fetch.FetchStopped):
            await asyncio.to_thread(
                git_fetch.fetch,
                f"{silent.url}/x.wiki.git",
                tmp_path / "x.git",
                git_fetch.Fetching(None, silent.url),
            )


async def test_fetch_that_takes_too_long_is_ended_before_anything_else_goes_on(
    repository: git.RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "FETCH_TIMEOUT_S", 0.01)
    monkeypatch.setattr(git_fetch, "SILENCE_S", 0.3)
    async with git_http.silent_server() as silent:
        monkeypatch.setattr(repository, "_address", f"{silent.url}/x.wiki.git")
        with pytest.raises(Unavailable, match="cannot fetch the git repository"):
            await repository.read(PICTURE)
        assert silent.asked.is_set()
        await silent.hung_up.wait()


async def test_fetch_that_failed_stands_for_every_file_and_is_tried_again_later(
    repository: git.RemoteRepository, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as small:
        small.setattr(git_fetch, "REPOSITORY_BYTES_MAX", 10)
        with pytest.raises(Unavailable) as first:
            await repository.read(PICTURE)
    with pytest.raises(Unavailable) as second:
        await repository.read(OTHER)
    assert second.value is first.value
    time.now += git.RETRY_S
    assert await repository.read(PICTURE) == b"\x89PNG one"


async def test_cache_that_cannot_be_written_is_an_error_of_the_folder(
    client: Client, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("no folder")
    with pytest.raises(FolderError, match="cannot be written"):
        await git.RemoteRepository(client, OWNER, tmp_path / "cache").read(PICTURE)
