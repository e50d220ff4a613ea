"""Where the two markdown engines give HTML of another structure.

    python tools/parity.py [--shuffled N] [--seed S] [FOLDER ...]

Runs both over the corpora and over every ``.md`` file below the folders, which
are meant for documentation of other projects, on the way that pages take: with the
marks that the filters read, and through the filters.  Text in code, no-break spaces
and comments count.  ``--shuffled`` makes N texts of 2 to 8 lines of those pages,
put together anew behind random marks of blocks.  Differences that are known stand
with their reasons in tests/markup/cases/parity.json; any other is printed, and
the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from corpora import OWN_CASES, corpora

from tests.support.markup import PlainUrls, shape
from wikisync.core.model import Format, Page, Slug
from wikisync.markup import fast
from wikisync.markup.context import ParseContext
from wikisync.markup.frontmatter import split_front_matter
from wikisync.markup.links import LinkIndex
from wikisync.markup.markdown import to_html
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.markup.resolve import finish_page
from wikisync.markup.source import clean_source

CONTEXT_TOKENS = 3
SLUG = Slug("page")
INDEX = LinkIndex([SLUG], web_url="https://gitlab.example.com/group/project/-/wikis")
PREFIXES = (
    *(
        "",
        "",
        "",
        "",
        " ",
        "  ",
        "   ",
        "    ",
        "     ",
        "\t",
        "> ",
        ">",
        "> > ",
        ">> ",
    ),
    *("    > ", "- ", "* ", "    - ", "  - ", "1. ", "2) ", "10. ", "# ", "## ", ": "),
    *("> - ", "- > ", "> # ", ">\t", "- [ ] ", "> [!note] ", ">>> ", "| ", "[^1]: "),
    *("[a]: ", "[1]: ", "```", "~~~", "---", "===", "<div>", "<!--", "|-|-|", "$$"),
)
LINES_IN_TEXT = (2, 8)


def shapes_of(source: str, engine: MarkdownEngine) -> tuple[list[str], list[str]]:
    """What one engine and the steps around it give, and what the filters make of it."""
    html = to_html(source, ParseContext(SLUG, engine=engine))
    page = Page(SLUG, Format.MARKDOWN, source)
    parsed = parse_page(page, MarkupOptions(engine=engine, highlight=False))
    final = finish_page(parsed, INDEX, PlainUrls()).html
    return shape(html), shape(final)


def difference(source: str) -> str | None:
    """Where the two engines first differ, or None."""
    pairs = zip(
        shapes_of(source, "comrak"), shapes_of(source, "markdown-it"), strict=True
    )
    for theirs, ours in pairs:
        for place, (left, right) in enumerate(zip_longest(theirs, ours)):
            if left != right:
                part = slice(max(0, place - CONTEXT_TOKENS), place + CONTEXT_TOKENS)
                return f"  comrak       {theirs[part]}\n  markdown-it  {ours[part]}"
    return None


def pages(folders: list[str]) -> Iterator[tuple[str, str]]:
    """Path and text of every markdown file below the folders."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.md")):
            text = clean_source(path.read_text("utf-8", "replace"))
            yield str(path), split_front_matter(text).body


def shuffled(texts: list[str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Texts of some lines of those, in another order and behind other marks."""
    chance = random.Random(seed)
    lines = sorted({line for text in texts for line in text.split("\n")})
    for _ in range(count):
        chosen = chance.choices(lines, k=chance.randint(*LINES_IN_TEXT))
        chosen = [
            line if chance.random() < 0.8 else "" if chance.random() < 0.7 else "    "
            for line in chosen
        ]
        text = "".join(f"{chance.choice(PREFIXES)}{line}\n" for line in chosen)
        yield repr(text), text


def main() -> int:
    """Compare, print, and tell whether all differences are known."""
    parser = argparse.ArgumentParser(description="Where the two engines differ.")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--shuffled", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not fast.is_installed():
        print('comrak is not installed: pip install "wikisync[fast]"', file=sys.stderr)
        return 2
    known = json.loads((OWN_CASES / "parity.json").read_text("utf-8"))
    texts = [(f"{name}: {s!r}", s) for name, found in corpora() for s, _ in found]
    unknown = report("corpora", texts, known)
    found = list(pages(options.folders))
    if options.shuffled:
        mixed = shuffled([text for _, text in found], options.shuffled, options.seed)
        unknown += report("shuffled texts", list(mixed), known)
    elif found:
        unknown += report("pages", found, known)
    return 1 if unknown else 0


def report(title: str, texts: list[tuple[str, str]], known: dict[str, str]) -> int:
    """Print what differs; how many differences nobody knows."""
    costly = sum(fast.is_costly(source) for _, source in texts)
    differing = [
        (name, source, where)
        for name, source in texts
        if (where := difference(source)) is not None
    ]
    for name, source, where in differing:
        print(f"{name}\n{where}\n  {known.get(source, 'UNKNOWN')}")
    alike = len(texts) - len(differing)
    share = 100 * alike / max(1, len(texts))
    print(f"{title}: {alike} of {len(texts)} alike ({share:.2f} %)")
    print(f"  {costly} of them go to markdown-it with both\n")
    return sum(source not in known for _, source, _ in differing)


if __name__ == "__main__":
    raise SystemExit(main())
