"""What a file stays known by when it is renamed, and no other file ever has.

The inode alone will not do: most disks give the number of a removed file to the
next new one, so a page that was deleted and another that was made would look like
one that was renamed.  The moment of the file's birth distinguishes them.
"""

from __future__ import annotations

from wikisync.libc import inode_and_birth


def identity_of(descriptor: int) -> str:
    """An open file's identity; empty where the disk does not know its birth."""
    known = inode_and_birth(descriptor)
    return "" if known is None else f"{known[0]:x}:{known[1]:x}"
