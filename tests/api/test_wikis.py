"""What the operations on a wiki send and make of odd answers."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from tests.api.conftest import SERVICE
from tests.api.wire import Wire, http, json_answer
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, WikiOwner
from wikisync.errors import FolderError, NotFound, ProtocolViolation, Rejected

PAGES = f"{SERVICE}/api/v4/projects/7/wikis"
HOME = {"slug": "home", "format": "markdown", "title": "home", "content": "text"}
NO_ROUTE = json_answer({"error": "404 Not Found"}, 404)
NO_PAGE = json_answer({"message": "404 Wiki Page Not Found"}, 404)
BASE = "/api/v4/projects/7/wikis"
UPLOADED = {"file_name": "a.png", "file_path": "uploads/ab/a.png", "branch": "main"}


async def test_a_list_is_one_request_even_if_it_claims_to_be_paged(
    wiki: Wiki, network: PlayedNetwork
) -> None:
    """The real service never pages it; asking for page 2 gives all pages again."""
    paged = {"Link": f'<{PAGES}?page=2>; rel="next"', "X-Next-Page": "2"}
    network.get(PAGES, payload=[HOME], headers=paged)

    network.get(f"{PAGES}?with_content=true", payload=[HOME], headers=paged)

    (page,) = await wiki.list_pages()
    (full,) = await wiki.list_pages(with_content=True)

    assert (page.slug, full.content) == ("home", "text")


async def test_a_list_that_did_not_change_is_not_sent_again(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer([HOME], ETag='W/"1"'), http(304, ETag='W/"1"'))

    first = await wired_wiki.poll_pages()
    assert first is not None
    second = await wired_wiki.poll_pages(first.etag)

    assert [page.slug for page in first.pages] == ["home"]
    assert second is None
    assert wire.requests[1].headers["if-none-match"] == 'W/"1"'


async def test_not_modified_without_a_question_is_an_error(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(304))
    with pytest.raises(ProtocolViolation, match="unexpected status 304"):
        await wired_wiki.list_pages()


async def test_a_page_can_be_had_as_html_and_as_of_a_version(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer(HOME))
    await wired_wiki.get_page("home", render_html=True, version="ab/c")
    assert wire.targets == [f"{BASE}/home?render_html=true&version=ab%2Fc"]


async def test_the_slug_of_the_answer_is_kept(
    wiki: Wiki, network: PlayedNetwork
) -> None:
    network.get(f"{PAGES}/HOME", payload=HOME)
    assert (await wiki.get_page("HOME")).slug == "home"


async def test_a_nested_slug_is_sent_with_raw_slashes_where_a_proxy_needs_it(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(NO_ROUTE, json_answer({"slug": "a/b c/d"}))
    page = await wired_wiki.get_page("a/b c/d")
    assert page.slug == "a/b c/d"
    assert wire.targets == [f"{BASE}/a%2Fb%20c%2Fd", f"{BASE}/a/b%20c/d"]


async def test_the_form_that_worked_is_used_from_then_on(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(NO_ROUTE, NO_PAGE, json_answer({"slug": "e/f"}))
    with pytest.raises(NotFound, match="there is no such page"):
        await wired_wiki.get_page("a/b")
    await wired_wiki.get_page("e/f")
    assert wire.targets[2] == f"{BASE}/e/f"


async def test_writes_use_raw_slashes_too(wired_wiki: Wiki, wire: Wire) -> None:
    wire.will(NO_ROUTE, json_answer({"slug": "a/../b"}), http(204))
    await wired_wiki.edit_page("a/../b", content="x")
    await wired_wiki.delete_page("a/../b")
    assert wire.targets[1:] == [f"{BASE}/a/%2E%2E/b"] * 2
    assert [request.method for request in wire.requests] == ["PUT", "PUT", "DELETE"]


@pytest.mark.parametrize(
    ("slug", "answers", "message"),
    [
        ("a/b", [NO_ROUTE, NO_ROUTE], "knows no such address"),
        ("a/b", [NO_PAGE], "there is no such page"),
        ("home", [NO_ROUTE], "knows no such address"),
    ],
    ids=["unknown in both forms", "missing page", "without a slash"],
)
async def test_a_slug_is_asked_for_in_another_form_only_where_that_may_help(
    slug: str, answers: list[bytes], message: str, wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(*answers)
    with pytest.raises(NotFound, match=message):
        await wired_wiki.get_page(slug)
    assert len(wire.requests) == len(answers)


Ask = Callable[[Wiki], Awaitable[object]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        # an empty slug would reach the list, and a DELETE of it who knows what
        (lambda w: w.delete_page(""), "this is not a valid page slug"),
        (lambda w: w.delete_page("half \ud800"), "this is not a valid page slug"),
        (lambda w: w.edit_page("home"), "no change is given"),
        (
            lambda w: w.edit_page("home", message="m", front_matter_title="t"),
            "no change is given",
        ),
        # it would be turned into markdown, file name and all
        (
            lambda w: w.edit_page("home", content="x", format=Format.MEDIAWIKI),
            "does not accept mediawiki pages",
        ),
        (lambda w: w.create_page("home", "a \udc80 b"), "lone surrogate"),
        (lambda w: w.upload_attachment(b"x", ""), "not a valid attachment name"),
        (
            lambda w: w.upload_attachment(b"x", "a\r\nX: y"),
            "not a valid attachment name",
        ),
        (lambda w: w.upload_attachment(b"x", "a\0"), "not a valid attachment name"),
        (lambda w: w.upload_attachment(Path("/no/x"), "x"), "cannot read /no/x"),
    ],
)
async def test_what_no_service_takes_is_not_sent(
    ask: Ask, message: str, wired_wiki: Wiki, wire: Wire
) -> None:
    with pytest.raises((Rejected, FolderError), match=message) as refused:
        await ask(wired_wiki)
    formats = "formats for writing: asciidoc, markdown, org, rdoc"
    assert (refused.value.hint == formats) is ("mediawiki" in message)
    assert wire.requests == []


async def test_a_create_sends_title_content_and_format(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer({"slug": "dir/a-b"}, 201))

    page = await wired_wiki.create_page("dir/a b", "é\r\n", Format.ORG)

    (request,) = wire.requests
    sent = json.loads(request.body)
    assert sent == {"title": "dir/a b", "content": "é\r\n", "format": "org"}
    assert (request.method, request.target) == ("POST", BASE)
    assert request.headers["content-type"] == "application/json"
    assert page.slug == "dir/a-b"


@pytest.mark.parametrize(
    "sent",
    [
        {"title": "dir/home", "content": "", "format": "markdown"},
        {"content": "x"},
        {"title": "other"},
        {"format": "rdoc"},
    ],
)
async def test_an_edit_sends_what_was_given_and_no_more(
    sent: dict[str, str], wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer(HOME))
    given = Format(sent["format"]) if "format" in sent else None

    await wired_wiki.edit_page(
        "dir/home", title=sent.get("title"), content=sent.get("content"), format=given
    )

    assert json.loads(wire.requests[0].body) == sent
    assert wire.requests[0].method == "PUT"


async def test_a_page_of_six_megabytes_is_sent_whole(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer(HOME))
    await wired_wiki.edit_page("home", content="x" * 6_000_000)
    assert len(wire.requests[0].body) == 6_000_014


async def test_a_message_a_commit_and_a_title_are_sent_where_they_are_given(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.repeats = True
    wire.will(json_answer(HOME))

    about: dict[str, Any] = {"message": "m", "front_matter_title": "t"}
    await wired_wiki.create_page("home", "text", **about)
    await wired_wiki.edit_page("home", content="x", last_commit_sha="c0", **about)

    created, edited = (json.loads(request.body) for request in wire.requests)
    sent = {"message": "m", "front_matter": {"title": "t"}}
    assert created == sent | {"title": "home", "content": "text", "format": "markdown"}
    assert edited == sent | {"content": "x", "last_commit_sha": "c0"}


async def test_a_delete_has_no_answer(wiki: Wiki, network: PlayedNetwork) -> None:
    network.delete(f"{PAGES}/home", status=204)
    await wiki.delete_page("home")
    assert list(network.requests) == [("DELETE", URL(f"{PAGES}/home"))]


async def test_a_delete_answered_by_a_web_page_did_not_happen(
    wiki: Wiki, network: PlayedNetwork
) -> None:
    network.delete(f"{PAGES}/home", body="<html>", content_type="text/html")
    with pytest.raises(ProtocolViolation, match="not a GitLab-compatible API"):
        await wiki.delete_page("home")


async def test_an_upload_is_a_form_with_file_and_branch(
    wired_wiki: Wiki, wire: Wire, tmp_path: Path
) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(bytes(range(256)) * 8000)
    wire.will(json_answer(UPLOADED, 201))

    record = await wired_wiki.upload_attachment(file, 'naïve "x".png', branch="main")

    (request,) = wire.requests
    assert record.file_path == "uploads/ab/a.png"
    assert (request.method, request.target) == ("POST", f"{BASE}/attachments")
    assert file.read_bytes() in request.body
    assert 'name="file"; filename="naïve _x_.png"'.encode() in request.body
    assert b'name="branch"\r\n' in request.body.replace(b"\r\n\r\n", b"\r\n")
    assert int(request.headers["content-length"]) == len(request.body)


async def test_an_upload_repeated_after_a_rate_limit_sends_the_whole_file(
    wired_wiki: Wiki, wire: Wire, tmp_path: Path
) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"content of the file")
    wire.will(http(429, Retry_After="1"), json_answer(UPLOADED, 201))

    await wired_wiki.upload_attachment(file, "x.bin")

    assert [b"content of the file" in request.body for request in wire.requests] == [
        True,
        True,
    ]


async def test_an_upload_of_bytes(wired_wiki: Wiki, wire: Wire) -> None:
    wire.will(json_answer(UPLOADED, 201))
    await wired_wiki.upload_attachment(b"z" * 2_000_000, "x.bin")
    assert b"z" * 2_000_000 in wire.requests[0].body
    assert b'name="branch"' not in wire.requests[0].body


async def test_control_characters_of_a_slug_stay_out_of_messages(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(NO_PAGE)
    with pytest.raises(NotFound, match=r"read page a \[31mb of project"):
        await wired_wiki.get_page("a\x1b[31mb")


def test_a_wiki_has_an_address_for_people(client: Client) -> None:
    project = Wiki(client, WikiOwner("project", "docs/hand book"), 7)
    group = Wiki(client, WikiOwner("group", "docs"))
    assert project.web_url == f"{SERVICE}/docs/hand%20book/-/wikis"
    assert group.web_url == f"{SERVICE}/groups/docs/-/wikis"
    assert str(project) == "wiki of project docs/hand book"
