"""Proxies that the environment names: which one, and what goes through it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from yarl import URL

from tests.api.conftest import ClientMaker
from tests.api.wire import Wire, json_answer, listening_wire
from tests.support.forward_proxy import ForwardProxy, forward_proxy
from wikisync.api.address import ServiceAddress
from wikisync.api.git_fetch import Fetching, FetchStopped, fetch
from wikisync.api.proxy import proxy_for
from wikisync.errors import Unavailable, UsageError

VERSION = {"version": "17.0.0"}
SERVICE = "http://gitlab.example.com"
PROXY = "http://proxy.example.com:3128"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No proxy but those that a test sets."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.fixture
async def proxy(environment: pytest.MonkeyPatch) -> AsyncIterator[ForwardProxy]:
    async with forward_proxy() as running:
        environment.setenv("HTTP_PROXY", running.url)
        yield running


def lead(proxy: ForwardProxy, url: str) -> None:
    """Let the proxy know the service's name as the address of this one."""
    proxy.hosts["gitlab.example.com:80"] = _socket(url)


def _socket(url: str) -> tuple[str, int]:
    address = URL(url)
    assert address.host is not None
    assert address.port is not None
    return address.host, address.port


@pytest.mark.parametrize(
    ("variables", "url", "expected"),
    [
        ({}, "https://gitlab.example.com", None),
        ({"HTTPS_PROXY": PROXY}, "https://gitlab.example.com", PROXY),
        ({"https_proxy": PROXY}, "https://gitlab.example.com", PROXY),
        ({"HTTP_PROXY": PROXY}, "https://gitlab.example.com", None),
        ({"ALL_PROXY": PROXY}, "https://gitlab.example.com", PROXY),
        (
            {"HTTPS_PROXY": "proxy.example.com:3128"},
            "https://gitlab.example.com",
            PROXY,
        ),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, "https://gitlab.example.com", None),
        (
            {"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com"},
            "https://gitlab.example.com",
            None,
        ),
        (
            {"HTTPS_PROXY": PROXY, "NO_PROXY": "gitlab.example.com:8443"},
            "https://gitlab.example.com",
            PROXY,
        ),
        ({"HTTP_PROXY": PROXY}, "http://127.0.0.1:8080", None),
        ({"HTTP_PROXY": PROXY}, "http://localhost:8080", None),
        ({"HTTP_PROXY": PROXY}, "http://[::1]:8080", None),
    ],
)
def test_the_environment_names_the_proxy(
    variables: dict[str, str],
    url: str,
    expected: str | None,
    environment: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)
    proxy = proxy_for(ServiceAddress.parse(url))
    assert (proxy and proxy.url) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("socks5://user:hunter2@proxy.example.com:1080", "has the scheme socks5"),
        ("http://user:hunter2@:3128", "names no host"),
        ("http://user:hunter2@proxy.example.com:port", "is not a URL"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    value: str, reason: str, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("HTTPS_PROXY", value)
    with pytest.raises(UsageError, match=f"HTTPS_PROXY .* {reason}") as caught:
        proxy_for(ServiceAddress.parse("https://gitlab.example.com"))
    assert "hunter2" not in str(caught.value)


async def test_requests_go_through_the_proxy(
    proxy: ForwardProxy, wire: Wire, make_client: ClientMaker
) -> None:
    lead(proxy, wire.url)
    wire.will(json_answer(VERSION))

    async with make_client(SERVICE) as client:
        assert (await client.version()).version == "17.0.0"

    assert proxy.targets == ["gitlab.example.com:80"]
    assert wire.requests[0].headers["host"] == "gitlab.example.com"


async def test_the_proxy_gets_the_password_of_its_url_and_the_service_does_not(
    proxy: ForwardProxy,
    wire: Wire,
    make_client: ClientMaker,
    environment: pytest.MonkeyPatch,
) -> None:
    lead(proxy, wire.url)
    proxy.login = "ann:p@ss"
    environment.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:p%40ss@"))
    wire.will(json_answer(VERSION))

    async with make_client(SERVICE) as client:
        await client.version()

    assert proxy.targets == ["gitlab.example.com:80"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_wants_a_password_is_named_with_its_variable(
    scheme: str,
    proxy: ForwardProxy,
    make_client: ClientMaker,
    environment: pytest.MonkeyPatch,
) -> None:
    proxy.login = "ann:secret"
    environment.setenv("HTTPS_PROXY", proxy.url.replace("//", "//ann:hunter2@"))
    environment.setenv("HTTP_PROXY", proxy.url.replace("//", "//ann:hunter2@"))

    async with make_client(f"{scheme}://gitlab.example.com") as client:
        with pytest.raises(Unavailable, match="requires a user name") as caught:
            await client.version()

    assert f"{scheme.upper()}_PROXY" in f"{caught.value} {caught.value.hint}"
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


async def test_a_proxy_that_cannot_be_reached_is_not_taken_for_the_service(
    make_client: ClientMaker, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    async with make_client("https://gitlab.example.com") as client:
        with pytest.raises(Unavailable, match=r"proxy http://127\.0\.0\.1:1 .HTTPS"):
            await client.version()


async def test_a_proxy_that_does_not_know_the_service_is_asked_again(
    proxy: ForwardProxy, make_client: ClientMaker, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("HTTPS_PROXY", proxy.url)
    async with make_client("https://gitlab.example.com") as client:
        with pytest.raises(Unavailable, match=r"does not connect .*\(502\)"):
            await client.version()


async def test_git_goes_through_the_proxy_too(
    proxy: ForwardProxy, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As far as the connection: what answers behind it speaks no TLS."""
    environment.setenv("HTTPS_PROXY", proxy.url)
    address = ServiceAddress.parse("https://gitlab.example.com")
    url = address.url("/a/b.wiki.git")
    async with listening_wire() as wire:
        proxy.hosts["gitlab.example.com:443"] = _socket(wire.url)
        with pytest.raises(FetchStopped):
            await asyncio.to_thread(
                fetch, url, tmp_path / "git", Fetching(None, url), proxy_for(address)
            )

    assert proxy.targets == ["gitlab.example.com:443"]
