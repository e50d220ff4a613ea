"""A disk that can neither link files nor look at a name while it renames: exFAT."""

import errno
import os

import pytest

from wikisync.core.system import libc


def no_links(*_names: object, **_folders: object) -> None:
    """What the system says on such a disk."""
    raise PermissionError(errno.EPERM, "Operation not permitted")


def make_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every disk be such a one until the test ends."""
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(libc, "_renaming", lambda _platform: None)
