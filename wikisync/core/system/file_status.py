"""Whether a file is unchanged since it was read, told without reading it again.

What a file held is believed for as long as its size, its two times and its inode stay.
The inode tells a file that was put in its place; the time of the last change of
anything tells a write after which a program set the other time back.
"""

import os
from pathlib import Path
from typing import NamedTuple

SETTLED_NS = 2_500_000_000
"""A file must have been left alone for so long when it is read for its times to tell
a later write; some disks count in steps of two seconds."""
_DATALESS = 0x40000000
"""Flag of macOS: the content is in the cloud, and a read fetches it."""


class FileStatus(NamedTuple):
    """What changes with a file; a tuple, for there are thousands."""

    size: int
    """In bytes."""
    mtime_ns: int
    """When its content last changed, in nanoseconds since 1970."""
    ctime_ns: int
    """When anything of it last changed."""
    inode: int


UNKNOWN = FileStatus(-1, -1, -1, -1)
"""Equal to that of no file."""


def status_of(found: os.stat_result) -> FileStatus:
    """The status that the system gives."""
    return FileStatus(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_dataless(found: os.stat_result) -> bool:
    """Whether the system lists a file whose content is elsewhere."""
    return bool(getattr(found, "st_flags", 0) & _DATALESS)


def status_at(path: Path | None) -> FileStatus | None:
    """The status of the file at a path; None where none is there."""
    try:
        return None if path is None else status_of(path.stat())
    except OSError:
        return None


def is_settled(status: FileStatus, read_at_ns: int) -> bool:
    """Whether what was read is believed later, as long as the status is this one.

    A file that changed just before the reading began may change again and show the same
    times; the status was taken before.
    """
    return read_at_ns - max(status.mtime_ns, status.ctime_ns) > SETTLED_NS
