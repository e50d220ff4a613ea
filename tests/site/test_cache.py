"""The cache: kept on errors, thrown away when damaged; what the last build left."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import msgspec
import pytest

from wikisync.core.model import digest_of
from wikisync.errors import SiteError
from wikisync.site import cache as cache_module
from wikisync.site.bodies import Bodies, Place
from wikisync.site.cache import (
    BODIES_NAME,
    CACHE_NAME,
    KEYS_PER_SELECT,
    NO_NOTE,
    SPARE_ROWS,
    BuildNote,
    Cache,
    CacheDamaged,
    LastBuild,
    Stage,
    open_cache,
    part_of,
    with_cache,
)
from wikisync.site.manifest import FileState


def store(cache: Cache, body: bytes, key: bytes = b"k") -> None:
    cache.store("parsed", key, b"facts", *cache.bodies.add(body))


def test_rows_are_there_in_the_next_build(tmp_path: Path) -> None:
    with open_cache(tmp_path / "new" / "cache") as cache:
        store(cache, b"body")
    with open_cache(tmp_path / "new" / "cache") as cache:
        assert cache.facts("parsed", b"k") == b"facts"
        assert cache.body("parsed", b"k") == b"body"
        assert cache.facts("finished", b"k") is None
        store(cache, b"other", b"l")
        assert cache.facts("parsed", b"l") == b"facts"


def test_facts_of_many_rows_come_in_order_new_ones_too(tmp_path: Path) -> None:
    keys = [b"%d" % number for number in range(KEYS_PER_SELECT + 3)]
    with open_cache(tmp_path) as cache:
        for key in reversed(keys[2:]):
            store(cache, b"body", key)
    run_on(tmp_path, "UPDATE parsed SET value = x'0102030405' WHERE key = x'32'")
    with open_cache(tmp_path) as cache:
        store(cache, b"body", keys[0])
        found = list(cache.facts_of("parsed", keys))
    assert found == [b"facts", None, None] + [b"facts"] * KEYS_PER_SELECT


def stored_row(folder: Path) -> None:
    with open_cache(folder) as cache:
        store(cache, b"body")


def bodies_of(folder: Path) -> Path:
    (path,) = folder.glob(BODIES_NAME.format("*"))
    return path


def run_on(folder: Path, statement: str) -> int:
    """Change a cache behind its back; how many rows changed."""
    with closing(sqlite3.connect(folder / CACHE_NAME)) as connection, connection:
        return connection.execute(statement).rowcount


def test_work_of_an_interrupted_build_is_kept(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), open_cache(tmp_path) as cache:
        store(cache, b"body")
        raise KeyboardInterrupt
    with open_cache(tmp_path) as cache:
        assert cache.facts("parsed", b"k") == b"facts"


DAMAGE = {
    "a value": "value = x'0102030405'",
    "a value of another kind": "value = 'text'",
    "the value of another row": "key = CAST('q' AS BLOB)",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_value_that_was_never_stored_is_none(tmp_path: Path, damage: str) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, f"UPDATE parsed SET {damage}")

    with open_cache(tmp_path) as cache:
        assert cache.facts("parsed", b"k") is None
        assert cache.facts("parsed", b"q") is None


def stored_body(cache: Cache) -> bytes:
    """What a page that is not in the cache is made to, as builds do it."""
    if cache.facts("parsed", b"k") is None:
        store(cache, b"made anew")
    return cache.body("parsed", b"k")


def no_database(folder: Path) -> None:
    (folder / CACHE_NAME).write_bytes(b"x" * 5000)


def other_body(folder: Path) -> None:
    bodies_of(folder).write_bytes(b"b0dy")


def no_bodies(folder: Path) -> None:
    bodies_of(folder).unlink()


def bodies_nobody_names(folder: Path) -> None:
    run_on(folder, "UPDATE state SET value = x'0102030405'")


def no_table(folder: Path) -> None:
    run_on(folder, "ALTER TABLE parsed RENAME TO porsed")


@pytest.mark.parametrize(
    "damage", [no_database, other_body, no_bodies, bodies_nobody_names, no_table]
)
def test_page_whose_facts_or_body_are_damaged_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    stored_row(tmp_path)
    damage(tmp_path)
    assert with_cache(tmp_path, stored_body) == b"made anew"


def test_file_of_bodies_that_nobody_names_is_removed(tmp_path: Path) -> None:
    stored_row(tmp_path)
    for name in (BODIES_NAME.format("of-another-time"), "site-links"):
        (tmp_path / name).write_bytes(b"left by a process that was killed")

    with open_cache(tmp_path) as cache:
        assert [*tmp_path.glob("site-*")] == [cache.bodies.path]


def test_damage_is_told_to_who_does_not_begin_anew(tmp_path: Path) -> None:
    stored_row(tmp_path)
    no_table(tmp_path)
    damaged = pytest.raises(CacheDamaged, match="is damaged: no such table")
    with damaged, open_cache(tmp_path) as cache:
        stored_body(cache)


def test_cache_of_another_version_is_emptied(tmp_path: Path) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, "PRAGMA user_version = 99")
    with open_cache(tmp_path) as cache:
        assert cache.facts("parsed", b"k") is None


def test_sweep_keeps_what_is_used_once_the_rest_is_much(tmp_path: Path) -> None:
    keys = [b"%d" % number for number in range(SPARE_ROWS + 10)]
    with open_cache(tmp_path) as cache:
        for key in keys:
            store(cache, b"body of %b" % key, key)
        size = cache.bodies.path.stat().st_size
        cache.sweep(4, lambda _: keys[:4])
        left = [cache.facts("parsed", key) for key in keys]
        bodies = [cache.body("parsed", key) for key in keys[:4]]
        assert cache.bodies.path.stat().st_size < size / 20
    assert left == [b"facts"] * 4 + [None] * (SPARE_ROWS + 6)
    assert bodies == [b"body of %b" % key for key in keys[:4]]


def test_note_that_fails_takes_a_sweep_back_too(tmp_path: Path) -> None:
    """Rows that lead into the new file of bodies were left beside the old one."""
    keys = [b"%d" % number for number in range(SPARE_ROWS + 10)]
    with open_cache(tmp_path) as cache:
        for key in keys:
            store(cache, b"body of %b" % key, key)
    with suppress(KeyboardInterrupt), open_cache(tmp_path) as cache:
        cache.sweep(4, lambda _: keys[-4:])
        with cache.all_or_nothing():
            raise KeyboardInterrupt
    with open_cache(tmp_path) as cache:
        bodies = [cache.body("parsed", key) for key in keys]
    assert bodies == [b"body of %b" % key for key in keys]


def test_sweep_that_is_interrupted_leaves_the_cache_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows led into the new file of bodies, and the rest into the old one."""

    def add(bodies: Bodies, *texts: bytes) -> list[Place]:
        if texts == (b"body of 4",):
            raise KeyboardInterrupt
        return append(bodies, *texts)

    append = Bodies.add
    monkeypatch.setattr(cache_module, "ROWS_PER_COMMIT", 2)
    keys = [b"%d" % number for number in range(SPARE_ROWS + 16)]
    with open_cache(tmp_path) as cache:
        for key in keys:
            store(cache, b"body of %b" % key, key)
    monkeypatch.setattr(Bodies, "add", add)
    with suppress(KeyboardInterrupt), open_cache(tmp_path) as cache:
        cache.sweep(5, lambda _: keys[:5])
    with open_cache(tmp_path) as cache:
        bodies = [cache.body("parsed", key) for key in keys]
    assert bodies == [b"body of %b" % key for key in keys]


