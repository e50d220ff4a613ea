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

PACKED = gzip.compress(b"a" * 5_000_000)
HTML = "text/html; charset=utf-8"
FILE = AttachmentPath("uploads/0123456789abcdef0123456789abcdef/a b.png")


async def collected(wiki: Wiki, path: AttachmentPath = FILE) -> bytes:
    return b"".join([chunk async for chunk in wiki.read_attachment(path)])


async def take_all(wiki: Wiki, received: list[bytes]) -> None:
    """Like ``collected``, but what came before an error is kept."""
    async for chunk in wiki.read_attachment(FILE):
        received.append(chunk)  # noqa: PERF401


@pytest.mark.parametrize(
    "answer",
    [
        http(200, PACKED, "image/png", Content_Encoding="gzip"),
        http(200, b"a" * 1_000_001, "image/png"),
    ],
)
async def test_no_more_than_the_limit_is_handed_on(
    answer: bytes, wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(answer)
    settings = ClientSettings(attachment_bytes_max=1_000_000)
    received: list[bytes] = []

    async with make_client(wire.url, settings=settings) as client:
        wiki = Wiki(client, WikiOwner("project", "a/b"))
        with pytest.raises(ProtocolViolation, match="larger than 1000000 bytes"):
            await take_all(wiki, received)

    assert sum(map(len, received)) <= 1_000_000
    assert received or PACKED not in answer


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


NO_SERVER = "does not serve attachments to tokens"


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (http(302, Location="/users/sign_in"), NotFound, "redirects to its sign-in"),
        (http(302, Location=""), NotFound, "redirects to its sign-in page"),
        (http(302, Location="https://cdn.example.com/x"), NotFound, "to https://cdn.e"),
        (http(200, b"<html>", HTML), NotFound, "answers with a web page instead"),
        (http(404, b"<html>", "text/html"), NotFound, "there is no such file"),
        (cut(http(200, b"x" * 1000, "image/png")), ProtocolViolation, "was truncated"),
    ],
)
async def test_what_is_no_attachment_is_never_taken_for_one(
    answer: bytes, kind: type[Exception], message: str, wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(answer, http(200, b"<html>", "text/html"))

    with pytest.raises(kind, match=message) as refused:
        await collected(wired_wiki)

    is_redirect = answer.startswith(b"HTTP/1.1 302")
    assert not is_redirect or NO_SERVER in str(refused.value)
    assert len(wire.requests) == 1


async def test_an_attachment_that_is_html_by_name_may_be_html(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(200, b"<html>", "text/html"))
    path = AttachmentPath("uploads/ab/report.HTML")
    assert await collected(wired_wiki, path) == b"<html>"


async def test_an_attachment_is_asked_for_again_before_its_first_byte(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(503), BREAK, http(200, b"x", "image/png"))
    assert await collected(wired_wiki) == b"x"
