"""Repetition, deadlines, turns and lists, on a played network."""

import asyncio
import re
from typing import Any

import pytest

from tests.api.conftest import SERVICE, ClientMaker
from tests.api.faketime import FakeTime
from tests.support.network import PlayedNetwork
from wikisync import errors
from wikisync.api.client import Client
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner

API = f"{SERVICE}/api/v4"
VERSION = f"{API}/version"
PROJECTS = re.compile(re.escape(f"{API}/projects?") + ".*")
ANSWER = {"version": "17.0.0"}


def project(number: int) -> dict[str, object]:
    return {"id": number, "path_with_namespace": f"docs/p{number}"}


def link(url: str) -> dict[str, str]:
    return {"Link": f'<{url}>; rel="next"'}


async def numbers(client: Client, **options: Any) -> list[int]:
    return [found.id async for found in client.projects(**options)]


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
async def test_a_read_that_failed_on_the_way_is_repeated(
    status: int, client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=status, repeat=2)
    network.get(VERSION, payload=ANSWER)
    assert (await client.version()).version == "17.0.0"
    assert time.slept == [0.25, 0.5]


async def test_a_read_that_never_succeeds_ends_with_its_last_error(
    client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=502, body="<html>", content_type="text/html", repeat=9)
    with pytest.raises(errors.Unavailable, match="502 Bad Gateway"):
        await client.version()
    assert len(network.asked()) == 5
    assert time.slept == [0.25, 0.5, 1.0, 2.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
async def test_a_refusal_is_not_repeated(
    status: int, client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=status, payload={"message": "no"}, repeat=True)
    with pytest.raises(Exception, match="cannot read the version"):
        await client.version()
    assert len(network.asked()) == 1
    assert time.slept == []


async def test_one_operation_has_a_deadline(
    make_client: ClientMaker, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=429, headers={"Retry-After": "50"}, repeat=True)
    async with make_client(settings=ClientSettings(deadline_s=120.0)) as client:
        with pytest.raises(errors.RateLimited):
            await client.version()
    assert time.slept == [50.0, 50.0]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_write_that_failed_on_the_way_is_not_repeated(
    status: int, wiki: Wiki, network: PlayedNetwork
) -> None:
    network.put(f"{API}/projects/7/wikis/home", status=status, repeat=True)
    with pytest.raises(errors.Unavailable):
        await wiki.edit_page("home", content="text")
    assert len(network.asked()) == 1


class Gate:
    """Holds requests back and counts those in flight."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.now = 0
        self.most = 0

    async def pass_through(self, _url: object, **_options: object) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.opened.wait()
        self.now -= 1


async def settle() -> None:
    """Let every task run as far as it can without a network."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_no_more_than_eight_reads_are_in_flight(
    client: Client, network: PlayedNetwork
) -> None:
    gate = Gate()
    network.get(VERSION, payload=ANSWER, repeat=30)
    network.get(VERSION, payload=ANSWER, repeat=True, callback=gate.pass_through)
    for _ in range(30):
        await client.version()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(30):
            tasks.create_task(client.version())
        await settle()
        gate.opened.set()

    assert gate.most == 8
    assert len(network.asked()) == 60


async def test_writes_to_one_wiki_are_serial_whoever_makes_them(
    client: Client, network: PlayedNetwork
) -> None:
    gate = Gate()
    page = re.compile(re.escape(f"{API}/projects/") + ".*")
    answer = {"slug": "home"}
    network.put(page, payload=answer, repeat=True, callback=gate.pass_through)
    network.post(page, payload=answer, repeat=True, callback=gate.pass_through)
    network.delete(page, status=204, repeat=True, callback=gate.pass_through)
    owner = WikiOwner("project", "docs/handbook")
    by_path, by_id = Wiki(client, owner), Wiki(client, owner, 7)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(by_path.edit_page("home", content="a"))
        tasks.create_task(by_id.create_page("other", "b"))
        tasks.create_task(by_id.delete_page("third"))
        await settle()
        gate.opened.set()

    assert gate.most == 1
    assert len(network.asked()) == 3


