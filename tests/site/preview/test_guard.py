"""Who may ask a preview, and how much: as a browser and as other sites ask it."""

import aiohttp
import pytest

from tests.support.preview import FOREIGN, HASH, Desk, Reader
from wikisync.site.preview import server as preview_server


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example.com"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Origin": FOREIGN},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
        {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "iframe",
        },
    ],
)
async def test_other_sites_get_nothing(reader: Reader, headers: dict[str, str]) -> None:
    for path in ("", "-/search.html", f"uploads/{HASH}/map.svg", "-/preview/events"):
        status, text = await reader.get(path, headers)
        assert status == 403
        assert "guide" not in text


async def test_a_link_on_another_page_leads_here(reader: Reader) -> None:
    headers = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert (await reader.get("guide.html", headers))[0] == 200


async def test_localhost_is_this_machine_too(reader: Reader) -> None:
    port = reader.preview.url.rstrip("/").rpartition(":")[2]
    assert (await reader.get("", {"Host": f"localhost:{port}"}))[0] == 200


async def test_pages_are_sealed_against_others(reader: Reader) -> None:
    answer = await reader.ask("GET", "guide.html")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "connect-src 'self'" in policy
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


async def test_a_window_of_another_site_is_not_told_anything(reader: Reader) -> None:
    url = f"{reader.preview.url}-/preview/events"
    for headers in ({"Origin": FOREIGN}, {}):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await reader.session.ws_connect(url, headers=headers)
        assert refused.value.status == 403


async def test_windows_have_a_limit(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_server, "WINDOWS_MAX", 1)
    async with desk.previewing() as reader:
        async with reader.window() as window:
            await window.hear()
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with reader.window():
                    pass
            assert refused.value.status == 503
            await window.socket.close()
        async with reader.window() as another:
            assert await another.hear()


async def test_a_window_that_talks_too_much_is_closed(desk: Desk) -> None:
    async with desk.previewing() as reader, reader.window() as window:
        await window.hear()
        await window.socket.send_str("x" * 10_000)
        message = await window.socket.receive()
        assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
