import os
import sys
from pathlib import Path

import pytest

from wikisync.core.system import libc


def identity(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return libc.identity_of(descriptor)
    finally:
        os.close(descriptor)


def test_file_is_known_by_any_name_and_with_any_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = identity(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "b").write_text("other")
    assert before == identity(tmp_path / "b") != ""


def test_new_file_in_the_place_of_a_removed_one_is_another(tmp_path: Path) -> None:
    """Most disks give it the same inode."""
    seen: set[str] = set()
    for _ in range(20):
        (tmp_path / "a").write_text("x")
        seen.add(identity(tmp_path / "a"))
        (tmp_path / "a").unlink()
    assert len(seen) == 20


def test_disk_that_knows_no_births_vouches_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")
    monkeypatch.setattr(libc, "_INODE_AND_BIRTH", 0x100)
    monkeypatch.setattr(libc, "_BIRTH", 1 << 30)
    assert identity(tmp_path / "a") == ""
    monkeypatch.setattr(libc, "_statx", lambda: None)
    assert identity(tmp_path / "a") == ""
    monkeypatch.setattr(sys, "platform", "plan9")
    assert identity(tmp_path / "a") == ""
