"""Code that describes a table."""

import json

import pytest

from tests.support.markup import render
from wikisync.markup.record import MarkdownEngine, MarkupOptions


def table(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return render(f"```json:table\n{text}\n```\n\nafter\n").html


def test_fields_name_the_columns_in_their_order() -> None:
    html = table(
        {
            "fields": [{"key": "b", "label": "The B", "sortable": True}, "a"],
            "items": [{"a": 1, "b": "<x>", "c": 2}, {"a": None, "b": [True]}],
            "caption": "A & B",
        }
    )
    assert "<caption>A &amp; B</caption>" in html
    assert "<th>The B</th><th>a</th>" in html
    assert "<td>&lt;x&gt;</td><td>1</td></tr>" in html
    assert "<td>[true]</td><td></td></tr>" in html


def test_cells_may_hold_markdown_and_nothing_unsafe() -> None:
    html = table(
        {
            "markdown": True,
            "items": [
                {"x": "**1** | [l](javascript:y)\nz <script>q</script>", "y": "\\|"}
            ],
        }
    )
    assert "<strong>1</strong> | <a" in html
    assert "script" not in html.replace("javascript", "").lower() or "href" not in html
    assert "<td>|</td>" in html


def test_cell_of_several_paragraphs_keeps_them_and_others_stay_one_line() -> None:
    forged = "\ufdd07\ufdd1"
    html = table(
        {
            "markdown": True,
            "caption": "*C*",
            "items": [{forged: "# a\nb", "y": "*c*\n\n- d"}, {forged: forged, "y": 1}],
        }
    )
    assert "<caption><em>C</em></caption>" in html
    assert "<th>7</th>" in html
    assert "<td># a b</td>" in html
    assert "<td><p><em>c</em></p>\n<ul>\n<li>d</li>\n</ul>\n</td>" in html
    assert "<td>7</td>" in html


@pytest.mark.parametrize(
    "value",
    [
        "nothing",
        "[" * 5_000,
        [],
        {"items": 1},
        {"items": []},
        {"items": ["x"]},
        {"fields": [1], "items": [{"a": 1}]},
        {"fields": [str(n) for n in range(1_000)], "items": [{}] * 100},
    ],
    ids=lambda value: str(value)[:20],
)
def test_code_that_describes_no_table_stays_code(value: object) -> None:
    html = table(value)
    assert "<table" not in html
    assert 'data-lang="json"' in html
    assert "<p>after</p>" in html


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
@pytest.mark.parametrize(
    ("info", "is_table"),
    [
        *(("json:table", True), ("json table", True), ("json a table b", True)),
        *(("json:table b", True), ("json", False), ("json a=table", False)),
        *(("json:a table", False), ("js table", False), ("json Table", False)),
    ],
)
def test_table_is_one_of_the_words_behind_the_language(
    engine: MarkdownEngine, info: str, is_table: bool
) -> None:
    text = f'```{info}\n{{"items": [{{"a": 1}}]}}\n```\n'
    page = render(text, options=MarkupOptions(engine=engine))
    assert ("<table>" in page.html) is is_table


def test_two_tables_and_what_stands_between() -> None:
    block = '```json:table\n{"items": [{"a": 1}]}\n```\n'
    html = render(f"{block}\nbetween\n\n{block}").html
    assert html.count("<table>") == 2
    assert "<p>between</p>" in html


@pytest.mark.parametrize("is_markdown", [False, True])
def test_escapes_of_what_no_text_may_hold_are_replaced(is_markdown: bool) -> None:
    """A lone surrogate cannot be written as UTF-8, and the page was shown as source."""
    bad = "x\ud800\0"
    html = table({"items": [{bad: bad}], "caption": bad, "markdown": is_markdown})
    assert html.count("x\ufffd\ufffd") == 3
    assert "after" in html
