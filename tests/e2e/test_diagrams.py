"""Diagrams as readers see them: for their screen, as they choose, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from tests.support.browser import serving_folder, visiting
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

pytest.importorskip("merman")
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WIKI = """\
-- home.md --
# Drawn

```mermaid
graph LR
A[Start] --> B[End]
```
"""
SHOWN = """async () => {
  const shown = [...document.querySelectorAll(".diagram img")]
    .filter(one => one.checkVisibility());
  if (shown.length != 1) return shown.length;
  const [picture] = shown;
  await picture.decode();
  const [canvas, box] = [document.createElement("canvas"), picture];
  canvas.width = box.width; canvas.height = box.height;
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0, box.width, box.height);
  const [red] = pen.getImageData(2, 2, 1, 1).data;
  return { isWide: picture.width > 100, isDark: red < 128 };
}"""


@pytest.fixture(scope="module")
def drawn_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("diagrams")
    sources = [wiki_source(unpack(WIKI, root / "wiki"))]
    build_site(sources, root / "site", SiteOptions("Docs"), cache=root / "cache")
    return root / "site"


@pytest.mark.parametrize("screen", ["light", "dark"])
async def test_drawing_is_that_of_the_screen_until_the_reader_chooses(
    chromium: Browser, drawn_site: Path, screen: Literal["light", "dark"]
) -> None:
    """The choice is kept for an address; Chromium may forget it for a file."""
    is_dark = screen == "dark"
    async with (
        serving_folder(drawn_site, "/") as url,
        visiting(chromium, url, color_scheme=screen) as visit,
    ):
        page = visit.page
        await visit.go("index.html")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": is_dark}
        await page.locator("#siteTheme").click()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": not is_dark}
        await page.reload()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": not is_dark}


@pytest.mark.parametrize("is_chosen", [False, True])
async def test_paper_gets_the_light_drawing_from_a_dark_screen(
    chromium: Browser, drawn_site: Path, *, is_chosen: bool
) -> None:
    screen = "light" if is_chosen else "dark"
    async with (
        serving_folder(drawn_site, "/") as url,
        visiting(chromium, url, color_scheme=screen) as visit,
    ):
        page = visit.page
        await visit.go("index.html")
        if is_chosen:
            await page.locator("#siteTheme").click()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": True}
        await page.emulate_media(media="print")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": False}
        await page.emulate_media(media="screen")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": True}


async def test_without_scripts_drawing_and_source_are_there(
    chromium: Browser, drawn_site: Path
) -> None:
    base = drawn_site.as_uri() + "/"
    async with visiting(chromium, base, java_script_enabled=False) as visit:
        await visit.go("index.html")
        assert await visit.page.locator(".diagram img").first.is_visible()
        await visit.page.locator(".diagram summary").click()
        assert await visit.page.locator(".diagram pre").inner_text() == (
            "graph LR\nA[Start] --> B[End]\n"
        )
