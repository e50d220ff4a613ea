"""Attachments that a preview sends: what they may do, and when their files close."""

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.preview import HASH, WAIT_S, Desk, Reader
from tests.support.waiting import until
from wikisync.site.preview import server as preview_module
from wikisync.site.preview.pages import Rendered
from wikisync.site.preview.site import LiveSite
from wikisync.site.sources import SourceFile


async def test_an_attachment_is_served_from_the_folder_and_runs_nothing(
    reader: Reader,
) -> None:
    answer = await reader.ask("GET", f"uploads/{HASH}/map.svg")
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_an_attachment_is_sent_once_and_its_connection_is_used_again(
    reader: Reader, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """aiohttp prepares what a handler returns, though the file is closed by then."""
    address = reader.preview.url.removeprefix("http://").strip("/")
    host, port = address.split(":")
    coming, going = await asyncio.open_connection(host, int(port))
    asked = f"GET /uploads/{HASH}/map.svg HTTP/1.1\r\nHost: {address}\r\n"
    going.write(f"{asked}\r\n{asked}Connection: close\r\n\r\n".encode())
    both = await coming.read()
    going.close()
    assert both.count(b"HTTP/1.1 200 OK") == 2
    text = (desk.root / "handbook" / "uploads" / HASH / "map.svg").read_bytes()
    assert both.count(text) == 2
    assert not caplog.records


async def test_an_attachment_that_becomes_a_link_is_not_followed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the answer, which names the file, and its being opened."""
    file = desk.root / "handbook" / "uploads" / HASH / "map.svg"
    (desk.root / "outside").write_text("of somebody else")
    found = LiveSite.answer

    def found_then_swapped(site: LiveSite, path: str) -> Rendered | SourceFile | str:
        answer = found(site, path)
        if isinstance(answer, SourceFile) and not file.is_symlink():
            file.unlink()
            file.symlink_to(desk.root / "outside")
        return answer

    monkeypatch.setattr(LiveSite, "answer", found_then_swapped)
    async with desk.previewing() as reader:
        status, text = await reader.get(f"uploads/{HASH}/map.svg")
        assert (status, "somebody else" in text) == (404, False)


async def test_a_page_among_the_attachments_is_shown_as_a_text(desk: Desk) -> None:
    folder = desk.root / "handbook" / "uploads" / HASH
    (folder / "notes.html.").write_text("<script>alert(1)</script>")
    async with desk.previewing() as reader:
        assert (await reader.get(f"uploads/{HASH}/notes.html"))[0] == 404
        answer = await reader.ask("GET", f"uploads/{HASH}/notes-html.txt")
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_part_of_a_film_can_be_asked_for(desk: Desk) -> None:
    (desk.root / "handbook" / "uploads" / HASH / "film.mp4").write_bytes(b"0123456789")
    async with desk.previewing() as reader:
        url = f"{reader.preview.url}uploads/{HASH}/film.mp4"
        headers = {"Range": "bytes=2-4"}
        async with reader.session.get(url, headers=headers) as answer:
            assert (answer.status, await answer.read()) == (206, b"234")
            assert answer.headers["Content-Type"] == "video/mp4"


async def test_a_preview_that_ends_leaves_no_file_open(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that a thread is opening, nor one whose reader takes its time."""
    film = desk.root / "handbook" / "uploads" / HASH / "film.mp4"
    film.write_bytes(bytes(20_000_000))
    is_open, has_ended = threading.Event(), threading.Event()
    files: list[IO[bytes]] = []
    opened = Path.open

    def open_late(path: Path, *how: Any, **more: Any) -> IO[bytes]:
        file: IO[bytes] = opened(path, *how, **more)
        if path.parent == Path("/dev/fd"):
            files.append(file)
            is_open.set()
            # the first is sent; the second comes when the preview has ended
            assert len(files) == 1 or has_ended.wait(WAIT_S)
        return file

    monkeypatch.setattr(Path, "open", open_late)
    monkeypatch.setattr(preview_module, "SHUTDOWN_S", 0.01)
    async with contextlib.AsyncExitStack() as readers:
        try:
            async with desk.previewing() as reader, asyncio.timeout(WAIT_S):
                address = reader.preview.url.removeprefix("http://").strip("/")
                asked = f"GET /uploads/{HASH}/film.mp4 HTTP/1.1\r\nHost: {address}\r\n"
                for _ in range(2):
                    is_open.clear()
                    coming, going = await asyncio.open_connection(*address.split(":"))
                    readers.callback(going.close)
                    going.write(f"{asked}\r\n".encode())
                    await asyncio.to_thread(is_open.wait)
                    if len(files) == 1:
                        assert await coming.readline() == b"HTTP/1.1 200 OK\r\n"
        finally:
            has_ended.set()
        await until(lambda: [file.closed for file in files] == [True, True], 5)
