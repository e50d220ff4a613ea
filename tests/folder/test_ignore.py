import re
import time
from pathlib import Path

import pytest

from wikisync.core.model import Format, Slug, split_extension
from wikisync.folder import ignore
from wikisync.folder.ignore import FOREIGN, Names
from wikisync.folder.naming import parse_path, path_of


@pytest.mark.parametrize(
    "name",
    [
        *(".hidden.md", ".#home.md", ".home.md.swp", ".~lock.home.md#", "home.md~"),
        *("home.md.swp", "4913", "#home.md#", "~$home.md", "home.tmp", "home.PART"),
        *("Thumbs.db", "desktop.ini", "home.conflict.md", "home.Conflict.rst.txt"),
    ],
)
def test_file_of_an_editor_or_a_desktop_is_ignored(name: str) -> None:
    assert ignore.is_ignored_file(name)


@pytest.mark.parametrize(
    "name", ["home.md", "_sidebar.md", "a~b.md", "conflict.md", "#1.md", "my.tmp.md"]
)
def test_page_is_not_ignored(name: str) -> None:
    assert not ignore.is_ignored_file(name)


def test_only_hidden_folders_are_ignored() -> None:
    assert ignore.is_ignored_folder(".wikisync")
    assert not ignore.is_ignored_folder("drafts~")


@pytest.mark.parametrize(
    "name", [name for one in FOREIGN.folders for name in one.names]
)
def test_page_of_the_wiki_in_a_folder_of_a_program_gets_another_folder(
    name: str,
) -> None:
    """A bin that came into the wiki before is a folder of pages there."""
    folder = name.replace("[0-9]", "1").replace("*", "1")
    assert ignore.folder_maker(folder) is not None
    path = path_of(Slug(f"{folder}/a"), Format.MARKDOWN)
    assert parse_path(path) == (f"{folder}/a", Format.MARKDOWN)
    # the first of two names tells nothing by itself
    is_one = "/" not in folder
    assert (ignore.folder_maker(path.rpartition("/")[0]) is None) is is_one


@pytest.mark.parametrize(
    "name",
    [
        *("$Recycle.Bin", "system volume information", "#Recycle", "@EADIR"),
        *("Node_Modules", "__macosx", "Logseq/bak", "$GetCurrent", "Recycled", "CVS"),
    ],
)
def test_folder_of_a_program_is_known_in_the_case_that_its_system_takes(
    name: str,
) -> None:
    assert ignore.folder_maker(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        *("CVs", "temporary items", "Recycler", "trash", "bin", "build", "backup"),
        *("vendor", "Recycle Bin", "env", "archive", "logseq", "bak", "venv-notes"),
        *("recycle", "tmp"),
    ],
)
def test_name_that_a_wiki_may_use_is_a_folder_of_pages(name: str) -> None:
    assert ignore.folder_maker(name) is None


@pytest.mark.parametrize("file", FOREIGN.files, ids=str)
def test_file_of_a_system_is_ignored(file: Names) -> None:
    assert ignore.is_ignored_file(file.example.replace("\\r", "\r"))


def _copied(name: str, *beside: str) -> str | None:
    split = split_extension(name)
    assert split is not None
    found = ignore.copiers(split[0]) if ignore.may_be_copy(name) else ()
    return next((who for who, one, _ in found if one in {"", *beside}), None)


@pytest.mark.parametrize("copy", FOREIGN.copies, ids=str)
def test_copy_is_known_by_its_name(copy: Names) -> None:
    assert _copied(copy.example) == copy.who


@pytest.mark.parametrize("copy", [*FOREIGN.weak_copies, FOREIGN.copy_of], ids=str)
def test_copy_is_known_beside_its_original(copy: Names) -> None:
    assert _copied(copy.example, "home") == copy.who
    assert _copied(copy.example) is None


