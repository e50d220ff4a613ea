"""Our packs, read by git itself."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.service.packing import _index, blob_id, write_blob_pack


def packs(objects: Path) -> list[str]:
    return sorted(path.suffix for path in (objects / "pack").iterdir())


def read_back(folder: Path, contents: list[bytes]) -> list[bytes]:
    path = folder / "r.git"
    pygit2.init_repository(str(path), bare=True)
    write_blob_pack(path / "objects", iter(contents))
    repository = pygit2.Repository(str(path))
    return [repository.read(pygit2.Oid(raw=blob_id(c)))[1] for c in contents]


@pytest.mark.parametrize("size", [0, 1, 15, 16, 2047, 2048, 300_000])
def test_blob_of_any_size_is_read_back(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)

    assert read_back(tmp_path, [content[:size]]) == [content[:size]]


def test_many_blobs_are_read_back(tmp_path: Path) -> None:
    contents = [f"page {number}".encode() for number in range(600)]

    assert read_back(tmp_path, contents) == contents


def test_equal_blobs_are_packed_once(tmp_path: Path) -> None:
    write_blob_pack(tmp_path, [b"a", b"a"])

    (pack,) = (tmp_path / "pack").glob("*.pack")
    assert pack.read_bytes()[8:12] == b"\0\0\0\1"


def test_nothing_leaves_nothing(tmp_path: Path) -> None:
    write_blob_pack(tmp_path, [])

    assert packs(tmp_path) == []


def test_failure_half_way_leaves_no_pack(tmp_path: Path) -> None:
    def contents() -> list[bytes]:
        raise OSError("unreadable")

    with pytest.raises(OSError, match="unreadable"):
        write_blob_pack(tmp_path, (content for _ in [0] for content in contents()))

    assert packs(tmp_path) == []


def test_offset_past_two_gigabytes_goes_to_the_far_table() -> None:
    far = 2**31 + 5
    index = _index([(b"\1" * 20, 7, 12), (b"\2" * 20, 8, far)], b"\0" * 20)

    assert index[-48:-40] == far.to_bytes(8, "big")


@given(st.binary(max_size=40))
def test_blob_id_is_gits(content: bytes) -> None:
    assert blob_id(content) == pygit2.hash(content).raw
