"""``wikisync init`` in a terminal of its own, each answer typed when it is asked."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.config import load_config

SILENCE_S = 30.0
"""A program that asks something else would wait for ever."""


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "one", "dir/page": "two"})
    return service


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "my-wikis"


def words(service: EmbeddedService, workspace: Path) -> tuple[str | Path, ...]:
    return ("init", workspace, "--url", service.url, "--project", "docs/handbook")


def run_in_terminal(
    arguments: Sequence[str | Path], answers: Sequence[tuple[str, str]], token: str
) -> Ran:
    """Run in a terminal of its own; each answer is typed when its question shows."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "dumb", "WIKISYNC_TOKEN": token}
    process = subprocess.Popen(
        [sys.executable, "-m", "wikisync", *map(str, arguments)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""
    for question, answer in answers:
        start = len(shown)
        while question not in shown[start:]:
            more = _read(ours)
            if not more:
                process.kill()
                pytest.fail(f"no question {question}: {shown}")
            shown += more
        os.write(ours, f"{answer}\n".encode())
    while more := _read(ours):
        shown += more
    # one that still waits for an answer is hung up on
    os.close(ours)
    out, _ = process.communicate(timeout=SILENCE_S)
    assert "Traceback" not in shown
    return Ran(process.returncode, out.decode(), shown.replace("\r\n", "\n"))


def _read(terminal: int) -> str:
    """What shows next; empty when the program has ended, or waits for nothing."""
    if not select.select([terminal], [], [], SILENCE_S)[0]:
        return ""
    try:
        return os.read(terminal, 65536).decode()
    except OSError:
        # the other end is gone
        return ""


async def test_all_is_asked_in_a_terminal(
    handbook: EmbeddedService, workspace: Path
) -> None:
    ran = await asyncio.to_thread(
        run_in_terminal,
        ["init", workspace],
        [
            ("Address of the service", f"{handbook.url}/docs/handbook"),
            ("Address of the service", handbook.url),
            ("Where does the token come from", "variable"),
            ("Token, for the checks", "glpat-EXAMPLE"),
            ("Where does the token come from", "variable"),
            ("Token, for the checks", handbook.token),
            ("Projects and groups", "docs/handbok"),
            ("Projects and groups", f"{handbook.url}/docs/handbook/-/wikis/home"),
            ("Folder for project docs/handbook", "pages"),
            ("Make this workspace?", "y"),
        ],
        "",
    )
    assert ran.code == 0, ran.err
    assert ran.out == f"made the workspace {workspace}\n"
    assert "is a page of the service" in ran.err
    assert "the service does not know this token" in ran.err
    assert "did you mean docs/handbook?" in ran.err
    assert handbook.token not in ran.err
    assert load_config(workspace / "wikisync.toml").wikis[0].folder == "pages"


async def test_group_that_is_named_is_asked_about_what_is_below(
    handbook: EmbeddedService, workspace: Path
) -> None:
    await handbook.add_group("docs", {"home": "group"})
    ran = await asyncio.to_thread(
        run_in_terminal,
        ["init", workspace, "--url", handbook.url],
        [
            ("Projects and groups", "docs"),
            ("Also every wiki below docs?", "y"),
            ("Folder for group docs", ""),
            ("Folder for project docs/handbook", ""),
            ("Make this workspace?", "y"),
        ],
        handbook.token,
    )
    assert ran.code == 0, ran.err
    config = load_config(workspace / "wikisync.toml")
    assert [wiki.folder for wiki in config.wikis] == ["docs", "handbook"]


async def test_answer_no_writes_nothing(
    handbook: EmbeddedService, workspace: Path
) -> None:
    ran = await asyncio.to_thread(
        run_in_terminal,
        words(handbook, workspace),
        [("Folder for", ""), ("Make this workspace?", "n")],
        handbook.token,
    )
    assert ran.code == 0
    assert "nothing was written" in ran.err
    assert not workspace.exists()


async def test_yes_asks_nothing(handbook: EmbeddedService, workspace: Path) -> None:
    ran = await asyncio.to_thread(
        run_in_terminal, [*words(handbook, workspace), "--yes"], [], handbook.token
    )
    assert ran.code == 0, ran.err
    assert (workspace / "wikisync.toml").exists()


async def test_wrong_answers_end_some_time(
    service: EmbeddedService, workspace: Path
) -> None:
    ran = await asyncio.to_thread(
        run_in_terminal,
        ["init", workspace],
        [("Address of the service", "nonsense")] * 5,
        service.token,
    )
    assert ran.code == 2
    assert not workspace.exists()


async def test_token_at_the_wrong_question_is_not_repeated(
    handbook: EmbeddedService, workspace: Path
) -> None:
    ran = await asyncio.to_thread(
        run_in_terminal,
        ["init", workspace],
        [
            ("Address of the service", handbook.token),
            ("Address of the service", handbook.url),
            ("Where does the token come from", handbook.token),
            ("Where does the token come from", "file"),
            ("File that holds", handbook.token),
            ("File that holds", "nowhere"),
            ("Where does the token come from", "command"),
            ("Command whose first line", f"echo {handbook.token}"),
            ("Command whose first line", "false"),
            ("Where does the token come from", "variable"),
            ("Token, for the checks", handbook.token),
            ("Projects and groups", handbook.token),
            ("Projects and groups", "docs/handbook"),
            ("Folder for project docs/handbook", handbook.token),
            ("Folder for project docs/handbook", "pages"),
            ("Make this workspace?", "y"),
        ],
        "",
    )
    assert ran.code == 0, ran.err
    # the terminal itself shows what is typed, once
    assert ran.err.count(handbook.token) == 6
    assert ran.err.count("this may be a token") == 5
    assert handbook.token not in (workspace / "wikisync.toml").read_text()


@pytest.mark.parametrize("option", ["--url", "--project", "--folder", "--token-file"])
async def test_token_as_the_wrong_option_is_not_repeated(
    handbook: EmbeddedService, workspace: Path, run: Run, option: str
) -> None:
    ran = await run(*words(handbook, workspace), "--yes", option, handbook.token)
    assert ran.code != 0
    assert handbook.token not in ran.out + ran.err
