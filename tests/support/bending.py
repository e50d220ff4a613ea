"""A reverse proxy before the embedded service, which bends what its rules match.

It stands for everything between a real service and its callers: gateways, sign-in
pages, limits, broken storage, slow and cut answers.  Requests that no rule matches
go to the service and back unchanged, byte for byte in path and body; only where the
service names its own URL, in headers and JSON, it has the proxy's::

    async with bending_proxy(service.url) as proxy:
        proxy.bend("/projects/2/wikis", status=500)              # not asked at all
        proxy.bend("/projects", headers={"Link": None})          # asked, then bent
        once = proxy.bend(method="PUT", count=1, delay_s=5)
        away = proxy.bend(r"info/refs", redirect="https://sso.example.com/login")
        ...                              # with proxy.url for the service's
        assert once.met == 1
        with proxy.bend(r"/wikis", hangs=True):                  # for a block
            ...
        away.end()
        proxy.straighten()               # all rules end

``benchmarks`` and ``make`` targets may use it too: it needs nothing of pytest.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from yarl import URL

from tests.support.streams import stream_server

HEAD_BYTES_MAX = 1 << 20
HTML = "text/html; charset=utf-8"
SIGN_IN_PAGE = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>"
    b'<form action="/login" method="post"><input type="password" name="p"></form>'
    b"</body></html>"
)
_REASON = b"Bent"
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te"})
_ASKED_ANEW = _HOP_BY_HOP | {"content-length", "expect", "accept-encoding"}
"""What the service is not asked with: it shall answer what rules can read."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    """As it was sent, percent-encoding and query included."""
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header in any case; empty where it is missing."""
        return _value(self.headers, name)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as it goes back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(slots=True, eq=False)
class Rule:
    """What becomes of the requests that match; made by ``BendingProxy.bend``."""

    path: re.Pattern[str]
    """Searched in the path with its query, as it was sent."""
    method: re.Pattern[str]
    """Has to match the whole method."""
    skip: int
    """So many matching requests go through first."""
    count: int | None
    """So many are bent then; None for all."""
    status: int | None
    headers: Mapping[str, str | None]
    """Set in the answer; None drops one."""
    body: bytes | Callable[[bytes], bytes] | None
    raw: bytes | None
    """All that is sent back, status line included; the connection is closed then."""
    reaches: bool
    """Whether the service is asked."""
    when: Callable[[], bool]
    """Asked last: whether the request is bent now."""
    delay_s: float
    """Before the answer."""
    drip_s: float
    """Between two bytes of the answer's body."""
    cut_after: int | None
    """Bytes of the body after which the connection is cut."""
    hangs: bool
    """No answer ever comes."""
    met: int = 0
    """Requests that were bent."""
    has_met: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    seen: int = 0

    def end(self) -> None:
        """Bend nothing any more."""
        self.is_over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def takes(self, asked: Asked) -> bool:
        """Whether this request is to be bent; counts it."""
        if self.is_over or not self.method.fullmatch(asked.method):
            return False
        if not self.path.search(asked.path):
            return False
        self.seen += 1
        if self.seen <= self.skip:
            return False
        if self.count is not None and self.met >= self.count:
            return False
        if not self.when():
            return False
        self.met += 1
        self.has_met.set()
        return True


