"""The command table: names, mistakes, and what the shell is told."""

from __future__ import annotations

import logging

import pytest

from wikisync import __version__
from wikisync.cli.console import Console
from wikisync.cli.main import COMMANDS, main


def test_help_lists_every_command_with_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown and line in shown for name, line in COMMANDS.items())


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_misspelt_command_is_told_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["exprot"]) == 2
    said = capsys.readouterr().err
    assert "error: no such command: exprot (did you mean export?)" in said
    assert "hint: see wikisync --help" in said


def test_mistake_in_an_option_points_to_the_commands_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--outptu", "site"]) == 2
    said = capsys.readouterr().err
    assert "--outptu" in said
    assert "hint: see wikisync demo --help" in said


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert f"wikisync {name}" in capsys.readouterr().out


def test_verbose_log_does_nothing_to_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("wikisync")
    handlers, level = logger.handlers[:], logger.level
    Console().log_to_stderr(debug=False)
    try:
        logger.info("pulled %s", "a\n\x1b[2J")
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
    assert capsys.readouterr().err == "INFO    wikisync: pulled a␊␛[2J\n"
