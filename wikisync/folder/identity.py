"""Whether the folder of a wiki is the one that was synced before.

Another one, or an older copy of its disk, lacks pages that nobody deleted.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from wikisync.core.decoding import KeptAsText
from wikisync.core.system.libc import inode_and_birth
from wikisync.folder.safe_open import folder_error, opened_root


class FolderIdentity(KeptAsText, frozen=True):
    """Which folder a wiki has; kept in the workspace's state as one text."""

    disk: int
    """The number that the file system gives itself, or 0.

    Not the device's number, which for many disks is another one after each start:
    most file systems make theirs of what is written on the disk.  Where one is made
    of the device's number all the same, its change costs a cycle without removals.
    """
    inode: int
    changed_ns: int
    """When something in it was last made, renamed or removed.  As long as that
    stays, it is the same folder, and nobody has to ask for its birth, which takes a
    library."""
    birth: str
    """See ``identity_of``: a folder that is removed and copied back often gets the
    inode that it had.  Empty where the disk does not know."""

    def is_same_folder(self, other: FolderIdentity) -> bool:
        """Whether both are one folder; a copy of its disk, block by block, counts."""
        mine = (self.disk, self.inode, self.birth)
        return mine == (other.disk, other.inode, other.birth)


def current_folder(root: Path, known: FolderIdentity | None = None) -> FolderIdentity:
    """Which folder is at a path now."""
    with opened_root(root) as descriptor:
        try:
            disk = os.fstatvfs(descriptor).f_fsid
            status = os.fstat(descriptor)
        except OSError as exc:
            raise folder_error("read", str(root), exc) from exc
        now = FolderIdentity(disk, status.st_ino, status.st_ctime_ns, "")
        if known is not None and now == replace(known, birth=""):
            return known
        return replace(now, birth=identity_of(descriptor))


def identity_of(descriptor: int) -> str:
    """What an open file stays known by when it is renamed, and no other ever has.

    The inode alone will not do: most disks give the number of a removed file to the
    next new one, so a page that was deleted and another that was made would look like
    one that was renamed.  The moment of the file's birth distinguishes them; empty
    where the disk does not know it.
    """
    known = inode_and_birth(descriptor)
    return "" if known is None else f"{known[0]:x}:{known[1]:x}"
