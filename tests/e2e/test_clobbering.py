"""Ids and names of pages that are those of the theme: its scripts find their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.security.attack_html import CLOBBERED
from tests.site.sites import Studio
from tests.support.browser import Visit, visiting
from tests.support.preview import Desk

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

THEIRS = ("siteHits", "siteStatus", "siteToc", "siteBacklinks", "wiki", *CLOBBERED)
MARKDOWN = "".join(
    f'<h2 id="user-content-{name}"><a name="{name}">{name}</a></h2>\n\n'
    for name in THEIRS
)
ASCIIDOC = "".join(f"[[{name}]]\n{name} in AsciiDoc.\n\n" for name in THEIRS)
WIKI = f"""\
-- _sidebar.md --
[Home](home)

{MARKDOWN}
-- _footer.md --
{MARKDOWN}
-- home.md --
Words of an otter, and [the hits](#siteHits).

{MARKDOWN}
-- old.asciidoc --
Words of a badger.

{ASCIIDOC}
"""


async def follow(visit: Visit, path: str) -> None:
    """Use the search and the switch of the theme on a page."""
    page = visit.page
    await visit.go(path)
    before = await page.evaluate("document.documentElement.dataset.theme")
    await page.locator("header button[data-mode]").click()
    assert await page.evaluate("document.documentElement.dataset.theme") != before
    await page.keyboard.press("/")
    await page.keyboard.type("otter")
    await page.locator(".hits a").first.wait_for()


@pytest.mark.parametrize("path", ["index.html", "old.html"])
async def test_scripts_of_the_theme_work_beside_their_own_names(
    chromium: Browser, tmp_path: Path, path: str
) -> None:
    studio = Studio(tmp_path)
    studio.add(WIKI)
    studio.build()
    async with visiting(chromium, f"{studio.site.as_uri()}/") as visit:
        await follow(visit, path)
        await visit.go("-/search.html?q=badger")
        await visit.page.locator("form.search-page ~ ol a").first.wait_for()
        assert "1" in await visit.page.locator("form.search-page ~ p").inner_text()


async def test_link_to_an_id_of_the_theme_leads_to_the_place_in_the_page(
    chromium: Browser, tmp_path: Path
) -> None:
    studio = Studio(tmp_path)
    studio.add(WIKI.partition("-- _footer.md --")[2].join(["-- a.md --", ""]))
    assert not studio.build().broken_links
    async with visiting(chromium, f"{studio.site.as_uri()}/") as visit:
        await visit.go("index.html")
        await visit.page.get_by_role("link", name="the hits").click()
        assert await visit.page.locator("article :target").inner_text() == "siteHits"


async def test_search_fills_its_own_list_where_another_element_has_its_id(
    chromium: Browser, tmp_path: Path
) -> None:
    """As in a template of somebody's own."""
    studio = Studio(tmp_path)
    studio.add(WIKI)
    studio.build()
    search = studio.site / "-/search.html"
    theirs = '<ol id="siteHits"></ol><p id="siteStatus"></p><a name="q"></a><main'
    search.write_text(search.read_text().replace("<main", theirs))
    async with visiting(chromium, f"{studio.site.as_uri()}/") as visit:
        await visit.go("-/search.html?q=badger")
        await visit.page.locator("main ol a").first.wait_for()


async def test_preview_works_beside_the_names_of_its_scripts(
    chromium: Browser, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    home = desk.add(WIKI) / "home.md"
    async with (
        desk.previewing() as reader,
        visiting(chromium, reader.preview.url) as visit,
    ):
        await follow(visit, "index.html")
        home.write_text(home.read_text().replace("an otter", "a wolf"))
        await visit.page.get_by_text("Words of a wolf").wait_for()
