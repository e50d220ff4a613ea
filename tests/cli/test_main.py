"""The command table: names, mistakes, and what the shell is told."""

import io
import logging
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wikisync.cli.console import Console
from wikisync.cli.fleet import DATABASE_VARIABLE
from wikisync.cli.main import COMMANDS, SECTIONS, cli, main
from wikisync.core.version import __version__
from wikisync.errors import UsageError


def test_help_lists_every_command_with_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown and line in shown for name, line in COMMANDS.items())


def test_help_lists_commands_in_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.strip().split("  ")[0].rstrip(":") for line in lines if line]
    wanted = [word for title, names in SECTIONS.items() for word in (title, *names)]
    assert [word for word in listed if word in wanted] == wanted


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_help_and_version_are_typed_as_commands_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for typed, meant in (
        ("help", "--help"),
        ("help sync", "sync --help"),
        ("help page get", "page get --help"),
        ("version", "--version"),
    ):
        assert main(typed.split()) == main(meant.split()) == 0
        shown = capsys.readouterr().out
        assert shown == 2 * shown[: len(shown) // 2]


@pytest.mark.parametrize(
    ("typed", "meant"), [("exprot", "export"), ("halp", "help"), ("vesion", "version")]
)
def test_misspelt_command_is_told_with_the_nearest(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    assert main([typed]) == 2
    said = capsys.readouterr().err
    assert f"error: no such command: {typed} (did you mean {meant}?)" in said
    assert "hint: see wikisync --help" in said


def test_mistake_in_an_option_points_to_the_commands_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--outptu", "site"]) == 2
    said = capsys.readouterr().err
    assert "--outptu" in said
    assert "hint: see wikisync demo --help" in said


def test_settling_time_is_held_to_the_bounds_of_its_key(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for outside in ("0", "49", "10001"):
        assert main(["watch", "--settle", outside]) == 2
        assert f"{outside} is not in the range 50<=x<=10000" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: wikisync {name}" in capsys.readouterr().out


def commands_below(
    group: click.Group, path: str
) -> Iterator[tuple[str, click.Command]]:
    """Every command, groups too, by what is typed for it."""
    for name in group.list_commands(click.Context(group)):
        made = group.get_command(click.Context(group), name)
        assert made is not None
        yield f"{path} {name}", made
        if isinstance(made, click.Group):
            yield from commands_below(made, f"{path} {name}")


def test_every_command_has_an_example_that_it_understands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("logo.png", "home.md", "start.md", "token", "page.asciidoc"):
        (tmp_path / name).touch()
    for folder in ("vault", "my-wikis/handbook"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(DATABASE_VARIABLE, "postgresql://127.0.0.1/wikisync")
    for path, made in commands_below(cli, "wikisync"):
        (example, *_others) = (made.epilog or "").split("\n\n")
        assert example.startswith(f"Example: {path}"), path
        if not isinstance(made, click.Group):
            words = shlex.split(example.removeprefix(f"Example: {path}"))
            made.make_context(path, words, obj=Console())


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


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("nh3.abi3.so: failed to map segment from shared object"),
        ExceptionGroup("tasks", [ValueError(), ExceptionGroup("", [MemoryError()])]),
    ],
)
def test_missing_memory_is_told_as_such(
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(**_words: object) -> None:
        raise error

    monkeypatch.setattr("wikisync.cli.main.cli.main", fail)
    assert main(["status"]) == 1
    said = capsys.readouterr().err
    assert "error: there is not enough memory" in said
    assert "ulimit -v" in said


@pytest.mark.parametrize("error", [RuntimeError("ours"), ImportError("no module x")])
def test_fault_of_ours_is_not_taken_for_missing_memory(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_words: object) -> None:
        raise error

    monkeypatch.setattr("wikisync.cli.main.cli.main", fail)
    with pytest.raises(type(error)):
        main(["status"])


def latin_1(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What is written to a stdout that takes Latin-1 alone."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="latin-1", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    return written


def test_sentence_is_escaped_where_stdout_lacks_its_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = latin_1(monkeypatch)
    Console().lines("é 日本: edited here")
    assert written.getvalue() == b"\xe9 \\u65e5\\u672c: edited here\n"


def test_data_that_stdout_cannot_take_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Escaped, a page's text would be another one."""
    written = latin_1(monkeypatch)
    with pytest.raises(UsageError, match="uses latin-1") as wrong:
        Console().result("日本")
    assert written.getvalue() == b""
    assert "PYTHONIOENCODING=utf-8" in (wrong.value.hint or "")


def test_full_disk_behind_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(OSError, match="stdout"):
            Console().result("text")


@pytest.mark.parametrize(
    "words", [[], ["theme"], ["page"], ["project"], ["serve", "admin"]], ids=" ".join
)
def test_group_without_a_command_prints_its_help(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"Usage: {' '.join(['wikisync', *words])} ")
    assert "Commands:" in shown.out or "Every day:" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", {"resolve", "restore", "refuse", "resume", "render"}),
        ("--ver", {"--version", "--verbose"}),
        ("export --theme", {"--theme", "--theme-option"}),
    ],
)
def test_shell_is_offered_commands_and_options(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    offered: set[str],
) -> None:
    words = f"wikisync {typed}"
    monkeypatch.setenv("_WIKISYNC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    lines = capsys.readouterr().out.splitlines()
    assert {line.removeprefix("plain,") for line in lines} == offered


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("is_well", "shown"),
    [
        (True, "\x1b[32mdocs: in sync\x1b[0m\n"),
        (False, "\x1b[33mdocs: in sync\x1b[0m\n"),
    ],
)
def test_state_has_a_colour_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, *, is_well: bool, shown: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, wanted in ((Terminal(), shown), (io.StringIO(), "docs: in sync\n")):
        monkeypatch.setattr("sys.stdout", stream)
        Console().state("docs: in sync", is_well=is_well)
        assert stream.getvalue() == wanted


def test_state_cannot_paint_the_terminal_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    Console().state("docs\x1b[31m: in sync", is_well=True)
    assert "\x1b" not in terminal.getvalue()
