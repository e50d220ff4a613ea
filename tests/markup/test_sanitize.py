"""The allow list against what the service lets through."""

import pytest

from tests.support.markup import load_cases, sanitize, shape
from wikisync.core.model import Format

CASES = load_cases("sanitise_cases.json")
STRICTER = {
    '<a href="&#1;javascript:alert(1)">x</a>': "<a>x</a>",
    '<a href="javascript&colon;alert(1)">x</a>': "<a>x</a>",
    '<a href="foo:bar">x</a>': "<a>x</a>",
    '<math><mi xlink:href="data:x">x</mi></math>': "",
    "<style>body{}</style>x": "x",
    '<a href="x" target="_blank" onclick="y">l</a>': '<a href="x">l</a>',
}
"""Input to what is left here, where that is less than the service leaves."""
SAME_BUT_FOR_THE_PARSER = {
    '<table><tr><td style="text-align: center; color:red">x</td>'
    '<th style="position:fixed">y</th></tr></table>': (
        '<table><tbody><tr><td style="text-align: center">x</td><th>y</th></tr>'
        "</tbody></table>"
    ),
    '<table><tr><td align="right">x</td></tr></table>': (
        '<table><tbody><tr><td align="right">x</td></tr></tbody></table>'
    ),
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>': (
        '<p title="&lt;/x-noscript&gt;&lt;img src=x onerror=alert(1)&gt;"></p>'
    ),
    '<img src="http:\\\\evil">': '<img src="http:\\\\evil">',
    '<img src="a b.png" width=10 height=20>': (
        '<img src="a b.png" width="10" height="20">'
    ),
    '<time datetime="2020">t</time><wbr><bdo dir=rtl>x</bdo>': (
        '<time datetime="2020">t</time><wbr><bdo dir="rtl">x</bdo>'
    ),
}
"""Input to what is left here, where the HTML is spelled otherwise."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["in"])
def test_fragment_leaves_what_the_service_leaves_or_less(case: dict[str, str]) -> None:
    own = {**STRICTER, **SAME_BUT_FOR_THE_PARSER}
    expected = own.get(case["in"], case["gitlab"])
    assert shape(sanitize(case["in"])) == shape(expected)


def test_every_listed_difference_is_one() -> None:
    service = {case["in"]: case["gitlab"] for case in CASES}
    same = [
        text
        for text in [*STRICTER, *SAME_BUT_FOR_THE_PARSER]
        if sanitize(text) == service[text]
    ]
    assert same == []


@pytest.mark.parametrize(
    "html",
    [
        '<div class="admonitionblock note">x</div>',
        '<p id="user-content-intro">x</p>',
        '<i class="fa icon-tip"></i>',
    ],
)
def test_classes_and_ids_of_other_formats_stay_in_them_only(html: str) -> None:
    assert sanitize(html, Format.ASCIIDOC) == html
    assert "=" not in sanitize(html, Format.MARKDOWN)


@pytest.mark.parametrize("tag", ["p", "div", "span"])
def test_id_of_a_footnote_is_for_its_item_and_its_links(tag: str) -> None:
    assert sanitize(f'<{tag} id="fn-1">x</{tag}>') == f"<{tag}>x</{tag}>"


@pytest.mark.parametrize("page_format", [Format.ASCIIDOC, Format.ORG, Format.RDOC])
def test_other_formats_cannot_choose_any_class_or_id(page_format: Format) -> None:
    html = '<div class="search-box evil" id="search">x</div>'
    assert sanitize(html, page_format) == "<div>x</div>"


def test_box_in_a_table_cell_is_a_task() -> None:
    box = '<input type="checkbox" class="task-list-item-checkbox" disabled="">'
    table = f"<table><tbody><tr><td>{box}</td></tr></tbody></table>"
    assert box in sanitize(table)


def test_result_is_a_fixed_point() -> None:
    """Sanitising again changes nothing, so no second reading finds new tags."""
    once = [sanitize(case["in"]) for case in CASES]
    assert [sanitize(html) for html in once] == once
