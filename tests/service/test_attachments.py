"""Uploads and the file route."""

import io
import re
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.service.conftest import PROJECT, WIKIS, Answer, Api
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.service.attachments import clean_name, file_headers, markdown_link

FILE = "uploads/0123456789abcdef0123456789abcdef/a.png"
ROUTE = f"/docs/handbook/-/wikis/{FILE}"


def form(name: str, content: bytes, **fields: str) -> aiohttp.FormData:
    sent = aiohttp.FormData(quote_fields=False)
    sent.add_field("file", io.BytesIO(content), filename=name)
    for field, value in fields.items():
        sent.add_field(field, value)
    return sent


async def upload(api: Api, name: str, content: bytes, **fields: str) -> Answer:
    return await api.post(f"{WIKIS}/attachments", data=form(name, content, **fields))


async def test_upload_answers_with_the_place_and_the_snippet(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    answer = await upload(api, "my pic.png", b"PNG")

    path = answer.json["file_path"]
    assert answer.status == 201
    assert re.fullmatch(r"uploads/[0-9a-f]{32}/my_pic\.png", path)
    assert answer.json == {
        "file_name": "my_pic.png",
        "file_path": path,
        "branch": "main",
        "link": {"url": path, "markdown": f"![my_pic]({path})"},
    }
    assert await service.files(PROJECT) == {path: b"PNG"}


async def test_upload_to_another_branch_leaves_the_shown_one_alone(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})

    answer = await upload(api, "a.png", b"PNG", branch="drafts")

    assert (answer.status, answer.json["branch"]) == (201, "drafts")
    assert await service.files(PROJECT) == {"home.md": b"x"}
    assert (await service.wiki(PROJECT)).repository.has_branch("drafts")


async def test_upload_to_an_impossible_branch_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    answer = await upload(api, "a.png", b"PNG", branch="a..b ~")

    assert answer.status == 400


async def test_upload_without_a_file_or_its_name_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    missing = await api.post(f"{WIKIS}/attachments", json={})
    invalid = await api.post(f"{WIKIS}/attachments", json={"file": "text"})
    unnamed = [await upload(api, name, b"x") for name in ("..", "a/..", "C:\\x\\")]

    assert (missing.status, missing.json) == (400, {"error": "file is missing"})
    assert (invalid.status, invalid.json) == (400, {"error": "file is invalid"})
    text = {"message": "The file name cannot be empty"}
    assert [(one.status, one.json) for one in unnamed] == [(400, text)] * 3


@pytest.mark.parametrize(("size", "status"), [(1000, 201), (1001, 413)])
async def test_upload_over_the_limit_is_refused(
    service: EmbeddedService, api: Api, size: int, status: int
) -> None:
    await service.add_project("docs/handbook")
    service.set_limits(attachment_bytes_max=1000)

    answer = await upload(api, "a.bin", b"x" * size)

    assert answer.status == status
    assert list((service.running.spool).iterdir()) == []


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("dk.png", "dk.png"),
        ("a b&c.png", "a_b_c.png"),
        ("../../etc/x.txt", "x.txt"),
        ("C:\\dir\\x.txt", "x.txt"),
        ("naïve-café+1.png", "naïve-café+1.png"),
        ("日本語.pdf", "日本語.pdf"),
        ("x" * 300 + ".png", "x" * 251 + ".png"),
        ("x" * 300, "x" * 255),
        (".png", ".png"),
        ("..", ""),
        ("", ""),
    ],
)
def test_file_name_is_cleaned(name: str, clean: str) -> None:
    assert clean_name(name, 255) == clean


@pytest.mark.parametrize(
    ("name", "snippet"),
    [
        ("dk.png", "![dk](p)"),
        ("film.MP4", "![film](p)"),
        ("song.ogg", "![song](p)"),
        ("plan.svg", "![plan.svg](p)"),
        ("notes.txt", "[notes.txt](p)"),
        ("a]b.zip", r"[a\]b.zip](p)"),
    ],
)
def test_snippet_shows_media_and_links_the_rest(name: str, snippet: str) -> None:
    assert markdown_link(name, "p") == snippet


