"""Conflicts, safety stops and earlier texts, settled in the page under a watch."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.e2e.test_write_chaos import Desk, free_port
from tests.support.author import Author
from tests.support.browser import visiting
from tests.support.quirks import Quirk
from tests.support.service import embedded_service
from tests.support.watching import OWNER, WatchProcess, make_workspace, watching

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.support.browser import Visit

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HOME = "# Home\n\nfirst\n\nmiddle\n\nlast\n"
MINE = HOME.replace("middle", "middle of mine")
PAGES = {"home": HOME} | {f"page-{n}": f"Words {n}.\n" for n in range(9)}
THEIRS = HOME.replace("middle", "their middle")


@asynccontextmanager
async def watched(
    chromium: Browser, tmp_path: Path, **settings: Any
) -> AsyncIterator[tuple[WatchProcess, Author, Visit]]:
    """A watch with its preview, and a window that shows the home page."""
    async with embedded_service(tmp_path / "service") as service:
        await service.add_project(OWNER.full_path, PAGES)
        async with watching(service, tmp_path / "wikis", "--preview") as watch:
            await watch.in_sync()
            await watch.said("preview: ")
            (line,) = [one for one in watch.lines if "preview: " in one]
            url = line.rpartition("preview: ")[2]
            # it may have looked before the first sync made the folder
            await watch.until(lambda: is_shown(url))
            async with visiting(chromium, url, **settings) as visit:
                author = Author(visit.page, url, watch.folder)
                await visit.page.goto(url)
                yield watch, author, visit


async def is_shown(url: str) -> bool:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status == 200


async def clash(watch: WatchProcess) -> None:
    """Edit the same line of the page on the wiki and here, with no cycle between."""
    watch.signal(signal.SIGSTOP)
    await watch.service.add_pages(OWNER, {"home": THEIRS})
    watch.save("home", MINE)
    watch.signal(signal.SIGCONT)
    await watch.until((watch.folder / "home.conflict.md").exists)


async def test_before_the_first_sync_a_page_says_so_and_comes_by_itself(
    chromium: Browser, tmp_path: Path
) -> None:
    make_workspace(tmp_path / "wikis", "http://127.0.0.1:9")
    port = free_port()
    command = ("preview", str(tmp_path / "wikis"), "--port", str(port))
    desk = Desk(tmp_path / "wikis" / "handbook", port, command)
    await desk.start()
    page = await chromium.new_page()
    try:
        answer = await page.goto(desk.url)
        assert answer is not None
        assert answer.status == 503
        await page.get_by_role("heading", name="Not synced yet").wait_for()
        await page.get_by_text("comes with the first sync").wait_for()
        assert not await page.get_by_role("alert").is_visible()
        desk.folder.mkdir()
        desk.file("home").write_text("# Welcome\n")
        await page.get_by_role("heading", name="Welcome").wait_for()
    finally:
        await page.close()
        await desk.kill()


async def test_a_preview_says_how_far_a_page_is_with_a_watch_beside_it_and_without(
    chromium: Browser, tmp_path: Path
) -> None:
    root = tmp_path / "wikis"
    port = free_port()
    desk = Desk(root / "handbook", port, ("preview", str(root), "--port", str(port)))
    page = await chromium.new_page()
    status = page.locator("wikisync-preview").get_by_role("status")
    try:
        async with embedded_service(tmp_path / "service") as service:
            await service.add_project(OWNER.full_path, PAGES)
            async with watching(service, root) as watch:
                await watch.in_sync()
                await desk.start()
                await page.goto(desk.url)
                await status.get_by_text("in sync", exact=True).wait_for()
                service.quirks = frozenset({Quirk.TOKEN_REVOKED})
                watch.save("home", MINE)
                why = "service rejects the token since"
                await status.get_by_text(f"on its way: {why}").wait_for()
                await page.goto(f"{desk.url}page-1.html")
                await status.get_by_text(why).wait_for()
                service.quirks = frozenset()
                # what a person runs who does not want to wait
                (root / ".wikisync" / "ask").touch()
                await page.goto(desk.url)
                await status.get_by_text("in sync", exact=True).wait_for()
        await status.get_by_text("as last synced", exact=True).wait_for()
        await status.get_by_text("wiki: last sync").wait_for()
        desk.file("home").write_text(HOME)
        await status.get_by_text("changed here", exact=True).wait_for()
        await status.get_by_text("wiki: 1 changed here", exact=True).wait_for()
    finally:
        await page.close()
        await desk.kill()


async def test_a_conflict_is_settled_in_the_page_and_reaches_the_wiki(
    chromium: Browser, tmp_path: Path
) -> None:
    async with watched(chromium, tmp_path) as (watch, author, visit):
        await clash(watch)
        await author.button("Settle").click()
        dialog = author.dialog("Two texts for the same place")
        await dialog.locator(".mine mark", has_text="of mine").wait_for()
        await dialog.locator(".other mark", has_text="their").wait_for()
        assert await visit.axe() == []
        await author.button("Both").click()
        await author.button("Use these texts").click()
        await author.page.get_by_text("The conflict is settled").wait_for()
        both = HOME.replace("middle", "their middle\nmiddle of mine")

        async def is_there() -> bool:
            return await watch.wiki_text("home") == both

        await watch.until(is_there)
        await watch.until(lambda: watch.text("home") == both)
        # the next cycle sees that both agree, and takes it away
        await watch.until(lambda: not (watch.folder / "home.conflict.md").exists())


async def test_what_waits_is_listed_with_its_step_and_decided_in_the_page(
    chromium: Browser, tmp_path: Path
) -> None:
    """Nearly all pages go away on the wiki: a safety stop, which is refused."""
    async with watched(chromium, tmp_path) as (watch, author, visit):
        for n in range(9):
            (watch.folder / f"page-{n}.md").unlink()
        await watch.said("would be deleted on the wiki")
        await author.page.get_by_title("What waits in the wiki").click()
        dialog = author.dialog("State of the wiki")
        await dialog.get_by_text("9 of 10 pages would be deleted").wait_for()
        assert await visit.axe() == []
        await dialog.get_by_text("9 pages", exact=True).click()
        await dialog.get_by_text("page-8", exact=True).wait_for()
        await author.button("Refuse").click()
        await author.page.get_by_text("refused; the running watch").wait_for()
        await watch.until(lambda: watch.text("page-8") == "Words 8.\n")


async def test_an_earlier_text_is_compared_and_restored_in_the_page(
    chromium: Browser, tmp_path: Path
) -> None:
    async with watched(chromium, tmp_path) as (watch, author, visit):
        await watch.service.add_pages(OWNER, {"home": MINE})
        watch.save("page-1", "Asks for a sync.\n")
        await watch.until(lambda: watch.text("home") == MINE)
        await author.page.get_by_title("What waits in the wiki").click()
        await author.button("Earlier texts of this page").click()
        await author.button("History of the wiki").click()
        dialog = author.dialog("Revisions of this page on the wiki")
        first, last = dialog.locator("summary").first, dialog.locator("summary").last
        assert "edited by" in await first.inner_text()
        await first.click()
        await dialog.locator("ins", has_text="of mine").wait_for()
        assert await visit.axe() == []
        await last.click()
        await author.button("Restore this text").click()
        await author.page.get_by_text("The page has its text again").wait_for()

        async def is_sent() -> bool:
            return await watch.wiki_text("home") == HOME

        await watch.until(is_sent)
