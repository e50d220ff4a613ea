"""What the signs in boxes mean: the third state, and signs that make no box."""

import pytest

from tests.support.markup import render as render_page
from wikisync.core.model import Format, Page, Slug
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions

ENGINES: tuple[MarkdownEngine, ...] = ("comrak", "markdown-it")


@pytest.fixture(params=ENGINES)
def options(request: pytest.FixtureRequest) -> MarkupOptions:
    if request.param == "comrak":
        pytest.importorskip("comrak")
    return MarkupOptions(engine=request.param)


def render(text: str, options: MarkupOptions) -> str:
    return render_page(text, options=options).html


def page_of(text: str) -> Page:
    return Page(Slug("home"), Format.MARKDOWN, text)


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("- [~] a **b**\n", "<s>a <strong>b</strong></s></li>"),
        ("1. [~] a\n", "<s>a</s></li>"),
        ("> -\t[~] a\n", "<s>a</s></li>"),
        ("- - [~] a\n", "<s>a</s></li>"),
        ("-\n  [~] a\n", "<s>a</s></li>"),
        ("> 12.\n>     [~] a\n", "<s>a</s></li>"),
        ("- é [x](y)\n  - [~] é\n", "<s>é</s></li>"),
        ("- [~] a\n  - [ ] b\n", "<s>a</s>\n<ul"),
        ("- [~] a\n  ***\n  b\n", "<s>a</s>\n<hr>"),
        ("- [~] a <br> b\n", "<s>a <br> b</s></li>"),
        ("- [~] a\n\n  b\n", "<p><s>a</s></p>\n<p>b</p>"),
        ("- [~]\n\n  b\n", "<p><s>b</s></p>\n</li>"),
        ("- [~] a :tada: [x](#y) #1\n", " #1</s></li>"),
    ],
)
def test_third_state_strikes_the_text_of_its_item_alone(
    text: str, struck: str, options: MarkupOptions
) -> None:
    html = render(text, options)
    assert struck in html
    assert html.count("<s>") == html.count("</s>") == 1
    assert '<li class="inapplicable task-list-item">' in html
    assert html.count(" data-inapplicable ") == 1
    assert " checked" not in html


def test_item_of_the_third_state_without_a_text_has_nothing_struck(
    options: MarkupOptions,
) -> None:
    html = render("- [~]\n", options)
    assert '<li class="inapplicable task-list-item"><input' in html
    assert "<s>" not in html


def test_third_state_in_a_cell_is_a_box_that_is_alone_in_it(
    options: MarkupOptions,
) -> None:
    html = render("| [~] | é |\n|---|---|\n| é | [~] |\n| [~] x | b |\n", options)
    assert html.count(" data-inapplicable ") == html.count("<input") == 2
    assert "<td>[~] x</td>" in html
    assert "<s>" not in html


def test_third_state_in_a_table_of_json(options: MarkupOptions) -> None:
    table = '{"markdown": true, "items": [{"a": "[~]"}, {"a": "[x]"}]}'
    html = render(f"```json:table\n{table}\n```\n", options)
    assert (html.count("<input"), html.count(" data-inapplicable ")) == (2, 1)


def test_third_state_in_code_is_code(options: MarkupOptions) -> None:
    html = render("```\n- [~] a\n```\n\n    - [~] b\n\n`- [~] c`\n", options)
    assert "<input" not in html
    assert html.count("- [~] ") == 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- [a] odd\n", '<li class="task-list-item">[a] odd</li>'),
        ("- [<] odd\n", '<li class="task-list-item">[&lt;] odd</li>'),
        ("- [\t] odd\n", '<li class="task-list-item">[\t] odd</li>'),
        ("- [&amp;] odd\n", '<li class="task-list-item">[&amp;] odd</li>'),
        ("- []] odd\n", "<li>[]] odd</li>"),
        ("- [é] odd\n", '<li class="task-list-item">[é] odd</li>'),
        ("| a |\n|---|\n| [-] |\n", "\n[-] </td>"),
    ],
)
def test_sign_that_the_service_does_not_know_makes_no_box(
    text: str, shown: str, options: MarkupOptions
) -> None:
    html = render(text, options)
    assert shown in html
    assert "<input" not in html


def test_signs_that_tick_and_those_that_do_not(options: MarkupOptions) -> None:
    html = render("- [x] a\n- [X] b\n- [ ] c\n", options)
    assert (html.count("<input"), html.count(" checked ")) == (3, 2)
    assert "data-sign" not in html


def test_sign_in_raw_html_is_text(options: MarkupOptions) -> None:
    box = (
        '<input type="checkbox" class="task-list-item-checkbox" data-sign="&lt;b&gt;">'
    )
    parsed = parse_page(page_of(f"<ul><li>{box} a</li></ul>\n"), options)
    assert "".join(parsed.parts).strip() == "<ul><li>[&lt;b&gt;] a</li></ul>"