# the file route


async def with_file(service: EmbeddedService, **settings: Any) -> None:
    await service.add_project("docs/handbook", **settings)
    await service.put_file(PROJECT, FILE, b"\x89PNG")


async def test_file_is_served_for_the_token(service: EmbeddedService, api: Api) -> None:
    await with_file(service)

    answer = await api.get(ROUTE)

    assert (answer.status, answer.body) == (200, b"\x89PNG")
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"].startswith("inline")


async def test_file_of_a_public_wiki_is_served_to_everyone(
    service: EmbeddedService, api: Api
) -> None:
    await with_file(service, visibility="public")

    assert (await api.as_user(None).get(ROUTE)).status == 200


async def test_file_is_served_wherever_it_is_in_the_repository(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    for path in ("img/p.png", "a/b/c.pdf", ".attachments/p 1.png", "LICENSE"):
        await service.put_file(PROJECT, path, b"\x89PNG")

        answer = await api.get(f"/docs/handbook/-/wikis/{quote(path)}")

        assert (answer.status, answer.body) == (200, b"\x89PNG"), path


async def test_anything_else_is_not_found(service: EmbeddedService, api: Api) -> None:
    await with_file(service)
    await service.put_file(PROJECT, "home.md", b"x")
    paths = [
        *("handbook/-/wikis/home.md", "handbook/-/wikis/img"),
        "handbook/-/wikis/uploads/0f/none.png",
        "handbook/-/wikis/uploads/../home.md",
        "handbook/-/wikis/uploads/%2e%2e/home.md",
        "other/-/wikis/uploads/0f/none.png",
    ]

    statuses = {path: (await api.get(f"/docs/{path}")).status for path in paths}

    assert statuses == dict.fromkeys(paths, 404)


async def test_file_is_not_sent_twice(service: EmbeddedService, api: Api) -> None:
    await with_file(service)
    first = await api.get(ROUTE)

    again = await api.get(ROUTE, headers={"If-None-Match": first.headers["ETag"]})

    assert (again.status, again.body) == (304, b"")


async def test_head_of_a_file_tells_its_size(
    service: EmbeddedService, api: Api
) -> None:
    await with_file(service)

    answer = await api("HEAD", ROUTE)

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == "4"


@pytest.mark.parametrize(
    ("name", "place", "kind"),
    [
        ("a.png", "inline", "image/png"),
        ("a.svg", "inline", "image/svg+xml"),
        ("a.html", "attachment", "text/html"),
        ("a.pdf", "attachment", "application/pdf"),
        ("a.unknown-kind", "attachment", "application/octet-stream"),
        ("a.tar.gz", "attachment", "application/octet-stream"),
    ],
)
def test_only_pictures_are_shown_in_place(name: str, place: str, kind: str) -> None:
    headers = file_headers(f"uploads/0f/{name}")

    assert headers["Content-Disposition"].startswith(place)
    assert headers["Content-Type"] == kind
    assert headers["Content-Security-Policy"].startswith("sandbox")


async def test_file_route_can_want_a_session_as_the_real_one_does(
    service: EmbeddedService, api: Api
) -> None:
    await with_file(service)
    service.quirks = {Quirk.FILES_NEED_SESSION}

    answer = await api.get(ROUTE)
    page = await api.get(answer.headers["Location"])

    assert (answer.status, answer.headers["Location"]) == (302, "/users/sign_in")
    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")


async def test_file_route_that_wants_a_session_still_serves_public_wikis(
    service: EmbeddedService, api: Api
) -> None:
    await with_file(service, visibility="public")
    service.quirks = {Quirk.FILES_NEED_SESSION}

    assert (await api.get(ROUTE)).status == 200


async def test_name_from_git_with_a_line_end_makes_no_header(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    await service.put_file(PROJECT, "uploads/0f/a\r\nX-Bad: 1.png", b"x")

    answer = await api.get("/docs/handbook/-/wikis/uploads/0f/a%0D%0AX-Bad%3A%201.png")

    assert answer.status == 200
    assert "X-Bad" not in answer.headers