def test_sweep_finds_few_texts_that_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who wrote in a page of 1 MB filled a disk: 3 MB for each key.

    The first sweep of a cache takes what is there for used.
    """
    monkeypatch.setattr(cache_module, "SPARE_BYTES", 1000)
    sizes = []
    for key in (b"a", b"b", b"c", b"d", b"e"):
        with open_cache(tmp_path) as cache:
            store(cache, b"x" * 1000, key)
            cache.sweep(1, only(key))
            sizes.append(cache.bodies.path.stat().st_size)
            assert cache.body("parsed", key) == b"x" * 1000
    assert sizes == [1000, 2000, 3000, 1000, 2000]


def test_sweeps_of_one_process_leave_two_files_of_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preview or an editor may run for weeks."""
    monkeypatch.setattr(cache_module, "SPARE_BYTES", 0)
    with open_cache(tmp_path) as cache:
        cache.sweep(1, only(b""))
        for key in (b"a", b"b", b"c", b"d", b"e"):
            store(cache, b"x" * 1000, key)
            cache.sweep(1, only(key))
        assert len([*tmp_path.glob("site-*")]) == 2
        assert cache.body("parsed", b"e") == b"x" * 1000


def only(key: bytes) -> Callable[[Stage], list[bytes]]:
    """What a build used that has one text."""
    return lambda _: [key]


