import unicodedata
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.folder.hostile import MARKDOWN, formats, repeatable, slugs
from tests.folder.test_naming import assert_stay_inside
from wikisync.core.model import Format, PagePath, Slug
from wikisync.errors import FolderError
from wikisync.folder.clashes import Folding, PathBook, probe_folding
from wikisync.folder.naming import parse_path

ORG = Format.ORG


def assign_paths(
    pages: Iterable[tuple[Slug, Format]], known: Mapping[Slug, PagePath], *, folds: bool
) -> dict[Slug, PagePath]:
    """The path of each page, in order, as a folder gives them that fills."""
    book = PathBook(known, Folding(case=folds, unicode=folds))
    return {slug: book.assign(slug, page_format) for slug, page_format in pages}


def assigned(
    *slugs: str, known: dict[str, str] | None = None, folds_case: bool = True
) -> list[str]:
    """Paths for markdown pages, in order."""
    paths = assign_paths(
        [(Slug(slug), MARKDOWN) for slug in slugs],
        {Slug(slug): PagePath(path) for slug, path in (known or {}).items()},
        folds=folds_case,
    )
    return [paths[Slug(slug)] for slug in slugs]


def folded(path: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


def assert_no_clash(paths: list[str]) -> None:
    """No two files, and no file and folder, are one to a folding disk."""
    spelled: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            way = "/".join(parts[:end])
            assert spelled.setdefault(folded(way), way) == way
    files = {folded(path) for path in paths}
    folders = {folded(path.rpartition("/")[0]) for path in paths}
    assert len(files) == len(paths)
    assert not files & folders


@pytest.mark.parametrize(
    ("slugs", "known", "paths"),
    [
        (["home", "Docs/a", "Docs/b"], {}, ["home.md", "Docs/a.md", "Docs/b.md"]),
        (["100% sure"], {"100% sure": "100% sure.markdown"}, ["100% sure.markdown"]),
        (["a"], {"a": "a.MD"}, ["a.MD"]),
        (["100%/b"], {"100%/a": "100%/a.md"}, ["100%/b.md"]),
        (["a"], {"a": "b.md"}, ["a.md"]),
    ],
    ids=[
        *("no twins", "a person's name", "a person's extension"),
        *("a person's folder", "another page's path"),
    ],
)
def test_page_without_a_twin_gets_a_plain_name_or_keeps_its_own(
    slugs: list[str], known: dict[str, str], paths: list[str]
) -> None:
    assert assigned(*slugs, known=known) == paths


def test_twins_keep_their_names_on_a_disk_that_tells_them_apart() -> None:
    slugs = ["Readme", "README", "Docs/na\u00efve caf\u00e9"]
    assert assigned(*slugs, folds_case=False) == [f"{slug}.md" for slug in slugs]


def test_later_case_twin_gets_a_mark_that_is_read_away() -> None:
    first, second = assigned("Readme", "README")
    assert first == "Readme.md"
    assert second.startswith("README~")
    assert len(second) == len("README~1234.md")
    assert parse_path(second) == ("README", MARKDOWN)


def test_later_twin_of_a_folder_gets_a_folder_of_its_own() -> None:
    one, two, three = assigned("docs/a", "Docs/a", "Docs/b")
    assert one == "docs/a.md"
    assert two.partition("/")[0] == three.partition("/")[0] != "Docs"
    assert parse_path(three) == ("Docs/b", MARKDOWN)


def test_mark_stays_when_its_page_has_a_file_and_the_order_turns() -> None:
    first, second = assigned("Readme", "README")
    known = {"Readme": first, "README": second}
    assert assigned("README", "Readme", known=known) == [second, first]


def test_marked_folder_is_joined_by_later_pages() -> None:
    known = dict(zip(["docs/a", "Docs/a"], assigned("docs/a", "Docs/a"), strict=True))
    (path,) = assigned("Docs/c", known=known)
    assert path.rpartition("/")[0] == known["Docs/a"].rpartition("/")[0]


def test_ignorable_characters_do_not_make_two_names() -> None:
    """Some disks skip a soft hyphen or a joiner when they compare."""
    plain, hyphenated = assigned("cooperate", "co\u00adoperate")
    assert hyphenated != "co\u00adoperate.md"
    assert plain == "cooperate.md"


def test_known_pages_that_are_not_asked_for_keep_their_places() -> None:
    (path,) = assigned("README", known={"readme": "readme.md"})
    assert path != "README.md"


def test_folder_that_scans_like_a_file_is_in_the_pages_way() -> None:
    (path,) = assigned("foo", known={"foo.md/bar": "foo.md/bar.md"}, folds_case=False)
    assert path.startswith("foo~")
    assert parse_path(path) == ("foo", MARKDOWN)


def test_page_whose_format_changed_keeps_its_stem() -> None:
    paths = assign_paths(
        [(Slug("50% off"), ORG)],
        {Slug("50% off"): PagePath("50% off.markdown")},
        folds=False,
    )
    assert paths == {"50% off": "50% off.org"}


TWINS = st.lists(
    st.lists(
        st.sampled_from(
            [*"aAbB/.~", "é", "e\u0301", "É", "ß", "ss", "\u00ad", "x" * 150, ".md"]
        ),
        max_size=6,
    ).map(lambda parts: Slug("".join(parts)))
    | slugs,
    max_size=12,
    unique=True,
)


@repeatable
@given(TWINS, st.data())
def test_any_pages_get_names_that_no_disk_confuses(
    pages: list[Slug], data: st.DataObject
) -> None:
    chosen = {slug: data.draw(formats) for slug in pages}
    paths = assign_paths(chosen.items(), {}, folds=True)
    assert {slug: parse_path(path) for slug, path in paths.items()} == {
        slug: (slug, chosen[slug]) for slug in pages
    }
    assert_no_clash(list(paths.values()))
    assert_stay_inside(paths.values())


@repeatable
@given(TWINS, st.integers(0, 12))
def test_names_given_once_stay_whatever_comes_later(
    pages: list[Slug], count: int
) -> None:
    asked = [(slug, MARKDOWN) for slug in pages]
    early = assign_paths(asked[:count], {}, folds=True)
    late = assign_paths(asked[::-1], early, folds=True)
    assert {slug: late[slug] for slug in early} == early
    assert_no_clash(list(late.values()))


@repeatable
@given(TWINS, TWINS)
def test_new_names_clash_with_no_handmade_one(
    handmade: list[Slug], pages: list[Slug]
) -> None:
    known: dict[Slug, PagePath] = {}
    for name in handmade:
        found = parse_path(f"{name}.md")
        if found is not None:
            known.setdefault(found[0], PagePath(f"{name}.md"))
    asked = [(slug, MARKDOWN) for slug in pages if slug not in known]
    paths = assign_paths(asked, known, folds=True)
    assert {slug: parse_path(path) for slug, path in paths.items()} == {
        slug: (slug, MARKDOWN) for slug, _ in asked
    }
    taken = {folded(path) for path in known.values()}
    assert not taken & {folded(path) for path in paths.values()}


@pytest.mark.parametrize(("first", "second"), [*combinations(["ß", "SS", "ẞ"], 2)])
def test_letters_that_fold_into_two_are_twins(first: str, second: str) -> None:
    assert_no_clash(assigned(first, second))


def test_page_whose_format_changed_does_not_take_its_twins_file() -> None:
    known = {Slug("a"): PagePath("a.md"), Slug("A"): PagePath("A.org")}
    paths = assign_paths([(Slug("a"), ORG)], known, folds=True)
    assert_no_clash([paths[Slug("a")], known[Slug("A")]])
    assert parse_path(paths[Slug("a")]) == ("a", ORG)


def test_folder_that_would_give_a_new_page_another_meaning_is_not_joined() -> None:
    """There, ``y.md`` would be the end of one long name."""
    folder = "x" * 200 + "%+"
    slug = f"{folder}/a:b"
    assert parse_path(f"{slug}.md") == (slug, MARKDOWN)
    (path,) = assigned(f"{folder}/y", known={slug: f"{slug}.md"})
    assert parse_path(path) == (f"{folder}/y", MARKDOWN)


def test_page_joins_one_of_two_folders_that_stand_for_the_same() -> None:
    """As left behind when a folder moved between disks."""
    first, marked = assigned("docs/a", "Docs/a")
    known = {"docs/a": first, "Docs/a": marked, "Docs/b": "Docs/b.md"}
    (path,) = assigned("Docs/c", known=known, folds_case=False)
    assert parse_path(path) == ("Docs/c", MARKDOWN)


# -- what a disk folds -----------------------------------------------------------------


def test_usual_linux_disk_folds_nothing_and_nothing_is_left(tmp_path: Path) -> None:
    assert probe_folding(tmp_path) == Folding(case=False, unicode=False)
    assert list(tmp_path.iterdir()) == []


def test_disk_that_folds_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen through a disk that finds every name that was asked for."""
    monkeypatch.setattr(Path, "exists", lambda _path: True)
    assert probe_folding(tmp_path) == Folding(case=True, unicode=True)


def test_folder_that_takes_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="cannot write in"):
        probe_folding(tmp_path / "gone")


def test_probe_does_not_overwrite_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / ".wikisync-probe-00000000-a").write_text("mine")
    with pytest.raises(FolderError):
        probe_folding(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
