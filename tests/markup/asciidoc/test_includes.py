import pytest

from wikisync.markup.asciidoc import engine as includes

NUMBERS = "one\ntwo\nthree\nfour\nfive"
TAGGED = """outside
// tag::a[]
in a
// tag::b[]
in b
// end::b[]
# end::a[]
# tag::c[]
in c
# end::c[]
after"""


def test_characters_of_all_includes_are_limited() -> None:
    half = "x" * (includes.CHARACTERS_MAX // 2)
    inclusion = includes.Inclusion(lambda _: half)
    request = includes.IncludeRequest("a", "", 0, None, None)
    answers = [inclusion.resolve(request).text is None for _ in range(3)]
    assert answers == [False, False, True]


@pytest.mark.parametrize(
    ("includer", "target", "path"),
    [
        ("", "part.adoc", "part.adoc"),
        ("", "../part.adoc", "../part.adoc"),
        ("sub/part.adoc", "more.adoc", "sub/more.adoc"),
        ("sub/part.adoc", "../more.adoc", "more.adoc"),
        ("sub/part.adoc", "/more.adoc", "/more.adoc"),
        ("", "https://example.com/x.adoc", None),
        ("", "file:///etc/passwd", None),
        ("", "", None),
    ],
)
def test_target_is_seen_from_where_it_stands(
    includer: str, target: str, path: str | None
) -> None:
    assert includes.join_target(includer, target) == path


@pytest.mark.parametrize(
    ("ranges", "lines"),
    [
        ("2", "two"),
        ("2..3", "two three"),
        ("1;3..4", "one three four"),
        ("4..-1", "four five"),
        ("4..", "four five"),
        ("4..99", "four five"),
        ("0", ""),
        ("x", ""),
        ("1,99999999999999999999", "one"),
    ],
)
def test_lines_are_selected_by_number(ranges: str, lines: str) -> None:
    assert includes.select_lines(NUMBERS, ranges).split() == lines.split()


@pytest.mark.parametrize(
    ("tags", "lines"),
    [
        ("a", ["in a", "in b"]),
        ("a;!b", ["in a"]),
        ("b,c", ["in b", "in c"]),
        ("*", ["in a", "in b", "in c"]),
        ("**", ["outside", "in a", "in b", "in c", "after"]),
        ("!c", ["outside", "in a", "in b", "after"]),
        ("!*", ["outside", "after"]),
        ("**;!a", ["outside", "in c", "after"]),
        ("*;!c", ["in a", "in b"]),
        ("nothing", []),
    ],
)
def test_regions_are_selected_by_tag(tags: str, lines: list[str]) -> None:
    assert includes.select_tags(TAGGED, tags).splitlines() == lines


def test_tag_that_names_nothing_selects_all() -> None:
    assert includes.select_tags("all", "!") == "all"
