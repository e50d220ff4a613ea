"""What a markdown page costs, all stages, with both engines and without any step.

    python benchmarks/markup.py [FOLDER]

FOLDER holds markdown pages (default: the user guide).  Each figure is the mean of
CPU time per page, of each page the best of five runs, in one process; every run
asks all of them of a page one after the other, so that a busy moment of the
machine hits all alike.  ``bare comrak`` is the service's parser alone, which tells
how fast the machine is.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from wikisync.core.model import AttachmentPath, Format, Page, Slug
from wikisync.markup import fast
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.markup.resolve import finish_page
from wikisync.markup.source import clean_source

SAMPLE = Path(__file__).resolve().parent.parent / "sample-site"
RUNS = 5


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


def main() -> int:
    folder = Path(sys.argv[1]) if sys.argv[1:] else SAMPLE
    texts = [
        clean_source(path.read_text("utf-8", "replace"))
        for path in sorted(folder.rglob("*.md"))
    ]
    if not texts:
        print(f"{folder} holds no .md files", file=sys.stderr)
        return 2
    size = sum(len(text.encode()) for text in texts) / len(texts)
    print(f"{len(texts)} pages, {size / 1000:.1f} KB each\n")
    print(f"{'what':<34}{'ms a page':>10}{'x bare comrak':>15}")
    named = steps()
    costs = measured([work for _, work in named], texts)
    bare = costs[0]
    for (name, _), cost in zip(named, costs, strict=True):
        print(f"{name:<34}{cost:>10.2f}{cost / bare:>15.1f}")
    return 0


def steps() -> list[tuple[str, Callable[[str], object]]]:
    """What is measured; bare comrak first, as the measure of the others."""
    ours = [
        ("all stages, markdown-it", whole("markdown-it")),
        (".. without highlighting", whole("markdown-it", highlight=False)),
    ]
    if not fast.is_installed():
        return ours
    return [
        ("bare comrak", fast.renderer()),
        *ours,
        ("all stages, comrak", whole("comrak")),
        (".. without highlighting", whole("comrak", highlight=False)),
    ]


def whole(engine: MarkdownEngine, *, highlight: bool = True) -> Callable[[str], object]:
    """Both phases of a page."""
    options = MarkupOptions(engine=engine, highlight=highlight)
    index = LinkIndex([Slug("page")])

    def render(text: str) -> object:
        page = Page(Slug("page"), Format.MARKDOWN, text)
        return finish_page(parse_page(page, options), index, NoUrls())

    return render


def measured(steps: list[Callable[[str], object]], texts: list[str]) -> list[float]:
    """Milliseconds of CPU a page for each of the steps."""
    best = [[float("inf")] * len(texts) for _ in steps]
    for _ in range(RUNS):
        for number, text in enumerate(texts):
            for work, costs in zip(steps, best, strict=True):
                forget_codes()
                start = time.process_time()
                work(text)
                cost = time.process_time() - start
                costs[number] = min(costs[number], cost)
    return [sum(costs) / len(texts) * 1000 for costs in best]


def forget_codes() -> None:
    """Colour the same code anew; lexers stay loaded."""
    from wikisync.markup.filters.code import highlighted

    highlighted.cache_clear()


if __name__ == "__main__":
    raise SystemExit(main())
