"""A server that repeats our token wherever it can: we show and log it nowhere."""

import logging
import traceback
from base64 import b64encode

import pytest

from tests.api.conftest import TOKEN
from tests.api.wire import Wire, http
from wikisync.api.client import Client
from wikisync.api.git import WikiHistory
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import WikisyncError

OWNER = WikiOwner("project", "docs/handbook")
JSON = "application/json"
LOGIN = b64encode(f"oauth2:{TOKEN}".encode()).decode()
PAGE = f"<html><title>{TOKEN} {LOGIN}</title><body>{TOKEN}</body></html>".encode()
SAID = f'{{"message": "{TOKEN}", "error": "{LOGIN}"}}'.encode()
HEADERS = {"X-Request-Id": f"{TOKEN} {LOGIN}", "Server": TOKEN, "Retry-After": TOKEN}
HEAD = f"HTTP/1.1 200 OK\r\nX-Request-Id: {TOKEN}\r\n".encode()
ANSWERS = {
    **{
        f"{status} as {kind}": http(status, body, kind, **HEADERS)
        for status in (200, 204, 400, 401, 403, 404, 407, 409, 418, 422, 429, 500, 503)
        for body, kind in ((PAGE, "text/html"), (SAID, JSON))
    },
    "redirect": http(302, Location=f"https://{TOKEN}.example.com/{TOKEN}?{LOGIN}"),
    "sign-in": http(302, Location=f"/users/sign_in?{TOKEN}"),
    "odd redirect": http(302, Location=f"{TOKEN}://{LOGIN}"),
    "no HTTP": TOKEN.encode() + b"\r\n" + LOGIN.encode() + b"\r\n\r\n",
    "odd status": b"HTTP/1.1 " + TOKEN.encode() + b"\r\n\r\n",
    "odd header": HEAD + TOKEN.encode() + b"\r\n\r\n",
    "odd length": HEAD + b"Content-Length: " + TOKEN.encode() + b"\r\n\r\n",
    "odd chunks": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + TOKEN.encode()
    + b"\r\n",
    "odd gzip": HEAD
    + f"Content-Encoding: gzip\r\nContent-Length: {len(TOKEN)}\r\n\r\n{TOKEN}".encode(),
    "header too long": HEAD + b"A: " + TOKEN.encode() * 1_000 + b"\r\n\r\n",
    "list with a wrong page": http(200, f'[{{"slug": ["{TOKEN}"]}}]'.encode(), JSON),
    "JSON that is cut": http(200, f'[{{"slug": "{TOKEN}'.encode(), JSON),
    "cookie": HEAD
    + f"Set-Cookie: {TOKEN}={LOGIN}; Max-Age=x\r\n".encode()
    + b"Content-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_token_is_in_no_error_and_no_log(
    wired: Client, wire: Wire, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wire.will(ANSWERS[name])
    wire.repeats = True
    said = ""
    for ask in (
        lambda: Wiki(wired, OWNER).list_pages(),
        lambda: WikiHistory(wired, OWNER).head(),
        wired.version,
    ):
        try:
            await ask()
        except WikisyncError as error:
            said += f"{error.hint} {vars(error)}"
            said += "".join(traceback.format_exception(error))
    assert wire.requests
    assert TOKEN not in caplog.text
    assert LOGIN not in caplog.text
    assert TOKEN not in said
    assert LOGIN not in said