def test_sweep_of_little_waste_is_left_for_later(tmp_path: Path) -> None:
    """A page that is put back as it was need not be parsed again."""
    with open_cache(tmp_path) as cache:
        store(cache, b"body", b"old")
        cache.sweep(0, lambda _: ())
        assert cache.body("parsed", b"old") == b"body"


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(SiteError, match="cannot make the cache folder"),
        open_cache(tmp_path / "file" / "cache"),
    ):
        pass


# What the last build left -------------------------------------------------------------

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
        return run_on(self.folder, statement)


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
        patch.setattr("wikisync.site.cache.summed", interrupted)
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
    wiki = "b/-/wikis/"
    noted_files(tmp_path, files_of("a", f"{wiki}b"))
    noted_files(tmp_path, files_of(f"{wiki}b", f"{wiki}c", "d"))
    with open_cache(tmp_path) as store:
        found = LastBuild(store, OUTPUT).files()
        assert sorted(found) == [f"{wiki}b", f"{wiki}c", "d"]
        assert found[f"{wiki}b"] == files_of(f"{wiki}b")[f"{wiki}b"]
        assert found.get(f"{wiki}a") is None
        assert list(found.rest) == ["d"]
        assert found.parts == {wiki}


@pytest.mark.parametrize("damage", ["x''", "x'0102030405'", "substr(value, 2)"])
def test_damaged_file_means_no_file_until_the_next_note(
    tmp_path: Path, builds: Builds, damage: str
) -> None:
    noted_files(tmp_path, files_of("a", "b"))
    builds.run(f"UPDATE file SET value = {damage}")
    assert noted_files(tmp_path, files_of("b")) == {}
    assert list(noted_files(tmp_path)) == ["b"]


def test_lost_row_of_files_means_no_file(tmp_path: Path, builds: Builds) -> None:
    noted_files(tmp_path, files_of("a/-/wikis/a", "b"))
    builds.run("DELETE FROM file WHERE part = 'a/-/wikis/'")
    assert noted_files(tmp_path, files_of("b")) == {}
    assert list(noted_files(tmp_path)) == ["b"]


def test_row_of_files_that_goes_before_it_is_read_is_told(tmp_path: Path) -> None:
    """Another build may note the files of the site before this one holds it."""
    wiki = "a/-/wikis/"
    noted_files(tmp_path, files_of(f"{wiki}a", "b"))
    with open_cache(tmp_path) as store:
        files = LastBuild(store, OUTPUT).files()
        store.rows("DELETE FROM file WHERE part = ?", wiki)
        with pytest.raises(sqlite3.DatabaseError):
            files.get(f"{wiki}a")


def test_damaged_note_is_none(builds: Builds) -> None:
    builds.run("UPDATE site SET value = x'0102030405'")
    with open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        assert (last.note, last.search) == (NO_NOTE, b"index")


def test_notes_of_another_program_are_none(
    builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may give pages other addresses."""
    monkeypatch.setattr("wikisync.site.cache.program_fingerprint", lambda: b"another")
    with open_cache(builds.folder) as store:
        last = LastBuild(store, OUTPUT)
        assert last.note == NO_NOTE
        assert last.wiki("docs") is None
        assert last.search == b""
