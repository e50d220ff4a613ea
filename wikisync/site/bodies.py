"""Texts of pages in one file, to which every process of a build appends.

A text is found again by its place.  The process that builds keeps places alone: what
one worker appended, another one reads.
"""

import os
import struct
import threading
import zlib
from pathlib import Path

PLACE = struct.Struct("<QII")
"""Offset and length in bytes, and a checksum."""

Place = bytes
NO_PLACE: Place = bytes(PLACE.size)
"""That of a text without a byte."""


class BodyDamaged(Exception):
    """A text is not what was appended."""


class Bodies:
    """One such file, open; it is closed with the last reference."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self.path = path
        self._descriptor = os.open(path, flags)
        self._lock = threading.Lock()

    def __del__(self) -> None:
        """Close the file."""
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def add(self, *bodies: bytes) -> list[Place]:
        """Append texts, all at once, and give their places; raises ``OSError``."""
        size = sum(map(len, bodies))
        with self._lock:
            # the system appends each write as a whole, whoever else writes
            if os.writev(self._descriptor, bodies) != size:
                raise OSError(0, "not all of a text was written", str(self.path))
            offset = os.lseek(self._descriptor, 0, os.SEEK_CUR) - size
        places = []
        for body in bodies:
            places.append(PLACE.pack(offset, len(body), zlib.crc32(body)))
            offset += len(body)
        return places

    def read(self, place: Place) -> bytes:
        """The text at a place; raises ``BodyDamaged`` where another one is there."""
        offset, size, checksum = PLACE.unpack(place)
        body = os.pread(self._descriptor, size, offset)
        if len(body) != size or zlib.crc32(body) != checksum:
            raise BodyDamaged(f"a text of {size} bytes in {self.path}")
        return body
