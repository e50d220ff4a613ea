"""How the time of everything that reads a page's text grows with the text.

A reader is a parser, or a function that looks for a pattern in what somebody wrote.
Each gets a mark, or a pair of two, over and over; twice the text may take some more
than twice the time.  Whoever adds a reader adds it to ``READERS``.  AsciiDoc and rst
are not among them: their parsers are foreign, and a timer ends them.
"""

import gc
import itertools
import math
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tests.security.proof import Row
from wikisync.core.mentions import linked_ways, mentioned_attachments
from wikisync.core.model import Format, Page, Slug
from wikisync.folder.ignore import parse_patterns
from wikisync.folder.naming import decode_page, encode_slug
from wikisync.markup.diagrams import static_drawing
from wikisync.markup.frontmatter import split_front_matter
from wikisync.markup.links import parse_redirects
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.merging.conflict import git_conflicts, read_conflict_file
from wikisync.merging.merge import merge
from wikisync.merging.metadata import merge_metadata, with_front_matter
from wikisync.service.pages import front_matter_of
from wikisync.service.tree import path_of_new_title
from wikisync.site.preview.checks import page_checks
from wikisync.site.search_words import scored_words

SIZES = (5_000, 10_000, 20_000)
"""Bytes of the texts."""
RATIO_MAX = 3.0
"""Of the times of two sizes, the larger one twice as large: two is a line, four a
square."""
NOISE_S = 0.05
"""What ends below this at the largest size is no danger and no measure either."""
LARGEST_S = 2.0
"""What the largest text may take."""
TRIES = 4
"""A busy machine only ever adds time, so what looks slow is measured again."""

PAIRED = " \t\n\u3000\"'`()[]{}<>"
Reader = Callable[[str], object]
MARKS = (*" \t\"'()[]{}<>`*_-=~#+:;.,|\\/&%$!^@a1\n", "\u3000", "\xa0", "é")


def _parse(page_format: Format, text: str, options: MarkupOptions) -> object:
    return parse_page(Page(Slug("a"), page_format, text, "a"), options)


def _reader_of(page_format: Format, engine: MarkdownEngine | None = None) -> Reader:
    options = MarkupOptions(engine=engine) if engine else MarkupOptions()
    return lambda text: _parse(page_format, text, options)


def _within(before: str, behind: str, read: Reader) -> Reader:
    return lambda text: read(f"{before}{text}{behind}")


def _merged(page_format: Format, text: str) -> object:
    middle = f"one two\n\n{text}\n\nthree four\n"
    return merge(middle, f"new {middle}", f"{middle}last\n", page_format=page_format)


def _metadata(text: str) -> object:
    block = f"---\na: b\n{text}\n---\n"
    return merge_metadata(block, f"{block[:-4]}c: d\n---\n", block.replace("b", "e", 1))


_MARKDOWN = _reader_of(Format.MARKDOWN, "markdown-it")

