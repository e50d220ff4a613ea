from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.folder.rooms import page_folder
from wikisync.core.model import Format, Page, Slug, digest_of
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder import pages as pages_module
from wikisync.folder.clashes import Folding
from wikisync.folder.ignore import Patterns
from wikisync.folder.index import IndexedFile
from wikisync.folder.naming import title_of
from wikisync.folder.pages import PageFolder
from wikisync.folder.scan import scan_pages

MARKDOWN = Format.MARKDOWN


def page(slug: str, content: str = "text", page_format: Format = MARKDOWN) -> Page:
    return Page(Slug(slug), page_format, content)


@pytest.fixture
def folder(tmp_path: Path) -> PageFolder:
    return page_folder(tmp_path)


def test_file_holds_the_content_byte_for_byte(
    folder: PageFolder, tmp_path: Path
) -> None:
    content = "\ufeff# Títle\r\n\r\n\x0cno end of line"
    folder.write_many([(page("dir/home", content), None)])
    assert (tmp_path / "dir/home.md").read_bytes() == content.encode()
    assert folder.snapshot().pages[Slug("dir/home")].digest == digest_of(content)
    found = folder.read(Slug("dir/home"))
    assert found is not None
    assert found.content == content


def test_written_page_has_the_services_title(folder: PageFolder) -> None:
    (written,) = folder.write_many([(page("dir/my-page"), None)])
    assert written == Page(Slug("dir/my-page"), MARKDOWN, "text", "my page")
    assert title_of(Slug("a--b")) == "a  b"


def test_name_that_a_person_gave_is_kept(folder: PageFolder, tmp_path: Path) -> None:
    (tmp_path / "100% sure.markdown").write_text("old")
    folder.write_many([(page("100% sure", "new"), digest_of("old"))])
    assert [path.name for path in tmp_path.iterdir()] == ["100% sure.markdown"]
    assert (tmp_path / "100% sure.markdown").read_text() == "new"


def test_case_twins_get_two_files_on_a_disk_that_folds(
    folder: PageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding = Folding(case=True)
    monkeypatch.setattr(pages_module, "probe_folding", lambda _root: folding)
    folder.write_many([(page("Home", "a"), None), (page("home", "b"), None)])
    names = sorted(path.name.lower() for path in tmp_path.iterdir())
    assert len(set(names)) == 2
    assert set(folder.snapshot().pages) == {"Home", "home"}


def test_page_in_another_format_does_not_replace_an_edited_file(
    folder: PageFolder, tmp_path: Path
) -> None:
    folder.write_many([(page("a", "edited"), None)])
    (result,) = folder.write_many([(page("a", "new", Format.ORG), digest_of("old"))])
    assert isinstance(result, PreconditionFailed)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a.md": "edited"}


def test_new_page_does_not_replace_one_in_another_format(folder: PageFolder) -> None:
    folder.write_many([(page("a", "theirs"), None)])
    (result,) = folder.write_many([(page("a", "new", Format.ORG), None)])
    assert isinstance(result, PreconditionFailed)


@pytest.mark.parametrize(
    ("content", "what"), [("a\x00b", "a NUL"), ("a\ud800", "half a character")]
)
def test_page_that_no_text_file_can_hold_is_refused_alone(
    folder: PageFolder, content: str, what: str
) -> None:
    bad, good = folder.write_many([(page("bad", content), None), (page("good"), None)])
    assert isinstance(bad, FolderError)
    assert f"the page bad contains {what}" in bad.message
    assert isinstance(good, Page)


def test_page_whose_path_is_too_long_is_refused_alone(folder: PageFolder) -> None:
    long, good = folder.write_many(
        [(page("deep/" * 700 + "x"), None), (page("good"), None)]
    )
    assert isinstance(long, FolderError)
    assert "too long" in long.message
    assert len(long.message) < 200
    assert isinstance(good, Page)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"caf\xe9", "not UTF-8 at byte 3"),
        (b"\xff\xfeh\x00i\x00", "is not UTF-8 but UTF-16"),
        (b"h\x00i", "NUL"),
        (b"\xed\xa0\x80", "not UTF-8"),
    ],
)
def test_file_that_is_no_text_is_a_problem_and_unreadable(
    folder: PageFolder, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "bad.md").write_bytes(content)
    (tmp_path / "good.md").write_bytes(b"fine")
    snapshot = folder.snapshot()
    (problem,) = snapshot.problems
    assert (problem.code, problem.subject) == ("page-not-text", "bad.md")
    assert words in problem.message
    assert snapshot.unreadable == {"bad"}
    assert set(snapshot.pages) == {"good"}


def test_reading_a_file_that_is_no_text_is_an_error(
    folder: PageFolder, tmp_path: Path
) -> None:
    (tmp_path / "bad.md").write_bytes(b"\xff")
    folder.rescan()
    with pytest.raises(FolderError, match=r"bad\.md: is not UTF-8"):
        folder.read(Slug("bad"))


def test_page_with_two_files_is_unreadable(folder: PageFolder, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    (tmp_path / "a.org").write_text("y")
    snapshot = folder.snapshot()
    assert snapshot.unreadable == {"a"}
    assert not snapshot.pages


def test_page_that_is_far_too_large_is_not_read(
    folder: PageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "PAGE_BYTES_MAX", 3)
    (tmp_path / "big.md").write_text("four")
    snapshot = folder.snapshot()
    assert snapshot.unreadable == {"big"}
    assert snapshot.problems[0].code == "page-unreadable"


def test_file_that_goes_while_we_scan_is_simply_not_there(
    folder: PageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("x")
    scan = scan_pages

    def scan_and_lose(
        root: Path, patterns: Patterns, known: Mapping[str, IndexedFile]
    ) -> object:
        scanned = scan(root, patterns, known)
        (tmp_path / "a.md").unlink()
        return scanned

    monkeypatch.setattr(pages_module, "scan_pages", scan_and_lose)
    snapshot = folder.snapshot()
    assert not snapshot.pages
    assert not snapshot.problems


def test_page_deleted_and_written_again_gets_its_plain_name(
    folder: PageFolder, tmp_path: Path
) -> None:
    folder.write_many([(page("a"), None)])
    folder.delete(Slug("a"), expected=digest_of("text"))
    folder.write_many([(page("a"), None)])
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_directory_that_a_disk_was_mounted_on_is_left_empty(
    folder: PageFolder, tmp_path: Path
) -> None:
    slugs = ("disk/a", "disk/deep/b", "gone/c", "used/d", "e")
    folder.write_many([(page(slug), None) for slug in slugs])
    pages = [(Slug(slug), MARKDOWN) for slug in slugs]
    assert folder.emptied(pages) == frozenset()
    for slug in slugs:
        (tmp_path / f"{slug}.md").unlink()
    (tmp_path / "disk/deep").rmdir()
    (tmp_path / "gone").rmdir()
    (tmp_path / "used/notes.txt").write_text("notes")
    assert folder.emptied(pages) == {"disk/a", "disk/deep/b"}


def test_directory_behind_a_link_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "wiki/dir").symlink_to(tmp_path / "empty")
    assert page_folder(tmp_path / "wiki").emptied([(Slug("dir/a"), MARKDOWN)]) == set()
