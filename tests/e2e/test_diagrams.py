"""Diagrams as readers see them: for their screen, as they choose, without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from tests.support.browser import serving_folder
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
    context = await chromium.new_context(color_scheme=screen)
    page = await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    is_dark = screen == "dark"
    async with serving_folder(drawn_site, "/") as url:
        await page.goto(url + "index.html")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": is_dark}
        await page.locator("#siteTheme").click()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": not is_dark}
        await page.reload()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": not is_dark}
    await context.close()
    assert not errors


@pytest.mark.parametrize("is_chosen", [False, True])
async def test_paper_gets_the_light_drawing_from_a_dark_screen(
    chromium: Browser, drawn_site: Path, *, is_chosen: bool
) -> None:
    context = await chromium.new_context(color_scheme="light" if is_chosen else "dark")
    page = await context.new_page()
    async with serving_folder(drawn_site, "/") as url:
        await page.goto(url + "index.html")
        if is_chosen:
            await page.locator("#siteTheme").click()
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": True}
        await page.emulate_media(media="print")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": False}
        await page.emulate_media(media="screen")
        assert await page.evaluate(SHOWN) == {"isWide": True, "isDark": True}
    await context.close()


async def test_without_scripts_drawing_and_source_are_there(
    chromium: Browser, drawn_site: Path
) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto((drawn_site / "index.html").as_uri())
    assert await page.locator(".diagram img").first.is_visible()
    await page.locator(".diagram summary").click()
    assert await page.locator(".diagram pre").inner_text() == (
        "graph LR\nA[Start] --> B[End]\n"
    )
    await context.close()
