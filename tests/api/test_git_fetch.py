"""Files of a repository on disk, as git's library reads them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pygit2
import pytest

from tests.support.git import needs_git
from tests.support.service import embedded_service
from wikisync.api import git_fetch
from wikisync.api.secret import Secret
from wikisync.model import AttachmentPath, WikiOwner

PICTURE = AttachmentPath("p.png")


def repository_with(folder: Path, content: bytes, mode: pygit2.enums.FileMode) -> str:
    """Make a repository of one file; gives the id of its content."""
    repository = pygit2.init_repository(str(folder), bare=True)
    blob = repository.create_blob(content)
    tree = repository.TreeBuilder()
    tree.insert(PICTURE, blob, mode)
    author = pygit2.Signature("Git Tester", "git@example.com")
    repository.create_commit(
        git_fetch.REFERENCE, author, author, "first", tree.write(), []
    )
    repository.free()
    return str(blob)


@pytest.mark.parametrize("mode", ["BLOB", "BLOB_EXECUTABLE"])
def test_file_is_read(tmp_path: Path, mode: str) -> None:
    repository_with(tmp_path / "r", b"\x89PNG", pygit2.enums.FileMode[mode])
    assert git_fetch.read_file(tmp_path / "r", PICTURE) == b"\x89PNG"
    assert git_fetch.read_file(tmp_path / "r", AttachmentPath("p.jpg")) is None
    assert git_fetch.held_commit(tmp_path / "r")


def test_link_is_no_file(tmp_path: Path) -> None:
    """What it holds is a path of somebody's machine and no picture."""
    repository_with(tmp_path / "r", b"/etc/passwd", pygit2.enums.FileMode.LINK)
    assert git_fetch.read_file(tmp_path / "r", PICTURE) is None


def test_repository_with_a_damaged_file_is_removed(tmp_path: Path) -> None:
    """Its commit is sound, so that nothing else would fetch it anew."""
    blob = repository_with(tmp_path / "r", b"\x89PNG", pygit2.enums.FileMode.BLOB)
    damaged = tmp_path / "r" / "objects" / blob[:2] / blob[2:]
    damaged.chmod(0o600)
    damaged.write_bytes(b"no zlib at all")
    assert git_fetch.read_file(tmp_path / "r", PICTURE) is None
    assert not (tmp_path / "r").exists()


def test_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert git_fetch.held_commit(tmp_path) is None


@needs_git
async def test_fetch_that_is_told_to_stop_stops(tmp_path: Path) -> None:
    async with embedded_service(tmp_path) as service:
        await service.add_project("docs/handbook")
        owner = WikiOwner("project", "docs/handbook")
        await service.put_file(owner, PICTURE, b"\x89PNG")
        fetching = git_fetch.Fetching(Secret(service.token), service.url)
        fetching.stop.set()
        address = f"{service.url}/docs/handbook.wiki.git"
        with pytest.raises(git_fetch.FetchStopped, match="it took too long"):
            await asyncio.to_thread(git_fetch.fetch, address, tmp_path / "r", fetching)
