"""What a markdown page costs, all stages, with both engines and without any step.

    python benchmarks/markup.py [FOLDER]

FOLDER holds markdown pages (default: the user guide).  Each figure is the mean of
CPU time per page of the best of three runs, in one process; ``bare comrak`` is the
service's parser alone, which tells how fast the machine is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from wikisync.markup import fast
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import MarkupOptions, finish_page, parse_page
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.source import clean_source
from wikisync.model import AttachmentPath, Format, Page, Slug

SAMPLE = Path(__file__).resolve().parent.parent / "sample-site"
RUNS = 3


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
    bare = 0.0
    print(f"{'what':<34}{'ms a page':>10}{'x bare comrak':>15}")
    for name, work in steps():
        cost = best(work, texts)
        bare = bare or cost
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


def best(work: Callable[[str], object], texts: list[str]) -> float:
    """Milliseconds of CPU a page."""
    costs = []
    for _ in range(RUNS):
        start = time.process_time()
        for text in texts:
            work(text)
        costs.append(time.process_time() - start)
        forget_codes()
    return min(costs) / len(texts) * 1000


def forget_codes() -> None:
    """Colour the same code anew in the next run; lexers stay loaded."""
    from wikisync.markup.highlight import highlighted

    highlighted.cache_clear()


if __name__ == "__main__":
    raise SystemExit(main())