@pytest.mark.parametrize(
    "name",
    [
        "home (SFConflict ann@example.com 2024-01-01-12-00-00).md",
        *("home [conflicted].md", "home (conflicted).md", "home[Conflict].md"),
        "home (# Edit conflict 2024-01-01 AbC #).md",
        "home (LAPTOP-AB12CD3 conflict 2024-01-01).md",
        *("home(冲突_ann_2024-01-01).md", "home（冲突_ann_2024-01-01）.md"),
        "home (Konfliktkopia 2024-01-01).md",
        "home (конфликтующая копия 2024-01-01).md",
        "home (Copia in conflitto di Ann 2024-01-01).md",
        *(
            "home (アンの競合コピー 2024-01-01).md",
            "home (conflict, ann, 2024-01-01).md",
        ),
        *("home (conflict #2 on 2024-01-01).md", "home_gs_conflict_2024.md"),
        *("home-conflict-20240101-120000.md", "Home (Case Conflict 1).md"),
        *("HOME (case clash from Ann 2024-01-01 120000).md", "home..path2.md"),
        *("home.conflict2.md", "home_BACKUP_1234.md", "home.REMOTE.1234.org"),
        "home_Andy-PC_Jan-03-0901-2013_CaseConflict_1.md",
        *("home-LAPTOP-AB12CD34-2.md", "home-Anns-MacBook-Pro.md", "home-ANN-PC.md"),
        *("home-ANNS-MBP.md", "home (Kopia w konflikcie).md"),
        *("home (\u00e7ak\u0131\u015fan kopya).md", "home.osync_backup.md"),
        *("home~HEAD.md", "home.path1.md", "home.conflict-20240101.md", "home 3.md"),
        *("home (2).md", "home.bak.md", "home~.md"),
        "home (Ann's conflicted copy 2024-01-01 (1)).md",
        *("home-Ann’s MacBook Pro.md", "home-Anns-Mac-mini-2.md", "home 12.md"),
        *("home copy.md", "home - Kopie (2).md", "home - 副本.md", "Kopie von home.md"),
    ],
)
def test_name_that_a_program_writes_behind_another_is_a_copy(name: str) -> None:
    assert _copied(name, "home", "a") is not None


@pytest.mark.parametrize(
    "name",
    [
        *("home-2.md", "home 1.md", "home 2024.md", "home (2024).md"),
        *("home-conflicts.md", "home-conflict-resolution.md", "home-no-conflict.md"),
        *("home (draft).md", "home-API.md", "home-desktop.md", "home-local.md"),
        *("home.v2.md", "a.sync-conflict-notes.md", "conflicted copy.md"),
    ],
)
def test_other_names_are_no_copies(name: str) -> None:
    assert _copied(name, "home", "a") is None


@pytest.mark.parametrize(
    "name", ["Notes 2.md", "Meeting (1).md", "war-conflict.md", "a.orig.md"]
)
def test_page_without_an_original_is_no_copy(name: str) -> None:
    assert _copied(name, "home") is None


@pytest.mark.parametrize(
    "ending", [end for one in FOREIGN.stubs for end in one.endings]
)
def test_stub_stands_for_the_file_of_its_name(ending: str) -> None:
    for name in (f"my home.md.{ending}", f".my home.md.{ending}"):
        stub = ignore.stub_of(name)
        assert stub is not None
        assert stub.is_sure
        assert stub.names == ("my home.md",)


@pytest.mark.parametrize(
    "name",
    ["bookmark.url", "v1.2.desktop", ".icloud", "tag.cloud", "data.csv.zip", ".gdoc"],
)
def test_file_that_people_make_is_no_stub(name: str) -> None:
    assert ignore.stub_of(name) is None


def test_stub_without_an_extension_stands_for_a_page_of_any_format() -> None:
    stub = ignore.stub_of("home.gdoc")
    assert stub is not None
    assert {"home.md", "home.org", "home.adoc"} <= set(stub.names)


def test_the_guide_shows_the_whole_list() -> None:
    guide = Path(__file__).parents[2] / "sample-site/handbook/folder/other-programs.md"
    shown: list[tuple[str, ...]] = []
    for line in guide.read_text("utf-8").splitlines():
        if line.startswith("| ") and "`" in line.rpartition(" | ")[2]:
            who, _, names = line.removeprefix("| ").partition(" | ")
            shown.append((who[:1].lower() + who[1:], *re.findall("`([^`]+)`", names)))
    stubs = [
        (one.who, *(f"{stub}.{ending}" for ending in one.endings))
        for one in FOREIGN.stubs
        for stub in ["home" if one.drops_extension else "home.md"]
    ]
    stubs[0] = (stubs[0][0], ".home.md.icloud")
    folders = [(one.who, *one.names) for one in FOREIGN.folders]
    copies = [
        (one.who if one.is_sure else f"{one.who} ≈", one.example)
        for one in (
            *FOREIGN.copies,
            *FOREIGN.weak_copies,
            FOREIGN.copy_of,
            *FOREIGN.files,
        )
    ]
    listed = [
        (who[:1].lower() + who[1:], *names)
        for who, *names in (*stubs, *folders, *copies)
    ]
    assert shown == listed


