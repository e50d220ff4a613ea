"""Opening a file in an editor: real processes, left alone, and who may ask for it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.preview import Desk, writing
from tests.support.waiting import until
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


async def test_edit_opens_the_file_of_the_page_and_no_other(desk: Desk) -> None:
    opened = desk.root / "opened"
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    editor = (sys.executable, "-c", script, str(opened))
    async with writing(desk, PreviewOptions(editor=editor)) as writer:
        assert (await writer.ask("edit", at="../../etc/passwd"))[0] == 404
        assert (await writer.ask("edit", at="guide.html"))[0] == 200
        await until(lambda: opened.exists() and bool(opened.read_text()))
    assert opened.read_text() == str(desk.root / "handbook" / "guide.md")
