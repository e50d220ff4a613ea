import os
import stat
from pathlib import Path

import pytest

from wikisync.core.model import Format, PageState, Slug, digest_of
from wikisync.core.system.file_status import status_of
from wikisync.errors import FolderError
from wikisync.folder import scan
from wikisync.folder.ignore import parse_patterns
from wikisync.folder.index import IndexedFile
from wikisync.folder.naming import parse_path
from wikisync.folder.scan import ScannedFolder, scan_pages

TEXT = digest_of("text")


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def slugs(scanned: ScannedFolder) -> list[str]:
    return [page.slug for page in scanned.pages]


def codes(scanned: ScannedFolder) -> list[tuple[str, str]]:
    return [(problem.code, problem.subject) for problem in scanned.problems]


def test_pages_are_listed_in_the_order_of_their_paths(tmp_path: Path) -> None:
    put(tmp_path, "b.md", "a/z.org", "a.rdoc", "Z.asciidoc", "é.txt")
    scanned = scan_pages(tmp_path)
    assert slugs(scanned) == ["Z", "a", "a/z", "b", "é"]
    assert scanned.is_complete


def test_page_is_told_with_what_the_disk_knows(tmp_path: Path) -> None:
    put(tmp_path, "100% sure.markdown")
    (page,) = scan_pages(tmp_path).pages
    status = (tmp_path / "100% sure.markdown").stat()
    assert (page.path, page.slug) == ("100% sure.markdown", "100% sure")
    assert page.format is Format.MARKDOWN
    assert page.status == status_of(status)


def test_names_of_known_files_are_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "%2E%2E/a%3Ab.md", "home.org", "notes.txt")
    first = scan_pages(tmp_path)
    states = {one.path: PageState(one.slug, one.format, TEXT) for one in first.pages}
    known: dict[str, IndexedFile] = {
        path: IndexedFile(TEXT, 4, page=state) for path, state in states.items()
    }
    put(tmp_path, "new.md")
    (tmp_path / "home.org").unlink()
    asked: list[str] = []

    def parse(path: str) -> tuple[Slug, Format] | None:
        asked.append(path)
        return parse_path(path)

    monkeypatch.setattr(scan, "parse_path", parse)
    again = scan_pages(tmp_path, known=known)
    assert slugs(again) == ["../a:b", "new", "notes"]
    assert "new.md" in asked
    assert known.keys().isdisjoint(asked)


def test_attachments_are_listed_apart(tmp_path: Path) -> None:
    text = f"uploads/{'0a' * 16}/notes.md"
    put(tmp_path, "uploads/0a/b.png", text, "home.md")
    scanned = scan_pages(tmp_path)
    assert scanned.attachments.keys() == {"uploads/0a/b.png", text}
    assert slugs(scanned) == ["home"]
    assert scanned.left_out == []


def test_what_is_ignored_is_ignored_without_a_word(tmp_path: Path) -> None:
    put(tmp_path, ".git/x.md", ".wikisync/tmp/y.md", "._b.md", "c.part")
    put(tmp_path, "uploads/0a/.DS_Store", "wikisync.toml", "a/.secret", "a/Thumbs.db")
    assert scan_pages(tmp_path) == ScannedFolder()


@pytest.mark.parametrize(
    ("path", "code", "subject"),
    [
        ("a/.x.md", "name-hidden", "a/.x.md"),
        ("a/x.conflict.md", "conflict-stray", "a/x"),
        ("x.Conflict.md", "conflict-stray", "x.Conflict.md"),
        ("uploads/a/x.org", "page-in-uploads", "uploads/a/x.org"),
        ("%75ploads/x.md", "page-in-uploads", "%75ploads/x.md"),
    ],
)
def test_text_that_is_no_page_for_its_name_is_told_beside_the_problems(
    tmp_path: Path, path: str, code: str, subject: str
) -> None:
    """A site is built without a word of them; a sync tells them."""
    put(tmp_path, path)
    scanned = scan_pages(tmp_path)
    assert [(one.code, one.subject) for one in scanned.left_out] == [(code, subject)]
    assert (scanned.pages, scanned.problems) == ((), [])
    (line,) = [one.hint.rpartition(": ")[2] for one in scanned.left_out]
    patterns, _ = parse_patterns(line)
    assert scan_pages(tmp_path, patterns).left_out == []


def test_folders_of_programs_are_left_out_and_told_once_for_each_name(
    tmp_path: Path,
) -> None:
    put(tmp_path, "home.md", "a/@eaDir/b/c.md", "@eaDir/d.md", "logseq/bak/e.md")
    put(tmp_path, "logseq/pages/f.md", "bak/g.md")
    scanned = scan_pages(tmp_path)
    assert slugs(scanned) == ["bak/g", "home", "logseq/pages/f"]
    assert {"@eaDir", "a/@eaDir", "logseq/bak"} <= scanned.hidden.keys()
    assert [(one.code, one.subject) for one in scanned.left_out] == [
        ("folder-left-out", "@eaDir"),
        ("folder-left-out", "logseq/bak"),
    ]
    assert "1 more of this name" in scanned.left_out[0].message
    assert all(one.is_note for one in scanned.left_out)
    silent, _ = parse_patterns("/@eaDir/")
    shown = scan_pages(tmp_path, silent=silent)
    assert [one.subject for one in shown.left_out] == ["logseq/bak", "a/@eaDir"]
    assert slugs(shown) == slugs(scanned)
    for sign, found in (("", slugs(scanned)), ("!", ["@eaDir/d", "a/@eaDir/b/c"])):
        patterns, _ = parse_patterns(f"{sign}**/@eaDir/\n{sign}/logseq/bak/")
        again = scan_pages(tmp_path, patterns)
        assert (again.left_out, slugs(again)[: len(found)]) == ([], found)


