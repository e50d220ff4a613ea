"""The server: raw paths to routes, what every answer has, starting and stopping."""

import asyncio
import gzip
import io
import logging
import socket
import zlib
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from yarl import URL

from tests.service.conftest import WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.errors import ServiceError
from wikisync.service.answers import Refusal
from wikisync.service.offers import route_table
from wikisync.service.server import OtherMethods, Router, running_service
from wikisync.service.tables import Tables

GZIP = {"Accept-Encoding": "gzip"}


async def test_unforeseen_error_shows_no_traceback(
    service: EmbeddedService,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Tables, "token_and_user", fail)

    with caplog.at_level(logging.ERROR, "wikisync"):
        answer = await api.get(f"/api/v4/version?private_token={service.token}")

    assert (answer.status, answer.json) == (
        500,
        {"message": "500 Internal Server Error"},
    )
    assert "secret detail" in caplog.text
    assert service.token not in caplog.text
    assert answer.headers["X-Request-Id"] in caplog.text


async def test_long_answer_is_compressed_when_asked(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {f"page-{n}": "" for n in range(50)})

    async with aiohttp.ClientSession(auto_decompress=False) as session:
        packed = await session.get(
            f"{service.url}{WIKIS}", headers={"PRIVATE-TOKEN": service.token} | GZIP
        )
        body = await packed.read()
    codings = ("identity", "gzip;q=0", "br")
    others = [await api.get(WIKIS, headers={"Accept-Encoding": c}) for c in codings]
    plain = others[0]

    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding, Origin"
    assert gzip.decompress(body) == plain.body
    assert not any("Content-Encoding" in answer.headers for answer in others)
    assert packed.headers["ETag"] == plain.headers["ETag"]


async def test_short_answer_is_not_compressed(api: Api) -> None:
    answer = await api.get("/api/v4/version", headers=GZIP)
    assert "Content-Encoding" not in answer.headers


async def test_huge_answer_is_not_compressed_for_the_own_machine(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x" * 5000})
    packed = await api.get(f"{WIKIS}/home", headers=GZIP)

    service.set_limits(gzip_loopback_bytes_max=2000)
    plain = await api.get(f"{WIKIS}/home", headers=GZIP)

    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers


async def test_body_that_waits_to_be_called_for_is_called_for(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {})
    page = {"title": "large", "content": "x" * 100}
    async with asyncio.timeout(60):
        answer = await api("POST", WIKIS, json=page, expect100=True)
    assert (answer.status, answer.json["content"]) == (201, "x" * 100)


@pytest.mark.parametrize("header", [b"PRIVATE-TOKEN: ", b"Authorization: Bearer "])
async def test_a_token_of_no_text_is_a_wrong_token(
    service: EmbeddedService, header: bytes
) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"GET /api/v4/version HTTP/1.1\r\nHost: %s\r\n" % host.encode()
        + header
        + b"\xff\r\n\r\n"
    )

    assert b" 401 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_endless_body_is_refused_before_it_ends(service: EmbeddedService) -> None:
    """A body that never ends is answered all the same: memory never fills."""
    service.set_limits(body_bytes_max=100_000)
    await service.add_project("docs/handbook")
    host, port = service.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"POST {WIKIS} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n"
        f"PRIVATE-TOKEN: {service.token}\r\n"
        "Content-Type: application/json\r\n\r\n".encode()
    )
    chunk = b"x" * 50_000
    for _ in range(3):
        writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
    await writer.drain()

    async with asyncio.timeout(60):
        status = await reader.readline()

    assert b" 413 " in status
    writer.close()
    await writer.wait_closed()


async def test_compressed_body_that_swells_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    service.set_limits(body_bytes_max=100_000)
    await service.add_project("docs/handbook")
    bomb = zlib.compress(b"x" * 10_000_000)

    answer = await api.post(
        WIKIS,
        data=bomb,
        headers={"Content-Type": "application/json", "Content-Encoding": "deflate"},
    )

    assert len(bomb) < 100_000
    assert answer.status in {400, 413}


async def test_texts_of_a_multipart_body_have_a_limit_too(
    service: EmbeddedService, api: Api
) -> None:
    service.set_limits(body_bytes_max=1000)
    fields = {"title": "a", "content": "x" * 1001, "file": io.BytesIO(b"f")}
    answer = await api.post(WIKIS, data=fields)
    assert answer.status == 413


async def test_body_that_cannot_be_unpacked_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    answer = await api.post(
        WIKIS,
        data=b"not packed",
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
    )

    assert (answer.status, set(answer.json)) == (400, {"error"})


async def test_long_address_of_a_deep_page_is_read(
    service: EmbeddedService, api: Api
) -> None:
    slug = "/".join(["日" * 80] * 20)
    await service.add_project("docs/handbook", {slug: "deep"})
    encoded = "%2F".join(["%E6%97%A5" * 80] * 20)

    answer = await api.get(f"{WIKIS}/{encoded}")

    assert len(encoded) > 8190
    assert (answer.status, answer.json["content"]) == (200, "deep")


async def test_head_gives_the_headers_of_get(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})

    get = await api.get(f"{WIKIS}/home")
    head = await api("HEAD", f"{WIKIS}/home")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["ETag"] == get.headers["ETag"]
    assert head.headers["Content-Length"] == str(len(get.body))


