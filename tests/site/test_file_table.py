"""The files of an output in a few bytes each: what goes in comes out."""

from __future__ import annotations

import sys

import pytest

from wikisync.core.model import Digest, digest_of
from wikisync.site.file_table import FileState, FileTable

KNOWN = FileState(5, digest_of("x"), mtime_ns=1_700_000_000_123_456_789, key=b"k" * 32)


@pytest.mark.parametrize(
    "state",
    [
        KNOWN,
        FileState(0, None),
        FileState(1 << 40, digest_of(""), mtime_ns=1, staged=4_000_000, key=b"short"),
    ],
    ids=["left", "unknown", "staged"],
)
def test_file_is_what_was_put(state: FileState) -> None:
    table = FileTable()
    table["a.html"] = state
    assert table["a.html"] == table.get("a.html") == state


def test_file_of_a_time_that_no_clock_has_is_of_an_unknown_time() -> None:
    """A disk may say so; the file is read instead."""
    table = FileTable()
    for path, time in {"before": -1, "after": 1 << 64}.items():
        table[path] = FileState(1, digest_of("x"), mtime_ns=time)
    assert list(table.times()) == [("before", 1, 0), ("after", 1, 0)]


def test_file_tells_parts_of_its_state_alone() -> None:
    table = FileTable()
    table["a.html"] = KNOWN
    times = (KNOWN.size, KNOWN.mtime_ns)
    assert table.times_of("a.html") == times
    assert list(table.times()) == [("a.html", *times)]
    assert (table.key("a.html"), table.key("b.html")) == (KNOWN.key, None)


def test_file_that_is_taken_is_as_the_other_table_has_it() -> None:
    table, other = FileTable(), FileTable()
    other["a.html"] = KNOWN
    table.take("a.html", other)
    assert table["a.html"] == KNOWN


def test_discarded_file_is_not_there() -> None:
    table = FileTable()
    table["a"] = KNOWN
    table.discard("a")
    table.discard("never")
    assert "a" not in table
    assert table.get("a") is None
    assert len(table) == 0


def test_changes_make_the_same_table_and_do_not_depend_on_the_order() -> None:
    """Pages come from the processes that render them in any order."""
    table, other = FileTable(), FileTable()
    for number in range(5):
        table[f"{number}"] = FileState(number, digest_of(str(number)), mtime_ns=1)
    for number in reversed(range(5)):
        other[f"{number}"] = table[f"{number}"]
    assert list(other.changed_since(table)) == []
    assert other.checksum() == table.checksum()
    other["3"] = KNOWN
    assert [path for path, _ in other.changed_since(table)] == ["3"]
    assert other.checksum() != table.checksum()
    assert FileTable(dict(other.changed_since(FileTable())))["3"] == KNOWN


def test_file_takes_few_bytes() -> None:
    """A hundred thousand pages have their files in memory during a build."""
    table = FileTable()
    table["a"] = KNOWN
    ((_, packed),) = table.changed_since(FileTable())
    assert sys.getsizeof(packed) < 128
    assert Digest(KNOWN.digest or "") not in str(packed)
