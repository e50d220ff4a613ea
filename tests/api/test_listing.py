"""Lists: parts and totals."""

from typing import Any

import pytest

from tests.api.conftest import SERVICE
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client, Listing, next_query, total_of
from wikisync.api.exchange import Purpose, Request
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


NEXT = '<https://inside:8443/api/v4/projects?id_after=9&sort=asc>; rel="next"'


@pytest.mark.parametrize(
    "link",
    [
        NEXT,
        f'<https://h/p?page=1>; rel="first", {NEXT}, <https://h/p?page=9>; rel="last"',
        NEXT.replace('"', ""),
        NEXT.replace('"next"', '"last next"'),
        NEXT.replace('; rel="next"', '; title="a, b"; REL="Next"'),
        NEXT.replace(">", "#part>"),
    ],
)
def test_the_query_of_the_next_link_is_taken(link: str) -> None:
    assert next_query({"link": link}, "sort=asc") == "id_after=9&sort=asc"


@pytest.mark.parametrize(
    ("text", "total"),
    [("12", 12), (" 0 ", 0), ("", None), ("-1", None), ("²", None), ("9" * 20, None)],
)
def test_total_is_known_where_the_service_counts(text: str, total: int | None) -> None:
    assert total_of({"x-total": text}) == total


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


async def test_empty_part_is_the_last_one_unless_it_names_another(
    client: Client, network: PlayedNetwork
) -> None:
    """Whatever the total: there is nothing behind which one could ask on."""
    play(network, "page=1", X_Next_Page=2)
    play(network, "page=2", 1, X_Next_Page=3, X_Total=9)
    play(network, "page=3", X_Total=9)
    assert await ids(listing(client)) == [1]


@pytest.mark.parametrize("page", ["x", "%C2%B2", "9" * 16, ""])
async def test_page_that_is_no_number_is_the_first(
    page: str, client: Client, network: PlayedNetwork
) -> None:
    play(network, f"page={page}&per_page=2", 1, 2)
    play(network, "per_page=2&page=2", 3)
    assert await ids(listing(client, f"page={page}&per_page=2")) == [1, 2, 3]


async def test_what_was_asked_for_stays_in_the_query_of_a_part_that_is_not_named(
    client: Client, network: PlayedNetwork
) -> None:
    query = "search=&name=a&per_page=2"
    play(network, query, 1, 2)
    play(network, f"{query}&page=2", 3)
    assert await ids(listing(client, query)) == [1, 2, 3]


async def test_keyset_part_of_records_without_ids_is_refused_as_the_last(
    client: Client, network: PlayedNetwork
) -> None:
    query = "pagination=keyset&per_page=2"
    play(network, query, 1, 2)
    found = Listing(
        client, Request("GET", PATH, Purpose("list the users"), query), dict[str, Any]
    )
    with pytest.raises(ProtocolViolation, match="stops after 2 records"):
        [record async for record in found]