class BendingProxy:
    """A proxy that runs; rules may come and go meanwhile."""

    def __init__(self, target: URL, below: str = "") -> None:
        self._target = target
        self._below = below
        self.url = ""
        """What callers take for the service's URL."""
        self.rules: list[Rule] = []
        self.asked: list[Asked] = []
        """Every request, in the order in which they came."""
        self.done: Callable[[Asked, Answer], None] = lambda _asked, _answer: None
        """Told of what the service did, whatever becomes of its answer."""

    def bend(
        self,
        path: str = "",
        *,
        method: str = ".*",
        skip: int = 0,
        count: int | None = None,
        status: int | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: bytes | Callable[[bytes], bytes] | None = None,
        html: bytes | None = None,
        redirect: str | None = None,
        raw: bytes | None = None,
        reaches: bool | None = None,
        when: Callable[[], bool] = lambda: True,
        delay_s: float = 0.0,
        drip_s: float = 0.0,
        cut_after: int | None = None,
        hangs: bool = False,
    ) -> Rule:
        """Add a rule; of several that match a request the newest counts.

        Args:
            path: regular expression, searched in path and query as they are sent.
            method: regular expression for the whole method.
            skip: so many matching requests go through first.
            count: so many are bent then; None for all.
            status: of the answer.
            headers: of the answer, set or (None) dropped.
            body: of the answer, or what becomes of the service's.
            html: a body with the content type of a page.
            redirect: where a 302, or ``status``, leads to.
            raw: the whole answer, byte for byte; the connection ends then.
            reaches: whether the service is asked; else only where its answer is
                needed: no ``status``, ``redirect``, ``raw``, nor whole ``body``.
            when: asked for each that matches: whether it is bent now.
            delay_s: seconds before the answer.
            drip_s: seconds between two bytes of its body.
            cut_after: bytes of its body after which the connection is cut.
            hangs: it is never answered, nor asked of the service.
        """
        changed = dict(headers or {})
        if html is not None:
            body = html
            changed.setdefault("Content-Type", HTML)
        if redirect is not None:
            status = status or 302
            changed["Location"] = redirect
        makes_own = status is not None or raw is not None or isinstance(body, bytes)
        rule = Rule(
            path=re.compile(path),
            method=re.compile(method),
            skip=skip,
            count=count,
            status=status,
            headers=changed,
            body=body,
            raw=raw,
            reaches=(not makes_own and not hangs) if reaches is None else reaches,
            when=when,
            delay_s=delay_s,
            drip_s=drip_s,
            cut_after=cut_after,
            hangs=hangs,
        )
        self.rules.append(rule)
        return rule

    def straighten(self) -> None:
        """End all rules."""
        for rule in self.rules:
            rule.end()
        self.rules.clear()

    def requests(self, path: str = "", method: str = ".*") -> list[Asked]:
        """The requests that match, as ``bend`` matches them."""
        return [
            asked
            for asked in self.asked
            if re.fullmatch(method, asked.method) and re.search(path, asked.path)
        ]

    # -- connections ---------------------------------------------------------------

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, until either side closes it."""
        with suppress(ConnectionError, asyncio.IncompleteReadError, _Ended):
            while True:
                asked = await _read_request(reader, writer)
                self.asked.append(asked)
                taken = [rule for rule in reversed(self.rules) if rule.takes(asked)]
                await self._answer(asked, taken[0] if taken else None, reader, writer)

    async def _answer(
        self,
        asked: Asked,
        rule: Rule | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if rule is None:
            await _send(writer, asked, await self._ask(asked))
            return
        answer = Answer(200, (("Content-Type", "application/json"),), b"")
        if rule.reaches:
            answer = await self._ask(asked)
        if rule.hangs:
            while await reader.read(HEAD_BYTES_MAX):
                pass
            raise _Ended
        if rule.delay_s:
            await asyncio.sleep(rule.delay_s)
        if rule.raw is not None:
            writer.write(rule.raw)
            await writer.drain()
            raise _Ended
        await _send(writer, asked, _bent(answer, rule), rule)

    async def _ask(self, asked: Asked) -> Answer:
        """Put a request to the service, on a connection of its own."""
        host, port = self._target.host, self._target.port
        reader, writer = await asyncio.open_connection(host, port, limit=HEAD_BYTES_MAX)
        try:
            kept = [h for h in asked.headers if h[0].lower() not in _ASKED_ANEW]
            if asked.body or asked.method in {"POST", "PUT", "PATCH"}:
                kept.append(("Content-Length", str(len(asked.body))))
            kept.append(("Connection", "close"))
            path = self._target.raw_path.rstrip("/") + asked.path.removeprefix(
                self._below
            )
            head = _encoded_head(f"{asked.method} {path} HTTP/1.1", kept)
            writer.write(head + asked.body)
            await writer.drain()
            answer = await _read_answer(reader, asked.method)
            self.done(asked, answer)
            return self._as_ours(answer)
        finally:
            writer.close()

    def _as_ours(self, answer: Answer) -> Answer:
        """An answer in which the service knows itself by the proxy's URL."""
        own = str(self._target).rstrip("/")
        headers = tuple((n, v.replace(own, self.url)) for n, v in answer.headers)
        body = answer.body
        if "json" in _value(headers, "content-type"):
            body = body.replace(own.encode(), self.url.encode())
        return Answer(answer.status, headers, body)


