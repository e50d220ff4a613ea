"""Objects in answers of git's protocol, whatever a server makes of them."""

import tracemalloc
import zlib

import pytest

from wikisync.api import trees as packs
from wikisync.api.trees import NotAPack, id_of, objects_in

COMMIT, TREE, DELTA = 1, 2, 7
MIB = 1 << 20
BYTES_MAX = 4 * MIB


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "CONTENT_BYTES_MAX", BYTES_MAX)


def number(value: int) -> bytes:
    """A size in a delta: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def entry(kind: int, content: bytes, base: bytes = b"") -> bytes:
    size = len(content)
    first, size = kind << 4 | size & 0x0F, size >> 4
    head = bytes([first | 0x80]) + number(size) if size else bytes([first])
    return head + base + zlib.compress(content)


def answer(*entries: bytes) -> bytes:
    count = len(entries).to_bytes(4, "big")
    return b"0008NAK\nPACK\0\0\0\2" + count + b"".join(entries) + bytes(20)


def delta(base: bytes, size: int, steps: bytes) -> bytes:
    return number(len(base)) + number(size) + steps


def test_a_delta_is_applied() -> None:
    base = b"100644 a.md\0" + bytes(20)
    added = b"100644 b.md\0" + bytes(20)
    steps = bytes([0x90, len(base), len(added)]) + added
    whole = base + added

    name = id_of(b"tree", base, 20)
    found = objects_in(
        answer(entry(DELTA, delta(base, len(whole), steps), name), entry(TREE, base)),
        id_bytes=20,
    )

    assert found.trees[id_of(b"tree", whole, 20)] == whole


@pytest.mark.parametrize("said", [100, BYTES_MAX, BYTES_MAX + 1])
def test_a_delta_that_makes_more_than_it_says_fills_no_memory(said: int) -> None:
    base = bytes(MIB)
    # each step copies 64 KiB: 64 GiB in all, in an answer of few kilobytes
    bomb = delta(base, said, b"\x80" * MIB)
    sent = answer(entry(TREE, base), entry(DELTA, bomb, id_of(b"tree", base, 20)))
    tracemalloc.start()
    try:
        with pytest.raises(NotAPack):
            objects_in(sent, id_bytes=20)
        assert tracemalloc.get_traced_memory()[1] < BYTES_MAX * 3
    finally:
        tracemalloc.stop()


def test_many_deltas_have_one_limit_together() -> None:
    base = bytes(MIB)
    half = BYTES_MAX // 2 + MIB
    copies = -(-half // 0x10000)
    name = id_of(b"tree", base, 20)
    large = [
        entry(DELTA, delta(base, copies * 0x10000 + 1, b"\x80" * copies + end), name)
        for end in (b"\x01a", b"\x01b")
    ]
    with pytest.raises(NotAPack, match="too large"):
        objects_in(answer(entry(TREE, base), *large), id_bytes=20)


@pytest.mark.parametrize("tree", [b"zz", b"", b"\xff" * 40])
def test_a_commit_whose_tree_has_no_id_is_an_error(tree: bytes) -> None:
    commit = b"tree " + tree + b"\nparent " + b"ab" * 20 + b"\n\nwords"
    found = objects_in(answer(entry(COMMIT, commit)), id_bytes=20)

    with pytest.raises(NotAPack):
        found.root_of(id_of(b"commit", commit, 20).hex())
