"""What the last build of an output left: pages in parts, and all files at once."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from itertools import count
from pathlib import Path

import msgspec
import pytest

from wikisync.core.model import digest_of
from wikisync.site import cache
from wikisync.site.cache import (
    CACHE_NAME,
    NO_NOTE,
    BuildNote,
    CacheDamaged,
    LastBuild,
    open_cache,
    part_of,
)
from wikisync.site.manifest import FileState

OUTPUT = Path("/site")
NOTE = BuildNote(b"inputs", 3, (), ())


class Builds:
    """One cache, build after build."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(
        self,
        pages: dict[str, int],
        changed: set[str] | None = None,
        *,
        wiki: str = "docs",
        output: Path = OUTPUT,
        ends: bool = True,
    ) -> None:
        """One build that knows these pages otherwise; it may come to its end."""
        with open_cache(self.folder) as store:
            last = LastBuild(store, output)
            last.put_wiki(wiki, b"note", pages.items(), changed)
            if ends:
                last.remember(NOTE, {}, b"index", [wiki])

    def pages(self, wiki: str = "docs", output: Path = OUTPUT) -> dict[str, int]:
        """What the next build finds."""
        with open_cache(self.folder) as store:
            return unpacked(LastBuild(store, output).pages(wiki))

    def damage(self, slug: str) -> None:
        part = part_of(slug)
        self.run(f"UPDATE page SET value = x'0102030405' WHERE part = {part}")

    def run(self, statement: str) -> int:
        path = self.folder / CACHE_NAME
        with closing(sqlite3.connect(path)) as connection, connection:
            return connection.execute(statement).rowcount


def unpacked(pages: Mapping[str, msgspec.Raw]) -> dict[str, int]:
    return {
        slug: msgspec.msgpack.decode(page, type=int) for slug, page in pages.items()
    }


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    made = Builds(tmp_path)
    made.put({"a": 1, "b": 2})
    return made


def test_changed_page_takes_the_place_of_its_part(builds: Builds) -> None:
    builds.put({"a": 4, "b": 3}, {"b"})
    assert builds.pages() == {"a": 1, "b": 3}
    assert part_of("a") != part_of("b")


def test_page_of_the_same_part_stays(builds: Builds) -> None:
    names = (f"page-{number}" for number in count())
    twin = next(name for name in names if part_of(name) == part_of("a"))
    builds.put({"a": 1, twin: 2})
    builds.put({twin: 2}, {"a"})
    assert builds.pages() == {twin: 2}


def test_page_that_is_gone_leaves_no_row(builds: Builds) -> None:
    builds.put({"b": 2}, {"a"})
    assert builds.pages() == {"b": 2}
    assert builds.run("DELETE FROM page") == 1


def test_whole_wiki_leaves_no_row_of_before(builds: Builds) -> None:
    builds.put({"c": 4})
    assert builds.pages() == {"c": 4}
    assert builds.run("DELETE FROM page") == 1


def test_build_knows_its_own_pages_before_it_ends(builds: Builds) -> None:
    with open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        last.put_wiki("docs", b"note", [("b", 3)], {"a", "b"})
        assert unpacked(last.pages_now("docs")) == {"b": 3}
        assert unpacked(last.pages("docs")) == {"a": 1, "b": 2}


def test_build_that_does_not_end_leaves_nothing(builds: Builds) -> None:
    builds.put({"a": 5}, ends=False)
    assert builds.pages() == {"a": 1, "b": 2}


def test_build_that_fails_while_it_notes_leaves_nothing(
    builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        last.put_wiki("docs", b"note", [("a", 5)], {"a"})
        patch.setattr(cache, "summed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            last.remember(NOTE, {}, b"index", ["docs"])
    assert builds.pages() == {"a": 1, "b": 2}


def test_wiki_that_leaves_the_site_leaves_no_row(builds: Builds) -> None:
    builds.put({"z": 1}, wiki="other")
    assert builds.pages() == {}
    assert builds.pages("other") == {"z": 1}


def test_outputs_have_rows_of_their_own(builds: Builds) -> None:
    builds.put({"a": 9}, output=Path("/other"))
    assert builds.pages() == {"a": 1, "b": 2}
    assert builds.pages(output=Path("/other")) == {"a": 9}


def test_damaged_page_is_not_there_for_the_next_build(builds: Builds) -> None:
    builds.damage("a")
    assert builds.pages() == {"b": 2}


def test_damaged_page_that_was_counted_on_is_told(builds: Builds) -> None:
    builds.damage("a")
    with pytest.raises(CacheDamaged), open_cache(builds.folder) as store:
        LastBuild(store, OUTPUT).pages_now("docs")


def files_of(*paths: str) -> dict[str, FileState]:
    return {path: FileState(1, digest_of(path), mtime_ns=2) for path in paths}


def noted_files(
    folder: Path, files: Mapping[str, FileState] | None = None
) -> Mapping[str, FileState]:
    """The files that a build finds, and then leaves."""
    with open_cache(folder) as store:
        last = LastBuild(store, OUTPUT)
        found = last.files()
        if files is not None:
            last.remember(NOTE, files, b"", ())
        return found


def test_files_are_those_that_were_noted_last(tmp_path: Path) -> None:
    noted_files(tmp_path, files_of("a", "b"))
    noted_files(tmp_path, files_of("b", "c"))
    found = noted_files(tmp_path)
    assert sorted(found) == ["b", "c"]
    assert found["b"] == files_of("b")["b"]


@pytest.mark.parametrize("damage", ["x''", "x'0102030405'", "search", "value"])
def test_damaged_file_means_no_file_until_the_next_note(
    tmp_path: Path, builds: Builds, damage: str
) -> None:
    noted_files(tmp_path, files_of("a", "b"))
    builds.run(f"UPDATE site SET files = {damage}")
    assert noted_files(tmp_path, files_of("b")) == {}
    assert list(noted_files(tmp_path)) == ["b"]


def test_damaged_note_is_none(builds: Builds) -> None:
    builds.run("UPDATE site SET value = x'0102030405'")
    with open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        assert (last.note, last.search) == (NO_NOTE, b"index")


def test_notes_of_another_program_are_none(
    builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may give pages other addresses."""
    monkeypatch.setattr(cache, "program_fingerprint", lambda: b"another")
    with open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        assert last.note == NO_NOTE
        assert last.wiki("docs") is None
        assert last.search == b""
