"""Where the two markdown engines give HTML of another structure.

    python tools/parity.py [FOLDER ...]

Runs both over the corpora and over every ``.md`` file below the folders, which
are meant for documentation of other projects.  Differences that are known stand
with their reasons in tests/markup/cases/parity.json; any other is printed, and
the exit code is 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from corpora import OWN_CASES, corpora

from tests.support.markup import shape
from wikisync.markup import fast
from wikisync.markup.context import ParseContext
from wikisync.markup.frontmatter import split_front_matter
from wikisync.markup.markdown import to_html
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.source import clean_source
from wikisync.model import Slug

CONTEXT_TOKENS = 3


def html_of(source: str, engine: MarkdownEngine) -> str:
    """What one engine and the steps around it give."""
    return to_html(source, ParseContext(Slug("page"), engine=engine))


def difference(source: str) -> str | None:
    """Where the two engines first differ, or None."""
    first, second = html_of(source, "comrak"), html_of(source, "markdown-it")
    if first == second:
        return None
    ours, theirs = shape(second), shape(first)
    for place, (left, right) in enumerate(zip_longest(theirs, ours)):
        if left != right:
            start, end = max(0, place - CONTEXT_TOKENS), place + CONTEXT_TOKENS
            return (
                f"  comrak       {theirs[start:end]}\n  markdown-it  {ours[start:end]}"
            )
    return None


def pages(folders: list[str]) -> Iterator[tuple[str, str]]:
    """Path and text of every markdown file below the folders."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.md")):
            text = clean_source(path.read_text("utf-8", "replace"))
            yield str(path), split_front_matter(text).body


def main() -> int:
    """Compare, print, and tell whether all differences are known."""
    if not fast.is_installed():
        print('comrak is not installed: pip install "wikisync[fast]"', file=sys.stderr)
        return 2
    known = json.loads((OWN_CASES / "parity.json").read_text("utf-8"))
    texts = [(f"{name}: {s!r}", s) for name, found in corpora() for s, _ in found]
    unknown = report("corpora", texts, known)
    if sys.argv[1:]:
        unknown += report("pages", list(pages(sys.argv[1:])), known)
    return 1 if unknown else 0


def report(title: str, texts: list[tuple[str, str]], known: dict[str, str]) -> int:
    """Print what differs; how many differences nobody knows."""
    differing = [
        (name, source, where)
        for name, source in texts
        if (where := difference(source)) is not None
    ]
    for name, source, where in differing:
        print(f"{name}\n{where}\n  {known.get(source, 'UNKNOWN')}")
    alike = len(texts) - len(differing)
    share = 100 * alike / max(1, len(texts))
    print(f"{title}: {alike} of {len(texts)} alike ({share:.2f} %)\n")
    return sum(source not in known for _, source, _ in differing)


if __name__ == "__main__":
    raise SystemExit(main())
