"""Rate limits as a client meets them: what waits, for how long, and who is told."""

import asyncio
import re
from typing import Any

import pytest

from tests.api.conftest import SERVICE, ClientMaker
from tests.api.faketime import FakeTime
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.git import WikiHistory
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import RateLimited, Unavailable

API = f"{SERVICE}/api/v4"
VERSION = f"{API}/version"
ANSWER = {"version": "17.0.0"}


LIMITED = {"message": {"error": "This endpoint has been requested too many times."}}


@pytest.mark.parametrize(
    ("answer", "slept"),
    [
        (
            {
                "body": "Retry later",
                "content_type": "text/plain",
                "headers": {"Retry-After": "7"},
            },
            7.0,
        ),
        (
            {
                "payload": LIMITED,
                "headers": {
                    "Retry-After": "Thu, 01 Jan 2026 12:00:20 GMT",
                    "Date": "Thu, 01 Jan 2026 12:00:00 GMT",
                },
            },
            20.0,
        ),
        ({"payload": LIMITED}, 1.0),
        ({"body": "Retry later", "content_type": "text/plain"}, 1.0),
    ],
)
async def test_a_rate_limit_is_waited_for(
    answer: dict[str, Any],
    slept: float,
    client: Client,
    network: PlayedNetwork,
    time: FakeTime,
) -> None:
    network.get(VERSION, status=429, **answer)
    network.get(VERSION, payload=ANSWER)
    await client.version()
    assert time.slept == [slept]


async def test_a_rate_limit_longer_than_we_wait_says_how_long(
    client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=429, headers={"Retry-After": "3600"})
    with pytest.raises(RateLimited) as failed:
        await client.version()
    assert failed.value.retry_after_s == 3600.0
    assert time.slept == []


async def test_maintenance_with_a_time_is_waited_for(
    client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=503, headers={"Retry-After": "12"})
    network.get(VERSION, payload=ANSWER)
    await client.version()
    assert time.slept == [12.25]


async def test_a_rate_limit_makes_other_requests_wait_too(
    make_client: ClientMaker, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=429, headers={"Retry-After": "100"})
    network.get(f"{API}/user", payload={"id": 1, "username": "maria"})

    async with make_client(settings=ClientSettings(deadline_s=99.0)) as client:
        with pytest.raises(RateLimited):
            await client.version()
        time.now += 30.0
        await client.current_user()

    assert time.slept == [70.0]


async def test_a_pause_longer_than_we_wait_is_not_broken_by_other_requests(
    client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=429, headers={"Retry-After": "3600"}, repeat=True)
    with pytest.raises(RateLimited):
        await client.version()
    time.now += 300.0

    with pytest.raises(RateLimited, match="accepts no reads until ") as failed:
        await client.current_user()

    assert failed.value.retry_after_s == 600.0
    assert len(network.asked()) == 1


