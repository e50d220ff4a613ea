"""One exchange, byte for byte, against a wire that plays odd answers, or none."""

import errno
import gzip
import logging
import re
import ssl
import traceback
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tests.api.conftest import SERVICE, TOKEN, ClientMaker
from tests.api.faketime import FakeTime
from tests.api.wire import BREAK, Wire, cut, http, json_answer, listening_wire
from tests.support.network import PlayedNetwork
from wikisync.api.client import Client
from wikisync.api.exchange import Purpose, Request
from wikisync.api.pool import translating
from wikisync.api.replica import WikiReplica
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import (
    NoAnswerInTime,
    ProtocolViolation,
    RemoteError,
    Unavailable,
    UsageError,
)

VERSION = {"version": "17.0.0"}


async def test_the_token_and_our_name_go_with_every_request(
    wired: Client, wire: Wire
) -> None:
    wire.will(json_answer(VERSION))

    await wired.version()

    assert wire.tokens == [TOKEN]
    assert wire.requests[0].headers["user-agent"].startswith("wikisync/")
    assert wire.requests[0].headers["accept"] == "application/json"
    # nothing is packed that does not leave the machine
    assert wire.requests[0].headers["accept-encoding"] == "identity"


async def test_without_a_token_no_header_is_sent(
    wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(json_answer(VERSION))
    async with make_client(wire.url, token=None) as client:
        await client.version()
    assert wire.tokens == [None]


@pytest.mark.parametrize("base", ["/git", "/git/", "/git/api/v4", "/git/api/v4/"])
async def test_a_service_below_a_sub_path(
    base: str, wire: Wire, make_client: ClientMaker
) -> None:
    wire.will(json_answer({"id": 1, "path_with_namespace": "a/b"}))
    async with make_client(wire.url + base) as client:
        await client.project("a/b")
    assert wire.targets == ["/git/api/v4/projects/a%2Fb"]


async def test_a_body_cut_short_is_asked_for_again_and_then_a_named_error(
    wired: Client, wire: Wire
) -> None:
    wire.will(cut(json_answer(VERSION)), json_answer(VERSION))
    assert (await wired.version()).version == "17.0.0"
    wire.will(cut(json_answer(VERSION)))
    wire.repeats = True

    with pytest.raises(ProtocolViolation, match="the response was truncated"):
        await wired.version()

    assert len(wire.requests) == 2 + 5


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


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("http://127.0.0.1:9", "nothing listens at 127.0.0.1:9", "the service runs"),
        ("http://[::1]:9", "nothing listens at [::1]:9", "the service runs"),
        ("http://nowhere.invalid", "nowhere.invalid is not known", "spelling"),
        ("https{wire}", "no secure connection to https://127", "http against https"),
    ],
)
async def test_a_connection_that_cannot_be_made_is_an_error_at_once(
    url: str, message: str, hint: str, wire: Wire, make_client: ClientMaker
) -> None:
    plain = wire.url.removeprefix("http")
    async with make_client(url.format(wire=plain)) as client:
        with pytest.raises(Unavailable, match=re.escape(message)) as failed:
            await client.version()
    assert hint in (failed.value.hint or "")


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.example", "127.1"])
async def test_a_host_that_no_name_server_can_be_asked_for_is_a_wrong_url(
    host: str, make_client: ClientMaker
) -> None:
    async with make_client(f"http://{host}") as client:
        with pytest.raises(ProtocolViolation, match="names no host") as failed:
            await client.version()
    assert failed.value.hint == "check the spelling of the URL"


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


URL = "https://gitlab.example.com/api/v4/version"
PURPOSE = Purpose("read the version")
KEY: Any = SimpleNamespace(host="gitlab.example.com", port=443, ssl=True, is_ssl=True)


def translated(exc: Exception, *, is_known_host: bool) -> RemoteError:
    with (
        pytest.raises(RemoteError) as raised,
        translating(PURPOSE, URL, is_known_host=is_known_host),
    ):
        raise exc
    return raised.value


@pytest.mark.parametrize(
    ("exc", "message", "hint"),
    [
        (
            aiohttp.ClientConnectorCertificateError(
                KEY, ssl.SSLCertVerificationError("self-signed")
            ),
            "the certificate of gitlab.example.com is not trusted",
            "SSL_CERT_FILE",
        ),
        (
            aiohttp.ClientConnectorError(KEY, OSError(errno.ENETUNREACH, "no route")),
            "gitlab.example.com:443 cannot be reached",
            "network",
        ),
        (
            aiohttp.ConnectionTimeoutError("late"),
            "no answer in time",
            "try again later",
        ),
    ],
)
def test_a_first_connection_that_fails_is_an_error_at_once(
    exc: Exception, message: str, hint: str
) -> None:
    error = translated(exc, is_known_host=False)
    assert isinstance(error, Unavailable)
    assert not error.may_pass
    assert message in error.message
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "exc",
    [
        aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "refused")),
        aiohttp.ClientConnectorDNSError(KEY, OSError(-3, "temporary")),
        aiohttp.ConnectionTimeoutError("late"),
        aiohttp.SocketTimeoutError("late"),
        TimeoutError(),
        aiohttp.ServerDisconnectedError(),
        ConnectionResetError(),
    ],
)
def test_a_service_that_answered_before_may_come_back(exc: Exception) -> None:
    failure = translated(exc, is_known_host=True)
    assert isinstance(failure, Unavailable)
    assert failure.may_pass


def test_an_untrusted_certificate_does_not_pass() -> None:
    exc = aiohttp.ClientConnectorCertificateError(
        KEY, ssl.SSLCertVerificationError("expired")
    )
    assert isinstance(translated(exc, is_known_host=True), Unavailable)


def test_an_exception_of_ours_comes_through_unchanged() -> None:
    with pytest.raises(KeyError), translating(PURPOSE, URL, is_known_host=False):
        raise KeyError("ours")
