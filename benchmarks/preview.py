"""How long a save takes to be on the screen: a real browser, a wiki of 2,000 pages.

    python benchmarks/preview.py [--pages 2000] [--saves 20] [--mixed] [--write]

``wikisync preview`` runs in a process of its own and Chromium shows one page, scrolled
down.  Something is saved, and the clock stops when the browser shows it.  First the
starts: with nothing in the cache, until the page that was asked for is there and until
all pages are read; then with everything in it.  At last (``--write``: alone) somebody
writes in a page of 1 MB: from a key to the picture with it, and from the last key of
fifty to the rendered page with their word.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpus import Entry, Words, block, generate
from measured import WIKISYNC

if TYPE_CHECKING:
    from playwright.async_api import Page

CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser")
PAUSE_S = 0.4
"""Between two saves; a person is slower."""
WAIT_MS = 60_000
HASH = "0123456789abcdef0123456789abcdef"
SETTINGS = """\
[service]
url = "https://gitlab.example.com"

[[wiki]]
project = "docs/handbook"
folder = "wiki"

[site]
templates = "theme"
"""
TEMPLATE = """\
{% extends '!theme/page.html' %}
{% block content %}MARK {{ super() }}{% endblock %}
"""

BIG_BYTES = 1_000_000
KEYS, KEY_S = 50, 0.1
"""So many, in this rhythm: ten a second is fast typing."""
SLOW_KEYS, SLOW_KEY_S = 16, 0.5
"""Of one who thinks: what is put off to a rest falls between."""
KEY_MS = 50
"""A key that takes longer is felt."""
WRITING_PLACES = ("end", "start", "middle", "end", "start", "middle")
TIMED_KEYS = """() => {
    window.keys = [];
    const channel = new MessageChannel();
    const began = [];
    channel.port1.onmessage = () => keys.push(performance.now() - began.shift());
    addEventListener("keydown", ({ timeStamp }) => {
        window.lastKey = timeStamp;
        began.push(timeStamp);
        requestAnimationFrame(() => channel.port2.postMessage(0));
    }, true);
    new MutationObserver((changes) => {
        const come = changes.flatMap(({ addedNodes }) => [...addedNodes]);
        if (!come.some((node) => node.textContent.includes(window.wanted))) return;
        window.wanted = "";
        requestAnimationFrame(() => (window.follows = performance.now() - lastKey));
    }).observe(document.querySelector("main"), { childList: true, subtree: true });
}"""
"""From a key to the end of the frame with it."""


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--mixed", action="store_true", help="all four formats")
    parser.add_argument("--write", action="store_true", help="the page of 1 MB alone")
    arguments = parser.parse_args()
    executable = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if executable is None:
        # the other benchmarks go on without a browser
        print("not measured: no Chromium on PATH (apt-get install chromium)")
        return 0
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as place:
        top = Path(place, "top")
        generate(top / "wiki", arguments.pages, is_mixed=arguments.mixed)
        (top / "wikisync.toml").write_text(SETTINGS)
        (top / "theme" / "static").mkdir(parents=True)
        (top / "theme" / "templates").mkdir()
        async with showing(executable) as page:
            if not arguments.write:
                await measure(page, top, Path(place, "cache"), arguments.saves)
            await measure_writing(page, top, Path(place, "cache"))
    return 0


async def measure(page: Page, top: Path, cache: Path, saves: int) -> None:
    """Start twice, save so often, and print the table."""
    file = longest_page(top / "wiki")
    path = file.relative_to(top / "wiki").with_suffix(".html").as_posix()
    for start in ("first start", "next start"):
        began = time.perf_counter()
        async with previewing(top, cache) as url:
            await page.goto(url + path)
            await page.locator("article").wait_for(timeout=WAIT_MS)
            shown = time.perf_counter() - began
            await all_read(page)
            read = time.perf_counter() - began
            print(f"{start}: page after {shown:.1f} s, all read after {read:.1f} s")
            if start == "next start":
                await measure_saves(Desk(page, url, top, file), path, saves)


@dataclass(frozen=True, slots=True)
class Desk:
    """A window of the browser, and the folder of its author."""

    page: Page
    url: str
    top: Path
    file: Path
    """That of the page that the window shows first."""

    @property
    def wiki(self) -> Path:
        """The folder of the pages."""
        return self.top / "wiki"

    async def seconds(self, save: Callable[[str], object]) -> float:
        """From a save that brings a mark to the browser that shows it."""
        mark = f"mark{time.monotonic_ns()}"
        began = time.perf_counter()
        await asyncio.to_thread(save, mark)
        shown = self.page.locator("body").get_by_text(mark).first
        await shown.wait_for(state="attached", timeout=WAIT_MS)
        took = time.perf_counter() - began
        await asyncio.sleep(PAUSE_S)
        return took

    async def seconds_until(self, save: Callable[[], object], script: str) -> float:
        """From a save to a browser in which a script says yes."""
        await asyncio.sleep(PAUSE_S)
        began = time.perf_counter()
        await asyncio.to_thread(save)
        await self.page.wait_for_function(script, polling=5, timeout=WAIT_MS)
        took = time.perf_counter() - began
        await asyncio.sleep(PAUSE_S)
        return took


async def measure_saves(desk: Desk, path: str, saves: int) -> None:
    """Every kind of save, so often, as a table."""
    print(f"\n{'save -> screen':<28}{'median ms':>10}{'worst ms':>10}{'saves':>7}")
    file = desk.file
    text = file.read_text(encoding="utf-8")
    linked = file.relative_to(desk.wiki).with_suffix("").as_posix()
    for kind, edit in {
        "a word": f"{text}\nMARK\n",
        "a heading": f"{text}\n## MARK\n",
        "a link that is new": f"{text}\n[MARK]({linked})\n",
        "the page's title": f"---\ntitle: MARK\n---\n{text}",
    }.items():
        await desk.page.evaluate("scrollTo(0, 400)")
        await table(kind, saves, desk.seconds, writing(file, edit))
    other = next(one for one in desk.wiki.glob("*/*.md") if one != file)
    await desk.page.goto(f"{desk.url}{other.relative_to(desk.wiki).parent}.html")
    # the first of its folder, which a page of the folder always shows
    titled = f"---\ntitle: 0 MARK\n---\n{other.read_text(encoding='utf-8')}"
    await table("another page's title", saves, desk.seconds, writing(other, titled))
    await measure_names(desk, max(saves // 2, 3))
    await desk.page.goto(desk.url + path)
    template = desk.top / "theme" / "templates" / "page.html"
    await table("a template", saves, desk.seconds, writing(template, TEMPLATE))
    template.unlink()
    await measure_looks(desk, max(saves // 2, 3))


async def measure_names(desk: Desk, saves: int) -> None:
    """Pages that come, change their name and go."""
    fresh, renamed = desk.wiki / "a-new-page.md", desk.wiki / "another-page.md"
    took: dict[str, list[float]] = {"a new page": [], "renamed": [], "deleted": []}
    for _ in range(saves):
        await desk.page.goto(f"{desk.url}a-new-page.html")
        took["a new page"].append(await desk.seconds(writing(fresh, "# New\n\nMARK\n")))
        await desk.page.goto(f"{desk.url}another-page.html")
        is_there = "document.querySelector('article h1')?.textContent === 'New'"
        took["renamed"].append(
            await desk.seconds_until(partial(fresh.rename, renamed), is_there)
        )
        took["deleted"].append(
            await desk.seconds_until(renamed.unlink, f"!({is_there})")
        )
    for kind, seconds in took.items():
        show(kind, seconds)


async def measure_looks(desk: Desk, saves: int) -> None:
    """What is no page: a style sheet and a picture."""
    style = desk.top / "theme" / "static" / "theme.css"
    picture = desk.wiki / "uploads" / HASH / "a.svg"
    picture.parent.mkdir(parents=True)
    text = desk.file.read_text(encoding="utf-8")
    writing(desk.file, f"{text}\n![a](uploads/{HASH}/a.svg)\n")("")
    took: dict[str, list[float]] = {"a style sheet": [], "a picture": []}
    for number in range(1, saves + 1):
        css = f"body {{ border-top: {number}px solid; }}"
        is_styled = f"getComputedStyle(document.body).borderTopWidth === '{number}px'"
        took["a style sheet"].append(
            await desk.seconds_until(partial(style.write_text, css), is_styled)
        )
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{number}" height="9"/>'
        is_drawn = f"document.querySelector('article img')?.naturalWidth === {number}"
        await desk.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        took["a picture"].append(
            await desk.seconds_until(partial(picture.write_text, svg), is_drawn)
        )
    for kind, seconds in took.items():
        show(kind, seconds)


async def all_read(page: Page) -> None:
    """Wait until the pill says how the page stands, and not how far reading is."""
    word = page.locator(".word").filter(has_text=re.compile("live|changed"))
    await word.wait_for(timeout=10 * WAIT_MS)


async def measure_writing(page: Page, top: Path, cache: Path) -> None:
    """Keys in a page of 1 MB, at its start, middle and end, the first when it opens."""
    chance = random.Random(7)
    words, parts, size = Words(chance), ["# Big"], 0
    while size < BIG_BYTES:
        parts.append(block(chance, words, [Entry("home", "Home")]))
        size += len(parts[-1]) + 2
    (top / "wiki" / "big.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    async with previewing(top, cache) as url:
        await page.goto(f"{url}big.html")
        await all_read(page)
        await page.evaluate(TIMED_KEYS)
        began = time.perf_counter()
        await page.get_by_role("button", name="Edit", exact=True).click()
        await page.locator(".cm-focused").wait_for(timeout=WAIT_MS)
        print(f"\na page of {size:,} bytes: editor {time.perf_counter() - began:.1f} s")
        print(f"{'keys':<20}{'median ms':>10}{'95 % ms':>10}{'worst ms':>10}", end="")
        print(f"{f'over {KEY_MS} ms':>12}{'page follows s':>16}")
        took, slow = [], []
        for number, place in enumerate(WRITING_PLACES):
            fast_here, slow_here = await write_at(page, place, f"word{number}x")
            took += fast_here
            slow += slow_here
        show_keys("all", took)
        show_keys("all, now and then", slow)


def show_keys(name: str, took: list[float], more: str = "") -> None:
    """Keys as a line: half and 95 of 100 are at most so slow, and so many too slow."""
    late = sum(one > KEY_MS for one in took)
    mid, most = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    line = f"{name:<20}{mid:>10.1f}{most:>10.1f}{max(took):>10.1f}"
    print(line + f"{f'{late} of {len(took)}':>12}{more}", flush=True)


async def write_at(
    page: Page, place: str, word: str
) -> tuple[list[float], list[float]]:
    """Fifty keys at one place, then one now and then while all is rendered.

    Returns:
        Milliseconds of both.
    """
    await page.keyboard.press("Control+Home" if place == "start" else "Control+End")
    if place == "middle":
        await page.locator(".cm-scroller").evaluate("(it) => it.scrollTop /= 2")
        await page.mouse.click(200, 400)
    await page.keyboard.press("End")
    await page.keyboard.type("\n\n")
    # nobody presses the keys of a way to a place in a hundredth of a second
    await asyncio.sleep(KEY_S)
    await page.evaluate("() => { keys.length = 0; follows = 0 }")
    text = f"{'some words ' * 4}{word}".rjust(KEYS)
    for letter in text[:-1]:
        await press(page, letter, KEY_S)
    await page.evaluate("(word) => { wanted = word }", word)
    await press(page, text[-1], KEY_S)
    await page.wait_for_function("follows", timeout=WAIT_MS)
    follows = await page.evaluate("follows") / 1000
    took = await page.evaluate("keys.splice(0)")
    for _ in range(SLOW_KEYS):
        await press(page, "y", SLOW_KEY_S)
    slow = await page.evaluate("keys.splice(0)")
    show_keys(f"at the {place}", took, f"{follows:>16.2f}")
    return took, slow


async def press(page: Page, letter: str, rest_s: float) -> None:
    """A key, and a rest in which the browser does what it has to."""
    until = time.monotonic() + rest_s
    await page.keyboard.press(letter)
    await asyncio.sleep(until - time.monotonic())


def writing(file: Path, text: str) -> Callable[[str], object]:
    """A save of a text with its mark."""
    return lambda mark: file.write_text(text.replace("MARK", mark), encoding="utf-8")


async def table(
    kind: str,
    saves: int,
    seconds: Callable[[Callable[[str], object]], Awaitable[float]],
    save: Callable[[str], object],
) -> None:
    """So many saves of a kind, and their line."""
    show(kind, [await seconds(save) for _ in range(saves)])


def longest_page(wiki: Path) -> Path:
    return max(wiki.rglob("*.md"), key=lambda path: path.stat().st_size)


def show(kind: str, took: list[float]) -> None:
    median, worst = statistics.median(took) * 1000, max(took) * 1000
    print(f"{kind:<28}{median:>10.0f}{worst:>10.0f}{len(took):>7}", flush=True)


@asynccontextmanager
async def previewing(top: Path, cache: Path) -> AsyncIterator[str]:
    """A preview of the workspace that answers: its address."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = await asyncio.create_subprocess_exec(
        WIKISYNC,
        *("preview", str(top), "--port", "0"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def showing(executable: str) -> AsyncIterator[Page]:
    """A window of headless Chromium."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            # or the scripts that look whether a save is shown could not run
            yield await browser.new_page(
                viewport={"width": 1360, "height": 850}, bypass_csp=True
            )
        finally:
            await browser.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
