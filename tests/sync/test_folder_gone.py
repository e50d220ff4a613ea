"""A folder that goes away in the middle of a cycle takes nothing with it."""

import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.support.pair import OWNER, Pair, paired
from wikisync.core.model import AttachmentPath
from wikisync.errors import WikisyncError

PICTURES = [f"uploads/{number:032x}/p.png" for number in range(12)]
PAGES = {
    "home": "# Home\n",
    **{f"page-{n}": f"![p]({path})\n" for n, path in enumerate(PICTURES)},
}

Removal = Callable[[Path], None]


def whole(folder: Path) -> None:
    """``rm -rf wiki``."""
    shutil.rmtree(folder)


def content(folder: Path) -> None:
    """``rm -rf wiki/*``."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


class Removing:
    """Reads attachments, and has the folder removed before the n-th of them."""

    def __init__(self, pair: Pair, removal: Removal, before: int) -> None:
        self._read = pair.remote.read_attachment
        self._remove: Callable[[], None] = lambda: removal(pair.folder)
        self._left = before

    async def __call__(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncGenerator[bytes, None]:
        self._left -= 1
        if self._left == 0:
            self._remove()
        async for chunk in self._read(path, version):
            yield chunk


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """All pages are in sync; the attachments that they mention are new."""
    async with paired(tmp_path, PAGES) as opened:
        await opened.rest()
        files = {path: b"\x89PNG" + path.encode() for path in PICTURES}
        await opened.service.put_files(OWNER, files)
        yield opened


@pytest.mark.parametrize("removal", [whole, content])
@pytest.mark.parametrize("before", [1, 2, 7])
async def test_folder_removed_while_attachments_come_deletes_no_page(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, removal: Removal, before: int
) -> None:
    monkeypatch.setattr(pair.remote, "read_attachment", Removing(pair, removal, before))
    problems: list[str] = []
    for _ in range(6):
        try:
            result = await pair.cycle()
            problems += [str(one) for one in (*result.problems, *result.batches)]
        except WikisyncError as error:
            problems.append(error.message)
    assert await pair.wiki_texts() == PAGES
    assert problems, "a person is told"
    monkeypatch.undo()
    pair.folder.mkdir(exist_ok=True)
    for slug, text in PAGES.items():
        pair.save(slug, text)
    result = await pair.rest()
    assert not result.batches
    assert (await pair.wiki_texts(), pair.texts()) == (PAGES, PAGES)
    assert all((pair.folder / path).exists() for path in PICTURES)
