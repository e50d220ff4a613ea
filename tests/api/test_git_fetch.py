"""Files of a repository on disk, as git's library reads them."""

import asyncio
import shutil
import threading
from pathlib import Path

import pygit2
import pytest

from tests.support.git import needs_git
from tests.support.service import embedded_service
from wikisync.api import git_fetch
from wikisync.api.secret import Secret
from wikisync.core.model import AttachmentPath, WikiOwner

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


def read(
    folder: Path, path: AttachmentPath = PICTURE, *, removes_damaged: bool = False
) -> bytes | None:
    return git_fetch.read_file(folder, path, removes_damaged=removes_damaged)


@pytest.mark.parametrize("mode", ["BLOB", "BLOB_EXECUTABLE"])
def test_file_is_read(tmp_path: Path, mode: str) -> None:
    repository_with(tmp_path / "r", b"\x89PNG", pygit2.enums.FileMode[mode])
    assert read(tmp_path / "r") == b"\x89PNG"
    assert read(tmp_path / "r", AttachmentPath("p.jpg")) is None
    assert git_fetch.held_commit(tmp_path / "r")


def test_link_is_no_file(tmp_path: Path) -> None:
    """What it holds is a path of somebody's machine and no picture."""
    repository_with(tmp_path / "r", b"/etc/passwd", pygit2.enums.FileMode.LINK)
    assert read(tmp_path / "r") is None


def test_repository_with_a_damaged_file_is_removed(tmp_path: Path) -> None:
    """Its commit is sound, so that nothing else would fetch it anew."""
    blob = repository_with(tmp_path / "r", b"\x89PNG", pygit2.enums.FileMode.BLOB)
    damaged = tmp_path / "r" / "objects" / blob[:2] / blob[2:]
    damaged.chmod(0o600)
    damaged.write_bytes(b"no zlib at all")
    assert read(tmp_path / "r") is None
    assert (tmp_path / "r").exists()
    assert read(tmp_path / "r", removes_damaged=True) is None
    assert not (tmp_path / "r").exists()


def test_repository_that_another_one_makes_is_left_to_it(tmp_path: Path) -> None:
    """Until its last file is there it looks like a damaged one."""
    address, has_ended = f"file://{tmp_path}/there", threading.Event()
    repository_with(tmp_path / "there", b"\x89PNG", pygit2.enums.FileMode.BLOB)

    def read_all_the_time() -> None:
        while not has_ended.is_set():
            if (tmp_path / "r").is_dir():
                read(tmp_path / "r")

    other = threading.Thread(target=read_all_the_time)
    other.start()
    try:
        for _ in range(20):
            shutil.rmtree(tmp_path / "r", ignore_errors=True)
            fetching = git_fetch.Fetching(None, address)
            git_fetch.fetch(address, tmp_path / "r", fetching)
            assert (tmp_path / "r" / "HEAD").exists()
    finally:
        has_ended.set()
        other.join()


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
