"""The line of each link, from the engines and from the source."""

from __future__ import annotations

import time

import msgspec
import pytest

from tests.support.markup import parse, render
from wikisync.core.model import Format, Page, Slug
from wikisync.markup.lines import FOUND_MAX, LineMap, located
from wikisync.markup.page import Source, parse_page, parse_pages
from wikisync.markup.record import LinkRef, MarkdownEngine, MarkupOptions

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
) -> dict[str, int]:
    page = Page(Slug("home"), page_format, text)
    texts = {"inc": "one\n\n[inc](l19)\n\nthree"}
    options = MarkupOptions(engine=engine)
    refs = parse_page(page, options, include=texts.get).refs
    return {ref.href: ref.line for ref in refs}


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_every_kind_of_link_bears_the_line_of_the_page(engine: MarkdownEngine) -> None:
    found = lines_of(PAGE, engine)
    assert found.pop("#fn-1") == found.pop("#fnref-1") == 0
    assert found == {
        "l4": 4,
        "l7": 7,
        "l7b": 7,
        "l8.png": 8,
        "l8": 8,
        "https://l8.example": 8,
        "l8raw": 8,
        "l10": 10,
        "l11": 11,
        "l15": 15,
        "l15.png": 15,
        "l17%20with%20spaces": 17,
        "wiki_page::l17": 17,
        "l19": 19,
        "l21": 21,
        "ref": 23,
        "l26": 26,
        "l29": 29,
    }


@pytest.mark.parametrize("page_format", [Format.MARKDOWN, Format.ORG])
@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_page_without_lines_is_the_same_but_for_them(
    engine: MarkdownEngine, page_format: Format
) -> None:
    page = Page(Slug("a"), page_format, PAGE)
    options = MarkupOptions(engine=engine)
    bare, lined = (
        parse_pages([Source(page, options, has_lines=has_lines)])[0]
        for has_lines in (False, True)
    )
    assert {ref.line for ref in bare.refs} == {0}
    assert any(ref.line for ref in lined.refs)
    refs = tuple(msgspec.structs.replace(ref, line=0) for ref in lined.refs)
    assert bare == msgspec.structs.replace(lined, refs=refs)


@pytest.mark.parametrize("sign", ["~", "-", "&amp;", "&#33;", "é", "x"])
def test_sign_of_a_box_needs_no_lines(sign: str) -> None:
    page = Page(Slug("a"), Format.MARKDOWN, f"- [{sign}] a\n")
    bare, lined = (
        parse_pages([Source(page, MarkupOptions(engine="comrak"), has_lines=has_lines)])
        for has_lines in (False, True)
    )
    assert bare == lined


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_equal_links_bear_their_own_lines(engine: MarkdownEngine) -> None:
    page = Page(Slug("a"), Format.MARKDOWN, "[x](b)\n\n`](b)`\n\n[x](b)\n[x](b)\n")
    refs = parse_page(page, MarkupOptions(engine=engine)).refs
    assert [ref.line for ref in refs] == [1, 5, 6]


def test_line_end_inside_of_code_moves_no_line() -> None:
    assert lines_of("`a\nb` [x](y)", "markdown-it") == {"y": 2}


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
    assert set(lines_of(text, page_format=page_format).values()) == {3}


def test_link_that_could_stand_in_two_places_has_no_line() -> None:
    text = '<a href="gone">x</a>\n\n`<a href="gone">`\n'
    assert lines_of(text) == {"gone": 0}


def test_word_of_the_text_is_no_place_of_a_link() -> None:
    assert lines_of('gone-by agone\n\n<a href="gone">x</a>\n') == {"gone": 3}


def test_line_of_an_attribute_in_raw_html_can_only_be_a_number() -> None:
    text = '<a data-line="1&quot; onclick=&quot;x" href="y">a</a>\n'
    parsed = parse(text)
    assert parsed.refs[0].line == 1
    assert "data-line" not in "".join(parsed.parts)
    assert parse('<a data-line="99999999" href="y">a</a>').refs[0].line == 1


def test_stages_before_the_last_bear_no_lines() -> None:
    from wikisync.markup.page import safe_html

    page = Page(Slug("a"), Format.MARKDOWN, "[x](y)")
    assert safe_html(page) == '<p><a href="y">x</a></p>\n'


def test_includes_move_the_lines_behind_them() -> None:
    lines = LineMap(first_line=4)
    lines.add_included(2, 3)
    lines.add_included(4, 1)
    shown = [lines.line_of(number) for number in range(1, 9)]
    assert shown == [4, 5, 5, 5, 6, 7, 8, 9]


def test_address_that_is_everywhere_is_looked_for_up_to_a_limit() -> None:
    refs = [LinkRef("link", "a")] * (FOUND_MAX + 1)
    assert {ref.line for ref in located(refs, "(a)\n" * (FOUND_MAX + 1))} == {0}


def test_very_many_addresses_take_no_time_to_speak_of() -> None:
    refs = [LinkRef("link", f"page-{number}") for number in range(20_000)]
    source = "x" * 1_000_000
    start = time.process_time()
    located(refs, source)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_line_goes_with_the_address_that_is_taken_away(engine: MarkdownEngine) -> None:
    text = "[a](javascript:x) <a name='b' data-line='3'>b</a>"

    html = render(text, options=MarkupOptions(engine=engine)).html

    assert "data-line" not in html
    assert ">a</a>" in html


LINKS_WITH_LINES = {
    Format.MARKDOWN: (
        "[a](b) ![c](d.png) [e](javascript:f) [[g]] ![h](vbscript:i) <u@example.com>"
        '\n\n<a href="j" data-line="7">k</a> <img src="l.png" data-line="7">'
        '\n\n<p data-line="7">m</p> <a data-line="7">n</a> <img data-line="7">'
        "\n\n| [o](p) | ![q](http://[r) |\n|-|-|\n| [^s] | <!-- data--line --> |"
        "\n\n[^s]: [t](u)\n"
    ),
    Format.ASCIIDOC: (
        "link:a[b] image:c.png[] link:javascript:d[e]\n\n++++\n"
        '<a href="f" data-line="7">g</a> <p data-line="7">h</p>\n++++\n'
    ),
    Format.ORG: (
        "[[a][b]] [[./c.png]] [[javascript:d][e]]\n\n#+begin_export html\n"
        '<a href="f" data-line="7">g</a> <p data-line="7">h</p>\n#+end_export\n'
    ),
    Format.RDOC: "{a}[b] {c}[javascript:d] link:e https://f.example/g.png\n",
}


@pytest.mark.parametrize(
    ("page_format", "engine"),
    [
        (Format.MARKDOWN, "comrak"),
        (Format.MARKDOWN, "markdown-it"),
        *((other, "auto") for other in (Format.ASCIIDOC, Format.ORG, Format.RDOC)),
    ],
)
def test_line_of_a_link_never_reaches_a_page(
    page_format: Format, engine: MarkdownEngine
) -> None:
    text = LINKS_WITH_LINES[page_format]

    shown = render(text, page_format=page_format, options=MarkupOptions(engine=engine))

    assert "<a " in shown.html
    assert "data-line" not in shown.html
