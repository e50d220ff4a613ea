"""The frame around every command: what no command translated, and the locale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import IO

import pytest

LATIN_1 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run(
    *words: str, env: dict[str, str] | None = None, stdout: IO[str] | int = PIPE
) -> subprocess.CompletedProcess[str]:
    """``python -m wikisync`` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "wikisync", *words],
        stdout=stdout,
        stderr=PIPE,
        encoding="utf-8",
        check=False,
        env=env,
    )


def test_pages_of_every_script_under_a_locale_without_them(tmp_path: Path) -> None:
    """Python gives such files no names under Latin-1 or ASCII."""
    page = tmp_path / "日本語.md"
    page.write_text("# 検索\n", encoding="utf-8")
    ran = run("render", str(page), env={**os.environ, **LATIN_1})
    assert ran.returncode == 0, ran.stderr
    assert "検索" in ran.stdout


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("render", "-h")])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_behind_stdout_is_told(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ran = run(*words, stdout=full)
    assert ran.returncode == 1
    assert ran.stderr == "error: No space left on device\n"
