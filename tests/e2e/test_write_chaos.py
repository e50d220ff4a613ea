"""Two tabs, another program, SIGKILLs of the preview, one page: nothing is lost.

``prove_write`` runs the same for longer: on ten pages, under a watch, with a person on
the wiki.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from tests.support.author import Author
from wikisync.core.system.libc import swap_paths

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ACTS = 14
PLACES = ("First place", "Second place", "Third place")
START_S = 30
SAVED_S = 120
AGAIN_S = 5
STEP_S = 10


@dataclass
class Desk:
    """A folder whose preview is a process that may be killed."""

    folder: Path
    port: int
    command: tuple[str, ...]
    """Of the process, without the program."""
    pages: tuple[str, ...] = ("page",)
    environment: Mapping[str, str] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    written: list[str] = field(default_factory=list)
    """Every sentence that a person wrote."""
    trail: list[str] = field(default_factory=list)
    """What was done, and where the sentences were then."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def file(self, page: str) -> Path:
        return self.folder / f"{page}.md"

    def sentence(self, who: str) -> str:
        self.written.append(f"Sentence {len(self.written)} of {who}.")
        return self.written[-1]

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wikisync", *self.command),
            env={**os.environ, **self.environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_S):
            # it names its address once it listens
            while (
                self.url not in (line := await self.process.stdout.readline()).decode()
            ):
                assert line, "the preview ended"
        self.reading = asyncio.create_task(self.process.stdout.read())  # noqa: TID251 - ends with the process

    async def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await self.reading

    def other_program(self, page: str, place: str) -> None:
        """An editor that saves under another name first, as vim does."""
        file, new = self.file(page), self.folder.parent / "new.md"
        line = self.sentence("another program")
        text = expected = file.read_text()
        while True:
            put = text.replace(f"## {place}\n", f"## {place}\n\n{line}\n")
            new.write_text(put)
            swap_paths(new, file)
            # a save since it has read came out, and goes in again
            if (text := new.read_text()) == expected:
                break
            expected = put
        new.unlink()


TEXT = "".join(f"## {one}\n\nWords.\n\n" for one in PLACES)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[Desk]:
    port = free_port()
    folder.mkdir()
    command = ("preview", str(folder), "--port", str(port))
    cache = {"XDG_CACHE_HOME": str(folder.parent / "cache")}
    desk = Desk(folder, port, command, environment=cache)
    desk.file("page").write_text(TEXT)
    await desk.start()
    try:
        yield desk
    finally:
        await desk.kill()


SEEN = """() => ({
    said: [...document.querySelectorAll("wikisync-preview")].map(({ shadowRoot }) =>
        [".said", ".word", "dialog h2", ".panel"].map((one) =>
            shadowRoot.querySelector(one)?.textContent.slice(0, 80))),
    lines: [...document.querySelectorAll("wikisync-preview")].map(({ shadowRoot }) =>
        shadowRoot.querySelector(".cm-content")?.textContent ?? ""),
    kept: Object.entries(localStorage), tab: sessionStorage["wikisync-tab"],
})"""
SENTENCE = re.compile(r"Sentence (\d+) of")


async def note(desk: Desk, act: str, page: str, tabs: Mapping[str, Author]) -> None:
    """Where the sentences of a page are after an act: its file, the tabs, storage."""

    def numbers(text: str) -> str:
        return ",".join(SENTENCE.findall(text))

    desk.trail.append(f"{time.monotonic():.2f} {act}")
    with suppress(OSError):
        desk.trail.append(f"    {page}.md: {numbers(desk.file(page).read_text())}")
    kept: list[tuple[str, str]] = []
    for who, author in tabs.items():
        # it may be loaded again just now
        with suppress(PlaywrightError):
            seen = await author.page.evaluate(SEEN)
            shown = numbers("".join(seen["lines"]))
            desk.trail.append(f"    {who} ({seen['tab']}): {shown} {seen['said']}")
            kept = seen["kept"]
    desk.trail += [f"    {key}: {numbers(text)}" for key, text in kept]


