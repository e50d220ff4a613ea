"""exFAT: a disk that can neither link files nor look at a name while it renames.

By FUSE, it also takes names that differ in case only for one.
"""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from wikisync.core.system import libc

TIMES = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")


def no_links(*_names: object, **_folders: object) -> None:
    """What the system says on such a disk."""
    raise PermissionError(errno.EPERM, "Operation not permitted")


def make_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every disk be such a one until the test ends."""
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(libc, "_renaming", lambda _platform: None)


def make_folding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every disk be such a one by FUSE until the test ends.

    It finds a file by any spelling and lists the one that the file was given.  Each
    spelling has an inode number of its own, as if they were several files.
    """
    make_plain(monkeypatch)
    real_stat, real_open = os.stat, os.open

    def listed(name: Any, folder: int | None) -> Any:
        """The spelling that the file was given, if there is one."""
        if not isinstance(name, str | os.PathLike):
            return name
        place, leaf = os.path.split(os.fspath(name))
        try:
            entries = os.scandir((place or ".") if folder is None else folder)
        except OSError:
            return name
        with entries:
            names = [entry.name for entry in entries]
        same = [one for one in names if one.lower() == leaf.lower()]
        return str(Path(place, same[0])) if same and leaf not in names else name

    def stat(name: Any, *, dir_fd: int | None = None, **options: Any) -> os.stat_result:
        given = listed(name, dir_fd)
        status = real_stat(given, dir_fd=dir_fd, **options)
        if given == name:
            return status
        mode, inode, *rest = status
        times = {key: getattr(status, key) for key in TIMES}
        return os.stat_result((mode, inode + 1, *rest), times)

    def lstat(name: Any, *, dir_fd: int | None = None) -> os.stat_result:
        return stat(name, dir_fd=dir_fd, follow_symlinks=False)

    def open_any(
        name: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        return real_open(listed(name, dir_fd), flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(os, "open", open_any)