# -- locks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "page"),
    [
        (".#home.md", "home.md"),
        (".home.md.swp", "home.md"),
        (".home.md.swo", "home.md"),
        ("~$home.md", "home.md"),
        (".~lock.home.md#", "home.md"),
        (".a b.conflict.md.swx", "a b.conflict.md"),
    ],
)
def test_lock_file_names_the_file_that_is_open(name: str, page: str) -> None:
    assert ignore.locked_name(name) == page


@pytest.mark.parametrize(
    "name", ["home.md", ".swp", ".home.md", "home.md~", ".#", "~$"]
)
def test_other_names_are_no_locks(name: str) -> None:
    assert ignore.locked_name(name) is None


# -- patterns of a person --------------------------------------------------------------


def hides(patterns: str, path: str) -> bool:
    found, problems = ignore.parse_patterns(patterns)
    assert problems == ()
    return found.hides(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("draft.md", "draft.md"),
        ("draft.md", "dir/draft.md"),
        ("*.org", "a/b/c.org"),
        ("drafts/", "drafts/a.md"),
        ("drafts/", "x/drafts/y/a.md"),
        ("/drafts/", "drafts/a.md"),
        ("a/*.md", "a/b.md"),
        ("a/**", "a/b/c.md"),
        ("**/tmp/*.md", "tmp/x.md"),
        ("**/tmp/*.md", "a/b/tmp/x.md"),
        ("a/**/z.md", "a/z.md"),
        ("a/**/z.md", "a/b/c/z.md"),
        ("?.md", "é.md"),
        ("[a-c]x.md", "bx.md"),
        ("[!a-c]x.md", "dx.md"),
        ("[]]x.md", "]x.md"),
        ("[x.md", "[x.md"),
        ("\\#x.md", "#x.md"),
        ("\\!x.md", "!x.md"),
        ("a\\*.md", "a*.md"),
        ("x.md   ", "x.md"),
        ("x\\ ", "x "),
        ("*a*b*.md", "xaybz.md"),
        ("*aab.md", "aaaab.md"),
        ("dir", "dir/a.md"),
        ("# no\n\nx.md", "x.md"),
    ],
)
def test_path_is_hidden(pattern: str, path: str) -> None:
    assert hides(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("draft.md", "mydraft.md"),
        ("/draft.md", "dir/draft.md"),
        ("a/*.md", "a/b/c.md"),
        ("a/*.md", "x/a/b.md"),
        ("draft.md/", "draft.md"),
        ("?.md", "ab.md"),
        ("[!a]b", "/b"),
        ("[z-a]x.md", "bx.md"),
        ("#x.md", "#x.md"),
        ("a/**", "a"),
        ("x*y", "x/y"),
        ("", "a.md"),
        ("*.md\n!keep.md", "dir/keep.md"),
    ],
)
def test_path_is_not_hidden(pattern: str, path: str) -> None:
    assert not hides(pattern, path)


def test_last_line_that_fits_counts() -> None:
    assert hides("*.md\n!a.md\na.md", "a.md")


@pytest.mark.parametrize("path", ["a.md", "a/b [c]*?\\.md", "#a.md", "!a", "a "])
def test_pattern_of_a_path_fits_it_alone(path: str) -> None:
    patterns, problems = ignore.parse_patterns(ignore.pattern_of(path))
    assert problems == ()
    assert patterns.is_ignored(path)
    assert not patterns.is_ignored(f"x/{path}")
    assert not patterns.is_ignored(path.replace("b", "bb").replace("a", "aa"))


def test_nothing_in_an_ignored_folder_is_taken_back() -> None:
    assert hides("drafts/\n!drafts/keep.md", "drafts/keep.md")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x" * (ignore.PATTERN_CHARS_MAX + 1), "is longer than"),
        ("**/" * (ignore.ANY_FOLDERS_MAX + 1) + "x", "has ** more than"),
        ("!", "names nothing"),
        ("/", "names nothing"),
    ],
)
def test_line_that_is_no_pattern_is_told_with_its_number(line: str, words: str) -> None:
    found, (problem,) = ignore.parse_patterns(f"a.md\n{line}\nb.md")
    assert problem.subject == ".wikisyncignore, line 2"
    assert words in problem.message
    assert found.hides("a.md")
    assert found.hides("b.md")


def test_too_many_patterns_are_told() -> None:
    found, problems = ignore.parse_patterns("x.md\n" * (ignore.PATTERNS_MAX + 2))
    assert (len(found.rules), len(problems)) == (ignore.PATTERNS_MAX, 2)


def test_hostile_pattern_costs_little_time() -> None:
    found, _ = ignore.parse_patterns("*a" * 100 + "b")
    began = time.process_time()
    assert not found.hides("a" * 255)
    assert time.process_time() - began < 0.5