READERS: Mapping[str, Reader] = {
    "front matter, value": _within("---\na: b", "x\n---\n", split_front_matter),
    "front matter, line": _within("---\na: b\n", "\n---\n", split_front_matter),
    "front matter, page": split_front_matter,
    "front matter of the service": _within("---\n", "", front_matter_of),
    "front matter that a service strips": lambda text: with_front_matter(
        f"---\n{text}", text
    ),
    "front matter merged": _metadata,
    "checks of a preview": lambda text: page_checks("a.md", f"---\n{text}".encode()),
    "markdown": _MARKDOWN,
    "markdown by comrak": _reader_of(Format.MARKDOWN, "comrak"),
    "markdown, line of marks": _within("a b", "c\n", _MARKDOWN),
    "markdown, spaced link": _within("[a](b", "c)", _MARKDOWN),
    "markdown, address": _within("[a](", ")", _MARKDOWN),
    "markdown, table": _within("|a|b|\n|-|-|\n|", "|c|\n", _MARKDOWN),
    "markdown, raw HTML": _within("<p ", ">a</p>", _MARKDOWN),
    "markdown, table of JSON": _within(
        '```json:table\n{"markdown": true, "items": [{"a": "', '"}]}\n```\n', _MARKDOWN
    ),
    "markdown, code": _within("```text\n", "\n```\n", _MARKDOWN),
    "markdown, formula": _within("$$\na", "\n$$\n", _MARKDOWN),
    "rdoc": _reader_of(Format.RDOC),
    "rdoc, line of marks": _within("a b", "c\n", _reader_of(Format.RDOC)),
    "org": _reader_of(Format.ORG),
    "org, line of marks": _within("a b", "c\n", _reader_of(Format.ORG)),
    "org, heading": _within("* a", "b\n", _reader_of(Format.ORG)),
    "org, option": _within("#+OPTIONS: a", "\n", _reader_of(Format.ORG)),
    "org, include": _within("#+INCLUDE: a", "\n", _reader_of(Format.ORG)),
    **{
        f"merge of {page_format}": partial(_merged, page_format)
        for page_format in (Format.MARKDOWN, Format.ASCIIDOC, Format.ORG, Format.RDOC)
    },
    "conflicts of git": _within("<<<<<<< a", "\n=======\n", git_conflicts),
    "conflict file": read_conflict_file,
    "mentions": _within(f"uploads/{'0' * 32}/a", ".png", mentioned_attachments),
    "mentions in brackets": _within(
        f"[[file:uploads/{'0' * 32}/a", ".png", mentioned_attachments
    ),
    "mentions in quotes": _within(
        f'"uploads/{"0" * 32}/a', ".png", mentioned_attachments
    ),
    "ways to files": _within("[a](", "a/b.c)", linked_ways),
    "words of the search": lambda text: scored_words("a", text, text, text),
    "drawing, style": lambda text: static_drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg"><style>a{text}</style></svg>'.encode()
    ),
    "redirects": lambda text: parse_redirects(f"a{text}x: b{text}x".encode()),
    "redirects in quotes": lambda text: parse_redirects(f'"a{text}: "b'.encode()),
    "title of a page": lambda text: path_of_new_title(text, "a/b"),
    "name of a page's file": lambda text: encode_slug(
        text.replace("/", ""), Format.MARKDOWN
    ),
    "pattern of files": parse_patterns,
    "page file": lambda text: decode_page(text.encode(), "a.md"),
}


async def growths(_root: Path) -> Row:
    """The family of ``prove-security``: each reader, each mark, each pair of two."""
    row = Row("texts that take a reader long", limit_s=LARGEST_S)
    for name, read in READERS.items():
        for mark in all_marks():
            seconds, ratio = growth(read, mark)
            row.note(f"{name}: {mark!r}", seconds, is_held=ratio <= RATIO_MAX)
    return row


def all_marks() -> list[str]:
    """Each mark, and each pair of blanks, quotes and brackets."""
    return [*MARKS, *("".join(pair) for pair in itertools.permutations(PAIRED, 2))]


def some_marks(count: int, seed: int) -> list[str]:
    """Blanks, a quote, a bracket, a backslash, and as many others by chance."""
    return [*' \t\u3000"[\\', *random.Random(seed).sample(all_marks(), count)]


def growth(read: Reader, mark: str) -> tuple[float, float]:
    """Seconds for the largest text, and the ratio of the times of two neighbours.

    The ratio is 0 where the times are too short to compare.
    """
    seconds, ratio = _measured(read, mark)
    for _ in range(TRIES - 1):
        if ratio <= RATIO_MAX:
            break
        again, other = _measured(read, mark)
        seconds, ratio = min(seconds, again), min(ratio, other)
    return seconds, ratio


def _measured(read: Reader, mark: str) -> tuple[float, float]:
    largest = _timed(read, mark, SIZES[-1])
    if largest < NOISE_S:
        return largest, 0.0
    half, quarter = (max(_timed(read, mark, size), 0.001) for size in SIZES[1::-1])
    # a square grows in both doublings; a cache that is left grows in one
    return largest, min(largest / half, math.sqrt(largest / quarter))


def _timed(read: Reader, mark: str, size: int) -> float:
    text = mark * (size // len(mark.encode()))
    gc.collect(0)
    begun = time.process_time()
    read(text)
    return time.process_time() - begun
