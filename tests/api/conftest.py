"""A client on a wire, and one whose network is played by aioresponses."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from tests.api.faketime import FakeTime
from tests.api.wire import Wire, listening_wire
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.projects import Projects
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner

SERVICE = "https://gitlab.example.com"
TOKEN = "glpat-EXAMPLE"

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
