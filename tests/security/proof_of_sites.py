"""Attacks on readers of a site, and on the machine that builds it."""

import asyncio
import sys
import time
from pathlib import Path

from tests.security.attack_pages import attack_pages
from tests.security.hostile_addresses import hostile_addresses
from tests.security.hostile_files import drawings, named_pages, server_programs
from tests.security.large_names import large_names
from tests.security.proof import Row
from tests.security.published_files import ran_in_browser, site_with, written_links
from tests.security.shown_pages import Shown, attack_site, show
from tests.security.swapped_files import leaked, swapping, write_wiki
from tests.site.sites import Studio, wiki_source
from tests.support.browser import running_chromium, serving_folder

ROOT = Path(__file__).resolve().parents[2]
LARGE_PAGES = 100
LARGE_PAGE_BYTES = 64_000
LARGE_FACTOR = 14
NAME_FACTOR = 4
"""A page lists the others: each name as it is, and three times as long in a link."""
SWAPPED_BUILDS = 25
PAGE_S = 10.0
"""What a browser may take for a page, and all that is touched on it."""


async def pages(root: Path) -> Row:
    """All pages over HTTP without the policy, and each in one of the other ways.

    Without the policy is the harder way: nothing but the markup holds.
    """
    row = Row("attack pages in Chromium", PAGE_S)
    studio, paths = await asyncio.to_thread(attack_site, root, attack_pages())
    on_disk = studio.site.as_uri() + "/"
    async with running_chromium() as browser, serving_folder(studio.site, "/d/") as web:
        ways = [
            (web, paths, False),
            (web, paths[0::3], True),
            (on_disk, paths[1::3], True),
            (on_disk, paths[2::3], False),
        ]
        for base, some, with_policy in ways:
            _count(row, await show(browser, base, some, with_policy=with_policy))
    return row


def _count(row: Row, shown: Shown) -> None:
    row.tried += shown.pages
    row.through += [*shown.ran, *shown.left]
    row.worst_s = max(row.worst_s, shown.worst_s)


async def attachments(root: Path) -> Row:
    """Every file of a stranger clicked and opened, on a server and on a disk."""
    row = Row("attachments in Chromium")
    files = [*named_pages(), *server_programs(), *drawings()]
    async with running_chromium() as browser:
        for place in ("uploads", "beside"):
            studio = await asyncio.to_thread(site_with, root / place, files, place)
            links = written_links(studio)
            began = time.monotonic()
            if place == "uploads":
                async with serving_folder(studio.site, "/d/") as base:
                    row.through += await ran_in_browser(browser, base, links)
            else:
                base = studio.site.as_uri() + "/"
                row.through += await ran_in_browser(browser, base, links)
            row.worst_s = max(row.worst_s, (time.monotonic() - began) / len(links))
            # each is clicked, and opened by its address
            row.tried += 2 * len(links)
    return row


async def swapped(root: Path) -> Row:
    """Builds beside a process that swaps files for links to what lies outside."""
    row = Row("files swapped for links", 60.0)
    inside, outside = write_wiki(root, pages=40)
    studio = Studio(root, [wiki_source(inside)])
    studio.show_all()
    with swapping(inside, outside, seed=int(time.time())):
        for number in range(SWAPPED_BUILDS):
            studio.set(title=f"Build {number}")
            began = time.monotonic()
            await asyncio.to_thread(studio.build)
            took = time.monotonic() - began
            found = leaked(studio.files())
            row.note(f"build {number} published {found}", took, is_held=not found)
    return row


async def large(root: Path) -> Row:
    """Small pages with large titles, names and links: the site is no larger."""
    row = Row("titles and names without end", 60.0)
    for name, files in large_names(LARGE_PAGES):
        studio = Studio(root / name)
        folder = studio.add("")
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        read = sum(len(f"{path}{text}".encode()) for path, text in files.items())
        began = time.monotonic()
        await asyncio.to_thread(studio.build)
        took = time.monotonic() - began
        written = sum(map(len, studio.files().values()))
        names = sum(len(path.rpartition("/")[2].encode()) for path in files)
        page_bytes = LARGE_PAGE_BYTES + NAME_FACTOR * names
        bound = LARGE_PAGES * page_bytes + LARGE_FACTOR * read
        row.note(f"{name}: {read:,} became {written:,}", took, is_held=written < bound)
    return row


async def addresses(root: Path) -> Row:
    """Addresses of a hostile service, in whatever a page can show of them."""
    row = Row("addresses of a hostile service", 10.0)
    page = "-- home.md --\n@person [x](uploads/0a/gone.png) %{gitlab_server}\n"
    for name, address in hostile_addresses():
        studio = Studio(root / name.partition("-")[0])
        studio.add(page, web_url=address)
        began = time.monotonic()
        await asyncio.to_thread(studio.build)
        took = time.monotonic() - began
        site = b"".join(studio.files().values()).decode()
        scheme = address.strip().partition(":")[0] or address
        is_held = not any(
            bad in site
            for bad in ("javascript:", "evil.example.com", f'href="{scheme}:')
        )
        row.note(f"{address!r} is in the site", took, is_held=is_held)
    return row


async def worst_pages(root: Path) -> Row:
    """Pages that never end, between sound ones: time, memory, and the sound ones."""
    del root
    row = Row("pages that never end", 600.0)
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "benchmarks" / "hostile.py"),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    text = output.decode()
    row.note(text, time.monotonic() - began, is_held=process.returncode == 0)
    return row
