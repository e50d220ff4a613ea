"""The studio of the site tests, and the desk of those of a preview."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.sites import Studio, with_handbook, with_instance
from tests.support.kept_reader import kept_reader
from tests.support.preview import WIKI, Desk
from wikisync.core.system import file_status
from wikisync.folder import index, safe_open

__all__ = ["kept_reader"]


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    """A place with no wiki yet."""
    return Studio(tmp_path)


@pytest.fixture
def own_handbook(studio: Studio) -> Studio:
    """The handbook, for a test that changes it."""
    return with_handbook(studio)


@pytest.fixture
def own_instance(studio: Studio) -> Studio:
    """Three wikis, for a test that changes them."""
    return with_instance(studio)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An author's folder with two pages and a picture."""
    desk = Desk(tmp_path)
    desk.add(WIKI)
    return desk


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the files that a build reads, on a disk whose times tell all."""
    paths: list[str] = []
    read_chunks = safe_open.read_chunks

    def noted(descriptor: int, path: str) -> Iterator[bytes]:
        paths.append(path)
        return read_chunks(descriptor, path)

    monkeypatch.setattr(index, "read_chunks", noted)
    monkeypatch.setattr(file_status, "SETTLED_NS", 0)
    return paths
