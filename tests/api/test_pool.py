"""One exchange, byte for byte, against a wire that plays odd answers."""

from __future__ import annotations

import gzip
import logging
import traceback
from contextlib import AsyncExitStack

import aiohttp
import pytest

from tests.api.conftest import SERVICE, TOKEN, ClientMaker
from tests.api.faketime import FakeTime
from tests.api.wire import BREAK, Wire, cut, http, json_answer, listening_wire
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.replica import WikiReplica
from wikisync.api.request import Request
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.errors import (
    NoAnswerInTime,
    NotFound,
    ProtocolViolation,
    RefusedInFront,
    RemoteError,
    Unavailable,
    UsageError,
)
from wikisync.model import AttachmentPath, WikiOwner

VERSION = {"version": "17.0.0"}
FILE = AttachmentPath("uploads/0123456789abcdef0123456789abcdef/a b.png")


async def collected(wiki: Wiki, path: AttachmentPath = FILE) -> bytes:
    return b"".join([chunk async for chunk in wiki.read_attachment(path)])


async def take_all(wiki: Wiki, received: list[bytes]) -> None:
    """Like ``collected``, but what came before an error is kept."""
    async for chunk in wiki.read_attachment(FILE):
        received.append(chunk)  # noqa: PERF401


async def test_the_token_and_our_name_go_with_every_request(
    wired: Client, wire: Wire
) -> None:
    wire.will(json_answer(VERSION))

    await wired.version()

    assert wire.tokens == [TOKEN]
    assert wire.requests[0].headers["user-agent"].startswith("wikisync/")
    assert wire.requests[0].headers["accept"] == "application/json"


