"""Values one after the other, of which only the one used last is in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import IO, Generic, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
    """Numbered values, the others in a temporary file.

    A value that never gives way to another one is never packed.
    """

    def __init__(
        self, pack: Callable[[T], bytes], unpack: Callable[[int, bytes], T]
    ) -> None:
        """Say how a value becomes bytes, and bytes with their number a value."""
        self._pack = pack
        self._unpack = unpack
        self._places: list[tuple[int, int]] = []
        """Offset and length of each packed value, in bytes."""
        self._at_hand: tuple[int, T] | None = None
        self._file: IO[bytes] | None = None

    def close(self) -> None:
        """Let go of the file, and of all values in it."""
        if self._file is not None:
            self._file.close()

    def add(self, number: int, value: T) -> None:
        """Put the next value, whose number is the count of those before."""
        self._put_down()
        self._at_hand = (number, value)

    def get(self, number: int) -> T:
        """A value."""
        if self._at_hand is None or self._at_hand[0] != number:
            packed = self._packed(number)
            self._at_hand = (number, self._unpack(number, packed))
        return self._at_hand[1]

    def _packed(self, number: int) -> bytes:
        self._put_down()
        offset, length = self._places[number]
        assert self._file is not None, "a value was put down in it"
        self._file.seek(offset)
        return self._file.read(length)

    def _put_down(self) -> None:
        """Pack the value at hand, if it is new."""
        if self._at_hand is None or self._at_hand[0] < len(self._places):
            return
        number, value = self._at_hand
        assert number == len(self._places), "values come in their order"
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        packed = self._pack(value)
        self._places.append((self._file.seek(0, 2), len(packed)))
        self._file.write(packed)
