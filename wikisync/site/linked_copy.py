"""A folder that shares the files of another one: made equal to it by links.

What has the same inode in both is the same file.  So only names are read, and only
what differs is linked or removed; after an interrupt at any step, a second call goes
on where the first one ended.  No symbolic link is followed.
"""

import os
import shutil
from pathlib import Path


def make_linked_copy(source: Path, copy: Path) -> bool:
    """Make a folder equal to another one; it need not exist.

    Nobody may read the copy meanwhile.

    Returns:
        Whether all files are shared: where a disk has no links, they are copied, and
        would be copied again.

    Raises:
        OSError: A folder cannot be read, or the copy cannot be written.
    """
    if not os.path.lexists(copy):
        copy.mkdir()
        shutil.copystat(source, copy)
    wanted = {entry.name: entry for entry in _entries(source)}
    # inodes of two disks have nothing to do with each other
    is_one_disk = source.stat().st_dev == copy.stat().st_dev
    there = set()
    is_shared = True
    for entry in _entries(copy):
        other = wanted.get(entry.name)
        if other and _is_same(other, entry, is_one_disk=is_one_disk):
            there.add(entry.name)
        elif _is_folder(entry):
            shutil.rmtree(entry)
        else:
            Path(entry).unlink()
    for name, entry in wanted.items():
        if _is_folder(entry):
            is_shared &= make_linked_copy(Path(entry), copy / name)
        elif name not in there:
            is_shared &= _is_linked(entry.path, copy / name)
    return is_shared


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _is_same(
    one: os.DirEntry[str], other: os.DirEntry[str], *, is_one_disk: bool
) -> bool:
    """Whether both are folders, or one file."""
    if _is_folder(one) or _is_folder(other):
        return _is_folder(one) and _is_folder(other)
    return is_one_disk and one.inode() == other.inode()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _is_linked(source: str, target: Path) -> bool:
    """Give a file a second name, or copy it where that cannot be; whether it is one."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
        return False
    return True
