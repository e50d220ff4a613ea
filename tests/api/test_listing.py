"""Lists: parts and totals."""

from typing import Any

import pytest

from tests.api.conftest import SERVICE
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.exchange import Purpose, Request
from wikisync.api.listing import Listing
from wikisync.contract.schema import UserRecord
from wikisync.errors import ProtocolViolation, Rejected

PATH = "/api/v4/users"


def users(*numbers: int) -> list[dict[str, object]]:
    return [{"id": number, "username": f"u{number}"} for number in numbers]


def play(
    network: PlayedNetwork, query: str, *numbers: int, **headers: str | int
) -> None:
    network.get(
        f"{SERVICE}{PATH}?{query}",
        payload=users(*numbers),
        headers={name.replace("_", "-"): str(value) for name, value in headers.items()},
    )


def listing(
    client: Client, query: str = "page=1", **options: Any
) -> Listing[UserRecord]:
    request = Request("GET", PATH, Purpose("list the users"), query)
    return Listing(client, request, UserRecord, **options)


async def ids(found: Listing[UserRecord]) -> list[int]:
    return [user.id async for user in found]


async def test_it_follows_the_pages(client: Client, network: PlayedNetwork) -> None:
    play(network, "page=1", 1, 2, X_Next_Page=2)
    play(network, "page=2", 3)

    assert await ids(listing(client)) == [1, 2, 3]


async def test_the_total_costs_no_request_of_its_own(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "page=1", 1, 2, X_Next_Page=2, X_Total=3)
    play(network, "page=2", 3)
    found = listing(client)

    assert await found.total() == 3
    assert await ids(found) == [1, 2, 3]
    assert len(network.requests) == 2


@pytest.mark.parametrize("total", ["", "many", "²", "9" * 40])
async def test_a_total_that_is_none_is_unknown(
    total: str, client: Client, network: PlayedNetwork
) -> None:
    play(network, "page=1", 1, X_Total=total)

    assert await listing(client).total() is None


async def test_one_page_is_not_followed(client: Client, network: PlayedNetwork) -> None:
    play(network, "page=7", 1, 2, X_Next_Page=8)

    assert await ids(listing(client, "page=7", is_one_page=True)) == [1, 2]


async def test_other_refusals_are_no_end_of_paging(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "page=1", 1, X_Next_Page=2)
    network.get(f"{SERVICE}{PATH}?page=2", status=400, payload={"error": "page"})

    with pytest.raises(Rejected, match="it says: page"):
        await ids(listing(client))


async def test_keyset_paging_has_no_end(client: Client, network: PlayedNetwork) -> None:
    link = f'<{SERVICE}{PATH}?pagination=keyset&id_after=2>; rel="next"'
    play(network, "pagination=keyset", 1, 2, Link=link)
    play(network, "pagination=keyset&id_after=2", 3)

    found = listing(client, "pagination=keyset")

    assert await ids(found) == [1, 2, 3]


# -- parts that do not say whether they are the last --------------------------------


async def test_full_page_without_headers_is_not_taken_for_the_whole(
    client: Client, network: PlayedNetwork
) -> None:
    """As where a proxy drops ``Link`` and the counts."""
    play(network, "per_page=2", 1, 2)
    play(network, "per_page=2&page=2", 3, 4)
    play(network, "per_page=2&page=3", 5)
    assert await ids(listing(client, "per_page=2")) == [1, 2, 3, 4, 5]


async def test_page_of_a_service_that_gives_fewer_than_asked_is_followed(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "per_page=100", *range(20))
    play(network, "per_page=100&page=2", 20)
    assert await ids(listing(client, "per_page=100")) == list(range(21))


@pytest.mark.parametrize(
    ("order", "bound"), [("sort=asc", "id_after"), ("sort=desc", "id_before")]
)
async def test_full_keyset_part_without_a_link_goes_on_behind_its_last_record(
    order: str, bound: str, client: Client, network: PlayedNetwork
) -> None:
    query = f"pagination=keyset&order_by=id&{order}&per_page=2"
    play(network, query, 1, 2)
    play(network, f"{query}&{bound}=2", 3, 4)
    play(network, f"{query}&{bound}=4")
    assert await ids(listing(client, query)) == [1, 2, 3, 4]


async def test_full_keyset_part_in_another_order_without_a_link_is_refused(
    client: Client, network: PlayedNetwork
) -> None:
    query = "pagination=keyset&order_by=name&per_page=2"
    play(network, query, 1, 2)
    with pytest.raises(
        ProtocolViolation, match="stops after 2 records without an end marker"
    ):
        await ids(listing(client, query))


async def test_fewer_records_than_the_total_are_not_taken_for_the_whole(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "per_page=100", 1, X_Total=2)
    play(network, "per_page=100&page=2", 2, X_Total=2)
    assert await ids(listing(client, "per_page=100")) == [1, 2]


async def test_last_page_that_says_so_costs_no_further_request(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "per_page=2", 1, 2, X_Next_Page="")
    assert await ids(listing(client, "per_page=2")) == [1, 2]
    assert len(network.requests) == 1


async def test_service_that_does_not_page_gives_each_record_once(
    client: Client, network: PlayedNetwork
) -> None:
    play(network, "per_page=2", 1, 2, 3)
    play(network, "per_page=2&page=2", 1, 2, 3)
    assert await ids(listing(client, "per_page=2")) == [1, 2, 3]