async def test_writes_to_different_wikis_go_side_by_side(
    client: Client, network: PlayedNetwork
) -> None:
    gate = Gate()
    page = re.compile(re.escape(f"{API}/projects/") + ".*")
    network.delete(page, status=204, repeat=True, callback=gate.pass_through)

    async with asyncio.TaskGroup() as tasks:
        for name in ("docs/a", "docs/b"):
            wiki = Wiki(client, WikiOwner("project", name))
            tasks.create_task(wiki.delete_page("home"))
        await settle()
        gate.opened.set()

    assert gate.most == 2


async def test_projects_are_asked_for_by_keyset(
    client: Client, network: PlayedNetwork
) -> None:
    network.get(PROJECTS, payload=[])

    assert await numbers(client, membership=True) == []
    query = dict(next(iter(network.requests))[1].query)
    assert query == {
        "pagination": "keyset",
        "order_by": "id",
        "sort": "asc",
        "per_page": "100",
        "membership": "true",
    }


async def test_a_list_is_followed_by_the_query_of_its_links(
    make_client: ClientMaker, network: PlayedNetwork
) -> None:
    """The link names the host that the service is configured with: not ours."""
    first = re.compile(r"https://front\.example/git/api/v4/projects\?order_by.*")
    next_part = "https://front.example/git/api/v4/projects?id_after=2&sort=asc"
    network.get(
        first,
        payload=[project(1), project(2)],
        headers=link("https://inside:8443/api/v4/projects?id_after=2&sort=asc"),
    )
    network.get(next_part, payload=[project(3)])

    async with make_client("https://front.example/git") as client:
        assert await numbers(client) == [1, 2, 3]


async def test_a_list_that_leads_round_in_a_circle_is_an_error(
    client: Client, network: PlayedNetwork
) -> None:
    network.get(
        PROJECTS,
        payload=[project(1)],
        headers=link(f"{API}/projects?id_after=1"),
        repeat=True,
    )

    with pytest.raises(errors.ProtocolViolation, match="never ends"):
        await numbers(client)

    assert len(network.asked()) == 2


async def test_a_list_of_ever_new_parts_is_an_error(
    make_client: ClientMaker, network: PlayedNetwork
) -> None:
    network.get(
        PROJECTS, payload=[project(1)], headers=link(f"{API}/projects?id_after=1")
    )
    network.get(
        PROJECTS, payload=[project(2)], headers=link(f"{API}/projects?id_after=2")
    )
    settings = ClientSettings(list_requests_max=2)

    async with make_client(settings=settings) as client:
        with pytest.raises(errors.ProtocolViolation, match="never ends"):
            await numbers(client)


async def test_a_part_of_a_list_is_repeated_alone(
    client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(
        PROJECTS, payload=[project(1)], headers=link(f"{API}/projects?id_after=1")
    )
    network.get(PROJECTS, status=500)
    network.get(PROJECTS, payload=[project(2)])

    assert await numbers(client) == [1, 2]
    assert len(time.slept) == 1


async def test_what_belongs_to_a_group_is_listed_with_its_subgroups(
    client: Client, network: PlayedNetwork
) -> None:
    network.get(
        f"{API}/groups/docs%2Fdeep/projects?include_subgroups=true&with_shared=false"
        "&order_by=id&sort=asc&per_page=100",
        payload=[project(1)],
    )
    network.get(
        f"{API}/groups/docs%2Fdeep/descendant_groups?per_page=100",
        payload=[{"id": 2, "full_path": "docs/deep/down"}],
    )

    projects = [found.id async for found in client.group_projects("docs/deep")]
    groups = [found.full_path async for found in client.group_descendants("docs/deep")]

    assert (projects, groups) == ([1], ["docs/deep/down"])


@pytest.mark.parametrize(
    ("owner", "address"),
    [
        (WikiOwner("project", "docs/handbook"), "projects/docs%2Fhandbook"),
        (WikiOwner("group", "docs"), "groups/docs?with_projects=false"),
    ],
)
async def test_the_address_of_a_wikis_owner_is_read_from_whatever_else_is_told(
    client: Client, network: PlayedNetwork, owner: WikiOwner, address: str
) -> None:
    """Its record may be of a version that has other ideas of the rest."""
    network.get(f"{API}/{address}", payload={"id": 7, "visibility": {"new": "shape"}})
    found = await client.address_of(owner.kind, owner.full_path)
    assert (found.id, found.path) == (7, "")


def test_a_client_shows_its_service_but_not_its_token(make_client: ClientMaker) -> None:
    assert repr(make_client()) == "Client('https://gitlab.example.com')"
