"""Raw paths to routes: encoded slashes, raw slashes, methods."""

from __future__ import annotations

import pytest

from wikisync.service.answers import Refusal
from wikisync.service.offers import route_table
from wikisync.service.routing import Match, OtherMethods, RouteTable

TABLE = RouteTable(
    [
        ("GET", "/p/{id}/wikis", "list"),
        ("POST", "/p/{id}/wikis", "create"),
        ("POST", "/p/{id}/wikis/attachments", "upload"),
        ("GET", "/p/{id}/wikis/{slug}", "show"),
        ("PUT", "/p/{id}/wikis/{slug}", "edit"),
    ]
)


def match(method: str, path: str) -> tuple[str, dict[str, str]]:
    found = TABLE.match(method, path)
    assert isinstance(found, Match)
    return found.target, dict(found.segments)


def test_encoded_slash_is_part_of_a_segment() -> None:
    found = match("GET", "/p/docs%2Fhandbook/wikis/dir%2Fpage")

    assert found == ("show", {"id": "docs/handbook", "slug": "dir/page"})


def test_slug_takes_raw_slashes() -> None:
    assert match("GET", "/p/1/wikis/dir/page") == (
        "show",
        {"id": "1", "slug": "dir/page"},
    )


def test_id_takes_no_raw_slash() -> None:
    assert TABLE.match("GET", "/p/docs/handbook/wikis") is None


def test_segment_is_decoded_once() -> None:
    assert match("GET", "/p/1/wikis/100%2525")[1]["slug"] == "100%25"


def test_plus_is_a_plus() -> None:
    assert match("GET", "/p/1/wikis/C++")[1]["slug"] == "C++"


def test_trailing_slash_of_the_list_is_tolerated() -> None:
    assert match("GET", "/p/1/wikis/")[0] == "list"


def test_page_called_attachments_can_be_read_and_edited() -> None:
    assert match("GET", "/p/1/wikis/attachments")[0] == "show"
    assert match("PUT", "/p/1/wikis/attachments")[0] == "edit"
    assert match("POST", "/p/1/wikis/attachments")[0] == "upload"


def test_head_is_answered_where_get_is() -> None:
    assert match("HEAD", "/p/1/wikis")[0] == "list"


def test_other_methods_are_told() -> None:
    assert TABLE.match("PATCH", "/p/1/wikis/x") == OtherMethods(
        ("GET", "HEAD", "OPTIONS", "PUT")
    )


@pytest.mark.parametrize("segment", ["%FF", "%C3", "a%00b", "\udcff"])
def test_malformed_segment_is_refused(segment: str) -> None:
    with pytest.raises(Refusal) as error:
        TABLE.match("GET", f"/p/1/wikis/{segment}")

    assert error.value.status == 400


def test_file_route_finds_nested_owners_and_odd_names() -> None:
    found = route_table().match("GET", "/a/b/c/-/wikis/uploads/0f/x/-/wikis/uploads/y")

    assert isinstance(found, Match)
    assert found.segments == {
        "full_path": "a/b/c",
        "path": "0f/x/-/wikis/uploads/y",
    }


def test_file_route_of_a_group_is_told_from_a_project() -> None:
    found = route_table().match("GET", "/groups/a/b/-/wikis/uploads/0f/x")

    assert isinstance(found, Match)
    assert found.segments["full_path"] == "a/b"
