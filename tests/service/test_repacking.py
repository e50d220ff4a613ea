"""Repositories are packed in the background, and no end of it loses an object."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support.git import needs_git, run_git
from tests.support.service import AUTHOR, embedded_service
from wikisync.core.model import WikiOwner
from wikisync.service.editing import CommitPlan
from wikisync.service.git_process import GitRunner
from wikisync.service.repacking import LEFTOVER_AGE_S, Repacking, loose_objects
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import GitService, Packing, Settings
from wikisync.service.tree import WikiTree

pytestmark = needs_git

DOCS = WikiOwner("project", "docs/a")
MANY = 700
"""Commits: enough that git takes a while."""


def repacking(**limits: int) -> Repacking:
    return Repacking(GitRunner(GitService()), Packing(**limits))


def an_edit(number: int, _tree: WikiTree) -> CommitPlan:
    text = f"# Page\n\nEdit {number}.\n".encode()
    return CommitPlan(f"edit {number}", writes={f"dir/page-{number % 50}.md": text})


def edit(repository: WikiRepository, number: int) -> None:
    repository.change(partial(an_edit, number), AUTHOR)


def filled(path: Path, commits: int) -> WikiRepository:
    repository = WikiRepository(path)
    for number in range(commits):
        edit(repository, number)
    return repository


def pack_files(repository: Path, *patterns: str) -> list[Path]:
    folder = repository / "objects" / "pack"
    return [path for pattern in patterns for path in folder.glob(pattern)]


async def assert_whole(repository: WikiRepository, commits: int) -> None:
    """Git finds every object, and each page and commit can be read."""
    checked = await run_git("fsck", "--full", "--strict", folder=repository.path)
    assert (checked.code, checked.err) == (0, "")
    again = WikiRepository(repository.path)
    assert again.count_commits() == commits
    blobs = [file.blob for file in again.tree().files]
    assert all(text.startswith(b"# Page") for text in again.read_many(blobs))


async def test_service_packs_a_wiki_that_gathers_objects(tmp_path: Path) -> None:
    settings = Settings(packing=Packing(loose_objects_max=256))
    async with embedded_service(tmp_path, settings=settings) as service:
        await service.add_project("docs/a", {"home": "# Page"})
        storage = await service.wiki(DOCS)
        repository, most = storage.repository, 0
        for number in range(300):
            await storage.change(partial(an_edit, number), AUTHOR)
            most = max(most, loose_objects(repository.path))
            await service.running.service.repacking.wait_until_idle()

        assert 256 < most < 512
        assert pack_files(repository.path, "*.pack")
        await assert_whole(repository, 301)


async def test_service_packs_a_wiki_that_it_loads(tmp_path: Path) -> None:
    settings = Settings(packing=Packing(loose_objects_max=256))
    pages = tmp_path / "wiki"
    pages.mkdir()
    for number in range(1000):
        (pages / f"page-{number}.md").write_text(f"# Page\n\nText {number}.\n")
    async with embedded_service(tmp_path / "data", settings=settings) as service:
        await service.load_folder(pages)
        await service.running.service.repacking.wait_until_idle()

        repository = (await service.wiki(WikiOwner("project", "local/wiki"))).repository
        assert loose_objects(repository.path) == 0
        assert pack_files(repository.path, "*.pack")
        await assert_whole(repository, 1)


async def test_open_repository_reads_on_when_its_objects_are_packed(
    tmp_path: Path,
) -> None:
    repository = filled(tmp_path / "a.git", 100)
    other = WikiRepository(repository.path)
    before = other.tree()

    await repacking().pack(repository)

    assert loose_objects(repository.path) == 0
    assert other.read(before.files[0].blob).startswith(b"# Page")
    edit(other, 100)
    await assert_whole(repository, 101)


async def test_many_packs_become_one(tmp_path: Path) -> None:
    repository = filled(tmp_path / "a.git", 10)
    packing = repacking(packs_max=3)
    counts = []
    for number in range(10, 15):
        await packing.pack(repository)
        counts.append(len(pack_files(repository.path, "*.pack")))
        edit(repository, number)

    assert counts == [1, 2, 3, 1, 2]
    await assert_whole(repository, 15)


@pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="this system does not say what is open"
)
async def test_removed_pack_is_not_held_open(tmp_path: Path) -> None:
    repository = filled(tmp_path / "a.git", 10)
    packing = repacking(packs_max=1)
    await packing.pack(repository)
    blobs = [file.blob for file in repository.tree().files]
    repository.read_many(blobs)
    edit(repository, 10)

    await packing.pack(repository)

    mapped = Path("/proc/self/maps").read_text().splitlines()
    assert not [
        line for line in mapped if "(deleted)" in line and str(tmp_path) in line
    ]


async def test_blob_that_no_commit_has_yet_stays(tmp_path: Path) -> None:
    repository = filled(tmp_path / "a.git", 10)
    picture = tmp_path / "a.png"
    picture.write_bytes(b"# Page picture")
    links = repository.store_files({"uploads/a.png": picture})

    await repacking(packs_max=1).pack(repository)

    repository.change(lambda _tree: CommitPlan("link", links=links), AUTHOR)
    await assert_whole(repository, 11)


def has(*patterns: str) -> Callable[[Path], bool]:
    return lambda repository: bool(pack_files(repository, *patterns))


def lost(folder: str) -> Callable[[Path], bool]:
    return lambda repository: not (repository / "objects" / folder).exists()


STEPS = {
    "a temporary file": has("tmp_*", ".tmp-*"),
    "the pack": has("pack-*.pack"),
    "its index": has("pack-*.idx"),
    "the first loose objects removed": lost("01"),
    "half of them removed": lost("80"),
    "nearly all removed": lost("f8"),
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("many") / "a.git", MANY).path


@pytest.mark.parametrize("step", STEPS)
async def test_killed_at_any_step_everything_is_there(
    tmp_path: Path, many: Path, step: str
) -> None:
    repository = WikiRepository(Path(shutil.copytree(many, tmp_path / "a.git")))
    reached = STEPS[step]
    packing = repacking()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(packing.pack(repository))
        # nobody tells what git has done so far
        while not reached(repository.path) and not task.done():  # noqa: ASYNC110
            await asyncio.sleep(0)
        # the process and all that it started are killed
        task.cancel()

    await assert_whole(repository, MANY)
    edit(repository, MANY)
    await packing.pack(repository)
    assert loose_objects(repository.path) == 0
    await assert_whole(repository, MANY + 1)


async def test_what_an_interrupted_git_left_is_removed_when_it_is_old(
    tmp_path: Path,
) -> None:
    repository = filled(tmp_path / "a.git", 5)
    folder = repository.path / "objects" / "pack"
    old, young = folder / "tmp_pack_old", folder / ".tmp-1-pack-young.pack"
    for path in (old, young):
        path.write_bytes(b"half")
    then = young.stat().st_mtime - LEFTOVER_AGE_S - 1
    os.utime(old, (then, then))

    await repacking().pack(repository)

    assert (old.exists(), young.exists()) == (False, True)


async def test_repository_that_cannot_be_packed_is_tried_again_much_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    repository = filled(tmp_path / "a.git", 200)
    for path in (repository.path / "objects" / "00").iterdir():
        path.chmod(0o644)
        path.write_bytes(b"broken")
    packing = repacking(loose_objects_max=256)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(packing.run())
        for number in range(200, 220):
            packing.note_change(repository)
            await packing.wait_until_idle()
            edit(repository, number)
        running.cancel()

    assert caplog.text.count("a.git cannot be packed") == 1
