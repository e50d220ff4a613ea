"""Who sends is asked before a body is read, and its parts are counted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.security.service_bodies import announce, endless_file, endless_parts, spool
from tests.support.service import EmbeddedService, embedded_service
from wikisync.contract.project_schema import AccessLevel
from wikisync.service import server

MIB = 1024 * 1024
API = "/api/v4/projects/docs%2Fbook"
UPLOADS = [f"{API}/wikis/attachments", f"{API}/uploads"]
GIT = "/docs/book.wiki.git/git-receive-pack"


@pytest.fixture
async def service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EmbeddedService]:
    """A service with one private wiki."""
    # the rest of a refused body is read for a while, which nobody here waits for
    monkeypatch.setattr(server, "SHUTDOWN_S", 0.1)
    async with embedded_service(tmp_path) as running:
        await running.add_project("docs/book", {"home": "x"})
        yield running


def spooled(service: EmbeddedService) -> list[Path]:
    """Whatever lies in the folder for bodies."""
    return list(service.running.spool.rglob("*"))


@pytest.mark.parametrize("path", [*UPLOADS, "/api/v4/projects", API, GIT])
async def test_endless_body_of_nobody_is_not_stored(
    service: EmbeddedService, path: str
) -> None:
    status, size = await spool(service.url, path, body=endless_file())

    assert status.split()[1] in {b"401", b"404", b"405"}
    # what the socket buffers between the two take, and no more
    assert size < 16 * MIB
    assert spooled(service) == []


@pytest.mark.parametrize("path", UPLOADS)
async def test_endless_body_of_somebody_without_the_right_is_not_stored(
    service: EmbeddedService, path: str
) -> None:
    stranger = await service.add_user("eve")
    guest = await service.add_user("gus")
    await service.add_member("docs/book", "gus", AccessLevel.MINIMAL)

    answers = [
        await spool(service.url, path, token, body=endless_file())
        for token in (stranger, guest, "glpat-EXAMPLE")
    ]

    assert {status.split()[1] for status, _size in answers} <= {b"404", b"403", b"401"}
    assert max(size for _status, size in answers) < 16 * MIB
    assert spooled(service) == []


@pytest.mark.parametrize("path", [*UPLOADS, GIT])
@pytest.mark.parametrize(
    ("is_known", "size", "status"),
    [(False, 10 * MIB, b"401 404"), (True, 1024 * MIB, b"413")],
)
async def test_sender_who_waits_to_be_asked_is_refused_instead(
    service: EmbeddedService, path: str, is_known: bool, size: int, status: bytes
) -> None:
    token = service.token if is_known else None

    asked = await announce(service.url, path, token, size, waits=True)
    sent = await announce(service.url, path, token, size, waits=False)

    assert asked.split()[1] in status.split()
    assert sent.split()[1] in status.split()


@pytest.mark.parametrize("path", UPLOADS)
async def test_sender_who_may_is_asked_for_the_body(
    service: EmbeddedService, path: str
) -> None:
    asked = await announce(service.url, path, service.token, MIB, waits=True)

    assert asked.split()[1] == b"100"


@pytest.mark.parametrize("are_files", [True, False])
async def test_parts_are_counted_whatever_their_name(
    service: EmbeddedService, are_files: bool
) -> None:
    body = endless_parts(are_files=are_files)

    status, size = await spool(service.url, UPLOADS[0], service.token, body=body)

    assert status.split()[1] == b"400"
    assert size < 16 * MIB
    assert spooled(service) == []


async def test_files_of_one_body_share_the_room_for_one(
    service: EmbeddedService,
) -> None:
    service.set_limits(attachment_bytes_max=MIB)

    status, size = await spool(
        service.url, UPLOADS[0], service.token, body=endless_file()
    )

    assert status.split()[1] == b"413"
    assert size < 16 * MIB
