"""Frames between a worker and its parent: four bytes length, big endian, then JSON.

Both halves read and write this one format, and it needs nothing but Python itself:
an engine's process that knows nothing of the rest can load it (``child``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

LENGTH = struct.Struct(">I")
FRAME_BYTES_MAX = 256 << 20
"""More than any page within its limits can become."""
READY = b'"ready"'
"""The first frame of every worker: it has loaded what it needs."""


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """Send one frame; raises ``OSError`` where nobody reads any more."""
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes], bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    """The body of the next frame.

    Raises:
        EOFError: the other side is gone, perhaps in the middle of a frame.
        ValueError: the frame is longer than ``bytes_max``.
    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(head)
    if size > bytes_max:
        raise ValueError(f"a frame of {size} bytes")
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def read_frames(stream: IO[bytes]) -> Iterator[bytes]:
    """The bodies of all frames until the other side is gone."""
    while True:
        try:
            yield read_frame(stream)
        except EOFError:
            return
