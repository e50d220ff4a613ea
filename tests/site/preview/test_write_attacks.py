"""Who may write in the browser, and where."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.preview import ACTIONS, FOREIGN, Desk, Writer, files_of, writing
from wikisync.errors import SiteError, UsageError
from wikisync.site.preview import routes
from wikisync.site.preview.moves import plan_moves
from wikisync.site.preview.server import PreviewOptions
from wikisync.site.preview.site import LiveSite, WritablePage
from wikisync.site.preview.writing import WikiDesk

READING: dict[str, dict[str, Any]] = {
    "state": {},
    "clash": {},
    "earlier": {"of_wiki": True},
}
"""Answered by a preview that is read-only, too."""


def test_every_wish_is_attacked() -> None:
    assert ACTIONS.keys() | READING.keys() == routes.WISHES.keys()


@pytest.mark.parametrize(
    "changes",
    [
        {"Origin": FOREIGN},
        {"Origin": "null"},
        {"Origin": None},
        {"X-Wikisync-Token": None},
        {"X-Wikisync-Token": "guessed"},
        {"X-Wikisync-Token": None, "Cookie": "X-Wikisync-Token=TOKEN"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "rebound.example.com"},
        {"Host": "127.0.0.1"},
    ],
    ids=str,
)
async def test_nobody_else_writes(
    writer: Writer, desk: Desk, changes: dict[str, str | None]
) -> None:
    before = files_of(desk.root)
    token = writer.headers["X-Wikisync-Token"]
    good = {**writer.headers, "Content-Type": "application/json"}
    headers = {
        name: value.replace("TOKEN", token)
        for name, value in {**good, **changes}.items()
        if value
    }
    for action, wish in (ACTIONS | READING).items():
        answer = await writer.reader.ask(
            "POST", f"-/preview/{action}", json={"at": "guide.html", **wish},
            headers=headers,
        )  # fmt: skip
        assert answer.status == 403, action
        assert "Part" not in await answer.text()
    assert files_of(desk.root) == before


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_only_a_post_writes(writer: Writer, desk: Desk, method: str) -> None:
    before = files_of(desk.root)
    for action, wish in (ACTIONS | READING).items():
        answer = await writer.reader.ask(
            method, f"-/preview/{action}", json={"at": "guide.html", **wish},
            headers=writer.headers,
        )  # fmt: skip
        assert answer.status in {403, 404, 405}, action
    assert files_of(desk.root) == before


async def test_a_preview_that_is_read_only_writes_nothing(desk: Desk) -> None:
    before = files_of(desk.root)
    async with writing(desk, PreviewOptions(is_read_only=True)) as writer:
        for action, wish in ACTIONS.items():
            status, said = await writer.ask(action, at="guide.html", **wish)
            assert (status, said["message"]) == (403, "this preview is read-only")
        assert "data-write" not in (await writer.reader.get("guide.html"))[1]
    assert files_of(desk.root) == before


OUTSIDE = [
    "../out", "../../out", "/../out", "..\\out", "a/../../out", "%2e%2e/out",
    ".git/config", ".wikisync/state", "uploads/x", "con\0trol", "a\nb/../../../out",
    ".hidden", "_x/.ssh/keys", "x.conflict", "", ".", "/", "a" * 5000, "\ud7ff/" * 900,
    "page.html", "evil.php", "handbook.txt", "WIKISYNC-ATTENTION",
]  # fmt: skip


def is_a_page_inside(path: str) -> bool:
    way = Path(path)
    return (
        way.suffix == ".md"
        and not way.is_absolute()
        and not any(part.startswith(".") for part in way.parts)
        and way.parts[0] != "uploads"
    )


async def test_no_name_leads_out_of_the_pages(writer: Writer, desk: Desk) -> None:
    """What is written is a page in the wiki's folder, and nothing else."""
    before = files_of(desk.root)
    for name in OUTSIDE:
        await writer.ask("create", at="guide.html", name=name)
    new = [path for path in files_of(desk.root) if path not in before]
    assert str(desk.root / "handbook" / "evil.php.md") in new
    inside = [path.removeprefix(f"{desk.root}/handbook/") for path in new]
    assert [path for path in inside if not is_a_page_inside(path)] == []


@pytest.mark.parametrize("name", OUTSIDE, ids=lambda name: repr(name)[:30])
def test_no_new_name_leads_out_of_the_pages(wiki: WikiDesk, name: str) -> None:
    try:
        moves = plan_moves(wiki, "guide.md", name)
    except UsageError:
        return
    assert [
        file.target for file in moves.files if not is_a_page_inside(file.target)
    ] == []


@pytest.mark.parametrize(
    "name",
    [
        "../../out.png", "..", ".", "", "a/b\\c.png", "x\0.png", ".htaccess",
        "C:\\out.png", "x" * 300 + ".png", "a\nb.png", "naïve.png", "]().png",
    ],
)  # fmt: skip
def test_a_file_stays_in_its_folder_of_uploads(name: str) -> None:
    try:
        path = routes.file_path(name, b"x")
    except SiteError:
        return
    assert re.fullmatch(r"uploads/[0-9a-f]{16}/[^/\s\[\](){}.][^/\s\[\](){}]*", path)


async def test_nothing_is_written_through_a_link(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file becomes a link after it was found."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.md"
    secret.write_text("secret\n")
    root = desk.root / "handbook"
    guide, found = root / "guide.md", LiveSite.writable
    kept: dict[str, WritablePage | None] = {}

    def found_then_swapped(site: LiveSite, path: str) -> WritablePage | None:
        if path not in kept:
            kept[path] = found(site, path)
            guide.unlink()
            guide.symlink_to(secret)
        return kept[path]

    monkeypatch.setattr(LiveSite, "writable", found_then_swapped)
    async with writing(desk) as writer:
        for action in ("source", "save", "delete", "rename", "tick"):
            wish = {"at": "guide.html", **ACTIONS[action]}
            status, answer = await writer.ask(action, **wish)
            assert status >= 400, action
            assert "secret\n" not in str(answer)
        (root / "team").symlink_to(outside)
        status, _ = await writer.ask("create", at="index.html", name="team/new")
        assert status >= 400
        (root / "uploads").rename(root / "moved")
        (root / "uploads").symlink_to(outside)
        wish = {"at": "index.html", "name": "a.png", "content": "eA=="}
        assert (await writer.ask("file", **wish))[0] >= 400
    assert secret.read_text() == "secret\n"
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


async def test_a_body_without_end_is_refused(writer: Writer) -> None:
    for action in ("save", "source", "edit"):
        answer = await writer.reader.ask(
            "POST", f"-/preview/{action}", data=io.BytesIO(b" " * (13 << 20)),
            headers={**writer.headers, "Content-Type": "application/json"},
        )  # fmt: skip
        assert answer.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'{"at": 1}', b'{"at": "guide.html", "path": "/etc/passwd"}',
        b'{"at": "guide.html", "text": "\\ud800", "base": ""}', b"\xff", b"null",
    ],
)  # fmt: skip
async def test_what_is_no_wish_is_one_sentence(writer: Writer, body: bytes) -> None:
    for action in ("save", "create", "file"):
        answer = await writer.reader.ask(
            "POST", f"-/preview/{action}", data=body,
            headers={**writer.headers, "Content-Type": "application/json"},
        )  # fmt: skip
        assert answer.status == 400
        assert "Traceback" not in await answer.text()
