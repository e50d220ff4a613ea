"""The command table: names, mistakes, and what the shell is told."""

import io
import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from wikisync.cli.console import Console, table_text
from wikisync.cli.fleet import DATABASE_VARIABLE
from wikisync.cli.main import COMMANDS, SECTIONS, cli, main
from wikisync.cli.service_command import ServiceCommand, url_option
from wikisync.core.version import __version__
from wikisync.errors import UsageError


def test_help_lists_commands_in_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [line for line in COMMANDS.values() if line not in shown] == []
    lines = shown.splitlines()
    listed = [line.strip().split("  ")[0].rstrip(":") for line in lines if line]
    wanted = [word for title, names in SECTIONS.items() for word in (title, *names)]
    assert [word for word in listed if word in wanted] == wanted


@pytest.mark.parametrize(
    ("typed", "meant", "shown"),
    [
        ("help", "--help", "Every day:"),
        ("help sync", "sync --help", "Usage: wikisync sync"),
        ("help page get", "page get --help", "Usage: wikisync page get"),
        ("version", "--version", __version__),
    ],
)
def test_help_and_version_are_typed_as_commands_too(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str, shown: str
) -> None:
    assert main(typed.split()) == 0
    told = capsys.readouterr().out
    assert main(meant.split()) == 0
    assert shown in told
    assert capsys.readouterr().out == told


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


def test_wrong_option_points_to_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--outptu", "site"]) == 2
    said = capsys.readouterr().err
    assert "--outptu" in said
    assert "hint: see wikisync demo --help" in said


@pytest.mark.parametrize("outside", ["0", "49", "10001"])
def test_settling_time_is_held_to_the_bounds_of_its_key(
    capsys: pytest.CaptureFixture[str], outside: str
) -> None:
    assert main(["watch", "--settle", outside]) == 2
    assert f"{outside} is not in the range 50<=x<=10000" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: wikisync {name}" in shown
    assert name != "clone" or "clone [OPTIONS] [URL] FOLDER" in shown


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
    for place in (tmp_path, tmp_path / "my-wikis"):
        (place / "wikisync.toml").write_text(
            '[service]\nurl = "https://gitlab.example.com"\n[[wiki]]\n'
            'project = "docs/handbook"\nfolder = "handbook"\n'
        )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(DATABASE_VARIABLE, "postgresql://127.0.0.1/wikisync")
    for path, made in commands_below(cli, "wikisync"):
        (example, *_others) = (made.epilog or "").split("\n\n")
        assert example.startswith(f"Example: {path}"), path
        if not isinstance(made, click.Group):
            words = shlex.split(example.removeprefix(f"Example: {path}"))
            context = made.make_context(path, words, obj=Console())
            assert made.get_help(context).startswith(f"Usage: {path} "), path


def test_log_does_nothing_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("wikisync")
    handlers, level = logger.handlers[:], logger.level
    Console().log_to_stderr(debug=False)
    try:
        logger.info("pulled %s", "a\n\x1b[2J")
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
    assert capsys.readouterr().err == "INFO    wikisync: pulled a␊␛[2J\n"


