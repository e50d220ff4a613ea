"""``wikisync theme``: themes listed, shown and begun."""

import json
from pathlib import Path

import pytest

from wikisync.cli.main import main
from wikisync.errors import ExitCode
from wikisync.site.theme_layers import theme_names


def test_themes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theme", "list", "--json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert [theme["name"] for theme in found] == list(theme_names())
    main(["theme", "list"])
    assert "plain\t1.0.0\tdefault\t" in capsys.readouterr().out


def test_options_of_the_extended_theme_are_shown_with_the_own_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["theme", "show", "plain", "--json"]) == ExitCode.DONE
    shown = json.loads(capsys.readouterr().out)
    defaults = {option["name"]: option["default"] for option in shown["options"]}
    assert shown["layers"] == ["plain", "default"]
    assert defaults["max_width"] == 44
    assert defaults["show_backlinks"] is True


def test_options_are_a_table_with_what_they_may_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["theme", "show", "default"])
    captured = capsys.readouterr()
    assert "max_width\tinteger\t80\t" in captured.out
    assert 'one of "system"' in captured.out
    assert captured.err.startswith("default: ")


def test_contract_for_theme_authors_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["theme", "docs"]) == ExitCode.DONE
    assert "## Blocks" in capsys.readouterr().out


def workspace_in(folder: Path, site: str = "") -> None:
    """A workspace of one wiki with one page."""
    (folder / "handbook").mkdir(parents=True)
    (folder / "handbook/home.md").write_text("# Hello\n")
    (folder / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        f'[[wiki]]\nproject = "docs/handbook"\n[site]\n{site}'
    )


@pytest.mark.parametrize("folder", ["./ours", "themes/ours"])
def test_name_of_a_theme_of_ones_own_gets_its_path_as_hint(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["theme", "new", folder]) == ExitCode.DONE
    assert main(["theme", "show", "ours"]) == ExitCode.USAGE
    assert f"hint: did you mean {folder}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["build"], ExitCode.HELD),
        (["build", "--strict"], ExitCode.FAILED),
        (["check"], ExitCode.HELD),
    ],
)
def test_misspelt_name_in_a_theme_is_a_problem(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    code: ExitCode,
) -> None:
    """The folder ``theme`` beside the configuration needs no key to be used."""
    workspace_in(tmp_path)
    (tmp_path / "theme/templates").mkdir(parents=True)
    (tmp_path / "theme/templates/base.html").write_text(
        "{% extends '!theme/base.html' %}{% block footer %}[mine]{% endblock %}"
        "{% block anounce %}x{% endblock %}"
    )
    monkeypatch.chdir(tmp_path)
    assert main(command) == code
    captured = capsys.readouterr()
    told = captured.out + captured.err
    assert "theme/templates/base.html:1: no template has a block 'anounce'" in told
    assert "did you mean 'announce'?" in told
    if command[0] == "build":
        assert "[mine]" in Path("site/index.html").read_text()


@pytest.mark.parametrize("extends", ["default", "plain"])
def test_new_theme_builds_a_site_with_its_own_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extends: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    site = 'theme = "./themes/ours"\n[site.options]\nbanner = "<We> move"\n'
    workspace_in(tmp_path / "books", site)
    monkeypatch.chdir(tmp_path / "books")
    made = main(["theme", "new", "./themes/ours", "--extends", extends])
    assert made == ExitCode.DONE
    assert main(["build"]) == ExitCode.DONE
    page = Path("site/index.html").read_text()
    assert '<p class="lead">&lt;We&gt; move</p>' in page
    assert "/ours." in page


def test_new_theme_shows_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["theme", "new", str(tmp_path / "ours")])
    capsys.readouterr()
    main(["theme", "show", str(tmp_path / "ours"), "--json"])
    shown = json.loads(capsys.readouterr().out)
    names = [option["name"] for option in shown["options"]]
    assert "banner" in names
    assert "accent" in names


def test_new_theme_touches_nothing_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theme.toml").write_text("mine")
    assert main(["theme", "new", str(tmp_path)]) == ExitCode.FAILED
    assert "already exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["theme.toml"]


def test_dry_run_of_a_new_theme_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["theme", "new", str(tmp_path / "ours"), "--dry-run"]) == ExitCode.DONE
    assert "would write" in capsys.readouterr().out
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["show", "plian"], ExitCode.USAGE, "did you mean 'plain'?"),
        (["new", "/proc/ours"], ExitCode.FAILED, "cannot write /proc/ours"),
        (
            ["new", "ours", "--extends", "../evil"],
            ExitCode.USAGE,
            "available themes: default, plain",
        ),
    ],
)
def test_what_cannot_be_is_told(
    capsys: pytest.CaptureFixture[str], words: list[str], code: ExitCode, told: str
) -> None:
    assert main(["theme", *words]) == code
    assert told in capsys.readouterr().err
