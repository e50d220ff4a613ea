"""Attachments from the web side, byte for byte, and odd answers."""

import gzip

import pytest

from tests.api.conftest import TOKEN, ClientMaker
from tests.api.wire import BREAK, Wire, cut, http
from wikisync.api.client import Client
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.errors import NotFound, ProtocolViolation

FILE = AttachmentPath("uploads/0123456789abcdef0123456789abcdef/a b.png")


async def collected(wiki: Wiki, path: AttachmentPath = FILE) -> bytes:
    return b"".join([chunk async for chunk in wiki.read_attachment(path)])


async def take_all(wiki: Wiki, received: list[bytes]) -> None:
    """Like ``collected``, but what came before an error is kept."""
    async for chunk in wiki.read_attachment(FILE):
        received.append(chunk)  # noqa: PERF401


async def test_no_more_than_the_limit_is_handed_on(
    wire: Wire, make_client: ClientMaker
) -> None:
    packed = gzip.compress(b"a" * 5_000_000)
    wire.will(http(200, packed, "image/png", Content_Encoding="gzip"))
    settings = ClientSettings(attachment_bytes_max=1_000_000)
    received: list[bytes] = []

    async with make_client(wire.url, settings=settings) as client:
        wiki = Wiki(client, WikiOwner("project", "a/b"))
        with pytest.raises(ProtocolViolation, match="larger than 1000000 bytes"):
            await take_all(wiki, received)

    assert 0 < sum(map(len, received)) <= 1_000_000


async def test_an_attachment_comes_from_the_web_side_in_chunks(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(200, b"\x89PNG" * 100_000, "image/png"))

    assert await collected(wired_wiki) == b"\x89PNG" * 100_000
    hashed = FILE.split("/")[1]
    assert wire.targets == [f"/docs/handbook/-/wikis/uploads/{hashed}/a%20b.png"]
    assert wire.tokens == [TOKEN]


async def test_an_attachment_of_a_group_wiki(wired: Client, wire: Wire) -> None:
    wire.will(http(200, b"x", "image/png"))

    await collected(Wiki(wired, WikiOwner("group", "docs/deep")), AttachmentPath("u/x"))

    assert wire.targets == ["/groups/docs/deep/-/wikis/u/x"]


async def test_an_empty_attachment_is_no_error(wired_wiki: Wiki, wire: Wire) -> None:
    wire.will(http(200, b"", "image/png"))

    assert await collected(wired_wiki) == b""


@pytest.mark.parametrize(
    ("location", "what"),
    [
        ("/users/sign_in", "it redirects to its sign-in page"),
        ("https://cdn.example.com/x", "it redirects to https://cdn.example.com/x"),
        ("", "it redirects to its sign-in page"),
    ],
)
async def test_a_redirect_is_never_taken_for_an_attachment(
    location: str, what: str, wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(302, Location=location), http(200, b"<html>", "text/html"))

    with pytest.raises(NotFound, match="does not serve attachments") as refused:
        await collected(wired_wiki)

    assert what in refused.value.message
    assert len(wire.requests) == 1


async def test_a_web_page_is_never_taken_for_a_picture(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(200, b"<html>", "text/html; charset=utf-8"))

    with pytest.raises(NotFound, match="answers with a web page instead"):
        await collected(wired_wiki)


async def test_an_attachment_that_is_html_by_name_may_be_html(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(200, b"<html>", "text/html"))

    path = AttachmentPath("uploads/ab/report.HTML")
    assert await collected(wired_wiki, path) == b"<html>"


async def test_a_missing_attachment_with_a_web_page_for_its_error(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(404, b"<html>", "text/html"))

    with pytest.raises(NotFound, match="there is no such file"):
        await collected(wired_wiki)


async def test_an_attachment_is_asked_for_again_before_its_first_byte(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(503), BREAK, http(200, b"x", "image/png"))

    assert await collected(wired_wiki) == b"x"


async def test_an_attachment_cut_in_its_middle_is_an_error(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(cut(http(200, b"x" * 1000, "image/png")))

    with pytest.raises(ProtocolViolation, match="the response was truncated"):
        await collected(wired_wiki)


async def test_an_oversized_attachment_is_an_error(
    wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(http(200, b"x" * 1001, "image/png"))
    settings = ClientSettings(attachment_bytes_max=1000)

    async with make_client(wire.url, settings=settings) as client:
        with pytest.raises(ProtocolViolation, match="larger than 1000 bytes"):
            await collected(Wiki(client, WikiOwner("project", "a/b")))
