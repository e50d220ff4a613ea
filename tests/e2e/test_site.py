"""The exported user guide as a reader meets it, from a disk and from a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import (
    MOBILE,
    Visit,
    serving_folder,
    unchecked_visit,
    visiting,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

DARK = "rgb(18, 21, 28)"
GROUND = "getComputedStyle(document.body).backgroundColor"
CHOICE = "localStorage.getItem('wikisync-theme')"
HANDBOOK = "docs/handbook/-/wikis/"
DOCS = "docs/-/wikis/"
GROUP = "docs/-/wikis/"


async def test_home_opens_and_leads_to_a_wiki(chromium: Browser, base: str) -> None:
    async with visiting(chromium, base) as visit:
        await visit.go("index.html")
        main = visit.page.get_by_role("main")
        await main.get_by_role("link", name="Handbook").click()
        await visit.arrive(HANDBOOK + "index.html")
        assert await visit.page.locator("h1").inner_text() == "wikisync"


async def test_tree_leads_to_the_page_it_names(visit: Visit) -> None:
    await visit.go(GROUP + "decisions.html")
    tree = visit.page.get_by_role("navigation", name="Pages", exact=True)
    await tree.get_by_role("link", name="0002: relative links only").click()
    await visit.arrive(GROUP + "decisions/0002-relative-links.html")
    current = tree.locator("[aria-current=page]")
    assert await current.inner_text() == "0002: relative links only"


async def test_tree_opens_and_closes_without_script(
    chromium: Browser, file_base: str
) -> None:
    async with visiting(chromium, file_base, java_script_enabled=False) as visit:
        await visit.go(GROUP + "decisions.html")
        child = visit.page.locator(".site-nav details a").first
        assert await child.is_visible()
        await visit.page.locator(".site-nav summary").click()
        assert not await child.is_visible()


async def test_sidebar_breadcrumbs_and_pager_lead_on(visit: Visit) -> None:
    await visit.go(HANDBOOK + "index.html")
    await visit.page.locator(".sidebar").get_by_role("link", name="Names").click()
    await visit.arrive(HANDBOOK + "folder/names.html")
    await visit.page.locator(".pager .next").click()
    await visit.arrive(HANDBOOK + "folder/other-programs.html")
    crumbs = visit.page.get_by_role("navigation", name="Where you are")
    await crumbs.get_by_role("link", name="Handbook").click()
    await visit.arrive(HANDBOOK + "index.html")


async def test_dark_mode_toggles_and_stays(
    chromium: Browser, sample_site: Path
) -> None:
    async with (
        serving_folder(sample_site, "/site/") as url,
        visiting(chromium, url, color_scheme="light") as visit,
    ):
        await visit.go("index.html")
        await visit.page.get_by_role("button", name="Light or dark").click()
        assert await visit.page.evaluate(GROUND) == DARK
        await visit.go(HANDBOOK + "index.html")
        assert await visit.page.evaluate(GROUND) == DARK


async def test_dark_mode_is_stored_and_read_on_a_disk(
    chromium: Browser, file_base: str
) -> None:
    """Each half by itself, for Chromium loses what lies between.

    A few in a hundred of the pages that it opens from a disk get a storage that no
    other page shares: they read nothing, and what they store is gone with them.
    """
    async with visiting(chromium, file_base, color_scheme="light") as visit:
        await visit.go("index.html")
        await visit.page.get_by_role("button", name="Light or dark").click()
        assert await visit.page.evaluate(GROUND) == DARK
        assert await visit.page.evaluate(CHOICE) == "dark"
    async with visiting(chromium, file_base, color_scheme="light") as visit:
        await visit.page.add_init_script(
            "localStorage.setItem('wikisync-theme', 'dark')"
        )
        await visit.go(HANDBOOK + "index.html")
        assert await visit.page.evaluate(GROUND) == DARK


async def test_a_server_may_forbid_the_script_in_the_head(
    chromium: Browser, sample_site: Path
) -> None:
    async with (
        serving_folder(sample_site, "/site/", "script-src 'self'") as url,
        unchecked_visit(chromium, url) as visit,
    ):
        await visit.page.add_init_script(
            "localStorage.setItem('wikisync-theme', 'dark')"
        )
        await visit.go("-/search.html?q=wiki")
        await visit.page.locator("#siteHits a").first.wait_for()
        assert await visit.page.locator(".search-page").is_visible()
        assert await visit.page.evaluate(GROUND) == DARK
        assert "inline script" in visit.errors[0]


async def test_mobile_menu_works_without_script(chromium: Browser, base: str) -> None:
    settings = {"viewport": MOBILE, "java_script_enabled": False}
    async with visiting(chromium, base, **settings) as visit:
        await visit.go(HANDBOOK + "index.html")
        link = visit.page.locator(".site-nav").get_by_role("link", name="Commands")
        assert not await link.is_visible()
        await visit.page.locator("label[for=siteNav]").click()
        await link.click()
        await visit.arrive(HANDBOOK + "reference/commands.html")


async def test_contents_fold_above_the_text_on_a_phone(
    chromium: Browser, file_base: str
) -> None:
    async with visiting(chromium, file_base, viewport=MOBILE) as visit:
        await visit.go(HANDBOOK + "formats/markdown.html")
        link = visit.page.locator(".contents").get_by_role("link", name="Math")
        assert not await link.is_visible()
        await visit.page.locator("label[for=siteToc]").click()
        assert await link.is_visible()


async def test_code_is_copied_where_there_is_no_clipboard(visit: Visit) -> None:
    """The browser's clipboard exists on https only."""
    await visit.page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "addEventListener('copy', () => { window.copied = `${getSelection()}` })"
    )
    await visit.go(HANDBOOK + "formats/markdown.html")
    code = visit.page.locator("pre").first
    await visit.page.get_by_role("button", name="Copy").first.click()
    await visit.page.get_by_role("button", name="Copied").wait_for()
    copied = await visit.page.evaluate("copied")
    assert copied.strip() == (await code.inner_text()).strip()


