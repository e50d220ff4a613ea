"""Where a redirect may lead, and what goes along, byte for byte."""

import pytest

from tests.api.conftest import TOKEN
from tests.api.wire import Wire, http, json_answer
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.errors import ProtocolViolation, RefusedInFront

VERSION = {"version": "17.0.0"}


async def test_a_moved_project_is_followed_inside_the_service(
    wired: Client, wire: Wire
) -> None:
    wire.will(
        http(301, Location=f"{wire.url}/api/v4/projects/7"),
        json_answer({"id": 7, "path_with_namespace": "new/name"}),
    )

    project = await wired.project("old/name")

    assert project.path_with_namespace == "new/name"
    assert wire.targets == ["/api/v4/projects/old%2Fname", "/api/v4/projects/7"]


async def test_a_relative_redirect_keeps_its_encoding(
    wired: Client, wire: Wire
) -> None:
    wire.will(
        http(308, Location="/api/v4/projects/7%2F%2E%2E?a=%2F"),
        json_answer({"id": 7, "path_with_namespace": "x"}),
    )

    await wired.project("old")

    assert wire.targets[1] == "/api/v4/projects/7%2F%2E%2E?a=%2F"


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("http://localhost:{port}/api/v4/version", "do not give it a token"),
        ("//localhost:{port}/api/v4/version", "do not give it a token"),
        ("https://127.0.0.1:{port}/api/v4/version", "give https://127.0.0.1:"),
        ("http://127.0.0.1:1/api/v4/version", "give http://127.0.0.1:1 as"),
        ("http://maria:s3cret@127.0.0.1:{port}/api/v4/version", ""),
    ],
)
async def test_the_token_never_follows_a_redirect_to_another_place(
    location: str, hint: str, wired: Client, wire: Wire
) -> None:
    port = wire.url.rpartition(":")[2]
    wire.will(http(302, Location=location.format(port=port)), json_answer(VERSION))

    with pytest.raises(ProtocolViolation, match="the token is not sent") as refused:
        await wired.version()

    assert wire.tokens == [TOKEN]
    assert hint in (refused.value.hint or "")
    assert "s3cret" not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    "location", ["", "http://[::1", "ftp://127.0.0.1/x", "\x80", "mailto:a@b"]
)
async def test_a_redirect_to_nowhere_is_named(
    location: str, wired: Client, wire: Wire
) -> None:
    wire.will(http(302, Location=location))
    with pytest.raises(ProtocolViolation, match="redirects to nowhere"):
        await wired.version()


async def test_a_redirect_to_the_sign_in_page_says_so(
    wired: Client, wire: Wire
) -> None:
    wire.will(http(302, Location="/users/sign_in"))
    with pytest.raises(RefusedInFront, match="sign-in page"):
        await wired.version()
    assert len(wire.requests) == 1


async def test_redirects_in_a_circle_end(wired: Client, wire: Wire) -> None:
    wire.will(http(302, Location="/api/v4/version"))
    wire.repeats = True
    with pytest.raises(ProtocolViolation, match="in a loop"):
        await wired.version()
    assert len(wire.requests) == 6


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        ("/api/v4/projects/8/wikis", "ask the administrator of the service"),
        ("/git/api/v4/projects/7/wikis", "give {url}/git as the service's URL"),
    ],
)
async def test_a_write_follows_no_redirect(
    location: str, hint: str, wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(http(307, Location=location))
    with pytest.raises(ProtocolViolation, match="not sent twice") as refused:
        await wired_wiki.create_page("home", "text")
    assert len(wire.requests) == 1
    assert hint.format(url=wire.url) in (refused.value.hint or "")
