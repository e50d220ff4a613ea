"""Texts of the same wiki inside a page."""

import pytest

from wikisync.core.model import Slug
from wikisync.errors import RenderError
from wikisync.markup.context import ParseContext
from wikisync.markup.markdown import (
    INCLUDED_CHARS_MAX,
    INCLUDES_MAX,
    include_files,
    to_html,
)

TEXTS = {"a.md": "# Title\n", "again.md": "::include{file=a.md}\n"}


def test_text_stands_where_the_page_asks_for_it() -> None:
    context = ParseContext(Slug("home"), TEXTS.get)
    html = to_html("x\n\n::include{file=a.md}\n\ny\n", context)
    assert html == "<p>x</p>\n<h1>Title</h1>\n<p>y</p>\n"


def test_included_text_includes_nothing() -> None:
    assert include_files("::include{file=again.md}", TEXTS.get) == TEXTS[
        "again.md"
    ].rstrip("\n")


def test_missing_text_is_named_in_bold_and_escaped() -> None:
    context = ParseContext(Slug("home"), TEXTS.get)
    html = to_html("::include{file=<b>*}\n", context)
    assert html.startswith("<p><strong>Cannot include ")
    assert "<b>" not in html


def test_number_of_includes_is_limited() -> None:
    asked: list[str] = []

    def include(target: str) -> str:
        asked.append(target)
        return "x"

    source = "::include{file=a}\n" * (INCLUDES_MAX + 1)
    assert include_files(source, include).count("more than 32 includes") == 1
    assert len(asked) == INCLUDES_MAX


def test_size_of_all_includes_is_limited() -> None:
    text = "x" * (INCLUDED_CHARS_MAX // 2)
    source = "::include{file=a}\n"
    assert len(include_files(source * 2, lambda _: text)) > INCLUDED_CHARS_MAX
    with pytest.raises(RenderError, match="includes more than"):
        include_files(source * 3, lambda _: text)
