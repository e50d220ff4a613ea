"""Programs that keep a page's file open: ``cat >> page.md``, a logger."""

import os
from typing import IO

import pytest

from tests.support.workspaces import PAGES, Cloned
from wikisync.folder.limbo import STREAM_S


@pytest.fixture
async def logger(cloned: Cloned) -> IO[bytes]:
    """A program that appends to a page that was replaced since it opened its file."""
    program = (cloned.folder / "guide.md").open("ab", buffering=0)
    await cloned.edit({"guide": f"from the wiki\n\n{PAGES['guide']}"})
    assert (await cloned.run("sync")).code == 0
    return program


def limbo(cloned: Cloned) -> list[str]:
    place = cloned.root / ".wikisync" / "limbo"
    return [path.name for path in place.rglob("*") if path.is_file()]


def age_records(cloned: Cloned, seconds: float) -> None:
    """Let it be so long ago that anything was known of the files in limbo."""
    for record in (cloned.root / ".wikisync" / "limbo").rglob("*.json"):
        then = record.stat().st_mtime - seconds
        os.utime(record, (then, then))


async def test_appended_lines_reach_pages(cloned: Cloned, logger: IO[bytes]) -> None:
    """Line by line, for hours, each time in another process of ours."""
    assert len(limbo(cloned)) == 2
    for number in range(3):
        logger.write(b"\nline %d\n" % number)
        age_records(cloned, STREAM_S)
        await cloned.run("sync")
        assert f"line {number}" in (await cloned.wiki())["guide.md"]
    logger.close()
    text = (await cloned.wiki())["guide.md"]
    assert text == cloned.read("guide.md")
    assert text.startswith("from the wiki\n")
    assert [text.count(f"line {number}") for number in range(3)] == [1, 1, 1]
    await cloned.run("sync")
    assert limbo(cloned) == []


async def test_what_is_no_text_is_told(cloned: Cloned, logger: IO[bytes]) -> None:
    logger.write(b"\xff\n")
    logger.close()
    (await cloned.run("sync")).ended(3, "the program's text is in the trash")
    trash = cloned.root / ".wikisync" / "trash"
    kept = [path.read_bytes() for path in trash.rglob("*") if path.is_file()]
    assert b"a guide\n\xff\n" in kept
