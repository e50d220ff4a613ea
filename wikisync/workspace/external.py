"""Whether addresses of other servers answer, for ``wikisync check --external``.

An address is asked with HEAD, then with GET; what may pass is asked once more.  No body
is read, and no token or cookie goes out.  A slow server keeps no other one waiting.
"""

import asyncio
import ssl
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import Struct

from wikisync.api.proxy import named_proxy
from wikisync.core.decoding import json_decoder
from wikisync.core.messages import Progress
from wikisync.core.system import private
from wikisync.core.system.parallel import plain_errors
from wikisync.core.version import __version__

PER_HOST = 8
IN_FLIGHT = 128
ANSWER_S = 5.0
TURN_S = 1.0
"""After so long without an answer the next request to the server may begin."""
WAIT_S = 1.0
WAIT_MAX_S = 5.0
"""Before an address is asked once more; a server may name a longer time."""
SILENT_MAX = 20
"""Requests in a row without an answer, after which a server is asked no more."""
REDIRECTS_MAX = 10
KEPT_S = 86_400.0
CACHE_FILE = "external.json"
CACHE_BYTES_MAX = 16 * 1024 * 1024
SEND_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
UNSURE = frozenset({401, 403, 407, 429, 451, 999})
"""The page may be there: the server refuses programs, or who is not logged in."""
HEADERS = {"User-Agent": f"wikisync/{__version__} (link check)", "Accept": "*/*"}
_TIMES = json_decoder(dict[str, float])


class Checked(Struct, frozen=True):
    """What became of one address."""

    reason: str = ""
    """Kebab-case word where it is broken: ``status-404``, ``timeout``; else empty."""
    is_unsure: bool = False


class _Host:
    """One server: how many requests it has, and how often it did not answer."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(PER_HOST)
        self.silent = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Give a turn back at the end of the block, or where that takes long."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(TURN_S, self.turns.release)
        try:
            yield
        finally:
            if timer.when() > loop.time():
                timer.cancel()
                self.turns.release()


async def check_addresses(
    addresses: Sequence[str], ignored: Sequence[str], cache: Path, progress: Progress
) -> Mapping[str, Checked]:
    """Ask for every address, those apart that one of the patterns ignores."""
    known = _read_cache(cache)
    asked = {
        one.partition("#")[0]: Checked()
        for one in addresses
        if not any(fnmatchcase(one, pattern) for pattern in ignored)
    }
    hosts: defaultdict[str, _Host] = defaultdict(_Host)
    in_flight = asyncio.Semaphore(IN_FLIGHT)
    new = [one for one in asked if one not in known]
    progress.start("checking addresses", len(new))
    async with aiohttp.ClientSession(
        headers=HEADERS,
        cookie_jar=aiohttp.DummyCookieJar(),
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=ANSWER_S),
        max_line_size=1 << 16,
        max_field_size=1 << 16,
    ) as session:

        async def check(address: str) -> None:
            host = hosts[urlsplit(address).netloc]
            asked[address] = await _check(session, address, host, in_flight)
            progress.advance()

        with plain_errors():
            async with asyncio.TaskGroup() as group:
                for address in new:
                    group.create_task(check(address))
    now = time.time()
    good = {one: now for one in new if asked[one] == Checked()}
    content = msgspec.json.encode(known | good)
    if len(content) <= CACHE_BYTES_MAX:
        private.make_private_folder(cache)
        private.write_private_file(cache / CACHE_FILE, content)
    return {
        one: asked[key] for one in addresses if (key := one.partition("#")[0]) in asked
    }


async def _check(
    session: aiohttp.ClientSession,
    address: str,
    host: _Host,
    in_flight: asyncio.Semaphore,
) -> Checked:
    if "@" in urlsplit(address).netloc:
        return Checked(is_unsure=True)  # whoever has the password may ask
    checked, wait_s = Checked(), None
    for method in ("HEAD", "GET", "GET"):
        # a turn is taken first: waiting for a server must not stop all others
        await host.turns.acquire()
        with host.held():
            if host.silent >= SILENT_MAX:
                return Checked("timeout")
            async with in_flight:
                checked, wait_s = await _once(session, method, address, host)
        if checked == Checked():
            break
        if method == "GET":
            if wait_s is None:
                break
            await asyncio.sleep(wait_s)
    return checked


async def _once(
    session: aiohttp.ClientSession, method: str, address: str, host: _Host
) -> tuple[Checked, float | None]:
    """What one request finds, and when another one may find something else, if any."""
    parts = urlsplit(address)
    proxy = named_proxy(parts.scheme, parts.netloc)
    try:
        async with session.request(
            method,
            address,
            allow_redirects=True,
            max_redirects=REDIRECTS_MAX,
            proxy=proxy.address if proxy else None,
        ) as answer:
            host.silent = 0
            status, after = answer.status, answer.headers.get("Retry-After", "")
    except TimeoutError:
        host.silent += 1
        return Checked("timeout"), None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        host.silent = 0
        reason = _reason_of(error)
        return Checked(reason), WAIT_S if reason == "connection-lost" else None
    if status < 400:
        return Checked(), None
    wait_s = None
    if status in SEND_AGAIN:
        wait_s = min(float(after), WAIT_MAX_S) if after.isdecimal() else WAIT_S
    if status in UNSURE:
        return Checked(is_unsure=True), wait_s
    return Checked(f"status-{status}"), wait_s


def _reason_of(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "unknown-host"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "certificate"
        case aiohttp.ClientConnectorError():
            return "no-connection"
        case aiohttp.TooManyRedirects() | aiohttp.InvalidUrlRedirectClientError():
            return "redirects"
        case aiohttp.InvalidURL():
            return "no-address"
        case aiohttp.ServerDisconnectedError() | OSError():
            return "connection-lost"
    return "no-answer"


def _read_cache(folder: Path) -> dict[str, float]:
    try:
        content = private.read_private_file(folder / CACHE_FILE, CACHE_BYTES_MAX)
        times = _TIMES.decode(content)
    except (OSError, msgspec.DecodeError):
        return {}
    now = time.time()
    return {one: at for one, at in times.items() if 0 <= now - at < KEPT_S}