def test_repository_of_its_own_is_left_out_and_a_submodule_is_not(
    tmp_path: Path,
) -> None:
    """A work tree beside the pages would come to the wiki as a copy of all of them."""
    put(tmp_path, ".git/HEAD", "home.md", "team/a.md", "team/copy/team/a.md")
    put(tmp_path, "team/clone/.git/HEAD", "team/clone/b.md", "odd/.git/x", "odd/c.md")
    put(tmp_path, "module/d.md")
    (tmp_path / "team/copy/.git").write_text("gitdir: /docs/.git/worktrees/copy\n")
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module\n")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").symlink_to(tmp_path / "module/.git")
    scanned = scan_pages(tmp_path)
    assert slugs(scanned) == ["home", "module/d", "odd/c", "team/a"]
    assert [(one.code, one.subject) for one in scanned.left_out] == [
        ("folder-left-out", "team/clone"),
        ("folder-left-out", "team/copy"),
    ]
    assert scanned.hidden.keys() == {"team/clone", "team/copy"}
    assert "git has a repository of its own" in scanned.left_out[0].message
    patterns, _ = parse_patterns("!/team/clone/\n/team/copy/\n")
    again = scan_pages(tmp_path, patterns)
    assert slugs(again)[-1] == "team/clone/b"
    assert again.left_out == []


@pytest.mark.parametrize(
    ("stub", "missing"),
    [
        ("team/.a.md.icloud", "team/a.md"),
        ("a.md.nextcloud", "a.md"),
        ("a.org.cloud", "a.org"),
        ("team.cloudf", "team"),
        ("a.md.url", "a.md"),
        ("a.gdoc", "a.md"),
        ("a.md.gdoc", "a.md"),
        ("uploads/0a/.b.png.icloud", "uploads/0a/b.png"),
        ("pictures/b.png.rsls", "pictures/b.png"),
    ],
)
def test_file_for_which_a_stub_stands_is_hidden_and_told(
    tmp_path: Path, stub: str, missing: str
) -> None:
    put(tmp_path, stub)
    scanned = scan_pages(tmp_path)
    assert scanned.hidden == {missing: "file-elsewhere"}
    told = [one.code for one in (*scanned.problems, *scanned.elsewhere.values())]
    assert told == ["file-elsewhere"]
    assert scanned.loose == frozenset()
    # a person who leaves stubs out has not deleted what they stand for
    patterns, _ = parse_patterns(f"/{stub}")
    ignored = scan_pages(tmp_path, patterns)
    assert ignored.hidden == {missing: "file-elsewhere"}
    assert (codes(ignored), ignored.elsewhere) == ([], {})
    put(tmp_path, missing if "." in missing else f"{missing}/a.md")
    assert scan_pages(tmp_path).hidden.keys() <= {"team"}


