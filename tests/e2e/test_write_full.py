"""The editor in a browser that has no room for a text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.author import GUIDE, Author, second_window
from tests.support.browser import lose_first, unchecked_visit
from tests.support.preview import Desk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def author(chromium: Browser, desk: Desk) -> AsyncIterator[Author]:
    """Somebody who edits there."""
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.page.evaluate("""() => {
            Storage.prototype.setItem = () => { throw new DOMException("full"); };
        }""")
        yield author


async def test_a_text_that_the_browser_cannot_keep_is_not_left(author: Author) -> None:
    await author.type_at_end("\n\nNowhere yet.")
    await author.said("This browser has no room to keep the text")
    await author.button("Close the editor").click()
    await author.button("Keep it in this browser").click()
    await author.source.get_by_text("Nowhere yet.").wait_for()
    await author.source.evaluate("""(it) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", "a line\\n".repeat(160_000));
        it.dispatchEvent(new ClipboardEvent("paste", { clipboardData }));
    }""")
    await author.save()
    refused = "guide.md would have more than 1024 KiB; divide the page"
    await author.said(f"Not saved: {refused}. This browser has no room")
    await author.page.keyboard.press("Control+z")
    async with author.page.expect_event("dialog") as asked:
        await author.page.evaluate("setTimeout(() => location.assign('/'))")
    question = await asked.value
    assert question.type == "beforeunload"
    await question.dismiss()
    await author.save()
    await author.said("Saved.")
    assert "Nowhere yet." in (author.root / "guide.md").read_text()


async def test_the_reason_of_a_refused_save_stays_where_nothing_can_be_kept(
    author: Author,
) -> None:
    """Also of the save that a settled clash, or a page that is gone, ends with."""
    await author.replace("Middle words", "Mine in the middle.")
    file = author.root / "guide.md"
    file.write_text(GUIDE.replace("Middle words", "Theirs in the middle"))
    await author.save()
    await author.button("Keep mine").click()
    await lose_first(author.page, "**/-/preview/save")
    await author.button("Use these texts").click()
    reason = "Not saved: the preview does not answer"
    await author.said(reason)
    await author.page.locator(".write:not([inert])").wait_for()
    assert reason in await author.page.locator(".said").inner_text()
    file.unlink()
    await author.said("The file of this page is gone.")
    await author.save()
    asked, free = asyncio.Event(), asyncio.Event()

    async def lose(route: Route) -> None:
        asked.set()
        await free.wait()
        await route.abort()

    await author.page.route("**/-/preview/create", lose)
    async with second_window(author) as other:
        await other.page.goto(author.url + "guide.html")
        await author.button("Write it again").click()
        await asked.wait()
        file.write_text("# Guide\n\nBack again.\n")
        await other.shown("Back again.")
    free.set()
    await author.said(f"{reason}; ")
    for _ in range(2):  # where it looked at the file now, it would have the answer
        await author.page.evaluate("fetch(location.href).then(() => null)")
    assert reason in await author.page.locator(".said").inner_text()
