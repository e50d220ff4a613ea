"""Probes, single records, and lists in parts."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.settings import ClientSettings
from wikisync.errors import NotFound

pytestmark = pytest.mark.asyncio(loop_scope="module")

GROUPS = ("docs", "docs/a", "docs/a/deep", "docs/b")
PROJECTS = (
    "docs/handbook",
    "docs/a/one",
    "docs/a/deep/two",
    "docs/b/three",
    "docs/four",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[EmbeddedService]:
    """A service that nobody changes, with the groups and projects named above."""
    async with embedded_service(tmp_path_factory.mktemp("data")) as embedded:
        for group in GROUPS:
            await embedded.add_group(group)
        for project in PROJECTS:
            await embedded.add_project(project)
        await embedded.add_project("docs/b/open", visibility="public")
        yield embedded


@pytest_asyncio.fixture(loop_scope="module")
async def in_twos(running: EmbeddedService) -> AsyncIterator[Client]:
    """A client that asks for two records at a time."""
    settings = ClientSettings(per_page=2)
    async with Client(running.url, running.token, settings=settings) as client:
        yield client


async def test_the_service_tells_its_version_and_who_we_are(client: Client) -> None:
    assert (await client.version()).version.startswith("17.")
    assert (await client.current_user()).username == "root"
    assert "api" in (await client.current_token()).scopes


@pytest.mark.parametrize("path", ["no/such", "docs/handbook/", "docs%2Fhandbook"])
async def test_a_missing_project_is_named(path: str, client: Client) -> None:
    with pytest.raises(NotFound, match=f"project {path} does not exist or is hidden"):
        await client.project(path)


async def test_every_project_is_listed_however_small_the_parts(
    in_twos: Client, client: Client
) -> None:
    listed = [project async for project in in_twos.projects()]

    paths = [project.path_with_namespace for project in listed]
    assert paths == [*PROJECTS, "docs/b/open"]
    assert listed == [project async for project in client.projects()]


async def test_every_group_is_listed_however_small_the_parts(in_twos: Client) -> None:
    listed = [group.full_path async for group in in_twos.groups()]

    assert sorted(listed) == sorted(GROUPS)


async def test_projects_below_a_group(in_twos: Client) -> None:
    deep = [found.path async for found in in_twos.group_projects("docs")]

    assert sorted(deep) == ["four", "handbook", "one", "open", "three", "two"]


async def test_groups_below_a_group(in_twos: Client) -> None:
    below = [found.full_path async for found in in_twos.group_descendants("docs")]

    assert sorted(below) == ["docs/a", "docs/a/deep", "docs/b"]


async def test_what_is_below_a_hidden_group_is_hidden(running: EmbeddedService) -> None:
    async with Client(running.url, await running.add_user("maria")) as client:
        with pytest.raises(NotFound, match="group docs does not exist or is hidden"):
            await anext(client.group_projects("docs"))


async def test_lists_hold_only_what_the_token_may_see(running: EmbeddedService) -> None:
    async with Client(running.url) as client:
        seen = [project.path async for project in client.projects()]

    assert seen == ["open"]
