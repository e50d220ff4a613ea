"""The program's own hash: stable while nothing changes, and cheap."""

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
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


CODE = ["site/search.py", "markup/asciidoc/asciidoc3/wiki.conf"]


@pytest.mark.parametrize("name", CODE)
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


def test_time_of_code_does_not_count(package: Path) -> None:
    """A checkout, an image or another machine gives every file another one."""
    before = program()
    os.utime(package / "markup" / "page.py", (1, 1))
    assert program() == before


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


def test_another_zlib_has_another_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = program()
    monkeypatch.setattr("zlib.ZLIB_RUNTIME_VERSION", "0.0.1")
    assert program() != before


def test_another_place_has_the_same_hash(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = program()
    elsewhere = package.rename(tmp_path / "elsewhere")
    monkeypatch.setattr(fingerprint, "_PACKAGE", elsewhere)
    assert program() == before


@pytest.fixture
def libraries(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder of libraries, where ``Some-Markup`` can be installed."""
    assert package.is_dir()
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.setattr(fingerprint, "_LIBRARIES", {"some": "some_markup"})
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    fingerprint._names_in.cache_clear()
    yield folder
    fingerprint._names_in.cache_clear()


def program_now() -> bytes:
    """The hash that another process would find."""
    importlib.invalidate_caches()
    fingerprint._names_in.cache_clear()
    return program()


def test_library_that_appears_changes_the_hash(libraries: Path) -> None:
    """An extra that is installed later renders pages in another way."""
    before = program_now()
    (libraries / "some.py").write_text("")
    assert program_now() != before


@pytest.mark.parametrize("name", ["some_markup-2.dist-info", "Some_Markup-2.dist-info"])
def test_library_counts_with_its_version(libraries: Path, name: str) -> None:
    package = libraries / "some"
    package.mkdir()
    code = package / "__init__.py"
    code.write_text("")
    (libraries / "some_markup-1.dist-info").mkdir()
    before = program_now()
    os.utime(code, (1, 1))
    assert program_now() == before
    (libraries / "some_markup-1.dist-info").rename(libraries / name)
    assert program_now() != before
