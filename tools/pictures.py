"""Make the pictures of the README (``make pictures``).

Two are taken in Chromium: a page of the user guide as a website, and two edits of one
sentence in the browser, under ``wikisync watch --preview``.  The chart is drawn from
the table of builds in docs/figures.md.
"""

import asyncio
import re
import tempfile
from pathlib import Path

from playwright.async_api import Browser

from tests.support.browser import running_chromium
from tests.support.service import embedded_service
from tests.support.watching import OWNER, watching
from wikisync.cli.main import main as wikisync

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
PAGE = "docs/handbook/-/wikis/folder/sync.html"
WIDTH, HEIGHT = 1280, 760

BASE = """\
# Release checklist

Releases are made every second **Thursday**.

1. Announce the freeze two days before.
2. Run the tests on all platforms.
3. Ask Robin to sign the packages.
"""
HERE = BASE.replace("two days before", "three days before, in the channel")
WIKI = BASE.replace("two days before", "a week before, by mail")

ROW = re.compile(r"^\| ([^|]+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
STEPS = ("from nothing", "unchanged", "one page edited")
COLOURS = ("#1f63c4", "#8a94a6", "#a1a9b7", "#b9c0cc")
BAR, GAP, LEFT, UNITS = 22, 26, 170, 560


def main() -> None:
    """Write every picture anew."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "builds.svg").write_text(
        chart((ROOT / "docs" / "figures.md").read_text("utf-8")), "utf-8"
    )
    with tempfile.TemporaryDirectory() as folder:
        wikisync(["demo", "--output", f"{folder}/site"])
        asyncio.run(take(Path(folder)))


async def take(folder: Path) -> None:
    """Take the pictures that a browser shows."""
    async with running_chromium() as chromium:
        address = (folder / "site" / PAGE).as_uri()
        page = await chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        await page.goto(address)
        await page.screenshot(path=PICTURES / "site.png")
        await take_merge(chromium, folder)


async def take_merge(chromium: Browser, folder: Path) -> None:
    """Edit one sentence here and on the wiki, and show both texts side by side."""
    async with embedded_service(folder / "service") as service:
        await service.add_project(OWNER.full_path, {"home": BASE})
        async with watching(service, folder / "wikis", "--preview") as watch:
            await watch.in_sync()
            await watch.said("preview: ")
            (line,) = [one for one in watch.lines if "preview: " in one]
            await service.add_pages(OWNER, {"home": WIKI})
            watch.save("home", HERE)
            await watch.until((watch.folder / "home.conflict.md").exists)
            page = await chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            await page.goto(line.rpartition("preview: ")[2])
            await page.get_by_role("button", name="Settle").click()
            await page.get_by_role("button", name="Both").click()
            await page.screenshot(path=PICTURES / "merge.png")


def chart(figures: str) -> str:
    """A chart of the table of builds, as SVG: one group of bars for each step."""
    rows = [(name, [*map(float, times)]) for name, *times in ROW.findall(figures)]
    longest = max(max(times) for _, times in rows)
    parts, top = [], 40
    for step, title in enumerate(STEPS):
        parts.append(f'<text x="10" y="{top}" font-weight="600">{title}</text>')
        for (name, times), colour in zip(rows, COLOURS, strict=True):
            top += GAP
            width = max(2, round(times[step] / longest * UNITS))
            size = f'width="{width}" height="{BAR}" rx="3"'
            parts += [
                f'<text x="{LEFT - 10}" y="{top}" text-anchor="end">{name}</text>',
                f'<rect x="{LEFT}" y="{top - 16}" {size} fill="{colour}"/>',
                f'<text x="{LEFT + width + 8}" y="{top}">{times[step]:g} s</text>',
            ]
        top += GAP + 18
    lines = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 {top - 18}"'
        ' font-family="sans-serif" font-size="15" role="img">\n'
        "<title>Processor time of builds beside other generators</title>\n"
        f'<rect width="820" height="{top - 18}" fill="#ffffff"/>\n{lines}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
