"""Opening a file in an editor: real processes, left alone, and who may ask for it."""

import asyncio
import os
import re
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.support.preview import FOREIGN, Desk
from wikisync.errors import SiteError
from wikisync.site.preview import editor as preview_editor
from wikisync.site.preview.editor import Editor
from wikisync.site.preview.server import PreviewOptions

SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")


def test_without_an_editor_it_is_said_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="no editor") as error:
        Editor(()).open(tmp_path / "home.md")
    assert "--editor" in str(error.value.hint)


def test_an_editor_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="cannot start the editor no-such-editor"):
        Editor(("no-such-editor",)).open(tmp_path / "home.md")


def test_editors_have_a_limit_and_stay_open_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_editor, "EDITORS_MAX", 1)
    editor = Editor(SLEEPER)
    editor.open(tmp_path / "home.md")
    (process,) = editor._running
    with pytest.raises(SiteError, match="open already"):
        editor.open(tmp_path / "home.md")
    editor.leave()
    os.kill(process.pid, 0)
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)


def test_editors_that_were_closed_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_editor, "EDITORS_MAX", 1)
    editor = Editor((sys.executable, "-c", ""))
    for _ in range(3):
        editor.open(tmp_path / "home.md")
        editor._running[0].wait()


def test_an_editor_that_fails_is_told_with_its_first_line(tmp_path: Path) -> None:
    script = "import sys; sys.exit('no display\\nmore lines')"
    editor = Editor((sys.executable, "-c", script))
    with pytest.raises(SiteError, match="ended with exit code 1: no display") as error:
        editor.open(tmp_path / "home.md")
    assert "more lines" not in error.value.message


# Asked by a page --------------------------------------------------------------------


def editor_into(file: Path) -> tuple[str, ...]:
    """An editor that writes down what it was asked to open."""
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    return (sys.executable, "-c", script, str(file))


async def token_of(text: str) -> str:
    found = re.search(r'data-token="([^"]+)"', text)
    assert found is not None
    return found[1]


async def wait_for_file(file: Path) -> str:
    def wait() -> str:
        deadline = threading.Event()
        for _ in range(1000):
            if file.exists() and file.read_text():
                return file.read_text()
            deadline.wait(0.01)
        raise AssertionError(f"no editor wrote {file}")

    return await asyncio.to_thread(wait)


async def test_edit_opens_the_file_of_the_page(desk: Desk) -> None:
    opened = desk.root / "opened"
    async with desk.previewing(PreviewOptions(editor=editor_into(opened))) as reader:
        token = await token_of((await reader.get(""))[1])
        headers = {"Origin": reader.origin, "X-Wikisync-Token": token}
        wish = {"at": "guide.html"}
        answer = await reader.ask("POST", "-/preview/edit", json=wish, headers=headers)
        assert answer.status == 200
        assert await wait_for_file(opened) == str(desk.root / "handbook" / "guide.md")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Origin": FOREIGN}, 403),
        ({"Origin": None}, 403),
        ({"X-Wikisync-Token": None}, 403),
        ({"X-Wikisync-Token": "guessed"}, 403),
        ({"Content-Type": "text/plain"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "rebound.example.com"}, 403),
    ],
)
async def test_nobody_else_opens_an_editor(
    desk: Desk, changes: dict[str, str | None], status: int
) -> None:
    opened = desk.root / "opened"
    async with desk.previewing(PreviewOptions(editor=editor_into(opened))) as reader:
        token = await token_of((await reader.get(""))[1])
        good = {
            "Origin": reader.origin,
            "X-Wikisync-Token": token,
            "Content-Type": "application/json",
        }
        headers = {name: value for name, value in {**good, **changes}.items() if value}
        body = b'{"at": "guide.html"}'
        answer = await reader.ask("POST", "-/preview/edit", data=body, headers=headers)
        assert answer.status == status
        answer = await reader.ask("GET", "-/preview/edit", headers=headers)
        assert answer.status != 200
    assert not opened.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"rubbish", 400),
        (b'{"at": "guide.html", "command": "rm"}', 400),
        (b'{"at": "../../etc/passwd"}', 404),
    ],
)
async def test_a_wish_that_names_no_page_opens_nothing(
    desk: Desk, body: bytes, status: int
) -> None:
    async with desk.previewing() as reader:
        token = await token_of((await reader.get(""))[1])
        headers = {
            "Origin": reader.origin,
            "X-Wikisync-Token": token,
            "Content-Type": "application/json",
        }
        answer = await reader.ask("POST", "-/preview/edit", data=body, headers=headers)
        assert answer.status == status