async def test_print_shows_the_text_alone_and_where_links_lead(visit: Visit) -> None:
    await visit.page.emulate_media(media="print", color_scheme="dark")
    await visit.go(HANDBOOK + "formats/markdown.html")
    assert not await visit.page.locator("header.top, .site-nav").first.is_visible()
    ink = await visit.page.evaluate("getComputedStyle(document.body).color")
    assert ink == "rgb(29, 35, 48)"
    link = visit.page.locator("article a[href^=http]").first
    after = await link.evaluate("node => getComputedStyle(node, '::after').content")
    assert "gitlab.example.com" in after


@pytest.mark.parametrize(
    ("page", "requests"),
    [
        ("getting-started.html", 4),
        # and a style sheet for formulas, diagrams and numbered lines, which few have
        ("formats/markdown.html", 5),
    ],
)
async def test_page_costs_few_requests_and_less_than_fifty_kilobytes(
    chromium: Browser, sample_site: Path, page: str, requests: int
) -> None:
    async with (
        serving_folder(sample_site, "/site/") as url,
        visiting(chromium, url) as visit,
    ):
        sizes: list[int] = []
        visit.page.on(
            "response", lambda reply: sizes.append(int(reply.headers["content-length"]))
        )
        await visit.go(HANDBOOK + page)
        # the pictures of a page are its own, whether they are files or in it
        drawings = re.findall(r"data:image/svg\+xml[^\"]*", await visit.page.content())
        assert len(visit.requests) == requests
        assert sum(sizes) - sum(map(len, drawings)) <= 50 * 1024


async def test_guard_sees_requests_that_leave_and_errors(
    chromium: Browser, tmp_path: Path
) -> None:
    """Without this, every other test could pass by not looking."""
    (tmp_path / "leaky.html").write_text(
        "<!doctype html><img src='http://127.0.0.1:9/x.png'><script>nothing()</script>"
    )
    async with unchecked_visit(chromium, tmp_path.as_uri() + "/") as visit:
        await visit.go("leaky.html")
        assert visit.outside == ["http://127.0.0.1:9/x.png"]
        assert any("nothing is not defined" in error for error in visit.errors)


async def test_page_cannot_run_a_script_of_its_text(
    chromium: Browser, sample_site: Path, tmp_path: Path
) -> None:
    """The content policy holds from a disk too, should the sanitiser ever fail."""
    page = (sample_site / "index.html").read_text(encoding="utf-8")
    attacked = page.replace(
        "</main>", "<script>window.ran = 1</script><i style='color:red'>x</i></main>"
    )
    (tmp_path / "index.html").write_text(attacked, encoding="utf-8")
    async with unchecked_visit(chromium, tmp_path.as_uri() + "/") as visit:
        await visit.go("index.html")
        assert await visit.page.evaluate("window.ran") is None
        assert any("Content Security Policy" in error for error in visit.errors)
