"""Offset pagination and its headers (``docs/service.md`` "Paging")."""

from collections.abc import Mapping

from wikisync.service.parameters import Parameters, Window, paginate, read_window
from wikisync.service.settings import Limits

URL = "http://gitlab.example.com/api/v4/projects"


def headers_of(
    rows: int, page: int, parameters: Mapping[str, object] | None = None
) -> dict[str, str]:
    _part, headers = paginate(
        range(rows),
        Window(page, 2),
        url=URL,
        parameters=parameters or {},
        counted_rows_max=100,
    )
    return headers


def test_page_in_the_middle_leads_both_ways() -> None:
    headers = headers_of(5, 2)

    assert headers["X-Page"] == "2"
    assert (headers["X-Prev-Page"], headers["X-Next-Page"]) == ("1", "3")
    assert (headers["X-Total"], headers["X-Total-Pages"]) == ("5", "3")
    relations = [part.rpartition("rel=")[2] for part in headers["Link"].split(", ")]
    assert relations == ['"prev"', '"next"', '"first"', '"last"']


def test_first_page_has_an_empty_previous() -> None:
    assert headers_of(5, 1)["X-Prev-Page"] == ""
    assert 'rel="prev"' not in headers_of(5, 1)["Link"]


def test_page_past_the_end_is_empty_and_has_no_next() -> None:
    part, headers = paginate(
        range(5), Window(9, 2), url=URL, parameters={}, counted_rows_max=100
    )

    assert list(part) == []
    assert headers["X-Next-Page"] == ""


def test_empty_list_has_one_page() -> None:
    assert headers_of(0, 1)["X-Total-Pages"] == "1"


def test_long_list_has_no_totals() -> None:
    headers = headers_of(101, 1)

    assert "X-Total" not in headers
    assert 'rel="last"' not in headers["Link"]
    assert headers["X-Next-Page"] == "2"


def test_links_repeat_the_parameters_but_never_a_token() -> None:
    link = headers_of(5, 1, {"search": "a b", "private_token": "glpat-EXAMPLE"})["Link"]

    assert f"<{URL}?search=a+b&page=2&per_page=2>" in link
    assert "glpat" not in link


def test_page_before_the_first_means_the_first() -> None:
    window = read_window(Parameters({"page": "-1", "per_page": "1000"}), Limits())

    assert window == Window(1, 100)
