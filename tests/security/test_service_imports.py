"""An import asks only the server that its address named, and none inside."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.security.service_imports import INSIDE, OUTSIDE, SPELLED_ODDLY
from tests.security.service_requests import Sent, send
from tests.support.git_http import git_server, redirecting_server, silent_server
from tests.support.service import EmbeddedService, embedded_service
from wikisync.service.committing import Author
from wikisync.service.copying import copy_repository
from wikisync.service.editing import CommitPlan
from wikisync.service.import_address import address_problem
from wikisync.service.import_tunnel import NoWay, tunnel_to
from wikisync.service.import_worker import FetchFailed, FetchJob, fetch_repository
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import Imports, Settings

WEB = frozenset({"http", "https"})
MIB = 1024 * 1024


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    """A service that imports from the web."""
    settings = Settings(imports=Imports(WEB))
    async with embedded_service(tmp_path, settings=settings) as running:
        yield running


@pytest.mark.parametrize("host", INSIDE.values(), ids=INSIDE)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_address_of_a_machine_inside_is_refused(scheme: str, host: str) -> None:
    address = f"{scheme}://u:p@{host}:8080/x.git"

    problem = address_problem(address, WEB, allows_private=False)

    assert problem is not None
    assert problem.startswith("is blocked: Requests to ")
    assert address_problem(address, WEB, allows_private=True) is None


@pytest.mark.parametrize("host", OUTSIDE)
def test_address_of_a_machine_outside_is_taken(host: str) -> None:
    assert address_problem(f"https://{host}/x.git", WEB, allows_private=False) is None


async def test_caller_is_told_at_once(service: EmbeddedService) -> None:
    body = {"name": "a", "import_url": "http://169.254.169.254/latest/meta-data"}

    [answer] = await send(
        service.url, [Sent("POST", "/api/v4/projects", body)], service.token
    )

    assert answer.status == 400
    assert "Requests to the link local network are not allowed" in answer.text


@pytest.mark.parametrize("host", [*SPELLED_ODDLY, "localhost", "127.0.0.1"])
async def test_name_that_means_a_machine_inside_is_not_asked(
    tmp_path: Path, host: str
) -> None:
    async with silent_server() as silent:
        port = silent.url.rpartition(":")[2]
        job = FetchJob(f"http://{host}:{port}/x.git", str(tmp_path / "x"), 60.0, MIB)
        with pytest.raises(FetchFailed, match="requests to localhost are not allowed"):
            await fetch_repository(job)

        assert not silent.asked.is_set()


async def test_open_and_closed_ports_inside_look_the_same(tmp_path: Path) -> None:
    async with silent_server() as silent:
        port = int(silent.url.rpartition(":")[2])
        texts = []
        for at in (port, 1):
            address = f"http://127.0.0.1:{at}/x.git"
            job = FetchJob(address, str(tmp_path / "x"), 60.0, MIB)
            with pytest.raises(FetchFailed) as failed:
                await fetch_repository(job)
            texts.append(str(failed.value).replace(address, "ADDRESS"))

    assert texts[0] == texts[1]


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with one bare repository, ``x.git``."""
    change = CommitPlan("first", writes={"README.md": b"# X\n"})
    WikiRepository(tmp_path / "served" / "x.git", "trunk").change(
        lambda _tree: change, Author("Dana", "dana@example.com")
    )
    return tmp_path / "served"


async def test_name_is_looked_up_once(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that means another machine a moment later leads to the first."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: Any, *more: Any, **named: Any) -> Any:
        if host != "git.example.com":
            return real(host, *more, **named)
        asked.append(host)
        assert len(asked) == 1, "it is looked up again"
        return real("127.0.0.1", *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    def fetch(url: str) -> None:
        address = url.replace("127.0.0.1", "git.example.com") + "/x.git"
        with tunnel_to(address, allows_private=True) as tunnel:
            copy_repository(tunnel.address, tmp_path / "copy", proxy=tunnel.proxy)

    async with git_server(served) as url:
        await asyncio.to_thread(fetch, url)

    assert WikiRepository(tmp_path / "copy").branch() == "trunk"
    assert asked == ["git.example.com"]


async def test_one_address_inside_is_enough_to_refuse_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(2, 1, 6, "", (host, 80)) for host in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_n: found)

    with (
        pytest.raises(NoWay, match="the local network"),
        tunnel_to("http://git.example.com/x", allows_private=False),
    ):
        pass


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_redirection_leads_nowhere_else(tmp_path: Path, scheme: str) -> None:
    async with silent_server() as silent:
        target = silent.url.replace("http", scheme, 1)
        async with redirecting_server(target) as other:
            address = f"{other}/x.git"
            job = FetchJob(address, str(tmp_path / "x"), 60.0, MIB, allows_private=True)
            with pytest.raises(FetchFailed, match="it sends on to another server"):
                await fetch_repository(job)

        assert not silent.asked.is_set()


async def test_proxy_of_an_import_leads_to_its_server_alone() -> None:
    """Whoever finds it on this machine gets no further with it."""
    async with silent_server() as silent:
        port = silent.url.rpartition(":")[2]

        def ask(request: bytes) -> bytes:
            address = "http://127.0.0.1:1/x.git"
            with tunnel_to(address, allows_private=True) as tunnel:
                place = ("127.0.0.1", tunnel.server_address[1])
                with socket.create_connection(place, 20) as caller:
                    caller.sendall(request)
                    return caller.recv(1000)

        connect = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode()
        absolute = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n".encode()
        answers = [await asyncio.to_thread(ask, line) for line in (connect, absolute)]

        assert not silent.asked.is_set()
    assert [answer.split()[1] for answer in answers] == [b"403", b"403"]


async def test_private_networks_can_be_allowed(
    service: EmbeddedService, served: Path
) -> None:
    running = service.running
    imports = Imports(WEB, allows_private=True)
    running.settings = replace(running.settings, imports=imports)
    async with git_server(served) as url:
        body = {"name": "a", "import_url": f"{url}/x.git"}
        sent = Sent("POST", "/api/v4/projects", body)
        [made] = await send(service.url, [sent], service.token)
        await service.wait_for_imports()
        path = "/api/v4/projects/root%2Fa/import"
        [done] = await send(service.url, [Sent("GET", path)], service.token)

    assert made.status == 201
    assert '"import_status":"finished"' in done.text
