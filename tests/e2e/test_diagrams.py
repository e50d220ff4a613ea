"""Diagrams that the site draws, with a stand-in for the script that a person has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

STAND_IN = """
const drawn = [];
window.mermaid = {
  initialize(options) { window.asked = options; },
  async render(id, text) {
    if (text.includes("wrong")) throw new Error("wrong");
    drawn.push(text);
    const name = text.replace(/[<&]/g, "");
    return { svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40.2 20">
      <style>rect { fill: red }</style><script>parent.ran = 1; window.ran = 1</script>
      <rect width="40" height="20" onclick="ran = 2"/><text>${name}</text></svg>` };
  },
};
window.drawn = drawn;
"""
WIKI = """\
-- home.md --
# Drawn

```mermaid
a --> <b>
```

```mermaid
wrong
```
-- other.md --
Nothing to draw; `mermaid`.
"""
STATE = """() => ({
  asked: window.asked, drawn: window.drawn, ran: window.ran,
  scripts: [...document.scripts].map((one) => one.src.split("/").pop()),
  pictures: [...document.querySelectorAll("img.diagram")].map(
    (one) => [one.alt.trim(), one.width, one.height, one.naturalWidth > 0]),
  sources: [...document.querySelectorAll("pre.mermaid")].map(
    (one) => one.textContent.trim()),
})"""


@pytest.fixture(scope="module")
def drawing_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("diagrams")
    script = root / "mermaid.min.js"
    script.write_text(STAND_IN)
    sources = [wiki_source(unpack(WIKI, root / "wiki"))]
    options = SiteOptions("Docs", mermaid=script)
    build_site(sources, root / "site", options, cache=root / "cache")
    return root / "site"


async def seen(context: BrowserContext, url: str) -> dict[str, object]:
    """What a page holds when its scripts are done."""
    page = await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(url)
    if "other" not in url:
        second = page.locator("pre.mermaid").nth(1)
        await second.wait_for(state="detached", timeout=10_000)
    state: dict[str, object] = await page.evaluate(STATE)
    await page.close()
    assert not errors
    return state


async def test_diagram_becomes_a_picture_in_which_nothing_runs(
    chromium: Browser, drawing_site: Path
) -> None:
    context = await chromium.new_context()
    state = await seen(context, (drawing_site / "index.html").as_uri())
    await context.close()
    assert state["drawn"] == ["a --> <b>\n"]
    assert state["pictures"] == [["a --> <b>", 41, 20, True]]
    assert state["sources"] == ["wrong"]
    assert state.get("ran") is None
    asked = state["asked"]
    assert isinstance(asked, dict)
    assert asked["securityLevel"] == "strict"
    assert asked["startOnLoad"] is False


async def test_dark_page_asks_for_dark_diagrams(
    chromium: Browser, drawing_site: Path
) -> None:
    context = await chromium.new_context(color_scheme="dark")
    state = await seen(context, (drawing_site / "index.html").as_uri())
    await context.close()
    assert isinstance(state["asked"], dict)
    assert state["asked"]["theme"] == "dark"


async def test_page_without_a_diagram_does_not_load_the_script(
    chromium: Browser, drawing_site: Path
) -> None:
    context = await chromium.new_context()
    state = await seen(context, (drawing_site / "other.html").as_uri())
    await context.close()
    scripts = state["scripts"]
    assert isinstance(scripts, list)
    assert not [name for name in scripts if name.startswith(("mermaid", "diagrams"))]


async def test_without_scripts_the_source_is_there(
    chromium: Browser, drawing_site: Path
) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto((drawing_site / "index.html").as_uri())
    assert await page.locator("pre.mermaid").count() == 2
    await context.close()
