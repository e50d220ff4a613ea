"""What every replica does: in memory, in a folder, behind the client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.memory import MemoryReplica
from tests.support.plain_disk import make_plain
from tests.support.service import embedded_service
from wikisync.api.client import Client
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import (
    AttachmentPath,
    Format,
    Page,
    PageState,
    Slug,
    WikiOwner,
    digest_of,
)
from wikisync.errors import NotFound, PreconditionFailed
from wikisync.folder.replica import FolderReplica
from wikisync.sync.replica import Replica

HOME = Slug("home")
PICTURE = AttachmentPath("uploads/" + "0123456789abcdef" * 2 + "/p.png")


@asynccontextmanager
async def remote_replica(place: Path) -> AsyncIterator[Replica]:
    async with embedded_service(place) as service:
        await service.add_project("docs/handbook")
        async with Client(service.url, service.token) as client:
            yield WikiReplica(Wiki(client, WikiOwner("project", "docs/handbook")))


@pytest.fixture(params=["memory", "folder", "folder on a plain disk", "service"])
async def replica(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Replica]:
    if request.param.endswith("plain disk"):
        make_plain(monkeypatch)
    if request.param == "memory":
        yield MemoryReplica()
    elif "folder" in request.param:
        root = tmp_path / "wiki"
        root.mkdir()
        yield FolderReplica(root)
    else:
        async with remote_replica(tmp_path) as remote:
            yield remote


def page(slug: str, text: str, page_format: Format = Format.MARKDOWN) -> Page:
    return Page(Slug(slug), page_format, text)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_new_replica_is_empty_and_complete(replica: Replica) -> None:
    seen = await replica.snapshot()
    assert not seen.pages
    assert seen.is_complete
    assert replica.name


@pytest.mark.parametrize(
    "text", ["", "one\n", "no end", "a\r\nb\r\n", "naïve 日本 \U0001f389"]
)
async def test_text_comes_back_byte_for_byte(replica: Replica, text: str) -> None:
    await replica.write(page("home", text), expected=None)
    assert (await replica.read(HOME)).content == text
    assert (await replica.snapshot()).pages[HOME].digest == digest_of(text)


@pytest.mark.parametrize(
    "page_format", [Format.MARKDOWN, Format.RDOC, Format.ASCIIDOC, Format.ORG]
)
async def test_format_is_kept(replica: Replica, page_format: Format) -> None:
    written = await replica.write(page("dir/page", "x", page_format), expected=None)
    assert written.format is page_format
    state = PageState(Slug("dir/page"), page_format, digest_of("x"))
    assert (await replica.snapshot()).pages == {Slug("dir/page"): state}


async def test_text_is_replaced_only_as_it_was_expected(replica: Replica) -> None:
    await replica.write(page("home", "old"), expected=None)
    with pytest.raises(PreconditionFailed):
        await replica.write(page("home", "new"), expected=digest_of("other"))
    assert (await replica.read(HOME)).content == "old"
    await replica.write(page("home", "new"), expected=digest_of("old"))
    assert (await replica.read(HOME)).content == "new"


async def test_format_changes_with_the_text(replica: Replica) -> None:
    await replica.write(page("home", "old"), expected=None)
    await replica.write(page("home", "* new", Format.ORG), expected=digest_of("old"))
    state = PageState(HOME, Format.ORG, digest_of("* new"))
    assert (await replica.snapshot()).pages == {HOME: state}


async def test_page_is_never_created_over_another(replica: Replica) -> None:
    await replica.write(page("home", "old"), expected=None)
    with pytest.raises(PreconditionFailed):
        await replica.write(page("home", "new"), expected=None)


async def test_page_is_deleted_only_as_it_was_expected(replica: Replica) -> None:
    await replica.write(page("home", "text"), expected=None)
    with pytest.raises(PreconditionFailed):
        await replica.delete(HOME, expected=digest_of("other"))
    await replica.delete(HOME, expected=digest_of("text"))
    assert not (await replica.snapshot()).pages
    with pytest.raises(PreconditionFailed):
        await replica.delete(HOME, expected=digest_of("text"))


async def test_page_gets_another_name_and_keeps_text_and_format(
    replica: Replica,
) -> None:
    await replica.write(page("dir/old", "* text", Format.ORG), expected=None)
    moved = await replica.move(
        Slug("dir/old"), Slug("other/new"), expected=digest_of("* text")
    )
    assert (moved.slug, moved.content, moved.format) == (
        "other/new",
        "* text",
        Format.ORG,
    )
    assert set((await replica.snapshot()).pages) == {"other/new"}
    assert (await replica.read(Slug("other/new"))).content == "* text"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dir/page", "page"),
        ("page", "dir/page"),
        ("dir/page", "dir/other"),
        ("page", "page/below"),
        ("deep/dir/page", "dir/page"),
    ],
)
async def test_page_moves_between_folders(replica: Replica, old: str, new: str) -> None:
    await replica.write(page(old, "text"), expected=None)
    moved = await replica.move(Slug(old), Slug(new), expected=digest_of("text"))
    assert moved.slug == new
    assert set((await replica.snapshot()).pages) == {new}


async def test_page_is_renamed_only_as_it_was_expected(replica: Replica) -> None:
    await replica.write(page("old", "text"), expected=None)
    with pytest.raises(PreconditionFailed):
        await replica.move(Slug("old"), Slug("new"), expected=digest_of("other"))
    with pytest.raises(PreconditionFailed):
        await replica.move(Slug("gone"), Slug("new"), expected=digest_of("text"))
    assert set((await replica.snapshot()).pages) == {"old"}


async def test_page_never_takes_the_name_of_another(replica: Replica) -> None:
    await replica.write(page("old", "text"), expected=None)
    await replica.write(page("new", "held"), expected=None)
    with pytest.raises(PreconditionFailed):
        await replica.move(Slug("old"), Slug("new"), expected=digest_of("text"))
    assert (await replica.read(Slug("new"))).content == "held"
    assert (await replica.read(Slug("old"))).content == "text"


async def test_snapshot_tells_sizes_and_folded_texts(replica: Replica) -> None:
    await replica.write(page("a", "naïve\r\n"), expected=None)
    await replica.write(page("b", "plain\n"), expected=None)
    pages = (await replica.snapshot()).pages
    assert (pages[Slug("a")].size, pages[Slug("b")].size) == (8, 6)
    assert pages[Slug("a")].folded == digest_of("naïve\n")
    assert (pages[Slug("b")].folded or pages[Slug("b")].digest) == digest_of("plain\n")


async def test_missing_page_is_not_found(replica: Replica) -> None:
    with pytest.raises(NotFound, match="home"):
        await replica.read(HOME)


async def test_page_beside_a_folder_of_its_name_is_another_page(
    replica: Replica,
) -> None:
    await replica.write(page("dir", "parent"), expected=None)
    await replica.write(page("dir/page", "child"), expected=None)
    await replica.delete(Slug("dir"), expected=digest_of("parent"))
    assert set((await replica.snapshot()).pages) == {"dir/page"}


async def test_attachment_comes_back_and_is_no_page(replica: Replica) -> None:
    stored = await replica.write_attachment(PICTURE, chunks(b"\x89PNG", b"\0rest"))
    path = AttachmentPath(stored.path)
    content = b"".join([chunk async for chunk in replica.read_attachment(path)])
    assert content == b"\x89PNG\0rest"
    assert (stored.digest, stored.size) == (digest_of(content), len(content))
    assert not (await replica.snapshot()).pages


async def test_missing_attachment_is_not_found(replica: Replica) -> None:
    with pytest.raises(NotFound):
        [chunk async for chunk in replica.read_attachment(PICTURE)]
