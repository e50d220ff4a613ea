"""The client on the embedded service, which runs once for a module's tests.

Every test gets a group and a project of its own in it, with the same pages.
"""

from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, OwnerKind, Page, Slug, WikiOwner

PAGES = (
    Page(Slug("home"), Format.MARKDOWN, "welcome\n"),
    Page(Slug("dir"), Format.MARKDOWN, "# above\n"),
    Page(Slug("dir/page-one"), Format.ASCIIDOC, "= one\r\n"),
    Page(Slug("dir/deep/two"), Format.ORG, "* two"),
    Page(Slug("notes"), Format.RDOC, ""),
)

NUMBERS = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path_factory.mktemp("data")) as embedded:
        yield embedded


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(running: EmbeddedService) -> AsyncIterator[Client]:
    async with Client(running.url, running.token) as open_client:
        yield open_client


@pytest_asyncio.fixture(loop_scope="module")
async def service(running: EmbeddedService) -> AsyncIterator[EmbeddedService]:
    """The service; its faults and limits are as before after the test."""
    settings = running.running.settings
    yield running
    running.running.settings, running.quirks = settings, ()


async def new_owner(service: EmbeddedService, kind: OwnerKind) -> WikiOwner:
    """A group, or a project in a group, that no other test knows."""
    group = f"docs{next(NUMBERS)}"
    if kind == "group":
        await service.add_group(group, PAGES)
        return WikiOwner("group", group)
    await service.add_group(group)
    await service.add_project(f"{group}/handbook", PAGES)
    return WikiOwner("project", f"{group}/handbook")


@pytest_asyncio.fixture(loop_scope="module", params=["project", "group"])
async def owner(request: pytest.FixtureRequest, service: EmbeddedService) -> WikiOwner:
    return await new_owner(service, request.param)


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(service: EmbeddedService) -> WikiOwner:
    return await new_owner(service, "project")


@pytest.fixture
def wiki(client: Client, owner: WikiOwner) -> Wiki:
    return Wiki(client, owner)
