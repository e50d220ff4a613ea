"""A wiki on the desk of an author, without a server and with one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.preview import PAGE, Desk, Reader, Window, Writer, writing
from wikisync.site.preview.writing import WikiDesk


@pytest.fixture
def wiki(tmp_path: Path) -> WikiDesk:
    root = tmp_path / "handbook"
    root.mkdir()
    (root / "guide.md").write_text(PAGE)
    return WikiDesk(root, None)


@pytest_asyncio.fixture
async def writer(desk: Desk) -> AsyncIterator[Writer]:
    """The preview of the desk, asked by its own page."""
    async with writing(desk) as writer:
        yield writer


@pytest_asyncio.fixture
async def reader(desk: Desk) -> AsyncIterator[Reader]:
    """The preview of the desk, asked by anybody."""
    async with desk.previewing() as reader:
        yield reader


@pytest_asyncio.fixture
async def window(reader: Reader) -> AsyncIterator[Window]:
    """A window that shows the guide."""
    async with reader.window("guide.html") as window:
        yield window
