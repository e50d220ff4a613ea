"""Folders by digest: what is read again, what is a problem."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from wikisync.core.model import Digest, Format, PageState, Slug, digest_of
from wikisync.core.system.file_status import SETTLED_NS
from wikisync.folder.index import FolderIndex
from wikisync.folder.safe_open import CHUNK_BYTES
from wikisync.site import sources
from wikisync.site.cache import open_cache

FORGED = Digest("f" * 64)
"""What no file holds: it comes from the cache, and nothing was read."""


def clock(folder: Path, after_ns: int) -> Callable[[], int]:
    """So long after the last change of any file."""
    changed = [path.lstat().st_ctime_ns for path in folder.rglob("*")]
    return lambda: max(changed) + after_ns


def scanned(folder: Path, *, after_ns: int = 10 * SETTLED_NS) -> sources.ScannedWiki:
    with open_cache(folder.parent / "cache") as cache:
        source = wiki_source(folder)
        return sources.scan_wiki(source, cache, now_ns=clock(folder, after_ns))


def forge(folder: Path) -> None:
    """Have the cache say something else of all files."""
    (file,) = (folder.parent / "cache" / sources.SCANS_FOLDER).iterdir()
    index = FolderIndex(folder, file)
    for path, known in list(index.files.items()):
        index.note(path, replace(known, digest=FORGED))
    index.keep()


PICTURE = "-- a.md --\none\n-- p.png --\none\n"


def linked(folder: Path, *, after_ns: int = 10 * SETTLED_NS) -> Digest:
    """What a build would see of the picture, which a page links to."""
    wiki = scanned(folder, after_ns=after_ns)
    digest = wiki.loose["p.png"].digest
    with open_cache(folder.parent / "cache") as cache:
        sources.settle(wiki, cache, now_ns=clock(folder, after_ns))
    return digest


def test_pages_of_a_folder_are_counted_before_they_are_looked_at(
    tmp_path: Path,
) -> None:
    folder = unpack("-- a.md --\nA\n-- b.md --\nB\n", tmp_path / "w")
    counted: list[int] = []

    def listed(pages: int) -> None:
        counted.append(pages)
        (folder / "b.md").unlink()

    with open_cache(tmp_path / "cache") as cache:
        wiki = sources.scan_wiki(wiki_source(folder), cache, listed=listed)
    assert counted == [2]
    assert list(wiki.pages) == ["a"]


def test_pages_come_sorted_by_slug_with_their_digests(tmp_path: Path) -> None:
    folder = unpack("-- b.md --\nB\n-- a/c.org --\nC\n", tmp_path / "w")
    pages = scanned(folder).pages
    assert list(pages) == ["a/c", "b"]
    assert pages[Slug("b")].digest == digest_of("B\n")


def test_attachments_come_with_size_and_digest(tmp_path: Path) -> None:
    name = "uploads/0123456789abcdef0123456789abcdef/f.txt"
    folder = unpack(f"-- {name} --\nfile\n", tmp_path / "w")
    (state,) = scanned(folder).attachments.values()
    assert (state.size, state.digest) == (5, digest_of("file\n"))


@pytest.mark.parametrize(
    ("after_ns", "digest"),
    [(10 * SETTLED_NS, FORGED), (SETTLED_NS, digest_of("one\n"))],
    ids=["old enough", "written just before"],
)
def test_file_that_was_old_enough_at_the_look_is_not_read_again(
    tmp_path: Path, after_ns: int, digest: Digest
) -> None:
    folder = unpack("-- a.md --\none\n", tmp_path / "w")
    scanned(folder, after_ns=after_ns)
    forge(folder)
    assert scanned(folder).pages[Slug("a")].digest == digest
    (folder / "p.png").write_text("one\n")
    linked(folder, after_ns=after_ns)
    forge(folder)
    assert linked(folder) == digest


def settled(folder: Path, *, after_ns: int) -> None:
    with open_cache(folder.parent / "cache") as cache:
        wiki = sources.ScannedWiki(wiki_source(folder), {}, {}, (), is_settled=False)
        sources.settle(wiki, cache, now_ns=clock(folder, after_ns))


@pytest.mark.parametrize(
    ("after_ns", "digest"),
    [(SETTLED_NS + 1, FORGED), (SETTLED_NS, digest_of("one\n"))],
    ids=["settled", "still too new"],
)
def test_file_that_settled_during_the_build_is_not_read_again(
    tmp_path: Path, after_ns: int, digest: Digest
) -> None:
    """Else the second build would read everything that the first one just wrote."""
    folder = unpack("-- a.md --\none\n", tmp_path / "w")
    scanned(folder, after_ns=1)
    settled(folder, after_ns=after_ns)
    forge(folder)
    assert scanned(folder).pages[Slug("a")].digest == digest


def test_name_of_a_page_is_noted_with_the_text_that_it_has_now(tmp_path: Path) -> None:
    """The next scan takes it from there; to parse names takes as long as to list."""
    folder = unpack("-- a/b.org --\none\n", tmp_path / "w")
    scanned(folder, after_ns=1)
    (folder / "a/b.org").write_text("two\n")
    settled(folder, after_ns=10 * SETTLED_NS)
    (file,) = (tmp_path / "cache" / sources.SCANS_FOLDER).iterdir()
    noted = FolderIndex(folder, file).files["a/b.org"]
    assert noted.page == PageState(Slug("a/b"), Format.ORG, digest_of("two\n"))


def test_file_changed_in_place_during_the_build_is_seen(tmp_path: Path) -> None:
    """Within two seconds a disk may give both texts one time."""
    folder = unpack("-- a.md --\none\n", tmp_path / "w")
    scanned(folder, after_ns=1)
    (folder / "a.md").write_text("two\n")
    settled(folder, after_ns=10 * SETTLED_NS)
    assert scanned(folder).pages[Slug("a")].digest == digest_of("two\n")


def test_one_file_that_is_too_new_is_enough_to_look_again(tmp_path: Path) -> None:
    folder = unpack("-- a.md --\none\n", tmp_path / "w")
    file = folder / "new.md"
    file.write_text("one\n")
    later = time.time_ns() + 60 * SETTLED_NS
    os.utime(file, ns=(later, later))
    with open_cache(tmp_path / "cache") as cache:
        wiki = sources.scan_wiki(wiki_source(folder), cache, now_ns=lambda: later)
    assert not wiki.is_settled


def test_file_gone_during_the_build_is_no_page_of_the_next(tmp_path: Path) -> None:
    folder = unpack("-- a.md --\none\n-- b.md --\ntwo\n", tmp_path / "w")
    scanned(folder, after_ns=1)
    (folder / "a.md").unlink()
    settled(folder, after_ns=10 * SETTLED_NS)
    assert list(scanned(folder).pages) == ["b"]


def test_large_attachment_has_the_same_digest(tmp_path: Path) -> None:
    name = "uploads/0123456789abcdef0123456789abcdef/f.bin"
    folder = unpack(f"-- {name} --\n\n", tmp_path / "w")
    content = b"x" * (CHUNK_BYTES + 1)
    (folder / name).write_bytes(content)
    (state,) = scanned(folder).attachments.values()
    assert state.digest == digest_of(content)


def test_loose_file_is_read_when_somebody_asks_for_it(tmp_path: Path) -> None:
    """A folder may hold gigabytes that no page links to."""
    wiki = scanned(unpack(PICTURE, tmp_path / "w"))
    assert (list(wiki.loose.names), wiki.loose.seen) == (["p.png"], {})
    (tmp_path / "w" / "p.png").write_text("two\n")
    assert wiki.loose["p.png"].digest == digest_of("two\n")


def test_loose_file_is_one_file_for_a_whole_build(tmp_path: Path) -> None:
    wiki = scanned(unpack(PICTURE, tmp_path / "w"))
    before = wiki.loose["p.png"]
    (tmp_path / "w" / "p.png").unlink()
    assert wiki.loose["p.png"] == before


def test_loose_file_that_is_gone_or_a_link_by_then_is_none(tmp_path: Path) -> None:
    folder = unpack(PICTURE + "-- q.png --\ntwo\n", tmp_path / "w")
    wiki = scanned(folder)
    (folder / "p.png").unlink()
    (folder / "q.png").unlink()
    (folder / "q.png").symlink_to(folder / "a.md")
    assert list(wiki.loose) == []


def test_linked_file_is_remembered_while_other_files_change(tmp_path: Path) -> None:
    folder = unpack(PICTURE, tmp_path / "w")
    linked(folder)
    (folder / "b.md").write_text("new")
    scanned(folder)
    forge(folder)
    assert linked(folder) == FORGED


def test_fingerprint_follows_text_format_attachments_and_owner(tmp_path: Path) -> None:
    base = "-- a.md --\none\n"
    archives = [base, base + "-- b.md --\n", "-- a.org --\none\n", "-- a.md --\ntwo\n"]
    archives.append(base + "-- uploads/0123456789abcdef0123456789abcdef/f --\nx\n")
    archives.append(base + "-- f --\nx\n")
    wikis = [
        scanned(unpack(archive, tmp_path / str(number) / "w"))
        for number, archive in enumerate(archives)
    ]
    prints = {(wiki.around_texts, wiki.digests) for wiki in wikis if wiki.pages}
    assert len(prints) == len(archives)


def test_problems_of_the_source_come_first(tmp_path: Path) -> None:
    folder = unpack("-- a.md --\nx\n-- a.org --\nx\n", tmp_path / "w")
    assert [problem.code for problem in scanned(folder).problems] == ["duplicate-page"]


def test_file_that_is_gone_reads_as_none(tmp_path: Path) -> None:
    assert sources.read_file(tmp_path, "gone.md") is None


def test_file_of_a_folder_that_was_made_anew_meanwhile_is_read(tmp_path: Path) -> None:
    unpack("-- x/a.md --\none\n-- x/b.md --\ntwo\n", tmp_path)
    places = [sources.SourceFile(tmp_path, f"x/{name}.md") for name in "ab"]
    contents = sources.read_files(places)
    assert next(contents) == b"one\n"
    (tmp_path / "x").rename(tmp_path / "old")
    (tmp_path / "old" / "b.md").unlink()
    unpack("-- x/b.md --\nthree\n", tmp_path)
    assert next(contents) == b"three\n"


def test_pages_in_folders_of_programs_are_in_no_site_but_where_they_are_synced(
    tmp_path: Path,
) -> None:
    folder = unpack(
        "-- #recycle/a.md --\n-- venv/b.md --\n-- c.md --\n", tmp_path / "w"
    )
    assert scanned(folder).pages.keys() == {"c"}
    (folder / ".wikisyncignore").write_text("c.md\n!/venv/\n")
    assert scanned(folder).pages.keys() == {"c", "venv/b"}


def test_stub_in_the_place_of_a_page_is_a_problem_of_the_site(tmp_path: Path) -> None:
    folder = unpack("-- .a.md.icloud --\nx\n-- b.md --\nB\n", tmp_path / "w")
    assert [one.subject for one in scanned(folder).problems] == ["a.md"]