async def test_without_a_token_no_header_is_sent(
    wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(json_answer(VERSION))

    async with make_client(wire.url, token=None) as client:
        await client.version()

    assert wire.tokens == [None]


@pytest.mark.parametrize(
    ("slug", "encoded"),
    [
        ("home", "home"),
        ("dir/page", "dir%2Fpage"),
        ("100%", "100%25"),
        ("a%2Fb", "a%252Fb"),
        ("c#", "c%23"),
        ("why?", "why%3F"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"),
        ("a b+c&d=e", "a%20b%2Bc%26d%3De"),
        ("日本語", "%E6%97%A5%E6%9C%AC%E8%AA%9E"),
        ("e\u0301", "e%CC%81"),
        ("a;b,c@d:e", "a%3Bb%2Cc%40d%3Ae"),
        ('<"\\|*>', "%3C%22%5C%7C%2A%3E"),
        ("x\r\nHost: evil", "x%0D%0AHost%3A%20evil"),
        ("nul\0", "nul%00"),
        ("~user_-.md", "~user_-.md"),
    ],
)
async def test_a_slug_arrives_encoded_once(
    slug: str, encoded: str, wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(json_answer({"slug": slug, "content": ""}))

    page = await wired_wiki.get_page(slug)

    assert wire.targets == [f"/api/v4/projects/7/wikis/{encoded}"]
    assert page.slug == slug


@pytest.mark.parametrize("base", ["/git", "/git/", "/git/api/v4", "/git/api/v4/"])
async def test_a_service_below_a_sub_path(
    base: str, wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(json_answer({"id": 1, "path_with_namespace": "a/b"}))

    async with make_client(wire.url + base) as client:
        await client.project("a/b")

    assert wire.targets == ["/git/api/v4/projects/a%2Fb"]


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


async def test_the_token_never_follows_a_redirect_to_another_host(
    wired: Client, wire: Wire
) -> None:
    elsewhere = wire.url.replace("127.0.0.1", "localhost")
    wire.will(http(302, Location=f"{elsewhere}/api/v4/version"), json_answer(VERSION))

    with pytest.raises(ProtocolViolation, match="the token is not sent") as refused:
        await wired.version()

    assert wire.tokens == [TOKEN, None], "asked once, without it, whether it is one"
    assert refused.value.hint == f"give {elsewhere} as the service's URL"


@pytest.mark.parametrize(
    ("location", "answer"),
    [
        ("/adfs/ls?RelayState=x", json_answer(VERSION)),
        ("/", json_answer(VERSION)),
        ("/api/v4/version?back=1", json_answer(VERSION)),
        ("/api/v4/version", http(200, b"<html>", "text/html")),
        ("/api/v4/version", http(302, Location="/in")),
        ("/api/v4/version", json_answer({}, 500)),
        ("/api/v4/version", BREAK),
    ],
)
async def test_another_host_is_the_service_only_if_it_answers_the_same_request_as_one(
    location: str, answer: bytes, wired: Client, wire: Wire
) -> None:
    """Whoever gives that URL as the service's gives the token to that host."""
    elsewhere = wire.url.replace("127.0.0.1", "localhost")
    wire.will(http(302, Location=elsewhere + location), answer)

    with pytest.raises(ProtocolViolation, match="the token is not sent") as refused:
        await wired.version()

    assert "do not give it a token" in (refused.value.hint or "")
    assert wire.tokens[1:] in ([], [None])


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/api/v4/version",
        "http://127.0.0.1:1/api/v4/version",
        "//localhost:{port}/api/v4/version",
        "http://maria:s3cret@127.0.0.1:{port}/api/v4/version",
    ],
)
async def test_another_scheme_port_host_or_user_is_another_place(
    location: str, wired: Client, wire: Wire
) -> None:
    port = wire.url.rpartition(":")[2]
    wire.will(http(302, Location=location.format(port=port)), json_answer(VERSION))

    with pytest.raises(ProtocolViolation, match="the token is not sent") as refused:
        await wired.version()

    assert wire.tokens in ([TOKEN], [TOKEN, None])
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


async def test_a_body_cut_short_is_asked_for_again(wired: Client, wire: Wire) -> None:
    wire.will(cut(json_answer(VERSION)), json_answer(VERSION))

    assert (await wired.version()).version == "17.0.0"


async def test_a_body_always_cut_short_is_a_named_error(
    wired: Client, wire: Wire
) -> None:
    wire.will(cut(json_answer(VERSION)))
    wire.repeats = True

    with pytest.raises(ProtocolViolation, match="the response was truncated"):
        await wired.version()

    assert len(wire.requests) == 5


async def test_a_whole_body_of_half_json_is_asked_for_again(
    wired_wiki: Wiki, wire: Wire
) -> None:
    """Behind some proxies a cut answer is complete as far as HTTP can tell."""
    half = http(200, b'[{"slug":"home"', "application/json")
    wire.will(half, json_answer([{"slug": "home"}]))

    assert [page.slug for page in await wired_wiki.list_pages()] == ["home"]


async def test_a_cut_answer_to_a_write_is_not_sent_again(
    wired_wiki: Wiki, wire: Wire
) -> None:
    wire.will(cut(json_answer({"slug": "home"}, 201)))

    with pytest.raises(ProtocolViolation, match="truncated") as failed:
        await wired_wiki.create_page("home", "text")

    assert len(wire.requests) == 1
    assert (
        failed.value.hint == "the change may have been made; check before repeating it"
    )


async def test_a_broken_connection_is_tried_again(wired: Client, wire: Wire) -> None:
    wire.will(BREAK, BREAK, json_answer(VERSION))

    await wired.version()

    assert len(wire.requests) == 3


@pytest.mark.parametrize("is_delete", [True, False])
async def test_a_write_whose_connection_broke_is_not_repeated(
    is_delete: bool, wired_wiki: Wiki, wire: Wire
) -> None:
    """Not by us, and not by aiohttp, which repeats PUT and DELETE by itself."""
    change = (
        wired_wiki.delete_page("home")
        if is_delete
        else wired_wiki.edit_page("home", content="x")
    )

    with pytest.raises(Unavailable, match="the connection broke") as failed:
        await change

    assert len(wire.requests) == 1
    assert failed.value.hint is not None
    assert "unknown" in failed.value.hint


async def test_a_refused_connection_is_an_error_at_once(
    make_client: ClientMaker,
) -> None:
    async with make_client("http://127.0.0.1:9") as client:
        with pytest.raises(Unavailable, match=r"nothing listens at 127\.0\.0\.1:9"):
            await client.version()


async def test_a_host_name_that_nobody_knows(make_client: ClientMaker) -> None:
    async with make_client("http://nowhere.invalid") as client:
        with pytest.raises(Unavailable, match=r"nowhere\.invalid is not known"):
            await client.version()


async def test_tls_spoken_to_a_plain_port(wire: Wire, make_client: ClientMaker) -> None:
    async with make_client(wire.url.replace("http", "https")) as client:
        with pytest.raises(Unavailable, match="no secure connection") as failed:
            await client.version()

    assert failed.value.hint is not None
    assert "http against https" in failed.value.hint


async def test_something_that_does_not_speak_http(wired: Client, wire: Wire) -> None:
    wire.will(b"SSH-2.0-OpenSSH_9.2\r\n")

    with pytest.raises(ProtocolViolation, match="does not speak HTTP"):
        await wired.version()


async def test_an_answer_that_does_not_come_in_time(
    wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(b"HTTP/1.1 200 OK\r\n")
    settings = ClientSettings(read_timeout_s=0.05, attempts_max=1)

    async with make_client(wire.url, settings=settings) as client:
        with pytest.raises(Unavailable, match="no answer in time"):
            await client.version()


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_that_drips_is_given_up(status: int, wire: Wire) -> None:
    """However regularly its bytes come."""
    wire.will(http(status, b"[" + b" " * 100, "application/json"))
    wire.pauses_s = 0.02
    settings = ClientSettings(
        read_timeout_s=0.2, bytes_per_s_min=1 << 20, attempts_max=1
    )

    async with Client(wire.url, TOKEN, settings=settings) as client:
        with pytest.raises(NoAnswerInTime, match="no answer in time"):
            await client.version()


async def test_an_answer_that_keeps_coming_may_take_long(wire: Wire) -> None:
    """Longer than a silence may last; a busy machine can stretch each pause."""
    wire.will(json_answer({**VERSION, "padding": "." * 100}))
    wire.pauses_s = 0.02
    settings = ClientSettings(read_timeout_s=2, bytes_per_s_min=10)

    async with Client(wire.url, TOKEN, settings=settings) as client:
        assert (await client.version()).version == VERSION["version"]


async def test_an_answer_that_is_late_is_told_and_asked_for_twice(wire: Wire) -> None:
    wire.will(b"HTTP/1.1 200 OK\r\n")
    wire.repeats = True
    settings = ClientSettings(read_timeout_s=0.2, notice_after_s=0.05)
    told: list[str] = []

    async with Client(wire.url, settings=settings, notify=told.append) as client:
        with pytest.raises(NoAnswerInTime):
            await client.version()

    assert len(wire.requests) == 2
    authority = wire.url.removeprefix("http://")
    assert set(told) == {
        f"still waiting for {authority}, for more than 0 s: read the version"
    }
    assert len(told) == 2


async def test_a_silent_list_is_asked_for_with_its_texts_and_without(
    wire: Wire,
) -> None:
    wire.will(b"HTTP/1.1 200 OK\r\n")
    wire.repeats = True
    settings = ClientSettings(read_timeout_s=0.05)

    async with Client(wire.url, settings=settings) as client:
        replica = WikiReplica(Wiki(client, WikiOwner("project", "docs/handbook"), 7))
        with pytest.raises(NoAnswerInTime):
            await replica.snapshot()

    path = "/api/v4/projects/7/wikis"
    assert wire.targets == [f"{path}?with_content=true", path]


async def test_an_oversized_answer_is_refused_by_its_length(
    wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n")

    async with make_client(wire.url) as client:
        with pytest.raises(ProtocolViolation, match="larger than 268435456 bytes"):
            await client.version()


async def test_an_oversized_answer_without_a_length_is_refused_while_it_comes(
    wire: Wire, make_client: ClientMaker
) -> None:
    """A small answer that unpacks to a large one counts with its unpacked size."""
    packed = gzip.compress(b'"' + b"a" * 100_000 + b'"')
    wire.will(http(200, packed, "application/json", Content_Encoding="gzip"))
    settings = ClientSettings(answer_bytes_max=50_000)

    async with make_client(wire.url, settings=settings) as client:
        with pytest.raises(ProtocolViolation, match="larger than 50000 bytes"):
            await client.version()


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


@pytest.mark.parametrize("status", [201, 206, 299])
async def test_a_read_answered_with_another_success_is_an_error(
    status: int, wired: Client, wire: Wire
) -> None:
    """206 is a part of the answer, and the others are no answers to a read."""
    wire.will(json_answer(VERSION, status))

    with pytest.raises(ProtocolViolation, match=f"unexpected status {status}"):
        await wired.version()


async def test_an_endless_error_body_is_read_only_at_its_beginning(
    wired: Client, wire: Wire
) -> None:
    head = b"HTTP/1.1 422 No\r\nContent-Type: text/plain\r\nContent-Length: 9999999\r\n"
    wire.will(head + b"\r\n" + b"no " * 30_000)

    with pytest.raises(RemoteError, match="it says: no no no"):
        await wired.version()


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


@pytest.mark.parametrize(
    "answer",
    [
        http(401, b'{"message":"' + TOKEN.encode() + b'"}', "application/json"),
        http(400, TOKEN.encode(), "text/plain"),
        http(302, Location=f"https://x.example/?private_token={TOKEN}"),
        http(302, Location=f"https://x.example/{TOKEN}"),
        http(200, TOKEN.encode(), "application/json"),
        BREAK,
    ],
)
async def test_no_error_and_no_log_line_holds_the_token(
    answer: bytes, wired: Client, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wire.will(answer)
    wire.repeats = True

    with pytest.raises(RemoteError) as failed:
        await wired.version()

    told = "".join(traceback.format_exception(failed.value))
    assert TOKEN not in f"{told} {failed.value.hint} {failed.value.url} {caplog.text}"
    assert "GET " in caplog.text or answer == BREAK


async def test_every_exchange_is_logged_with_the_request_id_of_the_service(
    wired: Client, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="wikisync.api")
    wire.will(json_answer(VERSION, X_Request_Id="01ABC"))

    await wired.version()

    assert f"GET {wire.url}/api/v4/version -> 200 in" in caplog.text
    assert "01ABC" in caplog.text


async def test_cookies_are_not_kept(wire: Wire, make_client: ClientMaker) -> None:
    """By name, because nobody keeps cookies for a bare address."""
    wire.will(json_answer(VERSION, Set_Cookie="a=b"), json_answer(VERSION))

    async with make_client(wire.url.replace("127.0.0.1", "localhost")) as client:
        await client.version()
        await client.version()

    assert "cookie" not in wire.requests[1].headers


@pytest.mark.parametrize("token", ["a\r\nX: y", "kurz ü"])
def test_a_token_that_is_none_is_refused_before_anything_is_sent(
    token: str, make_client: ClientMaker
) -> None:
    with pytest.raises(UsageError, match="the token contains invalid characters"):
        make_client(token=token)


async def test_nothing_is_packed_that_does_not_leave_the_machine(
    wired: Client, wire: Wire
) -> None:
    wire.will(json_answer({"version": "17.0.0"}))

    await wired.version()

    assert wire.requests[0].headers["accept-encoding"] == "identity"


async def test_answers_from_elsewhere_may_be_packed(
    client: Client, network: PlayedNetwork
) -> None:
    network.get(f"{SERVICE}/api/v4/version", payload={"version": "17.0.0"})

    await client.version()

    calls = next(iter(network.requests.values()))
    assert "Accept-Encoding" not in calls[0].kwargs["headers"]


@pytest.mark.parametrize(("pause_s", "connections"), [(18.0, 1), (40.0, 2)])
async def test_connection_is_kept_for_the_next_hint_of_a_watch(
    wired: Client,
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
    pause_s: float,
    connections: int,
) -> None:
    wire.will(json_answer({"version": "17.0.0"}), json_answer({"version": "17.0.0"}))
    await wired.version()
    # the pool's own clock, by which it drops what was idle for too long
    now = aiohttp.connector.monotonic  # type: ignore[attr-defined]
    monkeypatch.setattr("aiohttp.connector.monotonic", lambda: now() + pause_s)
    await wired.version()
    assert wire.connections == connections


async def test_a_service_that_answered_and_stopped_is_tried_again(
    time: FakeTime, make_client: ClientMaker
) -> None:
    """Unlike an address at which nothing ever answered."""
    async with AsyncExitStack() as later:
        async with listening_wire() as wire:
            client = await later.enter_async_context(make_client(wire.url))
            wire.will(json_answer(VERSION), BREAK)
            await client.version()
        with pytest.raises(Unavailable, match="nothing listens at"):
            await client.version()

    assert len(time.slept) == ClientSettings().attempts_max - 1


async def test_of_several_headers_of_one_name_the_first_counts(
    wired: Client, wire: Wire
) -> None:
    wire.will(http(200, b"{}", "application/json", ETAG="1", X_total="2", x_Total="3"))

    answer = await wired.send(Request("GET", "/x", wired.purpose("look")))

    assert (answer.headers["etag"], answer.headers["x-total"]) == ("1", "2")


async def test_a_request_header_of_several_lines_is_not_sent(
    wired: Client, wire: Wire
) -> None:
    request = Request("GET", "/api/v4/x", wired.purpose("look"), etag="1\r\nX: y")

    with pytest.raises((RemoteError, ValueError)):
        await wired.send(request)

    assert wire.targets == []
