"""No page scrolls sideways on a phone, whatever stands in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.sites import Studio
from tests.support.browser import MOBILE, visiting
from tests.support.preview import Desk

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WORD = "Wirtschaftlichkeitsberechnungsgrundlagen" * 3
URL = f"https://example.com/{'path_without_any_break' * 5}?q={WORD}#{WORD}"
CODE = "com.example.wiki.pages.VeryLongNameOfAClass.andOfItsMethod" * 3
TEX = "\\frac{1}{2} + " * 20 + "x"
NAMED = {"URL": URL, "CODE": CODE, "TEX": TEX, "WORD": WORD}


def wiki_text() -> str:
    """Pages of every format that are full of what does not break."""
    text = Path(__file__).with_name("phone.txt").read_text("utf-8")
    for name, value in NAMED.items():
        text = text.replace(name, value)
    return text


PAGES = (
    *("index.html", "markdown.html", "asciidoc.html", "org.html", "rdoc.html"),
    *(f"{WORD}/{WORD}/{WORD}.html", "beside/page.html", "404.html"),
    *("-/all.html", "-/report.html", "-/wanted.html", "-/orphans.html"),
    f"-/search.html?q={WORD[:12].lower()}",
)
OPEN_ALL = """() => document.querySelectorAll("#siteNav, #siteToc, details").forEach(
  (node) => { node.checked = node.open = true; }
)"""
TOO_WIDE = """() => {
  const boxes = [document.documentElement, ...document.querySelectorAll(".site-nav")];
  if (boxes.every((box) => box.scrollWidth <= box.clientWidth)) return [];
  const most = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll("body *")].filter(
    (node) => node.getBoundingClientRect().right > most + 1
  );
  return ["too wide", ...wide.map((node) => node.outerHTML.slice(0, 120))];
}"""
"""The elements that stick out of a page that is too wide for the window."""


@pytest.fixture(scope="module", params=["default", "plain"])
def wide(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Studio:
    """A site of one wiki that is full of what does not break."""
    studio = Studio(tmp_path_factory.mktemp("wide"))
    studio.add(wiki_text())
    studio.set(theme=request.param, title=WORD)
    studio.build()
    return studio


@pytest.mark.parametrize("width", [320, 390])
async def test_no_page_scrolls_sideways(
    chromium: Browser, wide: Studio, width: int
) -> None:
    found = await too_wide(chromium, wide.site, PAGES, width)
    assert {path: nodes for path, nodes in found.items() if nodes} == {}


@pytest.mark.parametrize("width", [320, 390])
async def test_no_page_around_several_wikis_scrolls_sideways(
    chromium: Browser, tmp_path: Path, width: int
) -> None:
    studio = Studio(tmp_path)
    for path in (f"docs/{WORD.lower()}", "docs/b"):
        described = {"title": WORD, "description": f"{WORD} {URL}"}
        studio.add(f"-- home.md --\n[x]({WORD})\n", path, **described)
    studio.build()
    paths = ["index.html", "-/all.html", "-/wanted.html", "docs/b/-/wikis/index.html"]
    found = await too_wide(chromium, studio.site, paths, width)
    assert {path: nodes for path, nodes in found.items() if nodes} == {}


async def test_a_preview_on_a_phone_does_not_scroll_sideways(
    chromium: Browser, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    desk.add(wiki_text())
    async with (
        desk.previewing() as reader,
        visiting(chromium, reader.preview.url, viewport=MOBILE) as visit,
    ):
        for path in ("markdown.html", "beside/page.html", "-/all.html"):
            await visit.go(path)
            assert await visit.page.evaluate(TOO_WIDE) == [], path


@pytest.mark.parametrize("path", ["markdown.html", "asciidoc.html", "org.html"])
async def test_what_scrolls_inside_a_page_does_so_by_keyboard(
    chromium: Browser, wide: Studio, path: str
) -> None:
    base = wide.site.as_uri() + "/"
    async with visiting(chromium, base, viewport=MOBILE) as visit:
        await visit.go(path)
        found = await visit.axe()
    assert [one for one in found if one.startswith("scrollable")] == []


async def test_what_is_too_wide_would_be_found(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text("<p style='width: 900px'>x</p>")
    assert (await too_wide(chromium, tmp_path, ["a.html"], 390))["a.html"]


async def too_wide(
    chromium: Browser, site: Path, paths: Iterable[str], width: int
) -> dict[str, list[str]]:
    """What sticks out of each page, and out of its menu."""
    found = {}
    viewport = {"width": width, "height": 800}
    async with visiting(chromium, site.as_uri() + "/", viewport=viewport) as visit:
        for path in paths:
            await visit.go(path)
            if "?q=" in path:
                await visit.page.locator("#siteHits a").first.wait_for()
            found[path] = await visit.page.evaluate(TOO_WIDE)
            await visit.page.evaluate(OPEN_ALL)
            found[path] += await visit.page.evaluate(TOO_WIDE)
    return found
