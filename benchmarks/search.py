"""How well a site's search finds pages, and what the browser loads for each query.

    python benchmarks/search.py QUERIES FOLDER [FOLDER ...] [--misses]

Each FOLDER holds the pages of one wiki; the first one is that which is read, so that
its pages come first.  A line of QUERIES is a query and the pages that answer it, parted
by tabs; a page is named by the end of its address, without .html.

Prints of how many queries a right page is the first, among the first three and among
the first ten; the bytes of the index that a browser without a cache loads; and the
time from the query to the hits.  ``--misses`` lists the queries whose page is not among
the first three.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.browser import SEARCH_BYTES, running_chromium, serving_folder
from wikisync.core.model import WikiOwner
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions, WikiSource

ASK = """async query => {
    const form = document.querySelector(".search-page"), begin = performance.now();
    form.q.value = query;
    await form.oninput();
    const links = [...document.querySelectorAll("#siteHits > li > a")];
    return [performance.now() - begin, links.map((link) => link.href)];
}"""
RANKS = (1, 3, 10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queries", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--misses", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as name:
        site = Path(name, "site")
        names = [re.sub(r"\W+", "-", one.resolve().name) for one in arguments.folders]
        wikis = [
            WikiSource(WikiOwner("project", f"docs/{name}"), name, folder=folder)
            for name, folder in zip(names, arguments.folders, strict=True)
        ]
        build_site(wikis, site, SiteOptions("Docs"), cache=Path(name, "cache"))
        lines = arguments.queries.read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines if line]
        asyncio.run(measure(site, names[0], rows, has_misses=arguments.misses))
    return 0


async def measure(
    site: Path, near: str, rows: Sequence[Sequence[str]], *, has_misses: bool
) -> None:
    """Ask each query in a window of its own, and print the table."""
    ranks: list[int] = []
    sizes: list[int] = []
    times: list[float] = []
    async with running_chromium() as browser, serving_folder(site, "/docs/") as base:
        for query, *answers in rows:
            page = await browser.new_page()
            await page.goto(f"{base}-/search.html?near={quote(near)}")
            seconds, urls = await page.evaluate(ASK, query)
            rank = rank_of(urls, answers)
            ranks.append(rank)
            times.append(seconds)
            sizes.append(await page.evaluate(SEARCH_BYTES))
            await page.close()
            if has_misses and rank > RANKS[1]:
                print(f"{query}: {', '.join(map(unquote, urls[:3]))}")
    for rank in RANKS:
        print(f"rank {rank:<2} {sum(one <= rank for one in ranks)} of {len(ranks)}")
    print(f"bytes a query {statistics.median(sizes):,.0f}, at most {max(sizes):,}")
    print(f"ms a query {statistics.median(times):.0f}, at most {max(times):.0f}")


def rank_of(urls: Sequence[str], answers: Sequence[str]) -> int:
    """The place of the first right page, from 1; a large one if there is none."""
    for number, url in enumerate(urls, 1):
        # a page whose name differs in case alone has a hash at its end
        plain = re.sub(r"(-[0-9a-f]{6})?\.html$", "", unquote(url))
        if any(plain.endswith(f"/{answer}") for answer in answers):
            return number
    return sys.maxsize


if __name__ == "__main__":
    sys.exit(main())