Fail = Callable[[Exception], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Let every command end in an error."""

    def set_error(error: Exception) -> None:
        def raise_it(**_words: object) -> None:
            raise error

        monkeypatch.setattr("wikisync.cli.main.cli.main", raise_it)

    return set_error


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
    fail: Fail, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(error)
    assert main(["status"]) == 1
    said = capsys.readouterr().err
    assert "error: there is not enough memory" in said
    assert "ulimit -v" in said


@pytest.mark.parametrize("error", [RuntimeError("ours"), ImportError("no module x")])
def test_fault_of_ours_is_no_missing_memory(fail: Fail, error: Exception) -> None:
    fail(error)
    with pytest.raises(type(error)):
        main(["status"])


def test_what_stdout_lacks_is_escaped_or_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sentence is; escaped, a page's text would be another one."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="latin-1", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    with pytest.raises(UsageError, match="uses latin-1") as wrong:
        Console().result("日本")
    assert "PYTHONIOENCODING=utf-8" in (wrong.value.hint or "")
    Console().lines("é 日本: edited here")
    assert written.getvalue() == b"\xe9 \\u65e5\\u672c: edited here\n"


def test_full_disk_behind_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(OSError, match="stdout"):
            Console().result("text")


def test_error_that_no_command_knows_names_its_file_and_a_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "a" * 300]) == 1
    assert capsys.readouterr().err == (
        f"error: cannot use {'a' * 300}: the name is too long for this disk\n"
        "hint: use a shorter name\n"
    )


def test_error_of_no_file_names_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["--help"]) == 1
        monkeypatch.undo()
    assert capsys.readouterr().err == (
        "error: the disk is full\nhint: free some space and run the command again\n"
    )
    # a folder that was opened has a number
    monkeypatch.setattr("wikisync.cli.main._run", lambda *_: os.scandir(1 << 30))
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == "error: Bad file descriptor\n"


def test_current_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    command = 'rmdir "$PWD" && exec "$@"'
    program = [sys.executable, "-P", "-m", "wikisync", "check"]
    done = subprocess.run(
        ["sh", "-c", command, "sh", *program],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "error: cannot use .: it does not exist\nhint: check the path\n",
    )


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
    ("is_well", "colour"), [(True, "\x1b[32m"), (False, "\x1b[33m")]
)
def test_state_has_a_colour_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, *, is_well: bool, colour: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown: list[str] = []
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stdout", stream)
        Console().state("docs: in sync", is_well=is_well)
        shown.append(stream.getvalue())
    assert shown == [f"{colour}docs: in sync\x1b[0m\n", "docs: in sync\n"]


def test_state_cannot_paint_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    Console().state("docs\x1b[31m: in sync", is_well=True)
    assert "\x1b" not in terminal.getvalue()


# -- tables on terminals and in pipes ----------------------------------------------

COLUMNS = ["id", "description"]


def test_pipe_gets_lines_with_tabs() -> None:
    text = table_text(COLUMNS, [[7, "a\tb"], [8, None]], width=None)

    assert text == "id\tdescription\n7\ta b\n8\t\n"


def test_terminal_gets_a_table_of_its_width() -> None:
    text = table_text(COLUMNS, [[7, "word " * 20]], width=40)

    assert max(len(line) for line in text.splitlines()) <= 40
    assert text.count("word") == 20


def test_foreign_text_moves_no_cursor_and_is_no_markup() -> None:
    text = table_text(COLUMNS, [[7, "[bold]a\x1b[2J\r\n"]], width=60)

    assert "[bold]a [2J" in text
    assert "\x1b" not in text


# -- the service's URL -------------------------------------------------------------

URL = "https://gitlab.example.com"


@click.command("probe", cls=ServiceCommand)
@click.argument("project", required=False)
@click.option("--name")
@click.option("-y", "--yes", is_flag=True)
@url_option
def probe(url: str, project: str | None, name: str | None, *, yes: bool) -> str:
    return f"{url} {project} {name} {yes}"


def called(*words: str) -> object:
    return probe.main(list(words), standalone_mode=False)


ENVIRONMENT = "https://in-the-environment"


@pytest.mark.parametrize(
    ("words", "url", "others"),
    [
        ((URL, "a/b"), URL, "a/b None False"),
        (("--url", URL, "a/b"), URL, "a/b None False"),
        ((f"--url={URL}", "a/b"), URL, "a/b None False"),
        (("a/b", "--url", URL), URL, "a/b None False"),
        (("--name", "x", "-y", URL, "a/b"), URL, "a/b x True"),
        (("-y", URL, "--name=x", "a/b"), URL, "a/b x True"),
        (("--name", "https://other", URL), URL, "None https://other False"),
        (("a/b",), ENVIRONMENT, "a/b None False"),
        (("--", "a://b"), ENVIRONMENT, "a://b None False"),
    ],
)
def test_url_is_the_first_word_or_an_option_or_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], url: str, others: str
) -> None:
    monkeypatch.setenv("WIKISYNC_URL", ENVIRONMENT)
    assert called(*words) == f"{url} {others}"
    monkeypatch.delenv("WIKISYNC_URL")
    assert url == ENVIRONMENT or called(*words) == f"{url} {others}"


@pytest.mark.parametrize(
    ("words", "told", "step"),
    [
        ("project list", "no service is given", "or set WIKISYNC_URL"),
        (
            "project show gitlab.example.com a/b",
            "gitlab.example.com is not the URL of a service",
            "https://gitlab.example.com",
        ),
        (
            "project show git@gitlab.example.com:a/b.wiki.git a/b",
            "gitlab.example.com:a/b.wiki.git is not the URL of a service",
            "https://gitlab.example.com, or",
        ),
        (
            "project show ann:s3cret@localhost:8080/git a/b",
            "error: localhost:8080/git is not the URL of a service",
            "https://localhost:8080, or",
        ),
    ],
)
def test_what_names_no_service_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    told: str,
    step: str,
) -> None:
    monkeypatch.delenv("WIKISYNC_URL", raising=False)
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert (told in error, step in error) == (True, True)
