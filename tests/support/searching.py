"""A search page with an index and nothing else, and what a browser finds there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from tests.support.browser import Visit, visiting
from tests.support.searched import searched
from tests.support.theming import full_context, page_context
from wikisync.markup.record import Section
from wikisync.site.search import SearchDocument, build_shards
from wikisync.site.theme import load_theme

if TYPE_CHECKING:
    from playwright.async_api import Browser

SEARCH = "-/search.html"
NOT_ALL = "No page has all of these words."


def write_search_site(folder: Path, documents: list[SearchDocument]) -> str:
    """A search page with an index and nothing else; its address."""
    theme = load_theme("default")
    context = full_context(
        page=page_context(title="Search", url=SEARCH), wiki=None, nav=None
    )
    files = dict(theme.assets())
    files[SEARCH] = theme.render("search.html", context, at=SEARCH).encode()
    files |= {
        f"-/search/{name}": text for name, text in build_shards(documents).items()
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder.as_uri() + "/"


def document(url: str, text: str, title: str = "") -> SearchDocument:
    return searched(url, title, Section("", "", text))


async def hits(browser: Browser, base: str, query: str) -> list[str]:
    """Addresses that the search page gives for a query, the best first."""
    async with visiting(browser, base) as visit:
        return await hits_in(visit, query)


async def hits_in(visit: Visit, query: str, *, is_partial: bool = False) -> list[str]:
    """The same in a window that is already there; a partial hit lacks words."""
    await visit.page.goto(f"{visit.base}{SEARCH}?q={quote(query)}")
    await visit.page.locator("#siteStatus:not(:empty)").wait_for()
    if not is_partial:
        assert await visit.page.get_by_text(NOT_ALL).count() == 0
    links = visit.page.locator("#siteHits a")
    hrefs = await links.evaluate_all("links => links.map(link => link.href)")
    return [unquote(href).removeprefix(visit.base) for href in hrefs]
