"""What a full or broken disk comes to: an answer of the server's own trouble.

A client that gets 400 corrects its request and never sends it again; one that gets 507
or 500 tries later.
"""

from __future__ import annotations

import errno
import os
import sqlite3

from wikisync.service.answers import Refusal

_WORDS = {
    errno.ENOSPC: (507, "no space left on device"),
    errno.EDQUOT: (507, "disk quota exceeded"),
    errno.EROFS: (500, "read-only file system"),
    errno.EIO: (500, "input/output error"),
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
}


def disk_refusal(error: BaseException | None) -> Refusal | None:
    """The answer where an error, or what it came from, is of the disk; else None."""
    while error is not None:
        code = _code_of(error)
        if code in _WORDS:
            status, words = _WORDS[code]
            return Refusal(status, {"message": f"{status} {words}"})
        error = error.__cause__ or error.__context__
    return None


def disk_error(error: Exception, folder: str, size: int) -> OSError:
    """The error of the disk behind one of git's library, which often has no words.

    Args:
        error: of a write that nothing but the disk can refuse.
        folder: where it wrote.
        size: in bytes, of what it wrote.
    """
    code = _code_in(str(error))
    if code is None:
        disk = os.statvfs(folder)
        room = disk.f_bavail * disk.f_frsize
        is_full = room < size + disk.f_frsize or not disk.f_favail
        code = errno.ENOSPC if is_full else errno.EIO
    return OSError(code, os.strerror(code))


def _code_in(words: str) -> int | None:
    """The code whose words git's library repeats; it has lost the code."""
    said = words.lower()
    return next((code for code in _WORDS if os.strerror(code).lower() in said), None)


def _code_of(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        return error.errno or _code_in(str(error))
    if isinstance(error, sqlite3.Error):
        # the lowest byte is the kind, those above it say more
        return _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return None
