"""Two tabs, another program, SIGKILLs of the preview, one page: nothing is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_write import Author

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ACTS = 14
PLACES = ("First place", "Second place", "Third place")
START_S = 30


@dataclass
class Desk:
    """A folder whose preview is a process that may be killed."""

    folder: Path
    port: int
    process: asyncio.subprocess.Process | None = None
    written: list[str] = field(default_factory=list)
    """Every sentence that a person wrote."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def file(self) -> Path:
        return self.folder / "page.md"

    def sentence(self, who: str) -> str:
        self.written.append(f"Sentence {len(self.written)} of {who}.")
        return self.written[-1]

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wikisync", "preview", str(self.folder)),
            *("--port", str(self.port)),
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder.parent / "cache")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_S):
            # it names its address once it listens
            while (
                self.url not in (line := await self.process.stdout.readline()).decode()
            ):
                assert line, "the preview ended"

    async def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    def other_program(self, place: str) -> None:
        """An editor that saves by a rename, as vim does."""
        text = self.file.read_text()
        new = self.folder.parent / "new.md"
        line = self.sentence("another program")
        new.write_text(text.replace(f"## {place}\n", f"## {place}\n\n{line}\n"))
        new.replace(self.file)


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[Desk]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    desk = Desk(folder, port)
    desk.file.write_text("".join(f"## {one}\n\nWords.\n\n" for one in PLACES))
    await desk.start()
    try:
        yield desk
    finally:
        await desk.kill()


async def settle(author: Author) -> None:
    """Keep both texts wherever the page asks."""
    use = author.button("Use these texts")
    while await use.count():
        for both in await author.button("Both").all():
            await both.click()
        await use.click()
        await author.page.locator("dialog").wait_for(state="detached")


async def write(desk: Desk, author: Author, who: str, place: str) -> None:
    """Type a sentence at a place; it need not be saved."""
    await settle(author)
    await author.source.get_by_text(f"## {place}").click()
    await author.page.keyboard.press("End")
    await author.page.keyboard.type(f"\n\n{desk.sentence(who)}")
    # the browser keeps a text a moment after the last key
    await author.page.wait_for_function(
        "(text) => Object.values(localStorage).some((one) => one.includes(text))",
        arg=desk.written[-1],
    )


async def save_all(author: Author) -> None:
    """Save until the file holds the text."""
    async with asyncio.timeout(START_S):
        while True:
            await settle(author)
            await author.save()
            saved = author.button("Save (Ctrl+S)").and_(
                author.page.locator(":disabled")
            )
            asked = author.button("Use these texts")
            await saved.or_(asked).first.wait_for()
            if not await asked.count():
                return


@pytest.mark.parametrize("seed", [1])
async def test_no_sentence_is_lost(
    chromium: Browser, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    context = await chromium.new_context()
    async with desk_in(tmp_path / "wiki") as desk:
        tabs = {}
        for who in ("one tab", "another tab"):
            author = Author(await context.new_page(), desk.url, desk.folder)
            await author.edit("page.html")
            tabs[who] = author
        for _ in range(ACTS):
            who = chance.choice(list(tabs))
            act = chance.choice(["write", "write", "save", "program", "kill", "reload"])
            match act:
                case "write":
                    await write(desk, tabs[who], who, chance.choice(PLACES))
                case "save":
                    await settle(tabs[who])
                    await tabs[who].save()
                case "program":
                    desk.other_program(chance.choice(PLACES))
                case "kill":
                    await tabs[who].save()
                    await desk.kill()
                    await desk.start()
                case "reload":
                    await settle(tabs[who])
                    await tabs[who].page.reload()
                    await tabs[who].source.wait_for()
        for author in tabs.values():
            await save_all(author)
        text = desk.file.read_text()
    await context.close()
    assert [one for one in desk.written if one not in text] == []
