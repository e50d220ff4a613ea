"""The versions of pages, as commits tell them."""

from pathlib import Path

import pygit2
import pytest
from msgspec.structs import replace

from tests.support.commits import committed
from wikisync.core.git_log import read_blobs, read_log, shown_name
from wikisync.core.model import Slug
from wikisync.core.versions import UNKNOWN, Versions, dates_of, pages_of, seen_versions

TEXT = "".join(f"line {number}\n" for number in range(20))
OTHER = TEXT.replace("line", "word")
HOME, PLAN = Slug("home"), Slug("plan")


def kinds(versions: Versions) -> list[tuple[str, str, str]]:
    return [(row.kind, row.slug, row.was) for row in versions.rows]


def authors(versions: Versions) -> list[str]:
    return [row.author for row in versions.rows]


def commit(folder: Path, day: int, author: str = "Ada", **files: str | None) -> str:
    """One of a day in January; ``home`` is ``home.md``."""
    names = {
        name if "." in name else f"{name}.md": text for name, text in files.items()
    }
    return committed(folder, names, f"2026-01-{day:02}T00:00:00", author)


def test_commit_is_one_version_of_each_page(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT, **{"a.png": "png", "uploads/x.md": "x"})
    edit = commit(tmp_path, 2, "Bob", home=f"{TEXT}more\n")
    commit(tmp_path, 3, home=None)
    versions = read_log(tmp_path)
    assert kinds(versions) == [
        ("deleted", "home", "home"),
        ("edited", "home", "home"),
        ("created", "home", ""),
    ]
    row = versions.rows[1]
    assert (row.author, row.commit) == ("Bob", edit)
    texts = read_blobs(tmp_path, [row.blob, row.old, "", "0" * 40])
    assert texts == [f"{TEXT}more\n", TEXT, None, None]
    assert versions.since == 0


