"""A client on a wire, and one whose network is played by aioresponses."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from tests.api.wire import Wire, listening_wire
from tests.support.network import PlayedNetwork
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.projects import Projects
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner

SERVICE = "https://gitlab.example.com"
TOKEN = "glpat-EXAMPLE"
OWNER = WikiOwner("project", "docs/handbook")

ClientMaker = Callable[..., Client]


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with listening_wire() as listening:
        yield listening


@pytest.fixture
def make_client(time: FakeTime) -> ClientMaker:
    """Clients that never really sleep and whose chance is always a half."""

    def make(
        url: str = SERVICE,
        token: str | None = TOKEN,
        settings: ClientSettings | None = None,
    ) -> Client:
        return Client(
            url,
            token,
            settings=settings or ClientSettings(),
            sleep=time.sleep,
            random=lambda: 0.5,
            clock=time.clock,
        )

    return make


@pytest.fixture
async def wired(wire: Wire, make_client: ClientMaker) -> AsyncIterator[Client]:
    async with make_client(wire.url) as client:
        yield client


@pytest.fixture
def wired_wiki(wired: Client) -> Wiki:
    return Wiki(wired, WikiOwner("project", "docs/handbook"), 7)


@pytest.fixture
def network() -> Iterator[PlayedNetwork]:
    played = PlayedNetwork()
    with played:
        yield played


@pytest.fixture
async def client(make_client: ClientMaker) -> AsyncIterator[Client]:
    async with make_client() as open_client:
        yield open_client


@pytest.fixture
def wiki(client: Client) -> Wiki:
    return Wiki(client, WikiOwner("project", "docs/handbook"), 7)


@pytest.fixture
def projects(client: Client) -> Projects:
    return Projects(client)


@pytest.fixture
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[EmbeddedService]:
    """A real service with the project of ``OWNER``, in it the module's ``PAGES``."""
    async with embedded_service(tmp_path / "service") as running:
        await running.add_project(OWNER.full_path, getattr(request.module, "PAGES", ()))
        yield running


@pytest.fixture
async def real_client(
    service: EmbeddedService, time: FakeTime
) -> AsyncIterator[Client]:
    """The administrator's, of the real service."""
    async with Client(
        service.url, service.token, clock=time.clock, sleep=time.sleep
    ) as opened:
        yield opened


@pytest.fixture
def real_wiki(real_client: Client) -> Wiki:
    return Wiki(real_client, OWNER)