TABLE = Router(
    [
        ("GET", "/p/{id}/wikis", "list"),
        ("POST", "/p/{id}/wikis", "create"),
        ("POST", "/p/{id}/wikis/attachments", "upload"),
        ("GET", "/p/{id}/wikis/{slug}", "show"),
        ("PUT", "/p/{id}/wikis/{slug}", "edit"),
    ]
)


def requested(method: str, path: str) -> web.BaseRequest:
    """A request for a path as it stands on the wire."""
    url = URL.build(path=path, encoded=True)
    return make_mocked_request(method, "/").clone(rel_url=url)


def show(slug: str) -> object:
    return "show", {"id": "1", "slug": slug}


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        (
            "GET",
            "/p/docs%2Fhandbook/wikis/dir%2Fpage",
            ("show", {"id": "docs/handbook", "slug": "dir/page"}),
        ),
        ("GET", "/p/docs/handbook/wikis", None),
        ("GET", "/p/1/wikis/dir/page", show("dir/page")),
        ("GET", "/p/1/wikis/100%2525", show("100%25")),
        ("GET", "/p/1/wikis/C++", show("C++")),
        ("GET", "/p/1/wikis/a%2fb", show("a/b")),
        ("GET", "/p/1/wikis/a%252Fb", show("a%2Fb")),
        ("GET", "/p/1/wikis/a%25b", show("a%b")),
        ("GET", "/p/1/wikis/a%b", show("a%b")),
        ("GET", "/p/1/wikis/a%0Ab", show("a\nb")),
        ("GET", "/p/1/wikis/a%3Fb%23c;d=1", show("a?b#c;d=1")),
        ("GET", "/p/1/wikis/%7Bx%7D", show("{x}")),
        ("GET", "/p/1/wikis/%C3%A4", show("ä")),
        ("GET", "/p/1/wikis/../x", show("../x")),
        ("GET", "/p/1/wikis/a/b/", show("a/b")),
        ("GET", "/p/1/wikis/a%2F", show("a/")),
        ("GET", "/p/1/wikis/", ("list", {"id": "1"})),
        ("HEAD", "/p/1/wikis", ("list", {"id": "1"})),
        ("GET", "/p/1/wikis/attachments", show("attachments")),
        ("PUT", "/p/1/wikis/attachments", ("edit", {"id": "1", "slug": "attachments"})),
        ("POST", "/p/1/wikis/attachments", ("upload", {"id": "1"})),
        ("PATCH", "/p/1/wikis/x", OtherMethods(("GET", "HEAD", "OPTIONS", "PUT"))),
    ],
)
async def test_path_leads_to_a_route(method: str, path: str, found: object) -> None:
    assert await TABLE.match(requested(method, path)) == found


@pytest.mark.parametrize("segment", ["%FF", "%C3", "a%00b", "\udcff"])
async def test_malformed_segment_is_refused(segment: str) -> None:
    with pytest.raises(Refusal) as error:
        await TABLE.match(requested("GET", f"/p/1/wikis/{segment}"))
    assert error.value.status == 400


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (
            "/a/b/c/-/wikis/uploads/0f/x/-/wikis/uploads/y",
            {"full_path": "a/b/c", "path": "uploads/0f/x/-/wikis/uploads/y"},
        ),
        (
            "/groups/a/b/-/wikis/uploads/0f/x",
            {"full_path": "a/b", "path": "uploads/0f/x"},
        ),
    ],
)
async def test_file_route_finds_nested_owners_and_odd_names(
    path: str, names: dict[str, str]
) -> None:
    found = await Router(route_table()).match(requested("GET", path))
    assert isinstance(found, tuple)
    assert found[1] == names


async def status_of(url: str, token: str) -> int:
    async with (
        aiohttp.ClientSession(headers={"PRIVATE-TOKEN": token}) as session,
        session.get(f"{url}/api/v4/version") as answer,
    ):
        return answer.status


async def test_first_start_makes_a_token_and_later_ones_do_not(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as first:
        token = first.first_token
        assert token is not None
        assert await status_of(first.url, token) == 200

    async with running_service(tmp_path / "data") as second:
        assert second.first_token is None
        assert await status_of(second.url, token) == 200
        assert await status_of(second.url, await second.new_token()) == 200


async def test_service_listens_on_loopback_by_default(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        assert service.url.startswith("http://127.0.0.1:")


async def test_data_folder_belongs_to_one_process(tmp_path: Path) -> None:
    async with running_service(tmp_path):
        with pytest.raises(ServiceError, match="in use by another"):
            async with running_service(tmp_path):
                pass


async def test_data_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ServiceError, match="cannot write to the data folder"):
        async with running_service(file / "data"):
            pass


async def test_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServiceError, match=f"port {port}: something else") as error:
            async with running_service(tmp_path, port=port):
                pass

    assert "--port" in (error.value.hint or "")


async def test_address_that_is_not_ours_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"cannot listen on 192\.0\.2\.1"):
        async with running_service(tmp_path, host="192.0.2.1"):
            pass


async def test_left_over_bodies_are_cleared_at_the_start(tmp_path: Path) -> None:
    left = tmp_path / "spool" / "half" / "body"
    left.parent.mkdir(parents=True)
    left.touch()
    async with running_service(tmp_path):
        assert not left.exists()