def test_renamed_and_edited_page_is_one_version(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    commit(tmp_path, 2, home=None, **{"a/b.org": f"{TEXT}x\n"})
    versions = read_log(tmp_path)
    assert kinds(versions)[0] == ("renamed", "a/b", "home")
    assert versions.rows[0].old == versions.rows[1].blob


def test_page_in_another_format_is_edited(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    commit(tmp_path, 2, home=None, **{"home.org": TEXT})
    assert kinds(read_log(tmp_path))[0] == ("edited", "home", "home")
    commit(tmp_path, 3, "Ada", **{"home.org": None, "home.rdoc": "other words\n"})
    assert kinds(read_log(tmp_path))[:2] == [("edited", "home", "home")] * 2


def test_pages_that_take_others_names_keep_their_histories(tmp_path: Path) -> None:
    commit(tmp_path, 1, "Ada", home=TEXT)
    commit(tmp_path, 2, "Bob", plan=OTHER)
    commit(tmp_path, 3, "Cid", home=None, x=TEXT)
    commit(tmp_path, 4, "Dan", x=None, plan=TEXT, **{"home.org": OTHER})
    pages = pages_of(read_log(tmp_path))
    assert [row.author for row in pages[PLAN]][-1] == "Bob"
    commit(tmp_path, 5, "Eve", plan=None, **{"home.org": None})
    commit(tmp_path, 6, "Fay", home="a\n", plan="b\n")
    assert [len(rows) for rows in pages_of(read_log(tmp_path)).values()] == [1, 1]


def test_pages_that_move_up_in_one_commit_keep_their_histories(tmp_path: Path) -> None:
    commit(tmp_path, 1, "Ada", home=TEXT)
    commit(tmp_path, 2, "Bob", plan=OTHER)
    commit(
        tmp_path, 3, "Cid", home=None, plan=None, **{"plan.org": TEXT, "x.md": OTHER}
    )
    pages = pages_of(read_log(tmp_path))
    assert {page: [row.author for row in rows] for page, rows in pages.items()} == {
        "plan": ["Cid", "Ada"],
        "x": ["Cid", "Bob"],
    }


def test_page_that_comes_back_is_another_one(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    commit(tmp_path, 2, home=None)
    commit(tmp_path, 3, "Bob", home=TEXT)
    dates = dates_of(read_log(tmp_path))[HOME]
    assert (dates.by, dates.count, dates.first == dates.changed) == ("Bob", 1, True)


def test_only_commits_since_the_last_look_are_read(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    known = read_log(tmp_path)
    marked = replace(known, rows=(replace(known.rows[0], author="known"),))
    assert authors(read_log(tmp_path, known=marked)) == ["known"]
    commit(tmp_path, 2, "Bob", home="other\n")
    assert authors(read_log(tmp_path, known=marked)) == ["Bob", "known"]
    assert read_log(tmp_path, known=known) == read_log(tmp_path)


def test_folders_that_a_commit_did_not_change_are_not_read(tmp_path: Path) -> None:
    """Of 10,000 pages most lie in such folders."""
    first = commit(tmp_path, 1, home=TEXT, plan=TEXT, **{"a/b.md": TEXT})
    commit(tmp_path, 2, home=OTHER, plan=None)
    repository = pygit2.Repository(str(tmp_path))
    known = read_log(tmp_path, first)
    folder = str(repository.revparse_single("HEAD^{tree}:a").id)
    (tmp_path / ".git/objects" / folder[:2] / folder[2:]).unlink()
    changed = [("edited", "home", "home"), ("deleted", "plan", "plan")]
    assert kinds(read_log(tmp_path, known=known))[:2] == changed


def test_rewritten_history_is_read_anew(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    first = read_log(tmp_path)
    commit(tmp_path, 2, "Lost", home="lost\n")
    known = read_log(tmp_path)
    repository = pygit2.Repository(str(tmp_path))
    repository.reset(first.head, pygit2.enums.ResetMode.HARD)
    commit(tmp_path, 3, "Bob", home="other\n")
    assert authors(read_log(tmp_path, known=known)) == ["Bob", "Ada"]


def test_history_is_cut_and_says_since_when(tmp_path: Path) -> None:
    for day in range(1, 6):
        commit(tmp_path, day, home=f"{day}\n")
    versions = read_log(tmp_path, commits_max=2)
    assert len(versions.rows) == 2
    assert versions.since == versions.rows[1].at
    assert dates_of(versions)[HOME].first == 0


def test_commit_without_its_parents_creates_nothing(tmp_path: Path) -> None:
    """A shallow clone has all pages in its first commit."""
    commit(tmp_path, 1, home=TEXT)
    cut = commit(tmp_path, 2, plan=TEXT)
    commit(tmp_path, 3, plan="other\n")
    (tmp_path / ".git/shallow").write_text(f"{cut}\n")
    versions = read_log(tmp_path)
    assert kinds(versions) == [("edited", "plan", "plan")]
    assert versions.since == versions.rows[0].at - 86_400


def test_pages_may_lie_in_a_folder_of_the_repository(tmp_path: Path) -> None:
    commit(tmp_path, 1, README=TEXT, **{"docs/home.md": TEXT})
    commit(tmp_path, 2, README="x\n")
    assert kinds(read_log(tmp_path, below="docs")) == [("created", "home", "")]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("ada@example.com", "ada"),
        ("Ada <ada@example.com>", "Ada"),
        ("Ada (ada @ example.com)", "Ada (ada"),
        ("Ada \x00@example.com", "Ada"),
        ("ada\uff20example.com", "ada"),
        ("ada%40example.com", "ada"),
        ("@ada", "@ada"),
        ("Ada\u061c B", "Ada B"),
        ("Ada\u202e\x00 B", "Ada B"),
        ("x" * 200, "x" * 80),
    ],
)
def test_name_is_shown_without_an_address(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_first_look_saw_no_change() -> None:
    first = seen_versions(UNKNOWN, 100, {}, {HOME: "1"})
    assert first == Versions(since=100)
    later = seen_versions(first, 200, {HOME: "1"}, {HOME: "2", PLAN: "1"})
    assert kinds(later) == [("edited", "home", "home"), ("created", "plan", "")]
    assert dates_of(later)[HOME].is_seen
    gone = seen_versions(later, 300, {HOME: "2", PLAN: "1"}, {HOME: "2"})
    assert kinds(gone)[0] == ("deleted", "plan", "plan")
    assert dates_of(gone).keys() == {HOME}


def test_what_was_seen_gives_way_to_commits(tmp_path: Path) -> None:
    commit(tmp_path, 1, home=TEXT)
    known = read_log(tmp_path)
    seen = seen_versions(known, 2**31, {HOME: "1"}, {HOME: "2"})
    assert dates_of(seen)[HOME].is_seen
    assert read_log(tmp_path, known=seen) == known