def test_file_that_is_listed_and_kept_in_the_cloud_is_hidden_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only macOS has such files."""
    put(tmp_path, "a.md")
    monkeypatch.setattr(scan, "is_dataless", lambda status: status.st_size == 4)
    scanned = scan_pages(tmp_path)
    assert slugs(scanned) == []
    assert scanned.hidden == {"a.md": "file-elsewhere"}
    assert codes(scanned) == [("file-elsewhere", "a.md")]


@pytest.mark.parametrize("content", ["", " "])
def test_stub_of_a_program_that_nobody_knows_has_no_text(
    tmp_path: Path, content: str
) -> None:
    """Many cloud programs are one program under other names."""
    put(tmp_path, "b.md.bak", "c.png.sciebo")
    (tmp_path / "a.md.sciebo").write_text(content)
    (tmp_path / "b.md.bak").write_text("an old text")
    (tmp_path / ".d.md.swp").touch()
    assert codes(scan_pages(tmp_path)) == [("file-elsewhere", "a.md")]


def test_copy_is_weakly_known_where_its_original_is_in_the_same_folder(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a/Notes.bak.md", "b/Notes.bak.md", "b/Notes.md", "c/Notes.bak.md")
    put(tmp_path, "c/Notes.org", "Notes.md", "b/Notes 2.md")
    scanned = scan_pages(tmp_path)
    assert scanned.copies.keys() == {"b/Notes.bak"}
    assert scanned.likely_copies[Slug("a/Notes.bak")].keys() == {"a/Notes"}
    assert scanned.likely_copies[Slug("b/Notes 2")].keys() == {"b/Notes"}
    patterns, _ = parse_patterns("!/b/Notes.bak.md")
    assert scan_pages(tmp_path, patterns).copies == {}


def test_copy_is_known_beside_a_stub_and_in_another_form_of_unicode(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a/.Notes.md.icloud", "a/Notes.bak.md", "b/Gr\u00f6\u00dfe.md")
    put(tmp_path, "b/Gro\u0308\u00dfe.bak.md")
    copies = scan_pages(tmp_path).copies
    assert copies.keys() == {"a/Notes.bak", "b/Gr\u00f6\u00dfe.bak"}


def test_loose_files_are_all_that_are_neither_pages_nor_attachments(
    tmp_path: Path,
) -> None:
    put(tmp_path, "home.md", "uploads/0a/b.png", "a/c.png", "noext", "a/uploads/d.csv")
    (tmp_path / "link.png").symlink_to(tmp_path / "a" / "c.png")
    (tmp_path / "folder").symlink_to(tmp_path / "a")
    assert scan_pages(tmp_path).loose == {"a/c.png", "noext", "a/uploads/d.csv"}


def test_links_are_not_followed_but_told(tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md", "wiki/home.md")
    (tmp_path / "wiki" / "page.md").symlink_to(tmp_path / "outside" / "secret.md")
    (tmp_path / "wiki" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "wiki" / "uploads").symlink_to(tmp_path / "outside")
    (tmp_path / "wiki" / "picture.png").symlink_to(tmp_path / "outside")
    scanned = scan_pages(tmp_path / "wiki")
    assert slugs(scanned) == ["home"]
    assert sorted(codes(scanned)) == [
        ("link-ignored", "folder"),
        ("link-ignored", "page.md"),
        ("link-ignored", "uploads"),
    ]


def test_linked_attachment_is_told(tmp_path: Path) -> None:
    put(tmp_path, "secret", "uploads/0a/b.png")
    (tmp_path / "uploads" / "0a" / "c.png").symlink_to(tmp_path / "secret")
    assert codes(scan_pages(tmp_path)) == [("link-ignored", "uploads/0a/c.png")]


def test_two_files_of_one_page_are_told_and_the_first_counts(tmp_path: Path) -> None:
    put(tmp_path, "a.org", "a.md", "b 100%25.md", "b 100%.md")
    scanned = scan_pages(tmp_path)
    assert [page.path for page in scanned.pages] == ["a.md", "b 100%.md"]
    assert codes(scanned) == [
        ("duplicate-page", "a.org"),
        ("duplicate-page", "b 100%25.md"),
    ]
    assert scanned.duplicates == {"a", "b 100%"}


def test_name_that_is_not_text_is_told_printably(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("x")
    (problem,) = scan_pages(tmp_path).problems
    assert (problem.code, problem.subject) == ("name-not-text", "caf\\xe9.md")


def test_attachment_with_an_unsafe_name_is_told(tmp_path: Path) -> None:
    put(tmp_path, "uploads/0a/a\\b.png")
    scanned = scan_pages(tmp_path)
    assert scanned.attachments == {}
    assert codes(scanned) == [("attachment-name", "uploads/0a/a\\b.png")]


def test_pipe_in_the_place_of_a_page_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    scanned = scan_pages(tmp_path)
    assert scanned.pages == ()
    assert scanned.hidden == {"pipe.md": "no-regular-file"}
    assert codes(scanned) == [("no-regular-file", "pipe.md")]
    assert "remove it" in scanned.problems[0].hint


def test_pipe_that_can_be_no_page_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    for name in ("pipe", "kept-out.md", ".hidden.md", "uploads/pipe.md"):
        os.mkfifo(tmp_path / name)
    patterns, _ = parse_patterns("kept-out.md\n")
    assert codes(scan_pages(tmp_path, patterns)) == []


def test_file_that_becomes_a_pipe_during_the_scan_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "home.md")

    def replaced(path: str) -> object:
        if not stat.S_ISFIFO((tmp_path / path).stat().st_mode):
            (tmp_path / path).unlink()
            os.mkfifo(tmp_path / path)
        return parse_path(path)

    monkeypatch.setattr(scan, "parse_path", replaced)
    scanned = scan_pages(tmp_path)
    assert scanned.hidden == {"home.md": "no-regular-file"}
    assert codes(scanned) == [("no-regular-file", "home.md")]


def test_missing_folder_is_an_error_and_not_an_empty_wiki(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="does not exist"):
        scan_pages(tmp_path / "gone")


def test_folder_in_the_place_of_a_page_is_told(tmp_path: Path) -> None:
    (tmp_path / "guide.md").mkdir()
    put(tmp_path, "notes.md/sub.md")
    scanned = scan_pages(tmp_path)
    assert codes(scanned) == [("folder-in-place", "guide.md")]
    assert {"guide.md", "notes.md"} <= scanned.hidden.keys()
    assert scanned.in_place == ["notes.md"]


@pytest.mark.parametrize("name", ["guide.conflict.md", "uploads/guide.md"])
def test_folder_with_a_name_that_no_page_has_is_no_page_in_place(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    assert codes(scan_pages(tmp_path)) == []
