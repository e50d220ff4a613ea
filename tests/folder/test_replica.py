import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.folder.rooms import private_beside
from wikisync.core.model import AttachmentPath, Format, Page, Slug, digest_of
from wikisync.errors import FolderError, NotFound, PreconditionFailed
from wikisync.folder.replica import FolderReplica
from wikisync.folder.safe_open import CHUNK_BYTES

PICTURE = AttachmentPath("uploads/0123456789abcdef0123456789abcdef/picture.png")


def page(slug: str, content: str = "text") -> Page:
    return Page(Slug(slug), Format.MARKDOWN, content)


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def folder_replica(root: Path) -> FolderReplica:
    return FolderReplica(root, private=private_beside(root), settle_s=0)


@pytest.fixture
def replica(tmp_path: Path) -> FolderReplica:
    return folder_replica(tmp_path)


async def test_page_is_read_without_a_snapshot_before(tmp_path: Path) -> None:
    (tmp_path / "my-page.org").write_bytes(b"a\r\n")
    found = await folder_replica(tmp_path).read(Slug("my-page"))
    assert found == Page(Slug("my-page"), Format.ORG, "a\r\n", "my page")


async def test_page_that_was_moved_to_another_format_is_found(
    replica: FolderReplica, tmp_path: Path
) -> None:
    await replica.write(page("a"), expected=None)
    (tmp_path / "a.md").rename(tmp_path / "a.org")
    assert (await replica.read(Slug("a"))).format is Format.ORG


async def test_many_pages_at_once_each_get_a_result(replica: FolderReplica) -> None:
    await replica.write(page("b", "theirs"), expected=None)
    results = await replica.write_pages(
        [(page(slug), None) for slug in ("c", "b", "../a")]
    )
    kinds = [type(result) for result in results]
    assert kinds == [Page, PreconditionFailed, Page]


async def test_pages_written_side_by_side_are_all_there(replica: FolderReplica) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(replica.write(page(f"d/{number}"), expected=None))
    assert len((await replica.snapshot()).pages) == 30


async def test_hostile_slugs_stay_inside(tmp_path: Path) -> None:
    replica = folder_replica(tmp_path / "wiki")
    (tmp_path / "wiki").mkdir()
    slugs = ["../../etc/x", "/abs", "a/../../b", ".git/config", "CON"]
    await replica.write_pages([(page(slug), None) for slug in [*slugs, "uploads/x"]])
    found = await replica.snapshot()
    # neither a wiki nor a folder has pages below the folder of attachments
    assert set(found.pages) == set(slugs)
    assert found.ignored == {Slug("uploads/x")}
    assert (tmp_path / "wiki/%75ploads/x.md").exists()
    assert set(names_in(tmp_path)) == {"wiki", "wiki.own"}


async def test_attachment_comes_back_as_it_was_stored(
    replica: FolderReplica, tmp_path: Path
) -> None:
    content = bytes(range(256)) * (CHUNK_BYTES // 100)
    halves = content[:1000], content[1000:]
    stored = await replica.write_attachment(PICTURE, pieces(*halves))
    read = b"".join([chunk async for chunk in replica.read_attachment(PICTURE)])
    assert read == content == (tmp_path / PICTURE).read_bytes()
    assert (stored.digest, stored.size) == (digest_of(content), len(content))
    (here,) = (await replica.attachments([PICTURE])).values()
    assert (here.digest, here.size) == (stored.digest, stored.size)


async def test_attachment_that_is_not_there(replica: FolderReplica) -> None:
    assert not await replica.attachments([PICTURE])
    with pytest.raises(NotFound, match="no attachment uploads/"):
        await anext(replica.read_attachment(PICTURE))


@pytest.mark.parametrize(
    "path", ["uploads/../home.md", "home.md", "uploads/0a/.htaccess", "uploads/a\x00"]
)
async def test_unsafe_attachment_path_is_refused(
    replica: FolderReplica, tmp_path: Path, path: str
) -> None:
    unsafe = AttachmentPath(path)
    with pytest.raises(FolderError, match="not a safe path"):
        await replica.write_attachment(unsafe, pieces(b"x"))
    assert not await replica.attachments([unsafe])
    with pytest.raises(FolderError, match="not a safe path"):
        await anext(replica.read_attachment(unsafe))
    assert names_in(tmp_path) == []


async def test_attachment_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "uploads").symlink_to(tmp_path / "outside")
    with pytest.raises(FolderError, match="uploads is a symbolic link"):
        await folder_replica(tmp_path / "wiki").write_attachment(PICTURE, pieces(b"x"))
    assert names_in(tmp_path / "outside") == []


async def test_cancelled_attachment_never_was(
    replica: FolderReplica, tmp_path: Path
) -> None:
    stalled = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * CHUNK_BYTES
        stalled.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(replica.write_attachment(PICTURE, endless()))
        await stalled.wait()
        task.cancel()
    assert names_in(tmp_path) == []
