"""Attachments: up by the API, down by the file route."""

import re
from pathlib import Path

import pytest

from tests.support.service import EmbeddedService
from wikisync.api.wikis import Wiki
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.errors import NotFound

pytestmark = pytest.mark.asyncio(loop_scope="module")

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4000


async def read(wiki: Wiki, path: str) -> bytes:
    chunks = wiki.read_attachment(AttachmentPath(path))
    return b"".join([chunk async for chunk in chunks])


async def test_a_file_goes_up_from_disk_and_comes_down_unchanged(
    wiki: Wiki, tmp_path: Path
) -> None:
    file = tmp_path / "picture"
    file.write_bytes(PICTURE)

    record = await wiki.upload_attachment(file, "my picture.png")

    assert re.fullmatch(r"uploads/[0-9a-f]{32}/my_picture\.png", record.file_path)
    assert record.file_name == "my_picture.png"
    assert record.branch == "main"
    assert record.link is not None
    assert record.link.url == record.file_path
    assert record.link.markdown == f"![my_picture]({record.file_path})"
    assert await read(wiki, record.file_path) == PICTURE


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("naïve café.pdf", "naïve_café.pdf"),
        ("日本語.txt.zip", "日本語.txt.zip"),
        ('say "hi"; x=1.bin', "say__hi___x_1.bin"),
        ("100% sure?#.png", "100__sure__.png"),
        ("a+b-c.png", "a+b-c.png"),
    ],
)
async def test_a_file_name_is_cleaned_by_the_service_alone(
    name: str, stored: str, wiki: Wiki
) -> None:
    record = await wiki.upload_attachment(b"x", name)

    assert record.file_name == stored
    assert await read(wiki, record.file_path) == b"x"


async def test_an_empty_file_is_a_file(wiki: Wiki) -> None:
    record = await wiki.upload_attachment(b"", "empty.bin")

    assert await read(wiki, record.file_path) == b""


async def test_the_same_file_twice_is_two_files(wiki: Wiki) -> None:
    first = await wiki.upload_attachment(b"x", "x.png")
    second = await wiki.upload_attachment(b"x", "x.png")

    assert first.file_path != second.file_path


async def test_a_missing_attachment_is_named(wiki: Wiki) -> None:
    path = f"uploads/{'0' * 32}/no.png"

    with pytest.raises(NotFound, match=f"cannot read attachment {path} of"):
        await read(wiki, path)


@pytest.mark.parametrize("name", ["page.html", "icon.svg", "notes.md", "plain"])
async def test_a_file_of_any_kind_comes_as_its_bytes(
    name: str, wiki: Wiki, service: EmbeddedService, owner: WikiOwner
) -> None:
    path = f"uploads/{'ab' * 16}/{name}"
    await service.put_file(owner, path, b"<html><body>x</body></html>")

    assert await read(wiki, path) == b"<html><body>x</body></html>"
