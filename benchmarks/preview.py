"""How long a save takes to be on the screen: a real browser, a wiki of 2,000 pages.

    python benchmarks/preview.py [--pages 2000] [--saves 20]

``wikisync preview`` runs in a process of its own and Chromium shows one page, scrolled
down.  A line is written to the page's file, and the clock stops when the browser
shows it.  Kinds of edit: a word, a heading (the list of contents changes), a title
(the tree of every page changes), and a page that comes anew.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corpus import generate
from measured import WIKISYNC

if TYPE_CHECKING:
    from playwright.async_api import Page

PAUSE_S = 0.4
"""Between two saves; a person is slower."""
WAIT_MS = 60_000


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--saves", type=int, default=20)
    arguments = parser.parse_args()
    if shutil.which("chromium") is None:
        # the other benchmarks go on without a browser
        print("not measured: no Chromium on PATH (apt-get install chromium)")
        return 0
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as place:
        wiki = Path(place, "wiki")
        generate(wiki, arguments.pages)
        await measure(wiki, Path(place), arguments.saves)
    return 0


async def measure(wiki: Path, place: Path, saves: int) -> None:
    """Start both, save so often, and print the table."""
    for start in ("first start", "next start"):
        async with previewing(wiki, place) as (url, seconds):
            print(f"{start}: site ready after {seconds:.1f} s", flush=True)
            if start == "first start":
                continue
            async with showing() as page:
                await measure_edits(page, url, wiki, saves)


async def measure_edits(page: Page, url: str, wiki: Path, saves: int) -> None:
    file = longest_page(wiki)
    text = file.read_text(encoding="utf-8")
    path = file.relative_to(wiki).with_suffix(".html").as_posix()
    await page.goto(url + path)
    await page.locator("article").wait_for()
    await asyncio.sleep(1)
    print(f"\n{'save -> screen':<22}{'median ms':>10}{'worst ms':>10}{'saves':>7}")
    edits: dict[str, Callable[[str], str]] = {
        "a word": lambda mark: f"{text}\n{mark}\n",
        "a heading": lambda mark: f"{text}\n## {mark}\n",
        "the page's title": lambda mark: f"---\ntitle: {mark}\n---\n{text}",
    }
    for kind, edit in edits.items():
        await page.evaluate("scrollTo(0, 400)")
        took = [await one_save(page, file, edit) for _ in range(saves)]
        show(kind, took)
    fresh = wiki / "a-new-page.md"
    await page.goto(f"{url}a-new-page.html")
    took = []
    for _ in range(max(saves // 4, 3)):
        took.append(await one_save(page, fresh, lambda mark: f"# New\n\n{mark}\n"))
        fresh.unlink()
        await page.get_by_text("New").first.wait_for(state="detached", timeout=WAIT_MS)
        await asyncio.sleep(PAUSE_S)
    show("a new page", took)


def longest_page(wiki: Path) -> Path:
    return max(wiki.rglob("*.md"), key=lambda path: path.stat().st_size)


async def one_save(page: Page, file: Path, edit: Callable[[str], str]) -> float:
    """Seconds from a save to the browser that shows it."""
    mark = f"mark{time.monotonic_ns()}"
    started = time.perf_counter()
    await asyncio.to_thread(file.write_text, edit(mark), encoding="utf-8")
    shown = page.locator("body").get_by_text(mark).first
    await shown.wait_for(state="attached", timeout=WAIT_MS)
    seconds = time.perf_counter() - started
    await asyncio.sleep(PAUSE_S)
    return seconds


def show(kind: str, took: list[float]) -> None:
    median, worst = statistics.median(took) * 1000, max(took) * 1000
    print(f"{kind:<22}{median:>10.0f}{worst:>10.0f}{len(took):>7}", flush=True)


@asynccontextmanager
async def previewing(wiki: Path, place: Path) -> AsyncIterator[tuple[str, float]]:
    """A preview of the wiki that is ready: its address, and seconds that took."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        WIKISYNC,
        *("preview", str(wiki), "--port", "0"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        await asyncio.to_thread(wait_ready, url)
        yield url, time.perf_counter() - started
    finally:
        process.terminate()
        await process.wait()


def wait_ready(url: str) -> None:
    """Ask until the home page is there."""
    import urllib.error
    import urllib.request

    while True:
        try:
            with urllib.request.urlopen(url) as answer:
                if answer.status == 200:
                    return
        except urllib.error.HTTPError as error:
            error.close()
        time.sleep(0.05)


@asynccontextmanager
async def showing() -> AsyncIterator[Page]:
    """A window of headless Chromium."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield await browser.new_page(viewport={"width": 1360, "height": 850})
        finally:
            await browser.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
