"""What a build notes of its output: its files in parts, each of which may be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikisync.model import digest_of
from wikisync.site import build_note as module
from wikisync.site.build_note import (
    NO_NOTE,
    BuildNote,
    build_note,
    noted_files,
    remember_build,
)
from wikisync.site.cache import Cache, open_cache
from wikisync.site.file_table import FileState, FileTable


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART_FILES", 2)


def table(count: int) -> FileTable:
    files = FileTable(manifest=FileState(9, digest_of("m"), mtime_ns=7))
    for number in range(count):
        files[f"{number}"] = FileState(number, digest_of(f"{number}"), mtime_ns=1)
    return files


def remembered(store: Cache, output: Path, count: int) -> BuildNote:
    remember_build(store, output, NO_NOTE, table(count))
    return build_note(store, output)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_files_are_those_that_were_noted(tmp_path: Path, count: int) -> None:
    with open_cache(tmp_path / "cache") as store:
        note = remembered(store, tmp_path / "site", count)
        files = noted_files(store, tmp_path / "site", note)
    assert dict(files.items()) == dict(table(count).items())
    assert files.manifest == table(count).manifest


def test_lost_part_means_no_file_until_the_next_note(tmp_path: Path) -> None:
    """Nothing is believed of an output that is known in part."""
    output = tmp_path / "site"
    with open_cache(tmp_path / "cache") as store:
        note = remembered(store, output, 5)
        assert store.drop(store.key("files", output, "1"))
        files = noted_files(store, output, note)
        assert (len(files), files.manifest) == (0, None)
        note = remembered(store, output, 5)
        assert len(noted_files(store, output, note)) == 5


def test_part_of_another_build_is_not_believed(tmp_path: Path) -> None:
    output = tmp_path / "site"
    with open_cache(tmp_path / "cache") as store:
        early = remembered(store, output, 4)
        other = table(4)
        other["0"] = FileState(1, digest_of("other"), mtime_ns=1)
        remember_build(store, output, NO_NOTE, other)
        assert len(noted_files(store, output, early)) == 0


def test_parts_that_are_too_many_are_forgotten(tmp_path: Path) -> None:
    output = tmp_path / "site"
    with open_cache(tmp_path / "cache") as store:
        remembered(store, output, 7)
        note = remembered(store, output, 2)
        assert len(noted_files(store, output, note)) == 2
        parts = [store.state(store.key("files", output, f"{n}")) for n in range(4)]
    assert [part is not None for part in parts] == [True, False, False, False]


def test_part_that_did_not_change_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of ten thousand costs the part that it is in."""
    output = tmp_path / "site"
    files = table(6)
    with open_cache(tmp_path / "cache") as store:
        remember_build(store, output, NO_NOTE, files)
        files["3"] = FileState(8, digest_of("edited"), mtime_ns=2)
        written: list[bytes] = []
        note = store.note

        def noted(key: bytes, value: bytes) -> None:
            written.append(key)
            note(key, value)

        monkeypatch.setattr(store, "note", noted)
        remember_build(store, output, NO_NOTE, files)
    assert written == [store.key("files", output, "1"), store.key("build", output)]
