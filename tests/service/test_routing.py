"""Raw paths to routes: encoded slashes, raw slashes, methods."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from yarl import URL

from wikisync.service.answers import Refusal
from wikisync.service.offers import route_table
from wikisync.service.server import OtherMethods, Router

TABLE = Router(
    [
        ("GET", "/p/{id}/wikis", "list"),
        ("POST", "/p/{id}/wikis", "create"),
        ("POST", "/p/{id}/wikis/attachments", "upload"),
        ("GET", "/p/{id}/wikis/{slug}", "show"),
        ("PUT", "/p/{id}/wikis/{slug}", "edit"),
    ]
)


def requested(method: str, path: str) -> web.BaseRequest:
    """A request for a path as it stands on the wire."""
    url = URL.build(path=path, encoded=True)
    return make_mocked_request(method, "/").clone(rel_url=url)


async def match(method: str, path: str) -> tuple[str, dict[str, str]]:
    found = await TABLE.match(requested(method, path))
    assert isinstance(found, tuple)
    return found[0], dict(found[1])


async def test_encoded_slash_is_part_of_a_segment() -> None:
    found = await match("GET", "/p/docs%2Fhandbook/wikis/dir%2Fpage")

    assert found == ("show", {"id": "docs/handbook", "slug": "dir/page"})


async def test_slug_takes_raw_slashes() -> None:
    assert await match("GET", "/p/1/wikis/dir/page") == (
        "show",
        {"id": "1", "slug": "dir/page"},
    )


async def test_id_takes_no_raw_slash() -> None:
    assert await TABLE.match(requested("GET", "/p/docs/handbook/wikis")) is None


async def test_segment_is_decoded_once() -> None:
    assert (await match("GET", "/p/1/wikis/100%2525"))[1]["slug"] == "100%25"


async def test_plus_is_a_plus() -> None:
    assert (await match("GET", "/p/1/wikis/C++"))[1]["slug"] == "C++"


@pytest.mark.parametrize(
    ("written", "slug"),
    [
        ("a%2fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("a%25b", "a%b"),
        ("a%b", "a%b"),
        ("a%0Ab", "a\nb"),
        ("a%3Fb%23c;d=1", "a?b#c;d=1"),
        ("%7Bx%7D", "{x}"),
        ("%C3%A4", "ä"),
        ("../x", "../x"),
        ("a/b/", "a/b"),
        ("a%2F", "a/"),
    ],
)
async def test_odd_slugs_arrive_as_they_were_meant(written: str, slug: str) -> None:
    assert await match("GET", f"/p/1/wikis/{written}") == (
        "show",
        {"id": "1", "slug": slug},
    )


async def test_trailing_slash_of_the_list_is_tolerated() -> None:
    assert (await match("GET", "/p/1/wikis/"))[0] == "list"


async def test_page_called_attachments_can_be_read_and_edited() -> None:
    assert (await match("GET", "/p/1/wikis/attachments"))[0] == "show"
    assert (await match("PUT", "/p/1/wikis/attachments"))[0] == "edit"
    assert (await match("POST", "/p/1/wikis/attachments"))[0] == "upload"


async def test_head_is_answered_where_get_is() -> None:
    assert (await match("HEAD", "/p/1/wikis"))[0] == "list"


async def test_other_methods_are_told() -> None:
    found = await TABLE.match(requested("PATCH", "/p/1/wikis/x"))

    assert found == OtherMethods(("GET", "HEAD", "OPTIONS", "PUT"))


@pytest.mark.parametrize("segment", ["%FF", "%C3", "a%00b", "\udcff"])
async def test_malformed_segment_is_refused(segment: str) -> None:
    with pytest.raises(Refusal) as error:
        await TABLE.match(requested("GET", f"/p/1/wikis/{segment}"))

    assert error.value.status == 400


async def test_file_route_finds_nested_owners_and_odd_names() -> None:
    request = requested("GET", "/a/b/c/-/wikis/uploads/0f/x/-/wikis/uploads/y")
    found = await Router(route_table()).match(request)

    assert isinstance(found, tuple)
    assert found[1] == {"full_path": "a/b/c", "path": "uploads/0f/x/-/wikis/uploads/y"}


async def test_file_route_of_a_group_is_told_from_a_project() -> None:
    request = requested("GET", "/groups/a/b/-/wikis/uploads/0f/x")
    found = await Router(route_table()).match(request)

    assert isinstance(found, tuple)
    assert found[1]["full_path"] == "a/b"
