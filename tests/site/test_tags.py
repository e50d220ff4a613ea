"""Tags: what the formats call so, the lists of their pages, and the search for them."""

import pytest

from tests.site.sites import Studio
from wikisync.core.model import Format
from wikisync.markup.frontmatter import TAGS_MAX, tags_of
from wikisync.site.addresses import LIST_ITEMS_MAX, list_part, tag_path
from wikisync.site.search_words import document_words

WIKI = """\
-- home.md --
---
tags: [How To, "<b>"]
---
# Home
-- plan.asciidoc --
= Plan
:keywords: how to, ops

text

:keywords: no
-- notes.org --
#+TITLE: Notes
#+FILETAGS: :ops:
#+KEYWORDS: late
* One
"""


@pytest.mark.parametrize(
    ("kind", "meta", "body", "expected"),
    [
        (Format.MARKDOWN, {"tags": ["a", "A", " b  c "]}, "", ("a", "b c")),
        (Format.MARKDOWN, {"tags": "a, b,,"}, "", ("a", "b")),
        (Format.MARKDOWN, {"tags": {"a": "b"}}, ":keywords: x", ()),
        (Format.MARKDOWN, {"tags": 3}, "", ()),
        (Format.ASCIIDOC, {}, "= T\n:keywords: a, b\n", ("a", "b")),
        (Format.ASCIIDOC, {"tags": ["c"]}, "= T\n:Keywords: a\n", ("c", "a")),
        (Format.ASCIIDOC, {}, "= T\n\n:keywords: a\n", ()),
        (Format.ORG, {}, "#+title: x\n\n#+filetags: :a:b:\n", ("a", "b")),
        (Format.ORG, {}, "#+KEYWORDS: a, b c\n", ("a", "b c")),
        (Format.REST, {}, ":tags: a, b\n\nText\n", ("a", "b")),
    ],
)
def test_tags_are_named_as_the_format_does(
    kind: Format, meta: dict[str, object], body: str, expected: tuple[str, ...]
) -> None:
    assert tags_of(kind, meta, body) == expected


def test_a_page_has_no_more_tags_than_a_limit() -> None:
    many = {"tags": [str(number) for number in range(TAGS_MAX + 9)]}
    assert len(tags_of(Format.MARKDOWN, many, "")) == TAGS_MAX


def test_each_tag_has_a_list_of_its_pages(studio: Studio) -> None:
    studio.start(WIKI)
    how_to = studio.article("-/tags/how-to.html")
    assert 'href="../../index.html"' in how_to
    assert 'href="../../plan.html"' in how_to
    assert "notes" not in how_to
    ops = studio.article("-/tags/ops.html")
    assert "plan.html" in ops
    assert "notes.html" in ops
    every = studio.article("-/tags.html")
    assert 'href="tags/how-to.html">How To</a> <span class="count">2</span>' in every
    assert f'href="{tag_path("<b>").removeprefix("-/")}">&lt;b&gt;</a>' in every
    assert not list((studio.site / "-/tags").glob("no*"))


def test_a_page_links_to_the_lists_of_its_tags(studio: Studio) -> None:
    studio.start(WIKI)
    page = studio.read("plan.html")
    assert '<a rel="tag" href="-/tags/how-to.html">how to</a>' in page


def test_a_tag_that_comes_or_goes_changes_the_lists(studio: Studio) -> None:
    folder = studio.start(WIKI)
    (folder / "home.md").write_text("---\ntags: [new]\n---\n# Home\n")
    studio.build()
    assert studio.files() == studio.clean_build()
    assert not (studio.site / tag_path("<b>")).exists()
    (folder / "home.md").write_text("# Home\n")
    (folder / "plan.asciidoc").unlink()
    (folder / "notes.org").unlink()
    studio.build()
    assert not (studio.site / "-/tags.html").exists()
    assert studio.files() == studio.clean_build()


def test_tags_that_differ_in_signs_alone_have_lists_of_their_own() -> None:
    paths = {tag_path(tag) for tag in ("a b", "a-b", "a/b", "a:b", "../a", "c++", "c")}
    assert tag_path("foo 2") != list_part(tag_path("foo"), LIST_ITEMS_MAX)
    assert len(paths) == 7
    assert all(path.count("/") == 2 for path in paths)
    assert tag_path("How  TO") == tag_path("how to")


def test_the_search_has_tags_beside_the_words() -> None:
    words = document_words("x", (), ["How To", "café"])
    assert set(words) == {"x", "=how_to", "=cafe"}
