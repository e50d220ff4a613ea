from __future__ import annotations

import pytest

from wikisync.api.listing import encode_query, next_query, total_of

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
    "link",
    [
        "",
        "nonsense",
        '<https://h/p?page=1>; rel="prev"',
        '<https://h/p?page=1>; rel="first"; title="next"',
        '<https://h/p?page=1>; rel="nextish"',
        "<<<>>>;;;,,,",
    ],
)
def test_no_next_link_is_the_end(link: str) -> None:
    assert next_query({"link": link}, "") is None


def test_the_next_page_header_keeps_the_rest_of_the_query() -> None:
    query = next_query({"x-next-page": "3"}, "search=a%20b&page=2&x=")

    assert query == "search=a%20b&x=&page=3"


@pytest.mark.parametrize("value", ["", " ", "-1", "x", "²"])
def test_a_next_page_that_is_no_number_is_the_end(value: str) -> None:
    assert next_query({"x-next-page": value}, "page=2") is None


def test_the_link_wins_over_the_next_page_header() -> None:
    headers = {"link": NEXT, "x-next-page": "3"}

    assert next_query(headers, "") == "id_after=9&sort=asc"


def test_queries_leave_out_none_and_spell_booleans_as_the_service_does() -> None:
    query = encode_query({"a": True, "b": False, "c": None, "d": "x&y /", "e": 1})

    assert query == "a=true&b=false&d=x%26y%20%2F&e=1"


@pytest.mark.parametrize(
    ("text", "total"),
    [("12", 12), (" 0 ", 0), ("", None), ("-1", None), ("²", None), ("9" * 20, None)],
)
def test_total_is_known_where_the_service_counts(text: str, total: int | None) -> None:
    assert total_of({"x-total": text}) == total


def test_total_is_unknown_without_the_header() -> None:
    assert total_of({}) is None
