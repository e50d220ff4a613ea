"""Opening a file in an editor: real processes, left alone."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from wikisync.errors import SiteError
from wikisync.site import preview_editor
from wikisync.site.preview_editor import Editor

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
