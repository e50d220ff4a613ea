"""Uploads and the file route."""

import hashlib
import io
import tracemalloc

import aiohttp
import pytest

from tests.service.conftest import WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.service.attachments import clean_name, file_headers, markdown_link


@pytest.mark.parametrize(("size", "status"), [(1000, 201), (1001, 413)])
async def test_upload_over_the_limit_is_refused(
    service: EmbeddedService, api: Api, size: int, status: int
) -> None:
    await service.add_project("docs/handbook")
    service.set_limits(attachment_bytes_max=1000)

    sent = {"file": io.BytesIO(b"x" * size)}
    answer = await api.post(f"{WIKIS}/attachments", data=sent)

    assert answer.status == status
    assert list((service.running.spool).iterdir()) == []


async def test_large_file_is_sent_without_a_copy_of_it(
    service: EmbeddedService, api: Api
) -> None:
    """A film of 90 MB was in memory three times, for as long as a slow reader took."""
    await service.add_project("docs/handbook")
    content = bytes(range(256)) * 32 * 1024
    sent = {"file": io.BytesIO(content)}
    path = (await api.post(f"{WIKIS}/attachments", data=sent)).json["file_path"]
    url = f"{service.url}/docs/handbook/-/wikis/{path}"
    headers = service.headers
    digest = hashlib.sha256()
    tracemalloc.start()
    try:
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(url) as answer,
        ):
            assert answer.headers["Content-Length"] == str(len(content))
            async for chunk in answer.content.iter_chunked(1 << 16):
                digest.update(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert digest.digest() == hashlib.sha256(content).digest()
    assert peak < len(content) // 2


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("dk.png", "dk.png"),
        ("a b&c.png", "a_b_c.png"),
        ("../../etc/x.txt", "x.txt"),
        ("C:\\dir\\x.txt", "x.txt"),
        ("naïve-café+1.png", "naïve-café+1.png"),
        ("日本語.pdf", "日本語.pdf"),
        ("x" * 300 + ".png", "x" * 251 + ".png"),
        ("x" * 300, "x" * 255),
        (".png", ".png"),
        ("..", ""),
        ("", ""),
    ],
)
def test_file_name_is_cleaned(name: str, clean: str) -> None:
    assert clean_name(name, 255) == clean


@pytest.mark.parametrize(
    ("name", "snippet"),
    [
        ("dk.png", "![dk](p)"),
        ("film.MP4", "![film](p)"),
        ("song.ogg", "![song](p)"),
        ("plan.svg", "![plan.svg](p)"),
        ("notes.txt", "[notes.txt](p)"),
        ("a]b.zip", r"[a\]b.zip](p)"),
    ],
)
def test_snippet_shows_media_and_links_the_rest(name: str, snippet: str) -> None:
    assert markdown_link(name, "p") == snippet


@pytest.mark.parametrize(
    ("name", "place", "kind"),
    [
        ("a.png", "inline", "image/png"),
        ("a.svg", "inline", "image/svg+xml"),
        ("a.html", "attachment", "text/html"),
        ("a.pdf", "attachment", "application/pdf"),
        ("a.unknown-kind", "attachment", "application/octet-stream"),
        ("a.tar.gz", "attachment", "application/octet-stream"),
    ],
)
def test_only_pictures_are_shown_in_place(name: str, place: str, kind: str) -> None:
    headers = file_headers(f"uploads/0f/{name}")
    assert headers["Content-Disposition"].startswith(place)
    assert headers["Content-Type"] == kind
    assert headers["Content-Security-Policy"].startswith("sandbox")
