"""What a file stays known by when it is renamed, and no other file ever has.

The inode alone will not do: most disks give the number of a removed file to the
next new one, so a page that was deleted and another that was made would look like
one that was renamed.  The moment of the file's birth tells them apart.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from functools import cache

_EMPTY_PATH = 0x1000
_INODE_AND_BIRTH = 0x100 | 0x800
_BIRTH = 0x800
_STATX_BYTES = 256
_MASK = struct.Struct("=I")
_INODE = struct.Struct("=Q")
_TIME = struct.Struct("=qI")
_INODE_AT, _BIRTH_AT = 32, 80


def identity_of(descriptor: int) -> str:
    """An open file's identity; empty where the disk does not know its birth."""
    if sys.platform != "linux":
        status = os.fstat(descriptor)
        born = getattr(status, "st_birthtime", 0.0)
        return f"{status.st_ino:x}:{int(born * 1e9):x}" if born else ""
    return _linux_identity(descriptor)


def _linux_identity(descriptor: int) -> str:
    import ctypes  # for who reads a file: a look that finds all as it was does not

    statx = _statx()
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx is None or statx(descriptor, b"", _EMPTY_PATH, _INODE_AND_BIRTH, buffer):
        return ""
    (mask,) = _MASK.unpack_from(buffer)
    if not mask & _BIRTH:
        return ""
    (inode,) = _INODE.unpack_from(buffer, _INODE_AT)
    seconds, nanoseconds = _TIME.unpack_from(buffer, _BIRTH_AT)
    return f"{inode:x}:{seconds * 1_000_000_000 + nanoseconds:x}"


@cache
def _statx() -> Callable[..., int] | None:
    import ctypes

    function: Callable[..., int] | None = getattr(ctypes.CDLL(None), "statx", None)
    if function is None:
        return None
    function.argtypes = [  # type: ignore[attr-defined]
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_char_p,
    ]
    function.restype = ctypes.c_int  # type: ignore[attr-defined]
    return function
