"""Metadata at the head of a page."""

from __future__ import annotations

import pytest

from tests.support.markup import render
from wikisync.markup.frontmatter import (
    FRONT_MATTER_CHARS_MAX,
    parse_mapping,
    split_front_matter,
)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a: text here", "text here"),
        ("a: 'it''s'", "it's"),
        ('a: "x\\ty"', "x\ty"),
        ("a: 12", 12),
        ("a: -1.5", -1.5),
        ("a: true", True),
        ("a: ~", None),
        ("a:", None),
        ("a: x # comment", "x"),
        ("a: '# none'", "# none"),
        ("a: [x, 'y, z', 3]", ["x", "y, z", 3]),
        ("a: []", []),
        ("a:\n  - x\n  - 2", ["x", 2]),
        ("a:\n- x\n- y", ["x", "y"]),
        ("a: |\n  one\n    two\n", "one\n  two\n"),
        ("a: >-\n  one\n  two", "one two"),
        ("a: one\n  two", "one two"),
        ("a:\n  b: c\n  d: e", "  b: c\n  d: e"),
        ("'a': x", "x"),
        ("a: 2024-01-02", "2024-01-02"),
        ("a: http://x.y/z", "http://x.y/z"),
        ("a: [x", "[x"),
    ],
)
def test_value_is_read(line: str, value: object) -> None:
    assert parse_mapping(line) == {"a": value}


@pytest.mark.parametrize("text", ["- a\n- b", "just text", "{a: 1}", "a: 1\n<b>"])
def test_what_is_no_mapping_is_no_metadata(text: str) -> None:
    assert parse_mapping(text) is None


def test_title_of_the_metadata_is_the_title_of_the_page() -> None:
    page = render("---\ntitle: A better title\ntags: [a, b]\n---\n# x\n")
    assert page.title == "A better title"
    assert page.meta == {"title": "A better title", "tags": ["a", "b"]}
    assert "better" not in page.html


@pytest.mark.parametrize("close", ["---", "..."])
def test_both_closing_fences_end_the_block(close: str) -> None:
    assert split_front_matter(f"---\na: 1\n{close}\nrest").body == "rest"


def test_coding_comment_may_stand_before_it() -> None:
    assert split_front_matter("# coding: utf-8\n---\na: 1\n---\nx").meta == {"a": 1}


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("+++\na = 1\n+++\nx", "toml"),
        (';;;\n{"a": 1}\n;;;\nx', "json"),
        ("---\nno mapping\n---\nx", "yaml"),
        ("---toml\na = 1\n---\nx", "toml"),
    ],
)
def test_other_blocks_are_shown_as_code(source: str, language: str) -> None:
    page = render(source)
    assert page.meta == {}
    assert f'data-lang="{language}"' in page.html


@pytest.mark.parametrize(
    "source",
    ["---\nnever closed", "text\n---\na: 1\n---\n", "---\n\ntext", "--- \n", ""],
)
def test_page_without_a_block_is_left_alone(source: str) -> None:
    assert split_front_matter(source).body == source


def test_block_beyond_the_limit_is_text() -> None:
    source = f"---\na: {'x' * FRONT_MATTER_CHARS_MAX}\n---\nrest"
    assert split_front_matter(source).body == source


def test_escapes_of_what_no_text_may_hold_are_replaced() -> None:
    """A lone surrogate cannot be written as UTF-8, and ended the parser."""
    page = render('---\ntitle: "a\\ud800\\u0000b"\ntags: ["\\udc00"]\n---\ntext\n')
    assert page.meta == {"title": "a\ufffd\ufffdb", "tags": ["\ufffd"]}
    assert "text" in page.html
