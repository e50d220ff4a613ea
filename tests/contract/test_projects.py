"""Our client on the embedded service: what neither side proves of projects alone."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Literal

import pytest
import pytest_asyncio

from tests.support.service import EmbeddedService
from wikisync.api.client import Client, Listing
from wikisync.api.projects import Projects
from wikisync.api.settings import ClientSettings
from wikisync.contract.project_schema import ProjectRecord
from wikisync.errors import AuthenticationFailed

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count(1)
SMALL = ClientSettings(per_page=2)


@pytest.fixture
def projects(client: Client) -> Projects:
    return Projects(client)


@pytest_asyncio.fixture(loop_scope="module")
async def group(service: EmbeddedService) -> str:
    path = f"team{next(NUMBERS)}"
    await service.add_group(path, visibility="public")
    return path


@pytest_asyncio.fixture(loop_scope="module")
async def handbook(service: EmbeddedService, group: str) -> str:
    await service.add_project(f"{group}/handbook", visibility="public")
    return f"{group}/handbook"


@pytest_asyncio.fixture(loop_scope="module")
async def maria(service: EmbeddedService) -> AsyncIterator[Projects]:
    """The operations as a user has them who is no administrator."""
    token = await service.add_user(f"maria{next(NUMBERS)}")
    async with Client(service.url, token) as opened:
        yield Projects(opened)


async def paths(listing: Listing[ProjectRecord]) -> list[str]:
    return [found.path_with_namespace async for found in listing]


async def test_attributes_that_are_set_are_read_again(
    projects: Projects, group: str
) -> None:
    owner = await projects.client.group(group)

    made = await projects.create_project(
        name="Hand Book",
        namespace_id=owner.id,
        description="how we work",
        topics=["docs", "b"],
        visibility="internal",
        wiki_access_level="private",
        merge_method="ff",
        build_timeout=600,
        initialize_with_readme=True,
    )
    read = await projects.show_project(f"{group}/hand-book", statistics=True)

    assert made.id == read.id
    assert (read.description, read.visibility) == ("how we work", "internal")
    assert (read.wiki_access_level, read.sent["merge_method"]) == ("private", "ff")
    assert (read.sent["build_timeout"], read.empty_repo) == (600, False)
    assert set(read.labels) == {"docs", "b"}
    assert read.statistics is not None
    assert read.statistics.commit_count == 1


@pytest.mark.parametrize("sort", ["asc", "desc"])
async def test_lists_go_on_where_offset_paging_ends(
    sort: Literal["asc", "desc"], service: EmbeddedService, group: str
) -> None:
    wanted = {f"{group}/p{number}" for number in range(7)}
    for path in sorted(wanted):
        await service.add_project(path)

    async with Client(service.url, service.token, settings=SMALL) as small:
        found = Projects(small).list_projects(
            search=f"{group}/p", search_namespaces=True, sort=sort
        )

        assert await found.total() == 7
        assert set(await paths(found)) == wanted


async def test_keyset_paging_follows_links(
    service: EmbeddedService, projects: Projects, group: str
) -> None:
    first, *later = [
        await service.add_project(f"{group}/p{number}") for number in range(6)
    ]

    listed = projects.list_projects(
        pagination="keyset", order_by="id", sort="asc", per_page=2, id_after=first
    )

    assert [found.id async for found in listed] == later
    assert (
        await projects.list_projects(pagination="keyset", order_by="id").total() is None
    )


async def test_fork_is_whole_when_waited_for(
    service: EmbeddedService, maria: Projects, handbook: str
) -> None:
    await service.add_code(handbook, {"a.py": b"x = 1\n"})
    user = await maria.client.current_user()

    fork = await maria.fork_project(handbook, path="copy", name="copy", wait=True)

    assert fork.path_with_namespace == f"{user.username}/copy"
    assert fork.import_status == "finished"
    assert fork.forked_from_project is not None
    assert fork.forked_from_project.path_with_namespace == handbook
    assert await maria.show_languages(fork.id) == {"Python": 100.0}
    assert await paths(maria.list_forks(handbook)) == [fork.path_with_namespace]


async def test_without_a_token_public_projects_are_read_and_no_more(
    service: EmbeddedService, handbook: str
) -> None:
    async with Client(service.url) as anybody:
        found = await Projects(anybody).show_project(handbook)

        assert found.permissions is None
        with pytest.raises(AuthenticationFailed, match="no token is set"):
            await Projects(anybody).star_project(handbook)
