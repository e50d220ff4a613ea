"""Files of a stranger in a real browser: clicked, opened by address, shown.

Nothing of them runs in the site, on a web server and on a disk, where browsers do not
obey ``download``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.api.wire import http, listening_wire
from tests.security.hostile_files import (
    HostileFile,
    drawings,
    named_pages,
    server_programs,
)
from tests.security.published_files import ran_in_browser, site_with, written_links
from tests.security.test_published_files import ASKING
from tests.site.sites import Studio
from tests.support.browser import serving_folder
from wikisync.markup.diagrams import SVG, static_drawing

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

RED_PICTURES = """() => {
  return Promise.all([...document.querySelectorAll("article img")].map((img) => {
    // one each: who may not look into one picture may look into nothing drawn later
    const canvas = document.createElement("canvas").getContext("2d", {
      willReadFrequently: true});
    img.loading = "eager";
    // one that is animated is painted with the next frame
    const frame = () => new Promise(requestAnimationFrame);
    return img.decode().then(frame).then(() => {
      canvas.drawImage(img, 0, 0);
      const size = `${img.naturalWidth}x${img.naturalHeight}`;
      try { return size + " " + canvas.getImageData(5, 5, 1, 1).data; }
      catch { return size + " tainted"; }
    }, () => "broken");
  }));
}"""


def named_files() -> list[HostileFile]:
    """A few of each kind; the names of all are tested without a browser."""
    return [*list(named_pages())[::7], *list(server_programs())[::9]]


async def test_nothing_of_a_stranger_runs_on_a_web_server(
    chromium: Browser, tmp_path: Path
) -> None:
    studio = site_with(tmp_path, [*named_files()[::3], *drawings()], "uploads")
    async with serving_folder(studio.site, "/docs/") as base:
        assert await ran_in_browser(chromium, base, written_links(studio)) == []
    assert len(written_links(studio)) > 30


async def test_nothing_of_a_stranger_runs_on_a_disk(
    chromium: Browser, tmp_path: Path
) -> None:
    studio = site_with(tmp_path, named_files(), "beside")
    base = studio.site.as_uri() + "/"
    assert await ran_in_browser(chromium, base, written_links(studio)) == []
    assert len(written_links(studio)) > len(named_files()) - 3


async def test_this_harness_sees_what_runs(chromium: Browser, tmp_path: Path) -> None:
    """Published as they are, most of the browser's kinds run."""
    names = ("a.html", "f.xml", "c.xhtml")
    kinds = [*named_pages(), *drawings()]
    wanted = [file for file in kinds if file.name in (*names, "script.svg")]
    for file in wanted:
        (tmp_path / file.name).write_bytes(file.content)
    links = "".join(f"<a href='{file.name}'>x</a> " for file in wanted)
    (tmp_path / "index.html").write_text(f"<article>{links}</article>")
    base = tmp_path.as_uri() + "/"
    clicked = await ran_in_browser(chromium, base, [])
    opened = await ran_in_browser(chromium, base, [file.name for file in wanted], "")
    assert clicked == opened
    assert len(clicked) == 4


async def asked_by(
    chromium: Browser, folder: Path, publish: Callable[[bytes], bytes]
) -> list[str]:
    """What the drawings that would ask another server ask when they are opened."""
    page = await chromium.new_page()
    async with listening_wire() as theirs, serving_folder(folder, "/") as base:
        theirs.repeats = True
        theirs.will(http(404))
        for number, inside in enumerate(ASKING):
            text = inside.replace("https://evil.example.com", theirs.url)
            drawing = f'<svg xmlns="{SVG}"><rect width="9"/>{text}</svg>'.encode()
            (folder / f"{number}.svg").write_bytes(publish(drawing))
            await page.goto(f"{base}{number}.svg")
    await page.close()
    return theirs.targets


async def test_drawing_opened_by_its_address_asks_nobody(
    chromium: Browser, tmp_path: Path
) -> None:
    """Published as they are, many would."""
    assert await asked_by(chromium, tmp_path, static_drawing) == []
    assert len(await asked_by(chromium, tmp_path, bytes)) > 8


async def test_drawings_that_would_run_something_are_pictures_still(
    chromium: Browser, tmp_path: Path
) -> None:
    """Those that a browser could show before: red, or black where a link covers it."""
    studio = Studio(tmp_path)
    shown = [f for f in drawings() if f.name.endswith(".svg")][:20]
    studio = site_with(tmp_path, shown, "uploads")
    page = await chromium.new_page()
    async with serving_folder(studio.site, "/docs/") as base:
        await page.goto(base + "shown.html")
        seen = await page.evaluate(RED_PICTURES)
    await page.close()
    # a browser lets nobody look into a picture that may show parts of other pages
    colours = {"255,0,0,255", "0,0,0,255", "tainted"}
    assert set(seen) == {f"20x10 {colour}" for colour in colours}
