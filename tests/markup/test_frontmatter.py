"""Metadata at the head of a page."""

import time

import pytest

from tests.support.markup import render
from wikisync.markup import frontmatter
from wikisync.markup.metadata import DEPTH_MAX, NotMetadata, parse_mapping


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
        ("a:\n  b: c\n  d: e", {"b": "c", "d": "e"}),
        ("a: {b: [1, {c: d}]}", {"b": [1, {"c": "d"}]}),
        ("a: [x,\n  y,\n  z]", ["x", "y", "z"]),
        ("a:\n- b: 1\n  c: 2\n- d: 3", [{"b": 1, "c": 2}, {"d": 3}]),
        ("a: >\n  one\n  two\n\n  three\n", "one two\nthree\n"),
        ('a: "one\n  two"', "one two"),
        ("a: yes", "yes"),
        ("a: 012", "012"),
        ("a: 1_000", "1_000"),
        ("a: .inf", ".inf"),
        ("a: !!str 12", "12"),
        ("a: !!int '12'", 12),
        ("{a: 1}", 1),
        ("a: 1\na: 2", 2),
        ("'a': x", "x"),
        ("a: 2024-01-02", "2024-01-02"),
        ("a: http://x.y/z", "http://x.y/z"),
    ],
)
def test_value_is_read(line: str, value: object) -> None:
    assert parse_mapping(line) == {"a": value}


def test_anchors_are_read_and_mappings_merged() -> None:
    text = "a: &it [1]\nb: *it\nc: &all {x: 1, y: 2}\nd:\n  y: 3\n  <<: *all\n"
    meta = parse_mapping(text)
    assert meta["b"] == [1]
    assert meta["d"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("- a\n- b", 0, "not a mapping"),
        ("just text", 0, "not a mapping"),
        ("a: 1\n<b>", 1, "could not find expected ':'"),
        ("a: 1\nb: [x", 1, "flow sequence"),
        ("a: 1\ntitle: A: b", 1, "mapping values are not allowed"),
        ("a: 1\nb: *c", 1, "anchor"),
        ("a: &a [*a]", 0, "anchor"),
        ("a: 1\n? [b]\n: c", 1, "key"),
        ("a: 1\nb: !ruby/object:Gem {}", 1, "tag"),
        ("a: 1\nb: !!timestamp 2024-01-02", 1, "tag"),
        ("a: 1\nb: {<<: [2]}", 1, "merged"),
        ("a: \x07", 0, "character"),
        ("a: \ud800", 0, "mapping keys"),
    ],
)
def test_what_is_no_mapping_is_no_metadata(text: str, line: int, reason: str) -> None:
    with pytest.raises(NotMetadata, match=reason) as refused:
        parse_mapping(text)
    assert refused.value.line == line


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(30)
)


@pytest.mark.parametrize(
    "text",
    [
        f"a: {'[' * (DEPTH_MAX + 1)}{']' * (DEPTH_MAX + 1)}",
        f"a: {'{b: ' * DEPTH_MAX}c{'}' * DEPTH_MAX}",
        f"a: {'[' * 24_900}",
        f"a: {'[{a: ' * 5_000}",
        f"a:\n{'- ' * 12_000}",
        f"a: [{'x, ' * 8_000}]",
        BOMB,
        f"a: &a {'x' * 1_000}\n" + "".join(f"b{n}: *a\n" for n in range(1_000)),
    ],
)
def test_block_over_a_limit_is_no_metadata(text: str) -> None:
    with pytest.raises(NotMetadata, match="too"):
        parse_mapping(text)


@pytest.mark.parametrize("blank", [" ", "\t", "\u3000", "\xa0", " \t", " #", "#", "'"])
@pytest.mark.parametrize("line", ["a: b{0}x", "a{0}: b", "a: [b{0}", '"{0}', "---{0}x"])
def test_time_for_a_block_is_linear(blank: str, line: str) -> None:
    """A pattern for comments took 5 seconds for one block of 25 KB."""
    text = line.format(blank * (24_000 // len(blank)))
    source = f"---\na: b\n{text}\n---\nrest"
    begun = time.process_time()
    for _ in range(5):
        frontmatter.split_front_matter(source)
    assert time.process_time() - begun < 1


def test_title_of_the_metadata_is_the_title_of_the_page() -> None:
    page = render("---\ntitle: A better title\ntags: [a, b]\n---\n# x\n")
    assert page.title == "A better title"
    assert page.meta == {"title": "A better title", "tags": ["a", "b"]}
    assert "better" not in page.html


@pytest.mark.parametrize("close", ["---", "..."])
def test_both_closing_fences_end_the_block(close: str) -> None:
    assert frontmatter.split_front_matter(f"---\na: 1\n{close}\nrest").body == "rest"


def test_coding_comment_may_stand_before_it() -> None:
    assert frontmatter.split_front_matter(
        "# coding: utf-8\n---\na: 1\n---\nx"
    ).meta == {"a": 1}


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
    assert frontmatter.split_front_matter(source).body == source


def test_block_beyond_the_limit_is_text() -> None:
    source = f"---\na: {'x' * frontmatter.FRONT_MATTER_CHARS_MAX}\n---\nrest"
    assert frontmatter.split_front_matter(source).body == source


def test_escapes_of_what_no_text_may_hold_are_replaced() -> None:
    page = render('---\ntitle: "a\\0\\x00b"\ntags: ["\\r"]\n---\ntext\n')
    assert page.meta == {"title": "a\ufffd\ufffdb", "tags": ["\n"]}
    assert "text" in page.html


def test_escape_of_a_lone_surrogate_is_no_yaml() -> None:
    """It cannot be written as UTF-8, and ended the parser."""
    page = render('---\ntitle: "a\\ud800b"\n---\ntext\n')
    assert page.meta == {}
    assert "text" in page.html


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("---\ntitle: a\n---\nb\r\n\n", "b\r\n\n"),
        ("---\r\ntitle: a\r\n---\r\nb\r\n", "b\r\n"),
        ("---\ntitle: a\n---", ""),
        ("---\ntitle: a\n---\n", ""),
        ("+++\na = 1\n+++\nb", "+++\na = 1\n+++\nb"),
        ("---\n- a\n---\nb", "---\n- a\n---\nb"),
        ("b\n---\n", "b\n---\n"),
        ("", ""),
    ],
)
def test_text_is_all_but_the_metadata(source: str, text: str) -> None:
    assert frontmatter.text_without(source) == text


@pytest.mark.parametrize(
    "title", ["a", "x: 'y'", "no", "", " a\n b ", "é" * 500, "012"]
)
def test_block_of_a_title_is_read_as_this_title(title: str) -> None:
    found = frontmatter.split_front_matter(frontmatter.title_block(title) + "text")

    assert (found.meta, found.body) == ({"title": title}, "text")