@pytest.mark.parametrize("wish", ["100000", "Thu, 01 Jan 2099 12:00:00 GMT"])
async def test_one_request_is_made_after_a_quarter_of_an_hour_at_the_latest(
    wish: str, client: Client, network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(VERSION, status=429, headers={"Retry-After": wish})
    network.get(VERSION, payload=ANSWER)
    with pytest.raises(RateLimited):
        await client.version()

    time.now += 900.0
    await client.version()

    assert client.budget.waits() == []


LIST_A = f"{API}/projects/1/wikis"
LIST_B = f"{API}/projects/2/wikis"
PAGE_A = f"{API}/projects/1/wikis/home"
FAR = {"Retry-After": "100000"}


@pytest.fixture
def wikis(client: Client) -> tuple[Wiki, Wiki]:
    return (
        Wiki(client, WikiOwner("project", "docs/a"), 1),
        Wiki(client, WikiOwner("project", "docs/b"), 2),
    )


async def test_limit_on_the_changes_of_a_wiki_holds_back_these_alone(
    wikis: tuple[Wiki, Wiki], network: PlayedNetwork
) -> None:
    page = {"slug": "home", "title": "home", "format": "markdown", "content": "x"}
    network.put(PAGE_A, status=429, headers=FAR)
    network.get(PAGE_A, payload=page)
    network.put(f"{API}/projects/2/wikis/home", payload=page)
    one, other = wikis
    with pytest.raises(RateLimited) as failed:
        await one.edit_page("home", content="x")

    assert (await one.get_page("home")).slug == "home"
    assert (await other.edit_page("home", content="x")).slug == "home"
    with pytest.raises(RateLimited, match="accepts no changes of project docs/a"):
        await one.edit_page("home", content="y")
    assert failed.value.is_write
    assert not failed.value.is_everywhere
    assert len(network.asked()) == 3


async def test_limit_on_git_holds_back_git_alone_and_is_not_waited_for_by_a_hint(
    client: Client, wikis: tuple[Wiki, Wiki], network: PlayedNetwork, time: FakeTime
) -> None:
    network.get(
        re.compile(".*info/refs"),
        status=429,
        headers={"Retry-After": "60"},
        repeat=True,
    )
    network.get(LIST_A, payload=[])
    for owner in ("docs/a", "docs/b"):
        history = WikiHistory(client, WikiOwner("project", owner))
        assert await history.head() is None

    assert await wikis[0].list_pages() == ()
    assert sum(time.slept) <= 1.0, "the list waits for the pace alone"
    assert len(network.asked()) == 2
    assert [wait.what for wait in client.budget.waits()] == ["git"]


async def test_limit_that_reads_of_two_wikis_met_is_the_limit_of_the_token(
    client: Client, wikis: tuple[Wiki, Wiki], network: PlayedNetwork
) -> None:
    network.get(LIST_A, status=429, headers=FAR)
    network.get(LIST_B, status=429, headers=FAR)
    found = []
    for wiki in wikis:
        with pytest.raises(RateLimited) as failed:
            await wiki.list_pages()
        found.append(failed.value.is_everywhere)

    assert found == [False, True]
    with pytest.raises(RateLimited, match="accepts no requests until ") as held:
        await client.version()
    assert held.value.is_everywhere
    assert len(network.asked()) == 2


async def test_a_long_pause_is_told_before_it_is_made(
    network: PlayedNetwork, time: FakeTime
) -> None:
    told: list[str] = []
    network.get(VERSION, status=429, headers={"Retry-After": "90"})
    network.get(VERSION, status=429, headers={"Retry-After": "4"})
    network.get(VERSION, payload=ANSWER)

    async def sleep(seconds: float) -> None:
        told.append(f"slept {seconds:.0f}")
        await time.sleep(seconds)

    async with Client(
        SERVICE, sleep=sleep, clock=time.clock, random=lambda: 0.0, notify=told.append
    ) as client:
        await client.version()

    refusal = "cannot read the version: too many requests; status 429"
    assert told == [
        f"waiting 90 s: {refusal}; it asks to wait 90 s",
        "slept 90",
        "slept 4",
    ]


async def test_requests_that_wait_at_the_same_time_are_told_once(
    network: PlayedNetwork, time: FakeTime
) -> None:
    told: list[str] = []
    network.get(VERSION, status=429, headers={"Retry-After": "90"})
    network.get(VERSION, payload=ANSWER, repeat=8)

    async def sleep(seconds: float) -> None:
        """The others come before any time has passed."""
        await asyncio.sleep(0)
        await time.sleep(seconds)

    async with Client(
        SERVICE,
        settings=ClientSettings(deadline_s=80.0),
        sleep=sleep,
        clock=time.clock,
        notify=told.append,
    ) as client:
        with pytest.raises(RateLimited):
            await client.version()
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(client.version())

    (said,) = told
    assert said.startswith("waiting 90 s: the service accepts no reads until ")


async def test_writes_are_repeated_after_a_rate_limit_alone(
    wiki: Wiki, network: PlayedNetwork, time: FakeTime
) -> None:
    pages = f"{API}/projects/7/wikis"
    network.post(pages, status=429, headers={"Retry-After": "1"})
    network.post(pages, status=503, repeat=True)

    with pytest.raises(Unavailable):
        await wiki.create_page("home", "text")

    assert len(network.asked()) == 2
    assert time.slept == [1.0]
