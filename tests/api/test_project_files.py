"""Uploads and avatars, byte for byte: never whole in memory, and sent again whole."""

import os
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.wire import Wire, json_answer
from tests.support.service import embedded_service
from wikisync.api.client import Client
from wikisync.api.projects import Projects
from wikisync.api.replica import WikiReplica
from wikisync.api.upload import SPOOL_BYTES_MAX, Spool, spooled
from wikisync.api.wikis import Wiki
from wikisync.core.messages import Progress
from wikisync.core.model import AttachmentPath, WikiOwner, digest_of
from wikisync.errors import FolderError, UsageError

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2048
UPLOADED = {
    "id": 5,
    "alt": "dk",
    "url": "/uploads/0f/dk.png",
    "full_path": "/-/project/7/uploads/0f/dk.png",
    "markdown": "![dk](/uploads/0f/dk.png)",
}


class Watcher(Progress):
    """Progress that remembers."""

    def __init__(self) -> None:
        self.started: list[tuple[str, int | None]] = []
        self.steps: list[int] = []

    def start(self, label: str, total: int | None) -> None:
        self.started.append((label, total))

    def advance(self, steps: int = 1) -> None:
        self.steps.append(steps)


@pytest.fixture
def projects(wired: Client) -> Projects:
    return Projects(wired)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "dk.png"
    path.write_bytes(PICTURE)
    return path


async def test_upload_arrives_as_the_file_of_a_form(
    projects: Projects, wire: Wire, picture: Path
) -> None:
    wire.will(json_answer(UPLOADED, 201))

    record = await projects.upload_file(7, picture)

    sent = wire.requests[0]
    assert (sent.method, sent.target) == ("POST", "/api/v4/projects/7/uploads")
    assert b'name="file"; filename="dk.png"' in sent.body
    assert PICTURE in sent.body
    assert (record.id, record.markdown) == (5, "![dk](/uploads/0f/dk.png)")


async def test_upload_is_read_piece_by_piece_and_told_of(
    projects: Projects, wire: Wire, picture: Path
) -> None:
    wire.will(json_answer(UPLOADED, 201))
    watcher = Watcher()

    await projects.upload_file(7, picture, progress=watcher)

    assert watcher.started == [("upload dk.png", len(PICTURE))]
    assert sum(watcher.steps) == len(PICTURE)
    assert max(watcher.steps) < len(PICTURE)


async def test_bytes_need_a_name(projects: Projects, wire: Wire) -> None:
    wire.will(json_answer(UPLOADED, 201))
    await projects.upload_file(7, b"text", "note.txt")
    assert b'filename="note.txt"' in wire.requests[0].body
    with pytest.raises(UsageError, match="without a printable name"):
        await projects.upload_file(7, b"text")


@pytest.mark.parametrize("name", ["a\nb.png", "a\x1b[2J.png"])
async def test_name_that_cannot_be_printed_is_refused(
    name: str, projects: Projects, wire: Wire
) -> None:
    with pytest.raises(UsageError, match="without a printable name"):
        await projects.upload_file(7, b"text", name)
    assert wire.requests == []


async def test_pipe_that_nobody_writes_to_is_no_file_to_wait_for(
    projects: Projects, wire: Wire, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FolderError, match=r"cannot read .*pipe: it is not a regular"):
        await projects.upload_file(7, tmp_path / "pipe")
    assert wire.requests == []


async def test_avatar_is_a_file_of_an_edit(
    projects: Projects, wire: Wire, picture: Path
) -> None:
    wire.will(json_answer({"avatar_url": "https://gitlab.example.com/dk.png"}))

    record = await projects.set_avatar(7, picture)

    sent = wire.requests[0]
    assert (sent.method, sent.target) == ("PUT", "/api/v4/projects/7")
    assert b'name="avatar"; filename="dk.png"' in sent.body
    assert record.avatar_url == "https://gitlab.example.com/dk.png"


async def test_avatar_is_removed_by_an_empty_value(
    projects: Projects, wire: Wire
) -> None:
    wire.will(json_answer({"id": 7, "path_with_namespace": "a/b", "avatar_url": None}))
    record = await projects.remove_avatar(7)
    assert wire.requests[0].body == b'{"avatar":""}'
    assert record.avatar_url is None


