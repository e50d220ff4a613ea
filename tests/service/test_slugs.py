"""Titles to paths and back (``docs/service.md`` "Slugs and titles")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.flat_tree import FlatTree
from wikisync.core.model import Format, path_of_title
from wikisync.service import tree
from wikisync.service.settings import Limits
from wikisync.service.tree import RepositoryFile

TITLES = st.text(st.sampled_from("aB é./ \t-#日"), max_size=24)


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("foo", "foo"),
        ("  foo   /  bar ", "foo/bar"),
        ("two words", "two-words"),
        ("two \t\u3000 words", "two-words"),
        ("../x", "x"),
        ("a/../../x", "x"),
        ("a/./b", "a/b"),
        ("a//b", "a/b"),
        ("/x", "x"),
        ("a/", "a"),
        ("foo.md", "foo.md"),
        ("Case Kept", "Case-Kept"),
        ('C++ & "quotes" <x> #?%~', 'C++-&-"quotes"-<x>-#?%~'),
        ("cafe\u0301", "cafe\u0301"),
        ("日本語", "日本語"),
        ("   ", ""),
        ("/", ""),
        ("..", ""),
    ],
)
def test_title_becomes_path(title: str, path: str) -> None:
    assert path_of_title(title) == path


@given(TITLES)
def test_path_of_a_path_is_itself(title: str) -> None:
    """A full-path title with hyphens, as clients send it, moves nothing."""
    path = path_of_title(title)

    assert path_of_title(path) == path


@given(TITLES)
def test_path_has_no_empty_or_dotted_component(title: str) -> None:
    components = path_of_title(title).split("/")

    assert not {".", ".."} & set(components)
    assert components == [""] or "" not in components


@pytest.mark.parametrize(
    ("title", "current", "path"),
    [
        ("new", "dir/old", "dir/new"),
        ("other/new", "dir/old", "other/new"),
        ("/new", "dir/old", "new"),
        ("new", "old", "new"),
        ("", "dir/old", ""),
    ],
)
def test_title_of_an_edit_counts_from_where_the_page_is(
    title: str, current: str, path: str
) -> None:
    assert tree.path_of_new_title(title, current) == path


@pytest.mark.parametrize(
    ("slug", "title"), [("dir/my-page", "my page"), ("a--b", "a  b"), ("home", "home")]
)
def test_shown_title_is_the_leaf_with_spaces(slug: str, title: str) -> None:
    assert tree.title_of(slug) == title


def test_lookup_tries_the_slug_as_given_before_its_path() -> None:
    files = (RepositoryFile("My-Page.md", b"1"), RepositoryFile("My Page.md", b"2"))

    both, one = FlatTree("c", files), FlatTree("c", files[:1])

    assert [found.find("My Page") for found in (both, one)] == [
        both.page("My Page.md"),
        one.page("My-Page.md"),
    ]


@pytest.mark.parametrize(
    ("format_wanted", "present", "expected"),
    [
        (Format.MARKDOWN, "", "p.md"),
        (Format.ASCIIDOC, "", "p.asciidoc"),
        (Format.ASCIIDOC, "old.adoc", "p.adoc"),
        (Format.MARKDOWN, "old.MD", "p.md"),
        (Format.ORG, "old.md", "p.org"),
        (Format.REST, "old.rst.txt", "p.rst.txt"),
    ],
)
def test_extension_is_kept_while_the_format_stays(
    format_wanted: Format, present: str, expected: str
) -> None:
    assert tree.file_path("p", format_wanted, present) == expected


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "can't be blank"),
        ("x" * 245, None),
        ("x" * 246, "exceeds the limit of 245 bytes"),
        ("é" * 123, "exceeds the limit of 245 bytes"),
        ("d" * 255 + "/x", None),
        (
            "d" * 256 + "/x",
            f'exceeds the limit of 255 bytes for directory name "{"d" * 256}"',
        ),
    ],
    ids=["blank", "245", "246", "246-in-two-byte-letters", "dir-255", "dir-256"],
)
def test_long_titles_are_refused_in_bytes(path: str, problem: str | None) -> None:
    assert tree.title_problem(path, Limits()) == problem
