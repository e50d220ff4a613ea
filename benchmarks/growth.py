"""How the time of a page grows with its length, for texts that are made to hurt.

    python benchmarks/growth.py [--all]

Each text is repeated to 10, 20, 40 and 80 KB and goes through both phases, with
each markdown engine; the figures are CPU milliseconds, the best of three runs, and
the ratio of a doubling, on the average of the three.  Four is a square, two is a
line; the goal is 2.6, or an answer of the deadline.  Without ``--all`` the worst are
shown.  The exit code is 1 where a ratio above the goal costs anything.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping

from wikisync.markup import fast
from wikisync.markup.highlight import highlighted
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import MarkupOptions, finish_page, parse_page
from wikisync.markup.record import MarkdownEngine
from wikisync.model import AttachmentPath, Format, Page, Slug

SIZES = (10_000, 20_000, 40_000, 80_000)
RUNS = 3
RATIO_MAX = 2.6
NOISE_MS = 20.0
"""What costs less at every length is no danger, and no measure of growth."""
SHOWN = 15

REPEATED: Mapping[str, str] = {
    "emphasis opened": "*a ",
    "emphasis closed": "a* ",
    "emphasis mixed": "*a __a ",
    "strong nested": "**a *b ",
    "stars": "*",
    "underscores": "_a",
    "brackets open": "[",
    "brackets close": "]",
    "brackets nested": "[a](b ",
    "links unfinished": "[a](",
    "links empty": "[](",
    "pictures unfinished": "![[]()",
    "references": "[a][b] ",
    "definitions": "[a]: b\n",
    "definitions unfinished": '[a]: b "\n',
    "notes": "[^1] ",
    "notes defined": "[^a]: b\n",
    "wiki links": "[[a|b]] ",
    "wiki links open": "[[a|",
    "spaced links": "[a](b c) ",
    "spaced links open": "[a](b ",
    "backticks rising": "`a``b",
    "backticks": "`",
    "math open": "$a ",
    "math": "$a$ ",
    "math code": "$`a",
    "entities": "&a",
    "entities right": "&amp;",
    "escapes": "\\#",
    "autolinks": "<http://a",
    "bare addresses": "http://a.b ",
    "bare mail": "a@b.c ",
    "tildes": "~a",
    "html open": "<a ",
    "html tags": "<b>a</b>",
    "html nested": "<div>",
    "html spans nested": "<span>",
    "html formatting": "<b><i>",
    "html attributes": "<a b=c ",
    "html comments": "<!-- ",
    "html declarations": "<!A ",
    "html instructions": "<?",
    "html cdata": "<![CDATA[",
    "html quotes": '<a title="',
    "html details": "<details><summary>a</summary>",
    "html data-line": '<a data-line="1" href="a">',
    "quotes nested": "> ",
    "quotes": "> a\n\n",
    "fenced quotes": ">>>\na\n",
    "alerts": "> [!note]\n> a\n\n",
    "lists": "- a\n",
    "lists nested": "- ",
    "lists numbered": "1. ",
    "lists loose": "- a\n\n",
    "lists indented": " - a\n",
    "tasks": "- [ ] a\n",
    "tasks third": "- [~] a\n",
    "descriptions": "a\n: b\n\n",
    "headings": "# a\n",
    "headings equal": "# a b\n\n",
    "headings underlined": "a\n-\n",
    "rules": "---\n",
    "code fences": "```\n",
    "code fences open": "```a\n",
    "code": "```py\nx = 1\n```\n",
    "code diagrams": "```mermaid\na\n```\n",
    "tables rows": "|a|b|\n|-|-|\n|c|d|\n\n",
    "tables cells": "|[~]",
    "tables pipes": "|",
    "emoji": ":tada: ",
    "colons": ":a",
    "inline diff": "{+a ",
    "inline diff right": "{+a+} ",
    "numbers": "#1 ",
    "users": "@a ",
    "labels": '~"a ',
    "pages": "[wiki_page:a:b] ",
    "pages open": "[wiki_page:",
    "commits": "0123456789abcdef ",
    "slashes": "a/",
    "placeholders": "%{project_path} ",
    "placeholders in links": "[a](%{project_path}) ",
    "sizes": "![a](b){width=1} ",
    "sizes open": "![a](b){",
    "includes": "::include{file=a}\n",
    "front matter": "---\na: b\n",
    "table of contents": "[[_TOC_]]\n\n",
    "spaces": " ",
    "tabs": "\t",
    "line ends": "\n",
    "hard breaks": "a  \n",
    "right to left": "א ",
    "chinese": "**中**文",
    "nul": "\0",
}
"""What is repeated; kinds that brought down parsers, and one for each of our steps."""


class NoUrls:
    """Addresses of a wiki that has no other page."""

    def page(self, slug: Slug, fragment: str) -> str:
        """Some address."""
        return f"{slug}.html#{fragment}"

    def attachment(self, path: AttachmentPath) -> str:
        """The path."""
        return path

    def missing(self, target: str) -> str | None:
        """The target."""
        return target


def texts_of(piece: str) -> list[str]:
    """The piece at each length."""
    return [(piece * (size // len(piece) + 1))[:size] for size in SIZES]


def structured() -> dict[str, list[str]]:
    """Texts whose length grows in two directions, or that hold different names."""
    return {
        "table wide and short": [
            "|a" * (size // 8)
            + "\n"
            + "|-" * (size // 8)
            + "\n"
            + "|b\n" * (size // 12)
            for size in SIZES
        ],
        "different links": [
            "".join(f"[a](p{number}) " for number in range(size // 11))
            for size in SIZES
        ],
        "different raw links": [
            "".join(f"<a href=p{number}>x</a> " for number in range(size // 18))
            for size in SIZES
        ],
        "definitions used": [
            "".join(f"[r{number}]: x\n" for number in range(size // 20))
            + "".join(f"[r{number}] " for number in range(size // 20))
            for size in SIZES
        ],
        "notes used": [
            "".join(f"[^{n}] " for n in range(size // 20))
            + "".join(f"\n\n[^{n}]: a" for n in range(size // 20))
            for size in SIZES
        ],
        "backticks of every length": [
            " ".join("`" * length for length in range(1, int((2 * size) ** 0.5)))
            for size in SIZES
        ],
        "brackets open and closed": [
            "[" * (size // 2) + "]" * (size // 2) for size in SIZES
        ],
        "html open and closed": [
            "<div>" * (size // 11) + "</div>" * (size // 11) for size in SIZES
        ],
    }


def whole(engine: MarkdownEngine) -> Callable[[str], object]:
    """Both phases of a page."""
    options = MarkupOptions(engine=engine, placeholders={"project_path": "a/b"})
    index = LinkIndex([Slug("page")], web_url="https://gitlab.example.com/a/-/wikis")

    def render(text: str) -> object:
        page = Page(Slug("page"), Format.MARKDOWN, text)
        return finish_page(parse_page(page, options), index, NoUrls())

    return render


def costs_of(work: Callable[[str], object], texts: list[str]) -> list[float]:
    """Milliseconds of CPU for each text."""
    best = [float("inf")] * len(texts)
    for _ in range(RUNS):
        for number, text in enumerate(texts):
            highlighted.cache_clear()
            gc.collect()
            start = time.process_time()
            work(text)
            best[number] = min(best[number], (time.process_time() - start) * 1000)
    return best


def growth(costs: list[float]) -> float:
    """The ratio of a doubling, on the average; nothing for what costs nothing."""
    if costs[-1] < NOISE_MS:
        return 0.0
    return float((costs[-1] / costs[0]) ** (1 / (len(costs) - 1)))


def main() -> int:
    inputs = {name: texts_of(piece) for name, piece in REPEATED.items()} | structured()
    engines: list[MarkdownEngine] = ["markdown-it"]
    if fast.is_installed():
        engines.insert(0, "comrak")
    found = []
    for engine in engines:
        work = whole(engine)
        work("# warm")
        for name, texts in inputs.items():
            costs = costs_of(work, texts)
            found.append((growth(costs), engine, name, costs))
    found.sort(reverse=True)
    over = [one for one in found if one[0] > RATIO_MAX]
    sizes = "".join(f"{size // 1000:>6} KB" for size in SIZES)
    print(f"{'text':<28}{'engine':<13}{sizes}{'ratio':>8}")
    shown = found if "--all" in sys.argv else found[: max(SHOWN, len(over))]
    for ratio, engine, name, costs in shown:
        figures = "".join(f"{cost:>9.1f}" for cost in costs)
        print(f"{name:<28}{engine:<13}{figures}{ratio:>8.2f}")
    print(f"\n{len(found)} measured, {len(over)} above {RATIO_MAX}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
