"""A site of attack pages, and a reader who touches whatever stands on each.

Before a page's first script runs, ``alert`` and its like are replaced by functions that
take notes.  What a page asks of another origin fails and is noted, but for pictures and
media, which a site shows unless its settings say otherwise.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.security.attack_pages import PAGES_OF_A_WIKI, SIDEBAR, AttackPage
from tests.site.sites import Studio

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Request

WINDOWS = 2
"""More than cores would time the waiting for each other, not the pages."""
NOWHERE = "http://127.0.0.1:9"
"""The proxy for all but loopback: what a page asks of others is noted and fails."""
SHOWN_S_MAX = 30.0
NOTE_WHAT_RUNS = """
if (!window.ran) {
  window.ran = [];
  for (const name of ["alert", "confirm", "prompt", "msgbox", "open", "print"])
    window[name] = (what) => { window.ran.push(`${name}(${what})`); };
  document.addEventListener("securitypolicyviolation", (event) => {
    if (event.blockedURI === "inline") window.ran.push("inline, stopped by the policy");
  });
}
"""
TOUCH_EVERYTHING = """(isDeep) => {
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a, area");
    const runs = link && /^(javascript|data|vbscript|blob):/.test(link.protocol || "");
    if (runs) window.ran.push(`link to ${link.href.slice(0, 60)}`);
    if (link) event.preventDefault();
  }, true);
  document.addEventListener("submit", (event) => {
    // the search of the theme is a form
    if (!event.target.matches("form.search, form[role=search]"))
      window.ran.push("submit");
    event.preventDefault();
  }, true);
  const names = ["pointerover", "mouseover", "mouseenter", "focus", "toggle", "error",
                 "animationend", "animationstart", "load", "begin", "beforetoggle",
                 "scroll", "keydown", "contextmenu", "mousedown"];
  const all = document.querySelectorAll(
    "article, article *, .site-nav *, .breadcrumbs *, .toc *, .page-top *");
  for (const element of all) {
    const handlers = element.getAttributeNames().filter((name) => /^on/i.test(name));
    for (const name of handlers) window.ran.push(`attribute ${name}`);
    for (const name of names)
      element.dispatchEvent(new Event(name, {bubbles: false}));
    if (element.focus) element.focus({preventScroll: true});
    element.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
  }
  const bad = "article :is(script, iframe, object, embed, frame, base, meta, link, "
    + "style, form[action]:not(.js-only), template, portal, foreignObject, animate, "
    + "set)";
  for (const element of document.querySelectorAll(bad))
    window.ran.push(`element ${element.localName}`);
  return new Promise((done) => setTimeout(() => done(window.ran), 5));
}"""


@dataclass(slots=True)
class Shown:
    """What pages did while they were shown."""

    pages: int = 0
    worst_s: float = 0.0
    ran: list[str] = field(default_factory=list)
    """Page and what it ran."""
    left: list[str] = field(default_factory=list)
    """Requests to another origin, and windows that went there."""


def attack_site(root: Path, pages: Iterable[AttackPage]) -> tuple[Studio, list[str]]:
    """Build a site of the pages, a hundred a wiki, each with a hostile sidebar.

    Returns:
        The site, and the output paths of all its HTML.
    """
    studio = Studio(root)
    folder = root
    for number, page in enumerate(pages):
        if number % PAGES_OF_A_WIKI == 0:
            folder = studio.add("", f"docs/wiki{number // PAGES_OF_A_WIKI}")
            (folder / "_sidebar.md").write_text(SIDEBAR, encoding="utf-8")
        (folder / page.path).write_text(page.text, encoding="utf-8", newline="")
    studio.build()
    found = (path.relative_to(studio.site) for path in studio.site.rglob("*.html"))
    return studio, sorted(map(os.fspath, found))


async def show(
    browser: Browser, base: str, paths: Sequence[str], *, with_policy: bool
) -> Shown:
    """Show pages of a site in a few windows at once, and touch all that they hold.

    Args:
        browser: A headless one.
        base: Address of the site's top, with a slash at its end.
        paths: Output paths.
        with_policy: Whether the browser obeys the policy of the pages.
    """
    shown = Shown()
    context = await browser.new_context(
        bypass_csp=not with_policy, proxy={"server": NOWHERE, "bypass": "127.0.0.1"}
    )
    await context.add_init_script(NOTE_WHAT_RUNS)

    def note(request: Request) -> None:
        is_ours = request.url.startswith((base, "data:"))
        if not is_ours and request.resource_type not in {"image", "media"}:
            shown.left.append(f"{request.resource_type} {request.url}")

    context.on("request", note)
    waiting = iter(paths)
    async with asyncio.TaskGroup() as group:
        for _ in range(WINDOWS):
            group.create_task(_show_some(context, base, waiting, shown))
    await context.close()
    return shown


async def _show_some(
    context: BrowserContext, base: str, waiting: Iterable[str], shown: Shown
) -> None:
    page = await context.new_page()
    page.on("dialog", lambda dialog: shown.ran.append(f"dialog {dialog.message}"))
    for path in waiting:
        async with asyncio.timeout(SHOWN_S_MAX):
            await _show_one(page, base + quote(path), shown)
    await page.close()


async def _show_one(page: Page, url: str, shown: Shown) -> None:
    began = time.monotonic()
    await page.goto(url, wait_until="domcontentloaded")
    ran = await page.evaluate(TOUCH_EVERYTHING)
    shown.ran += [f"{url}: {what}" for what in ran]
    if page.url.partition("#")[0] != url:
        shown.left.append(f"{url} went to {page.url}")
    shown.pages += 1
    shown.worst_s = max(shown.worst_s, time.monotonic() - began)
