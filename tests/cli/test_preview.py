"""``wikisync preview`` as a process: what it prints, serves, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import Run
from wikisync.cli.main import main
from wikisync.errors import ExitCode, UsageError
from wikisync.workspace.folders import editor_command


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one page; what is kept is kept beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "home.md").write_text("# Welcome home\n")
    return folder


@contextmanager
def previewing(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "wikisync", "preview", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def wait_for_page(url: str) -> str:
    """The page as soon as the folder is read."""
    for _ in range(1000):
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 503:
                raise
    raise AssertionError(f"{url} was never ready")


def test_a_folder_is_shown_until_a_signal_ends_it(wiki: Path) -> None:
    with previewing(wiki, "--port", "0") as (process, url):
        assert "Welcome home" in wait_for_page(url)
        end(process, signal.SIGINT)


def end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (ExitCode.DONE, "")
    assert "Traceback" not in err
    assert err.endswith("stopping\n")


@pytest.mark.usefixtures("wiki")
def test_a_workspace_shows_its_wikis_with_its_settings(tmp_path: Path) -> None:
    (tmp_path / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "handbook"\n'
        '[site]\ntitle = "Our books"\n'
    )
    with previewing(tmp_path, "--port", "0") as (process, url):
        text = wait_for_page(url)
        end(process, signal.SIGTERM)
    assert "Our books" in text
    assert "https://gitlab.example.com/docs/handbook/-/wikis/home" in text


async def test_what_cannot_be_shown_is_told_before_anything_runs(
    run_alone: Run, tmp_path: Path
) -> None:
    (tmp_path / "wikisync.toml").write_text("[site]\ntitel = 1\n")
    (await run_alone("preview", tmp_path)).ended(ExitCode.USAGE, "site.titel")
    ran = await run_alone("preview", tmp_path / "none")
    ran.ended(ExitCode.USAGE, "there is no folder")
    file = tmp_path / "home.md"
    file.write_text("# Home\n")
    told = (f"error: {file} is a file\n", f"wikisync render {file}")
    (await run_alone("preview", file)).ended(ExitCode.USAGE, *told)


def test_a_port_that_is_taken_is_told_with_the_next_step(
    wiki: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["preview", str(wiki), "--port", str(port)]) == ExitCode.FAILED
    shown = capsys.readouterr().err
    assert f"port {port} is in use by another program" in shown
    assert "--port 0" in shown


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds all programs there are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("xdg-open", "code", "vim", "gedit"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize(
    ("given", "environment", "expected"),
    [
        ("code --reuse-window", {"VISUAL": "gedit"}, ("code", "--reuse-window")),
        (None, {"VISUAL": "code -w", "EDITOR": "vim"}, ("code", "-w")),
        (None, {"VISUAL": "vim", "EDITOR": "gedit"}, ("gedit",)),
        (None, {"VISUAL": "/usr/bin/nvim", "EDITOR": "vim"}, ("xdg-open",)),
        (None, {"VISUAL": "an 'open quote"}, ("xdg-open",)),
        (None, {}, ("xdg-open",)),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="its opener has another name")
@pytest.mark.usefixtures("programs")
def test_the_editor_is_one_that_has_a_window(
    given: str | None, environment: Mapping[str, str], expected: tuple[str, ...]
) -> None:
    """The terminal belongs to the preview."""
    assert editor_command(given, environment) == expected


def test_an_editor_that_is_not_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But one that was named is refused."""
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert editor_command(None, {}) == ()
    with pytest.raises(UsageError, match="no-such"):
        editor_command("no-such", {})
