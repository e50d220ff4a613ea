"""axe-core finds nothing, in both themes, on a phone, and from right to left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.site.book.books import write
from tests.site.sites import Studio
from tests.support.author import Author
from tests.support.browser import MOBILE, Visit, unchecked_visit, visiting
from tests.support.commits import committed
from tests.support.preview import Desk
from tests.support.service import embedded_service

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HANDBOOK = "docs/handbook/-/wikis/"
MARKDOWN = HANDBOOK + "formats/markdown.html"
SEARCH = "-/search.html?q=wiki"
KEY_PAGES = ("index.html", MARKDOWN, SEARCH, "404.html")
OTHER_PAGES = (
    HANDBOOK + "formats/asciidoc.html",
    HANDBOOK + "formats/org.html",
    HANDBOOK + "formats/rdoc.html",
    HANDBOOK + "reference/commands.html",
    "docs/-/wikis/decisions.html",
    "-/report.html",
)
DARK = {"color_scheme": "dark"}
PHONE = {"viewport": MOBILE}


async def findings(
    browser: Browser, base: str, path: str, **settings: Any
) -> list[str]:
    """What axe finds on a page that is opened with the settings of a context."""
    async with visiting(browser, base, **settings) as visit:
        await visit.go(path)
        if path == SEARCH:
            await visit.page.locator("#siteHits a").first.wait_for()
        return await visit.axe()


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        *((path, {}) for path in OTHER_PAGES),
        *((path, look) for path in KEY_PAGES for look in ({}, DARK, PHONE)),
    ],
)
async def test_axe_finds_nothing(
    chromium: Browser, file_base: str, path: str, settings: dict[str, Any]
) -> None:
    assert await findings(chromium, file_base, path, **settings) == []


@pytest.mark.parametrize(
    ("lang", "settings"), [("en", {}), ("en", DARK), ("ar", PHONE)]
)
async def test_axe_finds_nothing_in_any_kind_of_page(
    chromium: Browser, tmp_path: Path, lang: str, settings: dict[str, Any]
) -> None:
    """Changes, versions, tags, lists, an empty home, an old address, all in one."""
    studio = Studio(tmp_path)
    studio.set(lang=lang)
    page = "---\ntags: [one]\n---\n# Page\n\nText, and [a link](nowhere).\n"
    folder = studio.add("-- home.md --\n# Home\n\nfirst\n")
    committed(folder, {"old.md": page, "gone.md": "x"}, "2026-01-02T03:04:05")
    committed(folder, {"home.md": "# Home\n\nsecond\n"}, "2026-01-03T03:04:05")
    renamed = {"old.md": None, "gone.md": None, "new.md": page}
    committed(folder, renamed, "2026-01-04T03:04:05")
    studio.add("-- about.md --\nText\n", "docs/other")
    studio.build()
    shutil.copy(write(studio, "html")[0], studio.site / "single.html")
    old = studio.site / HANDBOOK / "old.html"
    # it must not lead on before it is looked at
    old.write_text(old.read_text().replace('http-equiv="refresh"', 'name="to"'))
    async with visiting(chromium, f"{studio.site.as_uri()}/", **settings) as visit:
        for path in sorted(studio.site.rglob("*.html")):
            await visit.go(path.relative_to(studio.site).as_posix())
            assert await visit.axe() == [], path


@pytest.mark.parametrize("settings", [{}, DARK])
async def test_axe_finds_nothing_in_a_page_of_the_embedded_service(
    chromium: Browser, tmp_path: Path, settings: dict[str, Any]
) -> None:
    async with embedded_service(tmp_path) as service:
        pages = {"home": "# Home\n\n[a link](page), `code`\n\n> quoted\n"}
        await service.add_project("docs/handbook", pages, visibility="public")
        async with visiting(chromium, f"{service.url}/", **settings) as visit:
            await visit.go("docs/handbook/-/wikis/home")
            assert await visit.axe() == []


async def test_axe_finds_nothing_in_the_open_menu(
    chromium: Browser, file_base: str
) -> None:
    async with visiting(chromium, file_base, viewport=MOBILE) as visit:
        await visit.go(HANDBOOK + "index.html")
        await visit.page.locator("label[for=siteNav]").click()
        assert await visit.axe() == []


async def test_axe_finds_nothing_in_the_hits_below_the_search_box(visit: Visit) -> None:
    await visit.go(HANDBOOK + "index.html")
    await visit.page.fill(".search input", "export")
    await visit.page.locator(".hits a").first.wait_for()
    assert await visit.axe() == []


async def test_axe_would_find_something(chromium: Browser, tmp_path: Path) -> None:
    """Without this, a checker that never runs would pass."""
    (tmp_path / "bad.html").write_text("<!doctype html><html><img src='x.png'></html>")
    async with unchecked_visit(chromium, tmp_path.as_uri() + "/") as visit:
        await visit.go("bad.html")
        assert any(finding.startswith("image-alt") for finding in await visit.axe())


async def test_keyboard_reaches_the_text_first(visit: Visit) -> None:
    await visit.go(HANDBOOK + "formats/markdown.html")
    await visit.page.keyboard.press("Tab")
    await visit.page.keyboard.press("Enter")
    assert await visit.page.evaluate("document.activeElement.id") == "siteContent"


@pytest.mark.parametrize("schemes", ["light", "dark", "light dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
async def test_the_editor_is_accessible(
    chromium: Browser, desk: Desk, schemes: str, size: tuple[int, int]
) -> None:
    """Also when it gets dark in the evening."""
    scheme, *later = schemes.split()
    width, height = size
    async with (
        desk.previewing() as reader,
        visiting(
            chromium,
            reader.preview.url,
            color_scheme=scheme,
            viewport={"width": width, "height": height},
        ) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end(
            "\n\n## A heading\n\n- one `code` [link](home) [none](none)\n"
        )
        await author.page.get_by_text("Line 12: none").wait_for()
        await author.page.keyboard.press("Control+f")
        if later:
            await author.page.emulate_media(color_scheme="dark")
        assert await visit.axe() == []
        await author.page.keyboard.press("Escape")
        await author.source.click()
        await author.page.keyboard.press("Control+End")
        await author.page.keyboard.type("[x](ho")
        await author.page.locator(".cm-tooltip-autocomplete").wait_for()
        assert await visit.axe() == []
        await author.page.keyboard.press("Escape")
        await author.save()
        await author.said("Saved.")
        for question in ("", "New page…", "Rename…", "Delete…"):
            await author.button("More: new page, rename, delete").click()
            if question:
                await author.button(question).click()
            assert await visit.axe() == []
            await author.button("Cancel").click()
        await author.type_at_end("Mine.")
        (author.root / "guide.md").write_text("# Theirs\n")
        await author.save()
        await author.button("Both").wait_for()
        assert await visit.axe() == []
        await author.button("Cancel").click()
        await author.button("Close the editor").click()
        assert await visit.axe() == []
