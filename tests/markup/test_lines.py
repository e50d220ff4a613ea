"""The line of each broken link, from the source."""

import time

import pytest

from tests.support.markup import PlainUrls
from wikisync.core.model import Format, Page, Slug
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import LinkRef, MarkdownEngine, MarkupOptions
from wikisync.markup.resolve import FOUND_MAX, finish_page
from wikisync.markup.resolve import lines_of as lines_of_refs

PAGE = """\
---
title: x
---
# H [a](l4)

one
two [x](l7 "t") *em [q](l7b)
more* ![i](l8.png) [[wl|l8]] https://l8.example <a href="l8raw">r</a>

> - [l](l10)
>   [l](l11)

| a | b |
|---|---|
| [c](l15) | ![e](l15.png) |

[x y](l17 with spaces) [wiki_page:l17]

::include{file=inc}

- [~] [t](l21)

foot[^1] [used on 23]

<div>
<a href="l26">r</a>
</div>

[^1]: note [n](l29)

[used on 23]: ref
"""


def lines_of(
    text: str, engine: MarkdownEngine = "auto", page_format: Format = Format.MARKDOWN
) -> list[tuple[str, int]]:
    """The broken links of a page in a wiki without another one, with their lines."""
    page = Page(Slug("home"), page_format, text)
    texts = {"inc": "one\n\n[inc](l19)\n\nthree"}
    parsed = parse_page(page, MarkupOptions(engine=engine), include=texts.get)
    links = finish_page(parsed, LinkIndex([]), PlainUrls(), lambda: text).links
    return [(link.href, link.line) for link in links if link.is_broken]


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_every_kind_of_link_bears_the_line_where_its_address_stands(
    engine: MarkdownEngine,
) -> None:
    assert dict(lines_of(PAGE, engine)) == {
        "l4": 4,
        "l7": 7,
        "l7b": 7,
        "l8.png": 8,
        "l8": 8,
        "l8raw": 8,
        "l10": 10,
        "l11": 11,
        "l15": 15,
        "l15.png": 15,
        "l17%20with%20spaces": 17,
        "l17": 17,
        "l19": 0,
        "l21": 21,
        "ref": 31,
        "l26": 26,
        "l29": 29,
    }


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_equal_links_bear_their_own_lines(engine: MarkdownEngine) -> None:
    """The same address in code between two links is not counted as a link."""
    text = "[x](b)\n\n`](b)`\n\n```\n[x](b)\n```\n\n[x](b)\n[x](b)\n"
    assert lines_of(text, engine) == [("b", 1), ("b", 9), ("b", 10)]


@pytest.mark.parametrize(
    ("page_format", "link"),
    [
        (Format.MARKDOWN, "[b](b)"),
        (Format.ORG, "[[b][b]]"),
        (Format.RDOC, "{b}[b.md]"),
        (Format.ASCIIDOC, "link:b[b]"),
    ],
)
def test_text_of_a_link_is_no_place_of_its_address(
    page_format: Format, link: str
) -> None:
    found = lines_of(f"{link}\n\n{link}\n", page_format=page_format)
    assert [line for _, line in found] == [1, 3]


def test_links_by_reference_stand_where_the_address_is_given() -> None:
    assert lines_of("[b]\n\n[b] `b`\n\n[b]: b\n") == [("b", 5), ("b", 5)]


def test_line_end_inside_of_code_moves_no_line() -> None:
    assert lines_of("`a\nb` [x](y)", "markdown-it") == [("y", 2)]


@pytest.mark.parametrize(
    ("page_format", "text"),
    [
        (Format.RDOC, "= T\n\n{x}[gone] link:other.txt"),
        (Format.ORG, "* T\n\n[[gone][x]] [[file:other.txt]]"),
        (Format.ASCIIDOC, "= T\n\nlink:gone[x] link:other.txt[y]"),
    ],
)
def test_link_of_another_format_is_found_in_the_source(
    page_format: Format, text: str
) -> None:
    lines = [line for _, line in lines_of(text, page_format=page_format)]
    assert set(lines) == {3}


def test_link_that_could_stand_in_two_places_has_no_line() -> None:
    text = '<a href="gone">x</a>\n\n<!-- <a href="gone"> -->\n'
    assert lines_of(text) == [("gone", 0)]


def test_word_of_the_text_is_no_place_of_a_link() -> None:
    assert lines_of('gone-by agone\n\n<a href="gone">x</a>\n') == [("gone", 3)]


def test_address_that_is_everywhere_is_looked_for_up_to_a_limit() -> None:
    refs = [LinkRef("link", "a")] * (FOUND_MAX + 1)
    assert lines_of_refs(refs, range(len(refs)), "(a)\n" * (FOUND_MAX + 1)) == {}


@pytest.mark.parametrize("text", ["x", "`a` "])
def test_very_many_addresses_take_no_time_to_speak_of(text: str) -> None:
    refs = [LinkRef("link", f"page-{number}") for number in range(20_000)]
    source = text * (1_000_000 // len(text))
    start = time.process_time()
    lines_of_refs(refs, range(len(refs)), source)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("sign", ["` ~", "`` ` ", "``` ~~~ ", "~~~ `~` "])
def test_signs_of_code_that_nothing_ends_take_no_time_to_speak_of(sign: str) -> None:
    source = "(a) (a)" + sign * 100_000
    start = time.process_time()
    assert lines_of_refs([LinkRef("link", "a")], [0], source) == {0: 1}
    assert time.process_time() - start < 1.0