async def settle(author: Author) -> None:
    """Keep both texts wherever the page asks, and take what a closed tab left."""
    use, take = author.button("Use these texts"), author.button("Take it")
    again = author.button("Try again")
    while await use.or_(take).or_(again).count():
        if await again.count():
            # the conflict is another one by now, and is asked about again
            answer = author.button("Cancel")
        else:
            for both in await author.button("Both").all():
                await both.click()
            answer = use.or_(take)
        # another question may stand there at once, so it is this one that has to go
        asked = await answer.element_handle()
        await asked.click()
        await asked.wait_for_element_state("hidden")


async def write(desk: Desk, author: Author, who: str, place: str) -> None:
    """Type a sentence at a place; it need not be saved."""
    sentence = desk.sentence(who)
    async with asyncio.timeout(SAVED_S):
        while True:
            await settle(author)
            # a question of the page that comes meanwhile takes the keys: once more
            with suppress(PlaywrightTimeout):
                await author.source.get_by_text(f"## {place}").first.click()
                await author.page.keyboard.press("End")
                await author.page.keyboard.type(f"\n\n{sentence}")
                # the browser keeps a text a moment after the last key
                await author.page.wait_for_function(
                    "(text) => Object.values(localStorage)"
                    ".some((one) => one.includes(text))",
                    arg=sentence,
                )
                return


async def save_all(author: Author) -> None:
    """Save until the file holds the text."""
    async with asyncio.timeout(SAVED_S):
        while True:
            await settle(author)
            await author.save()
            saved = author.button("Save (Ctrl+S)").and_(
                author.page.locator(":disabled")
            )
            asked = author.button("Use these texts")
            # a save that a kill cut off is asked for again, as a person does
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    await saved.or_(asked).first.wait_for()
                    if not await asked.count():
                        return


async def fight(
    context: BrowserContext,
    desk: Desk,
    chance: random.Random,
    is_over: Callable[[int], bool],
    more: Mapping[str, Callable[[], Awaitable[None]]],
) -> None:
    """Let two tabs and all others write until it is over; then everything is saved."""
    acts = ["write", "write", "save", "program", "kill", "reload", *more]
    tabs: dict[str, Author] = {}
    number, page = 0, ""
    while not is_over(number):
        # ten acts a page, the tabs side by side on it
        if number % 10 == 0 and (len(desk.pages) > 1 or not tabs):
            for author in tabs.values():
                await save_all(author)
                await note(desk, "saved", page, {"it": author})
                await author.page.close()
            page = chance.choice(desk.pages)
            for who in ("one tab", "another tab"):
                tabs[who] = Author(await context.new_page(), desk.url, desk.folder)
                await tabs[who].edit(f"{page}.html")
                tabs[who].page.set_default_timeout(STEP_S * 1000)
        number += 1
        who = chance.choice(list(tabs))
        act = chance.choice(acts)
        await note(desk, f"{who} {act}", page, tabs)
        match act:
            case "write":
                await write(desk, tabs[who], who, chance.choice(PLACES))
            case "save":
                await settle(tabs[who])
                await tabs[who].save()
            case "program":
                desk.other_program(page, chance.choice(PLACES))
            case "kill":
                await tabs[who].save()
                await desk.kill()
                await desk.start()
            case "reload":
                await settle(tabs[who])
                await tabs[who].page.reload()
                await tabs[who].opened()
            case other:
                await more[other]()
    for author in tabs.values():
        await save_all(author)
        await note(desk, "saved", page, {"it": author})


@pytest.mark.parametrize("seed", [1])
async def test_no_sentence_is_lost(
    chromium: Browser, tmp_path: Path, seed: int
) -> None:
    context = await chromium.new_context()
    async with desk_in(tmp_path / "wiki") as desk:
        await fight(context, desk, random.Random(seed), lambda done: done >= ACTS, {})
        text = desk.file("page").read_text()
    await context.close()
    lost = [one for one in desk.written if one not in text]
    assert lost == [], "\n".join(desk.trail)
