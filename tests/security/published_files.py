"""A site with files of a stranger in it, and a reader who opens each in every way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urljoin

from tests.security.hostile_files import HostileFile
from tests.site.sites import Studio

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

PAGES_AT_ONCE = 8
LINKS = "article a[href]:not(.external, .picture, .broken-link)"
ANSWER_S = 10.0
"""How long a click may take to open or to save something."""


def write_files(folder: Path, files: Iterable[HostileFile], place: str) -> list[str]:
    """Put files into a wiki's folder, each into a folder of its own.

    Args:
        folder: Of the wiki.
        files: What is put there; one whose name the disk does not take is left out.
        place: ``uploads`` for attachments, anything else for loose files.

    Returns:
        Their paths in the wiki's folder.
    """
    paths: list[str] = []
    for number, file in enumerate(files):
        path = f"{place}/{number:032x}/{file.name}"
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.write_bytes(file.content)
        except OSError:
            continue
        paths.append(path)
    return paths


def site_with(root: Path, files: Iterable[HostileFile], place: str) -> Studio:
    """A site whose home links to all the files, and whose ``shown`` shows them."""
    studio = Studio(root)
    folder = studio.add("")
    paths = write_files(folder, files, place)
    for name, mark in (("home", ""), ("shown", "!")):
        lines = [f"- {mark}[file]({quote(f'/{path}')})" for path in paths]
        (folder / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")
    studio.build()
    return studio


def written_links(studio: Studio) -> list[str]:
    """Output paths that the home of the site links to, sorted."""
    found = re.findall(r'href="((?:uploads|-)/[^"#]*)"', studio.article("index.html"))
    return sorted({unquote(link) for link in found})


async def ran_in_browser(
    browser: Browser, base: str, links: Sequence[str], home: str = "index.html"
) -> list[str]:
    """What ran while every link of a page was clicked and every file was opened.

    Args:
        browser: A headless one.
        base: Address of the site's top, with a slash at its end.
        links: Output paths of the files.
        home: The page that links to them.
    """
    ran: list[str] = []
    context = await browser.new_context(bypass_csp=True)
    # a method of a built-in type is not taken
    await context.expose_function("attackRan", lambda name: ran.append(name))  # noqa: PLW0108
    try:
        await _click_all(await context.new_page(), urljoin(base, home))
        for start in range(0, len(links), PAGES_AT_ONCE):
            some = links[start : start + PAGES_AT_ONCE]
            async with asyncio.TaskGroup() as group:
                for one in some:
                    group.create_task(_open(context, base + quote(one)))
    finally:
        await context.close()
    return sorted(set(ran))


async def _click_all(page: Page, url: str) -> None:
    """Follow every link of a page, and wait for what it opens or saves."""
    await page.goto(url)
    count = await page.locator(LINKS).count()
    for number in range(count):
        answered = asyncio.Event()
        page.once("framenavigated", partial(_note, answered))
        page.once("download", partial(_note, answered))
        await page.evaluate(f"document.querySelectorAll('{LINKS}')[{number}].click()")
        async with asyncio.timeout(ANSWER_S):
            await answered.wait()
        await page.wait_for_load_state()
        await page.goto(url)


def _note(answered: asyncio.Event, _what: object) -> None:
    answered.set()


async def _open(context: BrowserContext, url: str) -> None:
    """Open a file by its address, as from a bookmark; a download is an error here."""
    from playwright.async_api import Error

    page = await context.new_page()
    try:
        await page.goto(url)
    except Error as exc:
        if "Download" not in str(exc) and "ERR_ABORTED" not in str(exc):
            raise
    await page.close()
