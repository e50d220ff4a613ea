"""The program's own hash: stable while nothing changes, and cheap."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import wikisync
from wikisync.site import fingerprint

program = fingerprint.program_fingerprint.__wrapped__


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, to be edited."""
    copy = tmp_path / "wikisync"
    for part in ("markup", "site"):
        shutil.copytree(
            Path(wikisync.__file__).parent / part,
            copy / part,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    monkeypatch.setattr(fingerprint, "_PACKAGE", copy)
    return copy


def test_same_code_has_the_same_hash(package: Path) -> None:
    assert (package / "site" / "build.py").is_file()
    assert program() == program()


@pytest.mark.parametrize("name", ["markup/page.py", "site/search.py"])
def test_changed_code_has_another_hash(package: Path, name: str) -> None:
    before = program()
    with (package / name).open("a") as file:
        file.write("# changed\n")
    assert program() != before


def test_code_changed_in_place_and_size_has_another_hash(package: Path) -> None:
    before = program()
    code = package / "markup" / "page.py"
    code.write_bytes(code.read_bytes()[:-1] + b"#")
    assert program() != before


@pytest.mark.parametrize("time_s", [0, 1, 365 * 86_400])
def test_code_without_a_time_of_its_own_counts_by_content(
    package: Path, time_s: int
) -> None:
    """Images and stores give every file one time, often the epoch."""
    code = package / "markup" / "page.py"
    os.utime(code, (time_s, time_s))
    before = program()
    code.write_bytes(code.read_bytes()[:-1] + b"#")
    os.utime(code, (time_s, time_s))
    assert program() != before


@pytest.mark.parametrize("name", ["markup/added.py", "vendor/added.js"])
def test_added_code_has_another_hash(package: Path, name: str) -> None:
    before = program()
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("")
    assert program() != before


def test_another_version_has_another_hash(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = program()
    monkeypatch.setattr(fingerprint, "__version__", "99")
    assert (package / "site").is_dir()
    assert program() != before


def test_another_place_has_another_hash(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two environments with two versions may share a cache."""
    before = program()
    elsewhere = package.rename(tmp_path / "elsewhere")
    monkeypatch.setattr(fingerprint, "_PACKAGE", elsewhere)
    assert program() != before


def test_library_that_appears_changes_the_hash(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra that is installed later renders pages in another way."""
    monkeypatch.setattr(fingerprint, "_LIBRARIES", ("not_installed_yet",))
    before = program()
    library = package.parent / "libraries"
    library.mkdir()
    (library / "not_installed_yet.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(library), *sys.path])
    assert program() != before
