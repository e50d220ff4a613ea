"""Parameters read with the texts of ``docs/service.md`` "Errors", and its "Paging"."""

from collections.abc import Callable, Mapping

import pytest

from wikisync.contract.routes import OtherEndpoint
from wikisync.service.answers import Refusal
from wikisync.service.parameters import Parameters, Window, paginate, read_window
from wikisync.service.settings import Limits

Read = Callable[[Parameters], object]


def refused(raw: Mapping[str, object], *reads: Read) -> str:
    parameters = Parameters(raw)
    for read in reads:
        read(parameters)
    with pytest.raises(Refusal) as error:
        parameters.check()
    assert error.value.status == 400
    assert isinstance(error.value.body, dict)
    return str(error.value.body["error"])


def test_empty_text_is_not_missing() -> None:
    parameters = Parameters({"title": "", "content": ""})
    found = parameters.of(OtherEndpoint.PAGE_CREATE)
    assert found == {"title": "", "content": ""}
    parameters.check()


def test_number_is_taken_for_text() -> None:
    assert Parameters({"title": 5}).text("title") == "5"


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        (("true", "1", "T", "on", "yes", True, 1), True),
        (("false", "0", "F", "off", "no", False, 0), False),
        (("", None), None),
    ],
)
def test_spellings_of_yes_no_and_neither(values: tuple[object], meant: object) -> None:
    assert {Parameters({"x": value}).boolean("x") for value in values} == {meant}


@pytest.mark.parametrize("value", ["maybe", 2, [True]])
def test_anything_else_is_an_invalid_boolean(value: object) -> None:
    error = refused({"with_content": value}, lambda p: p.boolean("with_content"))
    assert error == "with_content is invalid"


def test_count_below_one_is_refused_and_above_the_most_is_lowered() -> None:
    def read(parameters: Parameters) -> int:
        return parameters.count("per_page", default=20, most=100)

    assert refused({"per_page": "0"}, read) == "per_page has a value not allowed"
    assert read(Parameters({"per_page": "500"})) == 100
    assert read(Parameters({})) == 20


URL = "http://gitlab.example.com/api/v4/projects"


def headers_of(
    rows: int, page: int, parameters: Mapping[str, object] | None = None
) -> dict[str, str]:
    _part, headers = paginate(
        range(rows),
        Window(page, 2),
        url=URL,
        parameters=parameters or {},
        limits=Limits(counted_rows_max=100),
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
        range(5),
        Window(9, 2),
        url=URL,
        parameters={},
        limits=Limits(counted_rows_max=100),
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
