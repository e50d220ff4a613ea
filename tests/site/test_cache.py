"""The cache file: kept on errors, thrown away when damaged, held by one build."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from wikisync.errors import SiteError
from wikisync.site.cache import (
    BODIES_NAME,
    CACHE_NAME,
    SPARE_ROWS,
    Cache,
    CacheDamaged,
    open_cache,
    with_cache,
)


def store(cache: Cache, body: bytes, key: bytes = b"k") -> None:
    cache.store("parsed", key, b"facts", *cache.bodies.add(body))


def test_rows_and_notes_are_there_in_the_next_build(tmp_path: Path) -> None:
    with open_cache(tmp_path / "new" / "cache") as cache:
        store(cache, b"body")
        cache.note(b"n", b"value")
    with open_cache(tmp_path / "new" / "cache") as cache:
        assert cache.facts("parsed", b"k") == b"facts"
        assert cache.body("parsed", b"k") == b"body"
        assert cache.state(b"n") == b"value"
        assert cache.facts("finished", b"k") is None
        assert cache.state(b"m") is None
        store(cache, b"other", b"l")
        assert cache.facts("parsed", b"l") == b"facts"


def stored_row(folder: Path) -> None:
    with open_cache(folder) as cache:
        store(cache, b"body")
        cache.note(b"n", b"value")


def bodies_of(folder: Path) -> Path:
    (path,) = folder.glob(BODIES_NAME.format("*"))
    return path


def run_on(folder: Path, statement: str) -> None:
    """Change a cache behind its back."""
    with closing(sqlite3.connect(folder / CACHE_NAME)) as connection, connection:
        connection.execute(statement)


def interrupted(cache: Cache) -> None:
    store(cache, b"body")
    raise KeyboardInterrupt


def test_work_of_an_interrupted_build_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_cache(tmp_path) as cache:
        interrupted(cache)
    with open_cache(tmp_path) as cache:
        assert cache.facts("parsed", b"k") == b"facts"


def test_file_that_is_no_database_is_replaced(tmp_path: Path) -> None:
    (tmp_path / CACHE_NAME).write_bytes(b"x" * 5000)
    with open_cache(tmp_path) as cache:
        cache.note(b"n", b"value")
        assert cache.state(b"n") == b"value"


DAMAGE = {
    "a note": "UPDATE state SET value = x'0102030405'",
    "a row": "UPDATE parsed SET value = x'0102030405'",
    "a value of another kind": "UPDATE parsed SET value = 'text'",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_value_that_was_never_stored_is_none(tmp_path: Path, damage: str) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, damage)

    with open_cache(tmp_path) as cache:
        is_note_there = cache.state(b"n") == b"value"
        is_row_there = cache.facts("parsed", b"k") == b"facts"

    assert is_note_there != is_row_there


def test_value_of_another_row_is_none(tmp_path: Path) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, "UPDATE parsed SET key = CAST('q' AS BLOB)")

    with open_cache(tmp_path) as cache:
        assert cache.facts("parsed", b"q") is None


def stored_body(cache: Cache) -> bytes:
    """What a page that is not in the cache is made to, as builds do it."""
    if cache.facts("parsed", b"k") is None:
        store(cache, b"made anew")
    return cache.body("parsed", b"k")


def test_body_that_was_never_stored_is_made_anew(tmp_path: Path) -> None:
    """The facts are sound, so that nobody expects it to be gone."""
    stored_row(tmp_path)
    bodies_of(tmp_path).write_bytes(b"b0dy")

    assert with_cache(tmp_path, stored_body) == b"made anew"


def test_file_of_bodies_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    stored_row(tmp_path)
    bodies_of(tmp_path).unlink()

    assert with_cache(tmp_path, stored_body) == b"made anew"


def test_file_of_bodies_that_nobody_names_is_removed(tmp_path: Path) -> None:
    stored_row(tmp_path)
    for name in (BODIES_NAME.format("of-another-time"), "site-links"):
        (tmp_path / name).write_bytes(b"left by a process that was killed")

    with open_cache(tmp_path) as cache:
        assert [*tmp_path.glob("site-*")] == [cache.bodies.path]


def test_file_whose_tables_are_gone_is_made_anew(tmp_path: Path) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, "ALTER TABLE parsed RENAME TO porsed")

    assert with_cache(tmp_path, stored_body) == b"made anew"


def test_damage_is_told_to_who_does_not_begin_anew(tmp_path: Path) -> None:
    stored_row(tmp_path)
    run_on(tmp_path, "ALTER TABLE parsed RENAME TO porsed")

    damaged = pytest.raises(CacheDamaged, match="is damaged: no such table")
    with damaged, open_cache(tmp_path) as cache:
        stored_body(cache)


def test_cache_of_another_version_is_emptied(tmp_path: Path) -> None:
    with open_cache(tmp_path) as cache:
        cache.note(b"n", b"value")
    run_on(tmp_path, "PRAGMA user_version = 99")
    with open_cache(tmp_path) as cache:
        assert cache.state(b"n") is None


def test_sweep_keeps_what_is_used_once_the_rest_is_much(tmp_path: Path) -> None:
    keys = [b"%d" % number for number in range(SPARE_ROWS + 10)]
    with open_cache(tmp_path) as cache:
        for key in keys:
            store(cache, b"body of %b" % key, key)
        size = cache.bodies.path.stat().st_size
        cache.sweep("parsed", 4, lambda: keys[:4])
        left = [cache.facts("parsed", key) for key in keys]
        bodies = [cache.body("parsed", key) for key in keys[:4]]
        assert cache.bodies.path.stat().st_size < size / 20
    assert left == [b"facts"] * 4 + [None] * (SPARE_ROWS + 6)
    assert bodies == [b"body of %b" % key for key in keys[:4]]


def test_sweep_of_little_waste_is_left_for_later(tmp_path: Path) -> None:
    """A page that is put back as it was need not be parsed again."""
    with open_cache(tmp_path) as cache:
        store(cache, b"body", b"old")
        cache.sweep("parsed", 0, tuple)
        assert cache.body("parsed", b"old") == b"body"


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(SiteError, match="cannot make the cache folder"),
        open_cache(tmp_path / "file" / "cache"),
    ):
        pass
