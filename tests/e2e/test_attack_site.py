"""Some of the attack pages as a site in a real browser; a proof shows all of them.

The policy of the pages is switched off: what holds is the markup and the theme.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.security.attack_pages import attack_pages
from tests.security.shown_pages import attack_site, show
from tests.support.browser import serving_folder

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
EVERY = 70
RUNS = {
    "inline.html": "<p onclick=alert(1)>x</p>",
    "script.html": "<script>alert(1)</script>",
    "link.html": "<a href='javascript:alert(1)'>x</a>",
    "late.html": "<img src=x: onerror=alert(1)>",
    "form.html": "<form><button>x</button></form>",
    "frame.html": "<iframe srcdoc='x'></iframe>",
}
LEAVES = {
    "style.html": "<link rel=stylesheet href=https://evil.example/x.css>",
    "script.html": "<script src=https://evil.example/x.js></script>",
    "frame.html": "<iframe src=https://evil.example/></iframe>",
}


async def test_nothing_of_a_site_of_attacks_runs_or_leaves(
    chromium: Browser, tmp_path: Path
) -> None:
    # pages of the snippets stand in documents of another test
    new = [page for page in attack_pages() if page.kind != "snippets"]
    studio, paths = attack_site(tmp_path, new[::EVERY])
    async with serving_folder(studio.site, "/docs/") as base:
        shown = await show(chromium, base, paths, with_policy=False)
    assert (shown.ran, shown.left) == ([], [])
    assert shown.pages == len(paths) > 40


@pytest.mark.parametrize("way", ["disk", "server"])
async def test_this_harness_sees_what_runs_and_what_leaves(
    chromium: Browser, tmp_path: Path, way: str
) -> None:
    for folder, pages in (("runs", RUNS), ("leaves", LEAVES)):
        (tmp_path / folder).mkdir()
        for name, html in pages.items():
            text = f"<!doctype html><article>{html}</article>"
            (tmp_path / folder / name).write_text(text)
    runs, leaves = tmp_path / "runs", tmp_path / "leaves"
    async with (
        serving_folder(runs, "/r/") as first,
        serving_folder(leaves, "/l/") as second,
    ):
        bases = (
            (first, second)
            if way == "server"
            else (f"{runs.as_uri()}/", f"{leaves.as_uri()}/")
        )
        ran = (await show(chromium, bases[0], list(RUNS), with_policy=True)).ran
        left = (await show(chromium, bases[1], list(LEAVES), with_policy=True)).left
    assert {name for name in RUNS if any(name in one for one in ran)} == set(RUNS)
    assert len(left) == len(LEAVES)
