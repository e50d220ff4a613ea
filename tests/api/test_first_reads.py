"""The first reads of a command, byte for byte, and when the pool takes over."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.api.conftest import TOKEN
from tests.api.faketime import FakeTime
from tests.api.wire import BREAK, Wire, cut, http, json_answer, listening_wire
from wikisync.api.client import Client
from wikisync.api.first_reads import READS_MAX
from wikisync.api.request import Request
from wikisync.api.settings import DEFAULT_SETTINGS, ClientSettings
from wikisync.errors import NotFound, RateLimited, RemoteError, Unavailable

VERSION = {"version": "17.0.0"}
PACKED = gzip.compress(json.dumps(VERSION).encode(), mtime=0)
JSON = "application/json"


class Command:
    """A client as commands make it, and how often it loaded the network library."""

    def __init__(self, wire: Wire, time: FakeTime) -> None:
        self.wire = wire
        self.loads = 0
        self._time = time

    def client(self, settings: ClientSettings = DEFAULT_SETTINGS) -> Client:
        return Client(
            self.wire.url,
            TOKEN,
            settings=settings,
            sleep=self._time.sleep,
            random=lambda: 0.5,
            clock=self._time.clock,
            load_network=self._load,
        )

    def _load(self) -> None:
        self.loads += 1


@pytest.fixture
def command(wire: Wire, time: FakeTime) -> Command:
    return Command(wire, time)


@pytest.fixture
async def client(command: Command) -> AsyncIterator[Client]:
    async with command.client() as opened:
        yield opened


async def version(client: Client) -> str:
    return (await client.version()).version


async def test_first_reads_share_one_connection_and_load_nothing(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(*[json_answer(VERSION)] * READS_MAX)

    answers = [await version(client) for _ in range(READS_MAX)]

    assert answers == ["17.0.0"] * READS_MAX
    assert (wire.connections, command.loads) == (1, 0)
    assert wire.tokens == [TOKEN] * READS_MAX
    head = wire.requests[0].headers
    assert head["user-agent"].startswith("wikisync/")
    assert head["host"] == wire.url.removeprefix("http://")
    assert "if-none-match" not in head


async def test_whoever_reads_more_gets_the_pool(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(*[json_answer(VERSION)] * (READS_MAX + 2))

    for _ in range(READS_MAX + 2):
        await version(client)

    assert (wire.connections, command.loads) == (2, 1)


async def test_the_address_is_sent_as_it_was_encoded(
    client: Client, wire: Wire
) -> None:
    wire.will(json_answer({"id": 1, "path_with_namespace": "a/b"}))

    await client.project("a/b c%2F")

    assert wire.targets == ["/api/v4/projects/a%2Fb%20c%252F"]


NOT_TAKEN = {
    "redirect": http(302, Location="/api/v4/elsewhere"),
    "break": BREAK,
    "cut": cut(json_answer(VERSION)),
    "no http": b"220 mail.example.com ESMTP\r\n\r\n",
    "packed otherwise": http(200, b"x", JSON, Content_Encoding="br"),
    "packed and cut": http(200, PACKED[:-9], JSON, Content_Encoding="gzip"),
    "packed twice": http(200, PACKED * 2, JSON, Content_Encoding="gzip"),
    "packed wrong": http(200, b"no gzip", JSON, Content_Encoding="gzip"),
    "too large": http(200, b" " * 5000 + PACKED, JSON),
    "two answers": json_answer(VERSION) * 2,
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 40_000,
}


@pytest.mark.parametrize("answer", NOT_TAKEN.values(), ids=NOT_TAKEN)
async def test_what_is_no_whole_answer_is_asked_of_the_pool(
    answer: bytes, command: Command, wire: Wire
) -> None:
    wire.will(answer, json_answer(VERSION), json_answer(VERSION))

    settings = ClientSettings(answer_bytes_max=1000)
    async with asyncio.timeout(10), command.client(settings) as client:
        assert await version(client) == "17.0.0"
        assert command.loads == 1
        assert await version(client) == "17.0.0"

    assert wire.tokens == [TOKEN] * 3
    assert wire.connections == 2  # the second read went to the pool as well


async def test_a_service_that_says_nothing_is_asked_by_the_pool(
    command: Command,
) -> None:
    """The pool has the words for it; the wire of this test never answers."""
    asked = asyncio.Queue[None]()

    async def keep_silent(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.put_nowait(None)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    command.wire.url = f"http://127.0.0.1:{port}"
    settings = ClientSettings(read_timeout_s=0.05, attempts_max=1)
    async with server, command.client(settings) as client:
        with pytest.raises(RemoteError, match="no answer in time"):
            await client.version()

    assert (asked.qsize(), command.loads) == (2, 1)


async def test_nobody_at_the_address_is_said_in_the_words_of_the_pool(
    command: Command, wire: Wire
) -> None:
    wire.url = "http://127.0.0.1:1"
    async with command.client() as client:
        with pytest.raises(RemoteError, match="nothing listens at"):
            await client.version()


async def test_a_service_that_answered_and_is_gone_may_come_back(
    time: FakeTime,
) -> None:
    """Other than an address at which nothing ever was, it is asked again."""
    async with AsyncExitStack() as later:
        async with listening_wire() as wire:
            client = await later.enter_async_context(Command(wire, time).client())
            wire.will(json_answer(VERSION), BREAK)
            await client.version()
        with pytest.raises(Unavailable, match="nothing listens at"):
            await client.version()

    assert len(time.slept) == ClientSettings().attempts_max - 1


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (PACKED, {"Content_Encoding": "gzip"}),
        (json.dumps(VERSION).encode(), {"Content_Encoding": "identity"}),
    ],
    ids=["gzip", "identity"],
)
async def test_packed_answers_are_unpacked(
    body: bytes, headers: dict[str, str], client: Client, command: Command, wire: Wire
) -> None:
    wire.will(http(200, body, JSON, **headers))

    assert await version(client) == "17.0.0"
    assert command.loads == 0


async def test_parts_and_early_hints_are_understood(
    client: Client, command: Command, wire: Wire
) -> None:
    body = json.dumps(VERSION).encode()
    head = f"Content-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    parts = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    wire.will(hints + b"HTTP/1.1 200 OK\r\n" + head + parts)

    assert await version(client) == "17.0.0"
    assert command.loads == 0


async def test_what_is_said_beforehand_is_no_part_of_the_answer(
    client: Client, wire: Wire
) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nContent-Encoding: br\r\n\r\n"
    wire.will(hints + json_answer(VERSION))

    assert await version(client) == "17.0.0"
    assert wire.connections == 1


async def test_a_header_of_several_lines_is_not_sent(
    client: Client, command: Command, wire: Wire
) -> None:
    request = Request("GET", "/api/v4/x", client.purpose("look"), etag="1\r\nX: y")

    with pytest.raises((RemoteError, ValueError)):
        await client.send(request)

    assert wire.targets == []
    assert command.loads == 1


async def test_an_answer_that_is_still_the_same(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(http(304, ETag='W/"1"'), json_answer({"id": 1}))
    request = Request("GET", "/api/v4/x", client.purpose("look"), etag='W/"1"')

    answer = await client.send(request)

    assert (answer.status, answer.headers["etag"]) == (304, 'W/"1"')
    assert wire.requests[0].headers["if-none-match"] == 'W/"1"'
    assert command.loads == 0


@pytest.mark.parametrize("loads_network", [False, True])
async def test_headers_are_known_by_their_names_in_lower_case(
    command: Command, wire: Wire, *, loads_network: bool
) -> None:
    """On both ways; of several of one name the first counts."""
    wire.will(http(200, b"{}", JSON, ETAG="1", X_total="2", x_Total="3"))
    settings = ClientSettings(proxies_from_environment=loads_network)

    async with command.client(settings) as client:
        answer = await client.send(Request("GET", "/x", client.purpose("look")))

    assert (answer.headers["etag"], answer.headers["x-total"]) == ("1", "2")
    assert command.loads == loads_network


async def test_an_error_is_not_asked_for_twice(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(*[json_answer({"message": f"404 {TOKEN} Not Found"}, 404)] * 2)

    with pytest.raises(NotFound) as caught:
        await client.project("a/b")

    with pytest.raises(NotFound):
        await client.project("a/b")

    assert (len(wire.requests), wire.connections) == (2, 1)
    assert TOKEN not in str(caught.value)
    assert command.loads == 0


async def test_an_endless_error_is_read_only_at_its_beginning(
    client: Client, command: Command, wire: Wire
) -> None:
    head = b"HTTP/1.1 403 No\r\nContent-Type: text/plain\r\nContent-Length: 9999999\r\n"
    wire.will(head + b"\r\n" + b"no " * 30_000)

    with pytest.raises(RemoteError, match="it says: no no no"):
        await client.version()

    assert command.loads == 0


async def test_a_pause_that_the_service_asks_for_is_made(
    client: Client, wire: Wire, time: FakeTime
) -> None:
    wire.will(http(429, Retry_After="7"), json_answer(VERSION))

    assert await version(client) == "17.0.0"
    assert time.slept == [7.25]
    assert len(wire.requests) == 2


async def test_a_pause_that_is_too_long_is_an_error(client: Client, wire: Wire) -> None:
    wire.will(http(429, Retry_After="7000"))

    with pytest.raises(RateLimited):
        await client.version()


async def test_a_change_goes_to_the_pool(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(json_answer({"id": 1}))
    request = Request("POST", "/api/v4/x", client.purpose("change"), json=b"{}")

    await client.send(request)

    assert (wire.requests[0].body, command.loads) == (b"{}", 1)


async def test_what_git_asks_for_goes_to_the_pool(
    client: Client, command: Command, wire: Wire
) -> None:
    """Its answer is no JSON, and a fetch follows it."""
    wire.will(json_answer({}))
    purpose = client.purpose("read the repository")

    await client.send(Request("GET", "/a/b.wiki.git/info/refs", purpose, is_git=True))

    assert (len(wire.requests), command.loads) == (1, 1)


async def test_reads_at_the_same_time_share_the_pool(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(*[json_answer(VERSION)] * 4)

    async with asyncio.TaskGroup() as group:
        reads = [group.create_task(version(client)) for _ in range(3)]
    await version(client)

    assert [read.result() for read in reads] == ["17.0.0"] * 3
    assert command.loads == 1


async def test_a_connection_that_the_service_ends_is_made_anew(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(json_answer(VERSION, Connection="close"), json_answer(VERSION))

    assert [await version(client), await version(client)] == ["17.0.0"] * 2
    assert (wire.connections, command.loads) == (2, 0)


async def test_a_read_that_was_given_up_leaves_no_half_answer(
    client: Client, command: Command, wire: Wire
) -> None:
    wire.will(http(200, b"", JSON)[:20])  # and then nothing, for ever

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.version()
    wire.will(json_answer(VERSION))

    assert await version(client) == "17.0.0"
    assert (wire.connections, command.loads) == (2, 1)


async def test_who_asks_through_a_proxy_asks_through_the_pool(
    command: Command, wire: Wire
) -> None:
    wire.will(json_answer(VERSION))

    async with command.client(ClientSettings(proxies_from_environment=True)) as client:
        await client.version()

    assert command.loads == 1
