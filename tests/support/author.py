"""A person who writes in the preview's page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.browser import visiting
from tests.support.preview import Desk
from wikisync.site.preview.server import PreviewOptions

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator, Page, Route

SECTIONS = "\n\n".join(f"## Section {n}\n\n{'Some words. ' * 40}" for n in range(12))
WIKI = f"""\
-- home.md --
# Welcome

See [the guide](guide) and [a plan](plans/next).
-- guide.md --
# Guide

First words.

Middle words.

Last words.
-- long.md --
# Long

{SECTIONS}
-- team/one.org --
* One

Words.
-- templates/minutes.md --
# Minutes of today
"""
GUIDE = "# Guide\n\nFirst words.\n\nMiddle words.\n\nLast words.\n"
DRAFTS = "() => Object.keys(localStorage).some((key) => key.includes('draft'))"
"""Whether the browser keeps a text that no file holds."""


@dataclass
class Author:
    """A person with the editor in a window."""

    page: Page
    url: str
    root: Path

    async def edit(self, at: str = "guide.html") -> None:
        await self.page.goto(self.url + at)
        await self.button("Edit").click()
        await self.opened()

    async def opened(self) -> None:
        """Until a person can type, or is asked something."""
        typing = self.page.locator(".write:not([inert]) .cm-content")
        await typing.or_(self.page.locator("dialog")).first.wait_for()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def dialog(self, name: str) -> Locator:
        return self.page.get_by_role("dialog", name=name)

    @property
    def source(self) -> Locator:
        return self.page.locator(".cm-content")

    async def text(self) -> str:
        lines = await self.page.locator(".cm-line").all_inner_texts()
        return "\n".join("" if line == "\n" else line for line in lines)

    async def type_at_end(self, text: str) -> None:
        await self.source.click()
        await self.page.keyboard.press("Control+End")
        await self.page.keyboard.type(text)

    async def replace(self, old: str, new: str) -> None:
        """Type over words of the source."""
        await self.source.get_by_text(old).first.click()
        await self.page.keyboard.press("Home")
        await self.page.keyboard.press("Shift+End")
        await self.page.keyboard.type(new)

    async def save(self) -> None:
        await self.page.keyboard.press("Control+s")

    async def said(self, text: str) -> None:
        await self.page.locator(".said", has_text=text).wait_for()

    async def shown(self, text: str) -> None:
        await self.page.locator("main").get_by_text(text).first.wait_for()


@asynccontextmanager
async def writing(
    chromium: Browser, desk: Desk, options: PreviewOptions | None = None
) -> AsyncIterator[Author]:
    """An author's window, which must cause no error and ask nobody else."""
    async with (
        desk.previewing(options) as reader,
        visiting(chromium, reader.preview.url) as visit,
    ):
        yield Author(visit.page, reader.preview.url, desk.root / "handbook")


@asynccontextmanager
async def second_window(author: Author) -> AsyncIterator[Author]:
    """Another tab of the same browser."""
    page = await author.page.context.new_page()
    yield Author(page, author.url, author.root)
    await page.close()


async def held(author: Author, action: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold the first answer to an action back: it is there, and it may come."""
    answered, free = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        if answered.is_set():
            return await route.fallback()
        answer = await route.fetch()
        answered.set()
        await free.wait()
        return await route.fulfill(response=answer)

    await author.page.route(f"**/-/preview/{action}", hold)
    return answered, free
