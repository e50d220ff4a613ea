"""Pages that mean harm: marks over and over, lines without end, blocks in blocks.

    python -m tests.markup.prove_hostile [FORMAT ...]

parses every such page of 100 KB, in all formats if none is named, and prints those
that took longest; the tests take a seeded few.  A page ends in time, or at its
deadline and is shown as source: there is no third way.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Iterator

from wikisync.core.model import Format, Page, Slug
from wikisync.markup.bounded import BoundedParser

PAGE_BYTES = 100_000
MARKS = [*"=-*+_[]{}<>\\:.`'\"#|/~$@&^!?;,()%", "\n", " ", "\t", "a", "1"]
FORMATS = (Format.RDOC, Format.ORG, Format.REST, Format.ASCIIDOC)
SLOWEST_SHOWN = 5

STEPS = {
    Format.RDOC: (" * x", " >>>", " [a] x", " 1. x"),
    Format.ORG: (" - x", "#+begin_quote", "#+begin_x", "*", " 1. x", " - a :: x"),
    Format.REST: (" * x", " x", " .. note::", " :a: x", " | x"),
    Format.ASCIIDOC: ("* x", "====", "ifdef::x[]", ". x", "a|===", "x:: y"),
}
"""What nests in each format; the first character is repeated to go deeper."""
WORDS = (
    "a[b",
    "<b>",
    "{a}[b",
    "[[a][b]]",
    "a_{",
    "`a <b>`_",
    "xref:a[",
    "$a$",
    "a::b ",
)


def snippets() -> list[str]:
    """Each mark and each pair of two."""
    pairs = ("".join(pair) for pair in itertools.permutations(MARKS, 2))
    return [*MARKS, *pairs]


def nested(page_format: Format, page_bytes: int = PAGE_BYTES) -> Iterator[str]:
    """Pages that go one level deeper with every line, and ones of a single line."""
    for step in STEPS[page_format]:
        lines: list[str] = []
        size = 0
        while size < page_bytes:
            lines.append(step[0] * len(lines) + step)
            size += len(lines[-1]) + 1
        yield "\n".join(lines)
        yield "\n".join([step.strip()] * (page_bytes // len(step)))
        yield step * (page_bytes // len(step))
    for word in WORDS:
        yield word * (page_bytes // len(word))
    yield "x" * page_bytes


def hostile_pages(page_format: Format) -> list[str]:
    """All pages for a format."""
    marked = [snippet * (PAGE_BYTES // len(snippet)) for snippet in snippets()]
    return [*marked, *nested(page_format)]


def some_pages(page_format: Format, count: int, seed: int = 20) -> list[str]:
    """A few of them, the same ones each time."""
    return random.Random(seed).sample(hostile_pages(page_format), count)


def page_of(page_format: Format, content: str) -> Page:
    return Page(slug=Slug("hostile"), format=page_format, content=content)


def main() -> int:
    named = {Format(name) for name in sys.argv[1:]}
    parser = BoundedParser()
    try:
        for page_format in FORMATS:
            if not named or page_format in named:
                prove(parser, page_format)
    finally:
        parser.close()
    return 0


def prove(parser: BoundedParser, page_format: Format) -> None:
    """Parse every page of a format and say which were slow."""
    taken: list[tuple[float, str, bool]] = []
    for content in hostile_pages(page_format):
        began = time.perf_counter()
        parsed = parser.parse(page_of(page_format, content))
        taken.append((time.perf_counter() - began, content[:12], parsed.is_source))
    cut = sum(is_source for _, _, is_source in taken)
    print(f"{page_format.value}: {len(taken)} pages, {cut} shown as source")
    for seconds, start, is_source in sorted(taken, reverse=True)[:SLOWEST_SHOWN]:
        print(f"    {seconds:6.2f} s {start!r}{' (source)' if is_source else ''}")


if __name__ == "__main__":
    sys.exit(main())