async def test_create_with_an_avatar_is_a_form(
    projects: Projects, wire: Wire, picture: Path
) -> None:
    wire.will(json_answer({"id": 7, "path_with_namespace": "a/b"}, 201))

    await projects.create_project(
        name="Handbook", avatar=picture, topics=["a", "b"], lfs_enabled=True
    )

    body = wire.requests[0].body
    assert PICTURE in body
    assert body.count(b'name="topics[]"') == 2
    assert b'name="lfs_enabled"\r\n\r\ntrue' in body.replace(
        b"Content-Type: text/plain; charset=utf-8\r\n", b""
    ).replace(b"Content-Disposition: form-data; ", b"")


OWNER = WikiOwner("project", "docs/handbook")
PATH = AttachmentPath("uploads/film.bin")
MIB = 1024 * 1024
STORED = {
    "file_name": "film.bin",
    "file_path": "uploads/0f/film.bin",
    "branch": "main",
    "link": {"url": "uploads/0f/film.bin", "markdown": "film"},
}


async def chunks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 256 * 1024):
        yield content[start : start + 256 * 1024]


def read(spool: Spool) -> bytes:
    with spool.open() as file:
        return file.read()


@pytest.mark.parametrize("size", [0, 5, SPOOL_BYTES_MAX, SPOOL_BYTES_MAX + 1])
async def test_bytes_that_came_once_are_read_again(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    async with spooled(chunks(content), tmp_path / "tmp") as spool:
        reads = [read(spool), read(spool)]
        assert (spool.size, spool.digest) == (size, digest_of(content))
    assert reads == [content, content]
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("size", [1000, 3 * MIB])
async def test_attachment_is_sent_again_whole(
    wired: Client, wire: Wire, tmp_path: Path, size: int
) -> None:
    content = os.urandom(size)
    wire.will(json_answer({}, 429, **{"Retry-After": "0"}), json_answer(STORED, 201))
    replica = WikiReplica(Wiki(wired, OWNER, 7), spool=tmp_path)
    stored = await replica.write_attachment(PATH, chunks(content))
    assert (stored.size, stored.digest) == (size, digest_of(content))
    assert [content in request.body for request in wire.requests] == [True, True]


async def test_attachment_is_never_whole_in_memory(tmp_path: Path) -> None:
    size = 48 * MIB

    async def film() -> AsyncIterator[bytes]:
        for _ in range(size // (256 * 1024)):
            yield bytes(256 * 1024)

    async with embedded_service(tmp_path / "service") as service:
        project = await service.add_project("docs/handbook", {"home": "text\n"})
        async with Client(service.url, service.token) as client:
            replica = WikiReplica(Wiki(client, OWNER, project), spool=tmp_path / "tmp")
            await replica.snapshot()
            tracemalloc.start()
            try:
                stored = await replica.write_attachment(PATH, film())
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert stored.size == size
    assert peak < size // 4


class Shortening(Progress):
    """Progress that cuts the file while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def start(self, label: str, total: int | None) -> None:
        del label, total

    def advance(self, steps: int = 1) -> None:
        del steps
        os.truncate(self.path, 10)


async def test_file_that_becomes_shorter_while_it_is_sent_is_told(
    wired: Client, wire: Wire, tmp_path: Path
) -> None:
    """The service would wait for bytes that never come, until the time-out."""
    path = tmp_path / "film.bin"
    path.write_bytes(bytes(5 * MIB))
    wire.will(json_answer({}, 201))
    with pytest.raises(FolderError, match=r"film\.bin became shorter while it was"):
        await Projects(wired).upload_file(7, path, progress=Shortening(path))


async def test_disk_that_takes_no_file_is_told(wired: Client, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no folder")
    replica = WikiReplica(Wiki(wired, OWNER, 7), spool=tmp_path / "taken")
    with pytest.raises(FolderError, match="cannot keep a file in"):
        await replica.write_attachment(PATH, chunks(bytes(2 * MIB)))
