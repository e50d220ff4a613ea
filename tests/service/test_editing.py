"""Titles to paths, and what each write does to a wiki's files and redirects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.flat_tree import FlatTree
from wikisync.core.model import REDIRECTS_PATH, Format, path_of_title
from wikisync.markup.links import parse_redirects, render_redirects
from wikisync.service import editing, tree
from wikisync.service.answers import Refusal
from wikisync.service.settings import Limits
from wikisync.service.tree import RepositoryFile, WikiTree

LIMITS = Limits()


def tree_of(*paths: str) -> WikiTree:
    return FlatTree("c", [RepositoryFile(path, path.encode()) for path in paths])


def create(
    tree: WikiTree, title: str, content: str = "x", **more: Any
) -> editing.CommitPlan:
    page_format = more.pop("format", Format.MARKDOWN)
    return editing.plan_create(
        tree, title, content, page_format, limits=LIMITS, message="m", **more
    )


def edit(tree: WikiTree, slug: str, **wishes: Any) -> editing.CommitPlan:
    redirects = wishes.pop("redirects", b"")
    limits = wishes.pop("limits", LIMITS)
    page = editing.find_page(tree, slug)
    return editing.plan_edit(
        tree, page, limits=limits, redirects=redirects, message="m", **wishes
    )


def after(tree: WikiTree, change: editing.CommitPlan) -> set[str]:
    kept = {file.path for file in tree.files} - change.removes
    return (kept | change.writes.keys() | change.links.keys()) - {REDIRECTS_PATH}


def refusal(error: pytest.ExceptionInfo[Refusal]) -> tuple[int, object]:
    return error.value.status, error.value.body


def test_create_writes_the_file_of_the_title() -> None:
    change = create(tree_of(), "Dir/New Page", "text\r\n")

    assert change.writes == {"Dir/New-Page.md": b"text\r\n"}
    assert change.page == "Dir/New-Page.md"


def test_create_in_another_format_takes_its_long_extension() -> None:
    change = create(tree_of(), "a", format=Format.ASCIIDOC)

    assert change.page == "a.asciidoc"


@pytest.mark.parametrize("present", ["foo.md", "FOO.md", "foo.org", "Foo.rst.txt"])
def test_create_of_a_title_that_is_there_names_the_file(present: str) -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of(present), "foo")

    text = (
        f"Duplicate page: A page with that title already exists in the file {present}"
    )
    assert refusal(error) == (400, {"message": {"base": [text]}})


def test_create_below_a_file_is_refused() -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of("foo.md"), "foo.md/bar")

    assert "already exists with the path foo.md" in str(error.value.body)


def test_create_in_the_place_of_a_directory_is_refused() -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of("foo.md/bar.md"), "foo")

    assert "directory already exists with the path foo.md" in str(error.value.body)


def test_create_takes_its_slug_out_of_the_redirects() -> None:
    change = create(tree_of(), "a", redirects=b"a: b\nc: d\n")

    assert parse_redirects(change.writes[REDIRECTS_PATH]) == {"c": "d"}


def test_blank_title_is_refused() -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of(), "  ")

    assert refusal(error) == (400, {"message": {"title": ["can't be blank"]}})


def test_content_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of(), "a", "x" * 6 * 1024 * 1024)

    text = "is too long (6 MB). The maximum size is 5 MB."
    assert refusal(error) == (400, {"message": {"content": [text]}})


def test_content_at_the_limit_is_taken() -> None:
    assert create(tree_of(), "a", "x" * LIMITS.content_bytes_max).page == "a.md"


def test_content_alone_stays_in_its_place_and_format() -> None:
    tree = tree_of("dir/old.asciidoc")

    change = edit(tree, "dir/old", content="new")

    assert change.writes == {"dir/old.asciidoc": b"new"}
    assert not change.removes


def test_content_alone_keeps_a_path_with_spaces() -> None:
    change = edit(tree_of("My Dir/a b.md"), "My Dir/a b", content="new")

    assert after(tree_of("My Dir/a b.md"), change) == {"My Dir/a b.md"}


def test_title_on_a_path_with_spaces_hyphenates_it() -> None:
    tree = tree_of("My Dir/a b.md")

    change = edit(tree, "My Dir/a b", title="My Dir/a b", content="x")

    assert after(tree, change) == {"My-Dir/a-b.md"}


def test_leaf_title_renames_in_the_same_directory() -> None:
    tree = tree_of("dir/old.md")

    change = edit(tree, "dir/old", title="new")

    assert after(tree, change) == {"dir/new.md"}
    assert change.links["dir/new.md"].blob == b"dir/old.md"


def test_title_with_leading_slash_moves_to_the_root() -> None:
    tree = tree_of("dir/old.md")

    assert after(tree, edit(tree, "dir/old", title="/new")) == {"new.md"}


def test_format_change_renames_the_file_and_keeps_the_content() -> None:
    tree = tree_of("a.md", "a/b.md")

    change = edit(tree, "a", format=Format.ORG)

    assert after(tree, change) == {"a.org", "a/b.md"}
    assert change.links["a.org"].blob == b"a.md"
    assert REDIRECTS_PATH not in change.writes


def test_same_format_lowers_the_extension() -> None:
    tree = tree_of("a.MD")

    change = edit(tree, "a", content="x", format=Format.MARKDOWN)

    assert after(tree, change) == {"a.md"}


def test_children_move_with_their_parent() -> None:
    tree = tree_of("old.md", "old/a.md", "old/b/c.png", "older/x.md")

    change = edit(tree, "old", title="new/place", content="x")

    assert after(tree, change) == {
        "new/place.md",
        "new/place/a.md",
        "new/place/b/c.png",
        "older/x.md",
    }


def test_children_follow_whatever_the_case_of_their_directory() -> None:
    tree = tree_of("OLD/a.md", "old.md")

    change = edit(tree, "old", title="new")

    assert after(tree, change) == {"new.md", "new/a.md"}


def test_page_can_move_below_itself() -> None:
    tree = tree_of("a.md", "a/x.md")

    change = edit(tree, "a", title="a/b")

    assert after(tree, change) == {"a/b.md", "a/b/x.md"}


def test_page_can_move_above_itself() -> None:
    tree = tree_of("a/b.md", "a/b/x.md")

    change = edit(tree, "a/b", title="/a")

    assert after(tree, change) == {"a.md", "a/x.md"}


@pytest.mark.parametrize("other", ["new.md", "NEW.org"])
def test_rename_onto_another_page_is_refused(other: str) -> None:
    with pytest.raises(Refusal) as error:
        edit(tree_of("old.md", other), "old", title="new")

    text = "There is already a page with the same title in that path."
    assert refusal(error) == (400, {"message": {"title": [text]}})


def test_rename_in_case_alone_meets_itself_and_is_refused() -> None:
    """As in the real service: such renames need two steps."""
    with pytest.raises(Refusal):
        edit(tree_of("Foo.md"), "Foo", title="foo")


def test_rename_whose_children_would_land_on_others_is_refused() -> None:
    with pytest.raises(Refusal):
        edit(tree_of("old.md", "old/x.md", "new/x.md"), "old", title="new")


def test_format_change_onto_a_twin_is_refused() -> None:
    with pytest.raises(Refusal):
        edit(tree_of("a.md", "a.org"), "a", format=Format.ORG)


def test_rename_leaves_a_redirect_and_takes_out_the_one_at_its_new_place() -> None:
    change = edit(tree_of("old.md"), "old", title="new", redirects=b"new: x\na: b\n")

    redirects = parse_redirects(change.writes[REDIRECTS_PATH])
    assert redirects == {"a": "b", "old": "new"}


def test_redirects_over_their_limit_refuse_the_rename() -> None:
    with pytest.raises(Refusal) as error:
        edit(
            tree_of("old.md"), "old", title="new", limits=Limits(redirects_bytes_max=9)
        )

    text = "Redirects file is too large"
    assert refusal(error) == (400, {"message": {"base": [text]}})


def test_slug_of_no_page_is_refused() -> None:
    with pytest.raises(Refusal) as error:
        editing.find_page(tree_of("a.md"), "b")

    assert refusal(error) == (404, {"message": "404 Wiki Page Not Found"})


SLUGS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(st.dictionaries(SLUGS, SLUGS, max_size=5))
def test_what_is_written_is_read_back(redirects: dict[str, str]) -> None:
    assert parse_redirects(render_redirects(redirects)) == redirects


def test_plain_and_quoted_scalars_of_the_real_service_are_read() -> None:
    source = b"---\nold: new/page\n'it''s': \"a\\tb\"\nC++: c#\na:b: c\n"

    assert parse_redirects(source) == {
        "old": "new/page",
        "it's": "a\tb",
        "C++": "c#",
        "a:b": "c",
    }


def test_lines_that_are_no_entries_are_left_out() -> None:
    source = b'- a\n# note\n  \n\xff\xfe\n&x y: z\n"broken: x\nok: yes\n'

    assert parse_redirects(source) == {"ok": "yes"}


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
