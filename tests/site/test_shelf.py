"""The shelf: values in their order, of which one is in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wikisync.site.shelf import Shelf


class Value:
    """A value that tells whether it is the one that was put, or a copy."""

    def __init__(self, text: str) -> None:
        self.text = text


class Packing:
    """Packs values, and counts."""

    def __init__(self) -> None:
        self.packed: list[str] = []
        self.unpacked: list[int] = []

    def pack(self, value: Value) -> bytes:
        self.packed.append(value.text)
        return value.text.encode()

    def unpack(self, number: int, packed: bytes) -> Value:
        self.unpacked.append(number)
        return Value(packed.decode())


@pytest.fixture
def packing() -> Packing:
    return Packing()


@pytest.fixture
def shelf(packing: Packing) -> Iterator[Shelf[Value]]:
    shelf = Shelf(packing.pack, packing.unpack)
    yield shelf
    shelf.close()


def test_only_value_is_never_packed(shelf: Shelf[Value], packing: Packing) -> None:
    """A site of one wiki does not pay for those of many."""
    only = Value("only")
    shelf.add(0, only)
    assert shelf.get(0) is only
    assert packing.packed == []


def test_each_value_is_packed_once_and_found_by_its_number(
    shelf: Shelf[Value], packing: Packing
) -> None:
    texts = ["first", "", "the third one", "ü"]
    for number, text in enumerate(texts):
        shelf.add(number, Value(text))
    for _ in range(2):
        assert [shelf.get(number).text for number in range(4)] == texts
    assert packing.packed == texts


def test_value_in_memory_is_not_unpacked_again(
    shelf: Shelf[Value], packing: Packing
) -> None:
    shelf.add(0, Value("a"))
    shelf.add(1, Value("b"))
    assert shelf.get(0) is shelf.get(0)
    assert packing.unpacked == [0]


def test_value_that_gave_way_is_not_in_memory(shelf: Shelf[Value]) -> None:
    first = Value("a")
    shelf.add(0, first)
    shelf.add(1, Value("b"))
    assert shelf.get(0) is not first
    assert shelf.get(0).text == "a"


def test_values_are_there_in_any_order(shelf: Shelf[Value]) -> None:
    for number, text in enumerate(["a", "bb", "ccc"]):
        shelf.add(number, Value(text))
    texts = [shelf.get(number).text for number in (2, 0, 1, 2)]
    assert texts == ["ccc", "a", "bb", "ccc"]


def test_values_come_in_their_order(shelf: Shelf[Value]) -> None:
    shelf.add(0, Value("a"))
    shelf.add(2, Value("c"))
    with pytest.raises(AssertionError, match="in their order"):
        shelf.get(0)


def test_closed_shelf_lets_go_of_its_file(packing: Packing) -> None:
    shelf = Shelf(packing.pack, packing.unpack)
    shelf.add(0, Value("a"))
    shelf.add(1, Value("b"))
    shelf.close()
    with pytest.raises(ValueError, match="closed file"):
        shelf.get(0)


def test_shelf_without_a_file_can_be_closed(shelf: Shelf[Value]) -> None:
    shelf.close()
