"""A workspace of another user above the folder that a command works on."""

import os
from pathlib import Path

import pytest

from wikisync.cli.main import main
from wikisync.errors import ExitCode

SOMEBODY = 4242


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of our own, in that of somebody whose configuration runs commands."""
    above = tmp_path / "shared"
    mine = above / "mine" / "notes"
    mine.mkdir(parents=True)
    (mine / "home.md").write_text("# hello\n")
    ran = tmp_path / "ran"
    command = ["touch", str(ran)]
    (above / "wikisync.toml").write_text(
        f'[service]\nurl = "http://127.0.0.1:9"\ntoken_command = {command}\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "mine/notes"\n'
        f'[site]\noutput = "site"\nafter = {command}\npublish = true\n'
        f"[sync]\nattention_command = {command}\n"
    )
    if os.geteuid() == 0:
        os.chown(above / "wikisync.toml", SOMEBODY, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    monkeypatch.delenv("WIKISYNC_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(mine)
    return mine


COMMANDS = """
status
sync
sync --dry-run
watch
doctor
diff
log
adopt
pause
resume
resolve home.md --mine
restore home
approve batch
refuse batch
build . -o out
build --publish
check
preview --port 0
render home.md
clone http://127.0.0.1:9 --project docs/other {above}
"""


@pytest.mark.parametrize("words", COMMANDS.strip().split("\n"))
def test_command_refuses_it_and_runs_nothing_of_it(
    below: Path, tmp_path: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    above = below.parent.parent
    (above / ".wikisync").mkdir()
    code = main(words.format(above=above).split())
    said = "".join(capsys.readouterr())
    assert code in {ExitCode.FAILED, ExitCode.USAGE}
    assert not (tmp_path / "ran").exists()
    assert "may name commands to run" in said
    assert f"export WIKISYNC_SAFE_FOLDERS={above}" in said


def test_command_works_where_the_user_allows_it(
    below: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_SAFE_FOLDERS", str(below.parent.parent))
    assert main(["check"]) == ExitCode.DONE
    assert main(["sync"]) != ExitCode.DONE
    assert (tmp_path / "ran").exists()