class _Ended(Exception):
    """The connection is to be closed now."""


def _bent(answer: Answer, rule: Rule) -> Answer:
    body = answer.body
    if callable(rule.body):
        body = rule.body(body)
    elif rule.body is not None:
        body = rule.body
    changed = {name.lower() for name in rule.headers}
    headers = [pair for pair in answer.headers if pair[0].lower() not in changed]
    headers += [(name, v) for name, v in rule.headers.items() if v is not None]
    return Answer(rule.status or answer.status, tuple(headers), body)


async def _send(
    writer: asyncio.StreamWriter, asked: Asked, answer: Answer, rule: Rule | None = None
) -> None:
    has_body = asked.method != "HEAD" and answer.status not in {204, 304}
    headers = list(answer.headers)
    given = {name.lower() for name, _ in headers}
    if has_body and not given & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(answer.body))))
    reason = _REASON.decode()
    writer.write(_encoded_head(f"HTTP/1.1 {answer.status} {reason}", headers))
    body = answer.body if has_body else b""
    if rule is not None and rule.cut_after is not None:
        writer.write(body[: rule.cut_after])
        await writer.drain()
        raise _Ended
    if rule is not None and rule.drip_s:
        for at in range(len(body)):
            writer.write(body[at : at + 1])
            await writer.drain()
            await asyncio.sleep(rule.drip_s)
    else:
        writer.write(body)
    await writer.drain()


# -- HTTP/1.1, as far as the service and its callers speak it --------------------------


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Asked:
    first, headers = await _read_head(reader)
    method, path, _version = first.split(" ", 2)
    if _value(headers, "expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = b""
    if "chunked" in _value(headers, "transfer-encoding").lower():
        body = await _read_chunks(reader)
    elif length := _value(headers, "content-length"):
        body = await reader.readexactly(int(length))
    return Asked(method, path, headers, body)


async def _read_answer(reader: asyncio.StreamReader, method: str) -> Answer:
    """An answer without its framing: the length is set anew when it is sent."""
    status = 100
    while status < 200:
        first, headers = await _read_head(reader)
        status = int(first.split(" ", 2)[1])
    if method == "HEAD" or status in {204, 304}:
        return Answer(status, _end_to_end(headers), b"")
    if "chunked" in _value(headers, "transfer-encoding").lower():
        body = await _read_chunks(reader)
    else:
        body = await reader.read()
    kept = [h for h in _end_to_end(headers) if h[0].lower() != "content-length"]
    return Answer(status, tuple(kept), body)


async def _read_head(
    reader: asyncio.StreamReader,
) -> tuple[str, tuple[tuple[str, str], ...]]:
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return first, tuple((name, value.strip()) for name, _, value in pairs)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readline()).partition(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return b"".join(chunks)


def _encoded_head(first: str, headers: list[tuple[str, str]]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _end_to_end(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in headers if pair[0].lower() not in _HOP_BY_HOP)


def _value(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


@asynccontextmanager
async def bending_proxy(
    url: str, *, host: str = "127.0.0.1", below: str = ""
) -> AsyncIterator[BendingProxy]:
    """Run a proxy before the service at an address, on a free port of loopback.

    Args:
        url: of the service.
        host: address of loopback to listen on.
        below: path of the proxy that the service's root is at, such as ``/gitlab``.
    """
    proxy = BendingProxy(URL(url), below)
    async with stream_server(proxy.serve, host, limit=HEAD_BYTES_MAX) as port:
        proxy.url = str(URL.build(scheme="http", host=host, port=port)) + below
        yield proxy
