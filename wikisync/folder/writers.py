"""Whether a program may still write to a file, as far as the system says.

Linux grants a read lease only on a file that nobody has open for writing, and asks
for nothing but that the file is this user's.  It says nothing of another user's
file, nor do all disks; other systems say nothing at all.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

UNTOLD_S = 3600.0
"""Where the system says nothing, a file may be written to for so long after its last
change."""

_PROCESSES = Path("/proc")


class Writers:
    """The programs that have files open for writing, for one check of some files."""

    def may_write(self, descriptor: int, unchanged_s: float) -> bool:
        """Whether more may come to an open file that has no name any more."""
        found = has_writer(descriptor)
        if found is not None:
            return found
        return unchanged_s < UNTOLD_S or _key(os.fstat(descriptor)) in self._written

    @cached_property
    def _written(self) -> frozenset[tuple[int, int]]:
        return frozenset(_written_files())


def has_writer(descriptor: int) -> bool | None:
    """Whether a program has an open file open for writing, too; None if unknown."""
    import fcntl

    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    import signal

    try:
        # whoever opens the file now, by a name of it, must not end this process
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _written_files() -> Iterator[tuple[int, int]]:
    """Files that processes have open for writing, of those that show it to us."""
    for link in _PROCESSES.glob("[0-9]*/fd/*"):
        with suppress(OSError, ValueError):
            about = link.parents[1] / "fdinfo" / link.name
            flags = next(x for x in about.read_text().splitlines() if "flags" in x)
            if int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                yield _key(link.stat())


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
