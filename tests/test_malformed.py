"""What is no HTTP, sent to each server: nothing of it is logged or sent back."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.servers import a_listener, a_preview, a_service

MARK = b"glpat-NOBODYS-BUSINESS"
HOOK = b"POST /hook HTTP/1.1\r\nHost: HOST\r\nX-Gitlab-Token: word\r\n"
UPLOAD = b"POST /api/v4/projects/1/wikis HTTP/1.1\r\nHost: HOST\r\n"
WITH_TOKEN = UPLOAD + b"PRIVATE-TOKEN: TOKEN\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 22\r\n\r\n"
EDIT = (
    b"POST /-/preview/edit HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n"
    b"Content-Type: application/json\r\n"
)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n5" + MARK + b"\r\nhello\r\n"
PACKED = b"Content-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + MARK
MALFORMED = {
    "TLS": b"\x16\x03\x01" + MARK,
    "no method": b"\x00" + MARK + b" / HTTP/1.1\r\n\r\n",
    "unknown version": b"GET / HTTP/" + MARK + b"\r\n\r\n",
    "header without a name": b"GET / HTTP/1.1\r\n: " + MARK + b"\r\n\r\n",
    "header without a colon": b"GET / HTTP/1.1\r\nA" + MARK + b"\r\nHost: HOST\r\n\r\n",
    "control character": b"GET / HTTP/1.1\r\nA: \x01" + MARK + b"\r\n\r\n",
    "length that is none": b"GET / HTTP/1.1\r\nContent-Length: " + MARK + b"\r\n\r\n",
    "line too long": b"GET /" + MARK * 5_000 + b" HTTP/1.1\r\n\r\n",
    "header too long": b"GET / HTTP/1.1\r\nA: " + MARK * 5_000 + b"\r\n\r\n",
    "address that is none": b"GET http://[" + MARK + b" HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "odd target": b"GET " + MARK + b" HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "odd upgrade": b"GET / HTTP/1.1\r\nHost: HOST\r\nUpgrade: " + MARK + b"\r\n\r\n",
    "hook in odd chunks": HOOK + CHUNKED,
    "hook packed in odd ways": HOOK + PACKED,
    "edit in odd chunks": EDIT + CHUNKED,
    "edit packed in odd ways": EDIT + PACKED,
    "page in odd chunks": UPLOAD + CHUNKED,
    "page packed in odd ways": UPLOAD + PACKED,
    "secret that is no text": HOOK.replace(b"word", b"\xff" + MARK)
    + b"Content-Length: 0\r\n\r\n",
    "token that is no text": EDIT
    + b"X-Wikisync-Token: \xff"
    + MARK
    + b"\r\nContent-Length: 2\r\n\r\n{}",
    "form that is none": UPLOAD + FORM + MARK,
    "own page in odd chunks": WITH_TOKEN + CHUNKED,
    "own page packed in odd ways": WITH_TOKEN + PACKED,
    "own form that is none": WITH_TOKEN + FORM + MARK,
    "own form with an odd part": WITH_TOKEN + FORM + b"--x\r\n" + MARK[:17],
}


async def answer_to(url: str, message: bytes) -> bytes:
    """All that comes back until the server hangs up, or says no more."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(message.replace(b"HOST", place.netloc.encode()))
        writer.write_eof()
        async with asyncio.timeout(30):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("server", [a_service, a_preview, a_listener])
async def test_malformed_message_is_neither_logged_nor_sent_back(
    server: Callable[[Path], AbstractAsyncContextManager[tuple[str, str]]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    async with server(tmp_path) as (url, token):
        for name, message in MALFORMED.items():
            sent = message.replace(b"TOKEN", token.encode())
            answer = await answer_to(url, sent)
            caplog.set_level(logging.DEBUG)
            said = caplog.text
            shown = [line for line in said.splitlines() if MARK.decode() in line]
            assert MARK not in answer, name
            assert not shown, name
            assert b" 500 " not in answer.partition(b"\r\n")[0], name
            assert "Traceback" not in said, name
