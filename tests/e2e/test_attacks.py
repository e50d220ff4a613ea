"""Hostile pages in a real browser: nothing runs, nothing is asked for, nobody leaves.

The pages stand alone here, without the policy that the themes set: what is tested
is that the markup alone is harmless.  Every element is hovered, focused and
clicked, since an attack may wait for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.security.attack_texts import ATTACKS
from tests.support.markup import render
from wikisync.core.model import Format

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES_PER_DOCUMENT = 60
SAY_WHEN_SOMETHING_RUNS = """
window.ran = [];
for (const name of ["alert", "confirm", "prompt", "msgbox", "open"])
  window[name] = (what) => { window.ran.push(`${name}(${what})`); };
"""
TOUCH_EVERYTHING = """() => {
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a, area");
    const runs = link && /^(javascript|data|vbscript|blob):/.test(link.protocol || "");
    if (!runs) event.preventDefault();
  }, true);
  document.addEventListener("submit", () => window.ran.push("submit"), true);
  for (const element of document.body.querySelectorAll("*")) {
    for (const name of ["pointerover", "mouseover", "mouseenter", "focus", "toggle",
                        "animationend", "error", "load", "begin", "beforetoggle"])
      element.dispatchEvent(new Event(name, {bubbles: false}));
    if (element.focus) element.focus();
    element.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
  }
  return new Promise((done) => setTimeout(() => done(window.ran), 20));
}"""


@dataclass
class Seen:
    """What a document did in the browser."""

    ran: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    navigations: list[str] = field(default_factory=list)


async def open_document(browser: Browser, html: str) -> Seen:
    """Show HTML in a window of its own and touch whatever it holds."""
    seen = Seen()

    async def refuse(route: Route) -> None:
        seen.requests.append(route.request.url)
        await route.abort()

    context = await browser.new_context()
    await context.add_init_script(SAY_WHEN_SOMETHING_RUNS)
    await context.route("**/*", refuse)
    page = await context.new_page()
    await page.set_content(html)
    page.on("framenavigated", lambda frame: seen.navigations.append(frame.url))
    seen.ran = await page.evaluate(TOUCH_EVERYTHING)
    await context.close()
    return seen


def documents() -> list[list[tuple[Format, str]]]:
    """The attacks in groups, each a document."""
    return [
        ATTACKS[start : start + PAGES_PER_DOCUMENT]
        for start in range(0, len(ATTACKS), PAGES_PER_DOCUMENT)
    ]


@pytest.mark.parametrize("attacks", documents(), ids=lambda group: group[0][1][:30])
async def test_hostile_pages_do_nothing(
    chromium: Browser, attacks: list[tuple[Format, str]]
) -> None:
    shown = [render(text, kind, pages=["home"]).html for kind, text in attacks]
    seen = await open_document(chromium, "<hr>".join(shown))
    assert seen == Seen()


@pytest.mark.parametrize(
    "html",
    [
        "<img src=http://x.invalid/ onerror=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "<p onclick=alert(1)>x</p>",
        "<script>alert(1)</script>",
        "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    ],
)
async def test_this_harness_sees_what_runs(chromium: Browser, html: str) -> None:
    assert (await open_document(chromium, html)).ran != []


async def test_this_harness_sees_what_is_asked_for(chromium: Browser) -> None:
    html = "<img src=http://x.invalid/><iframe src=http://x.invalid/></iframe>"
    assert len((await open_document(chromium, html)).requests) == 2


async def test_this_harness_sees_who_leaves(chromium: Browser) -> None:
    html = "<iframe srcdoc='x'></iframe><a href='javascript:location.hash=1'>x</a>"
    assert (await open_document(chromium, html)).navigations != []
