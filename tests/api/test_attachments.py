"""Where attachments come from: the file route first, git where that keeps them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from tests.api.wire import Wire, http
from tests.support.bending import SIGN_IN_PAGE, BendingProxy, bending_proxy
from tests.support.git import needs_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.git import KEPT_S, AttachmentSource, RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import AttachmentPath, WikiOwner
from wikisync.errors import NotFound, Unavailable

OWNER = WikiOwner("project", "docs/handbook")
FOLDER = "uploads/" + "0123456789abcdef" * 2
PICTURE = AttachmentPath(f"{FOLDER}/p.png")
PNG = b"\x89PNG" + bytes(range(256)) * 1000


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "hello"})
        await running.put_file(OWNER, PICTURE, PNG)
        yield running


@pytest.fixture
async def replica(
    service: EmbeddedService, tmp_path: Path
) -> AsyncIterator[WikiReplica]:
    async with Client(service.url, service.token) as client:
        repository = RemoteRepository(client, OWNER, tmp_path / "cache")
        wiki = Wiki(client, OWNER)
        source = AttachmentSource(wiki, repository)
        yield WikiReplica(wiki, attachments=source)


async def content(source: WikiReplica | AttachmentSource, path: str = PICTURE) -> bytes:
    read = (
        source.read if isinstance(source, AttachmentSource) else source.read_attachment
    )
    return b"".join([chunk async for chunk in read(AttachmentPath(path))])


async def test_file_route_is_asked_first(replica: WikiReplica, tmp_path: Path) -> None:
    assert await content(replica) == PNG
    assert not (tmp_path / "cache").exists()


@needs_git
async def test_file_that_is_kept_to_browsers_comes_by_git(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.FILES_NEED_SESSION}
    assert await content(replica) == PNG


@needs_git
async def test_file_route_that_keeps_files_is_not_asked_again(
    service: EmbeddedService, replica: WikiReplica, caplog: pytest.LogCaptureFixture
) -> None:
    service.quirks = {Quirk.FILES_NEED_SESSION}
    caplog.set_level("DEBUG", logger="wikisync.api.pool")
    await content(replica)
    await content(replica)
    assert caplog.text.count("/-/wikis/uploads/") == 1


@needs_git
async def test_file_that_neither_way_has_is_missing(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.FILES_NEED_SESSION}
    with pytest.raises(NotFound, match=r"other\.png .*not in the wiki's git repos"):
        await content(replica, f"{FOLDER}/other.png")


async def test_where_neither_way_works_both_are_told(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    with pytest.raises(NotFound) as missing:
        await content(replica)
    message = missing.value.message
    assert f"attachment {PICTURE} of {OWNER}" in message
    assert "browsers only" in message
    assert "git repository of the wiki" in message
    assert missing.value.hint


async def test_without_a_cache_git_is_not_tried(service: EmbeddedService) -> None:
    service.quirks = {Quirk.FILES_NEED_SESSION}
    async with Client(service.url, service.token) as client:
        with pytest.raises(NotFound, match="does not serve attachments to tokens"):
            await content(WikiReplica(Wiki(client, OWNER)))


# -- odd answers -------------------------------------------------------------------


@pytest.fixture
def odd(wired_wiki: Wiki) -> AttachmentSource:
    return AttachmentSource(wired_wiki)


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><html>", b"\xef\xbb\xbf \r\n<HTML lang='en'>" + b"x" * 99]
)
async def test_web_page_is_never_taken_for_a_picture(
    odd: AttachmentSource, wire: Wire, page: bytes
) -> None:
    """Whatever it says to be."""
    wire.will(http(200, page, "image/png"))
    with pytest.raises(NotFound, match="answers with a web page instead"):
        await content(odd)


@pytest.mark.parametrize(
    "pointer",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 9\n"
        % (b"0f" * 32),
        b"/annex/objects/SHA256E-s9--ab.png\n",
    ],
)
async def test_pointer_is_never_taken_for_the_file_it_stands_for(
    odd: AttachmentSource, wire: Wire, pointer: bytes
) -> None:
    wire.will(http(200, pointer, "image/png"))
    with pytest.raises(NotFound, match="only a pointer to it"):
        await content(odd)


@pytest.mark.parametrize(
    "text",
    [
        b"A pointer begins with\nversion https://git-lfs.github.com/spec/v1\n",
        b"version https://git-lfs.github.com/spec/v1\n\nis the first line of one.\n",
        b"/annex/objects/SHA256E-s9--ab.png\nis one of git-annex\n",
    ],
)
async def test_text_about_pointers_is_a_text(
    odd: AttachmentSource, wire: Wire, text: bytes
) -> None:
    wire.will(http(200, text, "text/plain"))
    assert await content(odd, f"{FOLDER}/pointers.txt") == text


async def test_text_that_shows_html_is_a_text(
    odd: AttachmentSource, wire: Wire
) -> None:
    wire.will(http(200, b"<html> is a tag", "text/plain"), http(404))
    assert await content(odd, f"{FOLDER}/notes.txt") == b"<html> is a tag"


@pytest.mark.parametrize("body", [b"", b"\x89", b"x" * 1024, b"x" * 1025])
async def test_file_of_any_length_comes_whole(
    odd: AttachmentSource, wire: Wire, body: bytes
) -> None:
    wire.will(http(200, body, "image/png"), http(404))
    assert await content(odd) == body


async def test_service_that_is_gone_is_not_taken_for_one_that_keeps_files(
    odd: AttachmentSource, wire: Wire
) -> None:
    wire.will(http(503))
    wire.repeats = True
    with pytest.raises(Unavailable):
        await content(odd)
    wire.answers.clear()
    wire.will(http(200, b"\x89PNG", "image/png"))
    assert await content(odd) == b"\x89PNG"


# -- sign-in pages and nothing, in the place of a file -----------------------------

PAGE = AttachmentPath(f"{FOLDER}/report.html")
OWN_PAGE = b"<!DOCTYPE html><title>Figures</title>" + b"<p>42</p>" * 200
NAMES = ["report.html", "plan.svg", "letter.docx", "notes.txt", "table.csv", "p.png"]


@pytest.fixture
async def proxy(service: EmbeddedService) -> AsyncIterator[BendingProxy]:
    for name in NAMES:
        await service.put_file(OWNER, f"{FOLDER}/{name}", b"own " + name.encode())
    await service.put_file(OWNER, PAGE, OWN_PAGE)
    await service.put_file(OWNER, f"{FOLDER}/empty.txt", b"")
    async with bending_proxy(service.url) as running:
        yield running


@asynccontextmanager
async def source_at(
    proxy: BendingProxy, service: EmbeddedService, cache: Path | None
) -> AsyncIterator[AttachmentSource]:
    async with Client(proxy.url, service.token) as client:
        git = RemoteRepository(client, OWNER, cache) if cache else None
        yield AttachmentSource(Wiki(client, OWNER), git)


@needs_git
@pytest.mark.parametrize(
    "page", [SIGN_IN_PAGE, b"<!-- in -->\n<html>", b"<?xml version='1'?><html>", b""]
)
async def test_file_comes_by_git_where_something_else_comes_in_its_place(
    page: bytes, proxy: BendingProxy, service: EmbeddedService, tmp_path: Path
) -> None:
    files = await service.files(OWNER)
    for name in NAMES:
        kind = {"Content-Type": "text/html" if name.endswith("l") else "text/plain"}
        bent = proxy.bend("/-/wikis/uploads/", status=200, body=page, headers=kind)
        path = f"{FOLDER}/{name}"

        async with source_at(proxy, service, tmp_path / name) as source:
            assert await content(source, path) == files[path], name
        bent.end()


@needs_git
async def test_file_that_may_be_a_page_by_its_name_comes_by_git(
    proxy: BendingProxy, service: EmbeddedService, tmp_path: Path
) -> None:
    async with source_at(proxy, service, tmp_path / "cache") as source:
        assert await content(source, PAGE) == OWN_PAGE
    assert proxy.requests("/-/wikis/uploads/") == []


@pytest.mark.parametrize("page", [SIGN_IN_PAGE, b""])
async def test_what_comes_in_the_place_of_every_file_is_no_file(
    page: bytes, proxy: BendingProxy, service: EmbeddedService
) -> None:
    """Git cannot be asked; but a file that cannot be there comes as well."""
    proxy.bend("info/refs", status=404)
    for name in NAMES:
        kind = {"Content-Type": "text/html" if name.endswith("html") else "text/plain"}
        bent = proxy.bend("/-/wikis/uploads/", status=200, body=page, headers=kind)

        async with source_at(proxy, service, None) as source:
            with pytest.raises(NotFound, match=r"instead$"):
                await content(source, f"{FOLDER}/{name}")
        bent.end()


async def test_honest_file_route_is_believed_where_git_cannot_be_asked(
    proxy: BendingProxy, service: EmbeddedService, tmp_path: Path
) -> None:
    proxy.bend("info/refs", status=404)
    files = await service.files(OWNER)
    for path in (f"{FOLDER}/report.html", f"{FOLDER}/empty.txt"):
        async with source_at(proxy, service, tmp_path / "cache") as source:
            assert await content(source, path) == files[path], path


@needs_git
async def test_file_route_that_something_in_front_refuses_is_asked_again_later(
    proxy: BendingProxy, service: EmbeddedService, tmp_path: Path, time: FakeTime
) -> None:
    refusal = proxy.bend("/-/wikis/uploads/", status=403, html=SIGN_IN_PAGE)
    async with Client(
        proxy.url, service.token, sleep=time.sleep, clock=time.clock
    ) as client:
        git = RemoteRepository(client, OWNER, tmp_path / "cache")
        source = AttachmentSource(Wiki(client, OWNER), git)
        assert await content(source) == b"own p.png"
        asked = refusal.met
        assert await content(source) == b"own p.png"
        assert refusal.met == asked
        refusal.end()
        time.now += KEPT_S
        assert await content(source) == b"own p.png"
        assert len(proxy.requests("/-/wikis/uploads/")) == asked + 1
