"""Which files are pages, in which order, and how a slug finds one."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.flat_tree import FlatTree
from wikisync.model import EXTENSIONS, Format
from wikisync.service.tree import RepositoryFile, WikiTree

ALL_EXTENSIONS = sorted(
    {extension for extensions in EXTENSIONS.values() for extension in extensions}
)
NAMES = st.builds(
    lambda stem, endings: stem + "".join(endings),
    st.text(st.sampled_from("aB./ é"), max_size=5),
    st.lists(
        st.sampled_from([*ALL_EXTENSIONS, ".MD", ".Rst.TXT", ".png", ".", ""]),
        max_size=3,
    ),
)


def tree_of(*paths: str, mode: int = 0o100644) -> WikiTree:
    files = [RepositoryFile(path, path.encode(), mode) for path in paths]
    return FlatTree("c", files)


def found(tree: WikiTree, slug: str) -> str | None:
    page = tree.find(slug)
    return None if page is None else page.path


def test_every_markup_extension_makes_a_page() -> None:
    tree = tree_of(*(f"p{extension}" for extension in ALL_EXTENSIONS))

    assert len(tree.pages) == len(ALL_EXTENSIONS)
    assert {page.slug for page in tree.pages} == {"p"}
    assert {page.format for page in tree.pages} == set(Format)


def test_other_files_are_no_pages() -> None:
    tree = tree_of(".gitlab/redirects.yml", "a.png", "dir/.md", "noext", "x.html")

    assert tree.pages == ()


def test_link_is_no_page() -> None:
    assert tree_of("a.md", mode=0o120000).pages == ()


def test_uploaded_text_is_listed_as_a_page() -> None:
    """The real service does not leave ``uploads`` out."""
    (page,) = tree_of("uploads/0f/notes.md").pages

    assert (page.slug, page.title) == ("uploads/0f/notes", "notes")


def test_slug_is_found_in_any_case_and_with_spaces() -> None:
    tree = tree_of("Dir/My-Page.md")

    assert found(tree, "dir/MY-PAGE") == "Dir/My-Page.md"
    assert found(tree, "Dir/My Page") == "Dir/My-Page.md"


def test_slug_with_trailing_slash_is_found() -> None:
    assert found(tree_of("a.md"), "a/") == "a.md"


def test_slug_with_its_extension_is_not_found() -> None:
    assert found(tree_of("home.md"), "home.md") is None


def test_first_twin_in_tree_order_is_found() -> None:
    assert found(tree_of("Foo.md", "foo.md"), "foo") == "Foo.md"
    assert found(tree_of("a.md", "a.org"), "a") == "a.md"


def test_file_with_spaces_is_found_as_given_before_its_hyphenated_twin() -> None:
    tree = tree_of("a b.md", "a-b.md")

    assert found(tree, "a b") == "a b.md"
    assert found(tree, "a-b") == "a-b.md"


def test_directory_is_searched_in_any_case() -> None:
    tree = tree_of("Old/a.md", "old/B/c.png", "older/x.md")

    assert [file.path for file in tree.below("OLD")] == ["Old/a.md", "old/B/c.png"]
