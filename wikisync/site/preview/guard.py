"""Who may ask a preview, this machine's browser for its own pages, and at which port.

A page of any other site can make the browser ask a server on this machine.  It must
learn nothing and change nothing, so a request is refused when

- its ``Host`` is not an address of ours: a name that was bound anew to loopback;
- its ``Origin`` is another one, on any method;
- the browser says that another site made it, unless a person followed a link.

What passes is answered with headers that let no other page embed or read it.
"""

import errno
import hmac
import html
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from msgspec import Struct

from wikisync.core.system import connections
from wikisync.errors import SiteError

TOKEN_HEADER = "X-Wikisync-Token"  # noqa: S105 - a header's name
OWN_SITE = frozenset({"same-origin", "none"})
"""What browsers say of requests of our own pages, and of a typed address."""
SAFE_METHODS = frozenset({"GET", "HEAD"})

PORTS_TRIED_MAX = 20
"""Ports tried after the usual one where nobody asked for a certain one."""

_META_POLICY = re.compile(
    r"""<meta\s+http-equiv=["']?Content-Security-Policy["']?\s+content="([^"]*)"\s*/?>""",
    re.IGNORECASE,
)
ATTACHMENT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:;"
    " media-src 'self'; frame-ancestors 'none'"
)
"""An attachment is somebody's file: opened by itself, no script of it runs."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard(Struct, frozen=True):
    """The rules for one preview on one port."""

    host: str
    """As it is listened on."""
    port: int
    token: str
    """Of this run; only our own pages hold it."""

    @property
    def origin(self) -> str:
        """The address that is told to people."""
        return connections.base_url((self.host, self.port))

    @property
    def names(self) -> frozenset[str]:
        """Every ``Host`` that means this preview."""
        hosts = {f"[{self.host}]" if ":" in self.host else self.host, "localhost"}
        names = {f"{host}:{self.port}" for host in hosts}
        # a browser leaves the port of http out
        return frozenset(names | (hosts if self.port == 80 else set()))

    def refusal(self, request: web.Request) -> str | None:
        """Why a request is refused; None for one that may be answered."""
        headers = request.headers
        if len(headers.getall("Host", [])) != 1 or request.host not in self.names:
            return "this preview answers only at its own address"
        origins = {f"http://{name}" for name in self.names}
        if headers.get("Origin", self.origin) not in origins:
            return "request from another site"
        site = headers.get("Sec-Fetch-Site", "none")
        if site not in OWN_SITE:
            # a link on another page may lead here; nothing else may
            asked = [headers.get(f"Sec-Fetch-{name}") for name in ("Mode", "Dest")]
            is_link = [request.method, *asked] == ["GET", "navigate", "document"]
            return None if is_link else "request from another site"
        return None

    def refusal_of_change(self, request: web.Request) -> str | None:
        """Why a request that would do something is refused."""
        if "Origin" not in request.headers:
            return "a request that changes something must say where it comes from"
        if request.content_type != "application/json":
            return "a request that changes something is JSON"
        # bytes that are no UTF-8 come as surrogates
        given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self.token.encode()):
            return "the page is from an earlier run; reload it"
        return None

    def page_policy(self, page: str) -> tuple[str, str]:
        """A page without its own content policy, and that policy with ours in it.

        Live reload needs connections that the theme's policy forbids; a page may only
        be made stricter by a second one, so its own moves into the header.
        """
        match = _META_POLICY.search(page)
        rules = []
        if match:
            own = [one.strip() for one in html.unescape(match[1]).split(";")]
            rules += [one for one in own if one and not one.startswith("connect-src ")]
            page = page[: match.start()] + page[match.end() :]
            rules.append(f"connect-src 'self' {self.origin.replace('http', 'ws', 1)}")
        rules.append("frame-ancestors 'none'")
        return page, "; ".join(rules)


@asynccontextmanager
async def listening(
    runner: web.AppRunner, wanted: str, first: int, *, is_wanted: bool
) -> AsyncIterator[tuple[str, int]]:
    """Answer at the first port, or the next free one where it need not be that one.

    Returns:
        The address and the port that is listened on.

    Raises:
        SiteError: there is none.
    """
    host = "127.0.0.1" if wanted == "localhost" else wanted
    last = first + (0 if is_wanted or not first else PORTS_TRIED_MAX)
    for port in range(first, min(last, 65_535) + 1):
        async with AsyncExitStack() as stack:
            attempt = connections.listening(runner, host, port)
            try:
                _host, taken = await stack.enter_async_context(attempt)
            except OSError as exc:
                is_taken = exc.errno == errno.EADDRINUSE
                if is_taken and port < last:
                    continue
                message = f"cannot listen on {host} port {port}: {exc.strerror or exc}"
                hint = "choose another port with --port"
                if is_taken:
                    message = f"port {port} is in use by another program"
                    hint = (
                        "choose another with --port, or use --port 0 for any free port"
                    )
                raise SiteError(message, hint=hint) from exc
            yield host, taken
            return
    raise AssertionError("the last port is in use or not allowed")
