"""Titles to paths, and what each write does to a wiki's files and redirects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.flat_tree import FlatTree
from wikisync.core.model import REDIRECTS_PATH, Format, path_of_title
from wikisync.folder.naming import title_of
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


def refusal(error: pytest.ExceptionInfo[Refusal]) -> tuple[int, Any]:
    return error.value.status, error.value.body


def test_create_writes_the_file_of_the_title() -> None:
    change = create(tree_of(), "Dir/New Page", "text\r\n")
    assert change.writes == {"Dir/New-Page.md": b"text\r\n"}
    assert change.page == "Dir/New-Page.md"


def test_create_in_another_format_takes_its_long_extension() -> None:
    assert create(tree_of(), "a", format=Format.ASCIIDOC).page == "a.asciidoc"


DUPLICATE = "Duplicate page: A page with that title already exists in the file"


@pytest.mark.parametrize(
    ("present", "title", "problem"),
    [
        ("foo.md", "foo", f"{DUPLICATE} foo.md"),
        ("FOO.md", "foo", f"{DUPLICATE} FOO.md"),
        ("foo.org", "foo", f"{DUPLICATE} foo.org"),
        ("Foo.rst.txt", "foo", f"{DUPLICATE} Foo.rst.txt"),
        ("foo.md", "foo.md/bar", "already exists with the path foo.md"),
        ("foo.md/bar.md", "foo", "directory already exists with the path foo.md"),
    ],
)
def test_create_of_what_is_there_names_the_file(
    present: str, title: str, problem: str
) -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of(present), title)
    status, body = refusal(error)
    assert status == 400
    assert problem in body["message"]["base"][0]


def test_create_takes_its_slug_out_of_the_redirects() -> None:
    change = create(tree_of(), "a", redirects=b"a: b\nc: d\n")
    assert parse_redirects(change.writes[REDIRECTS_PATH]) == {"c": "d"}


def test_blank_title_is_refused() -> None:
    with pytest.raises(Refusal) as error:
        create(tree_of(), "  ")
    assert refusal(error) == (400, {"message": {"title": ["can't be blank"]}})


def test_content_over_the_limit_is_refused_with_both_sizes() -> None:
    assert create(tree_of(), "a", "x" * LIMITS.content_bytes_max).page == "a.md"
    with pytest.raises(Refusal) as error:
        create(tree_of(), "a", "x" * 6 * 1024 * 1024)
    text = "is too long (6 MB). The maximum size is 5 MB."
    assert refusal(error) == (400, {"message": {"content": [text]}})


def test_content_alone_stays_in_its_place_and_format() -> None:
    change = edit(tree_of("dir/old.asciidoc"), "dir/old", content="new")
    assert change.writes == {"dir/old.asciidoc": b"new"}
    assert not change.removes


@pytest.mark.parametrize(
    ("before", "slug", "wishes", "expected"),
    [
        ("My Dir/a b.md", "My Dir/a b", {"content": "x"}, "My Dir/a b.md"),
        ("My Dir/a b.md", "My Dir/a b", {"title": "My Dir/a b"}, "My-Dir/a-b.md"),
        ("dir/old.md", "dir/old", {"title": "new"}, "dir/new.md"),
        ("dir/old.md", "dir/old", {"title": "/new"}, "new.md"),
        ("a.md, a/b.md", "a", {"format": Format.ORG}, "a.org, a/b.md"),
        ("a.MD", "a", {"content": "x", "format": Format.MARKDOWN}, "a.md"),
        (
            "old.md, old/a.md, old/b/c.png, older/x.md",
            "old",
            {"title": "new/place", "content": "x"},
            "new/place.md, new/place/a.md, new/place/b/c.png, older/x.md",
        ),
        # whatever the case of the directory
        ("OLD/a.md, old.md", "old", {"title": "new"}, "new.md, new/a.md"),
        # below itself, and above
        ("a.md, a/x.md", "a", {"title": "a/b"}, "a/b.md, a/b/x.md"),
        ("a/b.md, a/b/x.md", "a/b", {"title": "/a"}, "a.md, a/x.md"),
    ],
)
def test_edit_moves_a_page_and_what_is_below_it(
    before: str, slug: str, wishes: dict[str, Any], expected: str
) -> None:
    tree = tree_of(*before.split(", "))
    change = edit(tree, slug, **wishes)
    assert after(tree, change) == {*expected.split(", ")}


def test_rename_keeps_the_content() -> None:
    renamed = edit(tree_of("dir/old.md"), "dir/old", title="new")
    another = edit(tree_of("a.md", "a/b.md"), "a", format=Format.ORG)
    assert renamed.links["dir/new.md"].blob == b"dir/old.md"
    assert another.links["a.org"].blob == b"a.md"
    assert REDIRECTS_PATH not in another.writes


OCCUPIED = {"title": ["There is already a page with the same title in that path."]}


@pytest.mark.parametrize(
    ("files", "wishes", "message"),
    [
        (["old.md", "new.md"], {"title": "new"}, OCCUPIED),
        (["old.md", "NEW.org"], {"title": "new"}, OCCUPIED),
        # as in the real service: such renames need two steps
        (["old.md"], {"title": "Old"}, OCCUPIED),
        # a page below would land on another
        (["old.md", "old/x.md", "new/x.md"], {"title": "new"}, None),
        (["old.md", "old.org"], {"format": Format.ORG}, None),
        (
            ["old.md"],
            {"title": "new", "limits": Limits(redirects_bytes_max=9)},
            {"base": ["Redirects file is too large"]},
        ),
    ],
)
def test_edit_that_cannot_be_is_refused(
    files: list[str], wishes: dict[str, Any], message: object
) -> None:
    with pytest.raises(Refusal) as error:
        edit(tree_of(*files), "old", **wishes)
    assert message is None or refusal(error) == (400, {"message": message})


def test_rename_leaves_a_redirect_and_takes_out_the_one_at_its_new_place() -> None:
    change = edit(tree_of("old.md"), "old", title="new", redirects=b"new: x\na: b\n")
    redirects = parse_redirects(change.writes[REDIRECTS_PATH])
    assert redirects == {"a": "b", "old": "new"}


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
    assert title_of(slug) == title


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
