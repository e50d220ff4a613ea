"""``wikisync theme``: themes listed, shown and begun."""

from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from wikisync.errors import ExitCode
from wikisync.site.theme_layers import theme_names


@pytest.fixture
def theme(run_alone: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``wikisync theme`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    async def call(*words: str | Path) -> Ran:
        return await run_alone("theme", *words)

    return call


async def test_themes_are_listed_and_their_contract_printed(theme: Run) -> None:
    ran = await theme("list", "--json")
    assert ran.code == ExitCode.DONE
    assert [one["name"] for one in ran.json] == list(theme_names())
    assert "plain\t1.0.0\tdefault\t" in (await theme("list")).out
    docs = await theme("docs")
    assert (docs.code, "## Blocks" in docs.out) == (ExitCode.DONE, True)


async def test_options_of_an_extended_theme_are_shown(theme: Run) -> None:
    ran = await theme("show", "plain", "--json")
    assert ran.code == ExitCode.DONE
    defaults = {option["name"]: option["default"] for option in ran.json["options"]}
    assert ran.json["layers"] == ["plain", "default"]
    assert defaults["max_width"] == 44
    assert defaults["show_backlinks"] is True


async def test_options_are_a_table_with_what_they_may_be(theme: Run) -> None:
    ran = await theme("show", "default")
    assert "max_width\tinteger\t80\t" in ran.out
    assert 'one of "system"' in ran.out
    assert ran.err.startswith("default: ")


def workspace_in(folder: Path, site: str = "") -> None:
    """A workspace of one wiki with one page."""
    (folder / "handbook").mkdir(parents=True)
    (folder / "handbook/home.md").write_text("# Hello\n")
    (folder / "wikisync.toml").write_text(
        '[service]\nurl = "https://gitlab.example.com"\n'
        f'[[wiki]]\nproject = "docs/handbook"\n[site]\n{site}'
    )


@pytest.mark.parametrize("folder", ["./ours", "themes/ours"])
async def test_new_theme_shows_options_and_its_path(theme: Run, folder: str) -> None:
    assert (await theme("new", folder)).code == ExitCode.DONE
    (await theme("show", "ours")).ended(ExitCode.USAGE, f"hint: did you mean {folder}?")
    options = (await theme("show", folder, "--json")).json["options"]
    assert {"banner", "accent"} <= {option["name"] for option in options}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["build"], ExitCode.HELD),
        (["build", "--strict"], ExitCode.FAILED),
        (["check"], ExitCode.HELD),
    ],
)
async def test_misspelt_name_in_a_theme_is_a_problem(
    run_alone: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
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
    ran = await run_alone(*command)
    assert ran.code == code
    told = "theme/templates/base.html:1: no template has a block 'anounce'"
    assert told in ran.told
    assert "did you mean 'announce'?" in ran.told
    if command[0] == "build":
        assert "[mine]" in Path("site/index.html").read_text()


@pytest.mark.parametrize("extends", ["default", "plain"])
async def test_new_theme_builds_a_site_with_its_own_option(
    theme: Run, run_alone: Run, tmp_path: Path, extends: str
) -> None:
    site = 'theme = "./themes/ours"\n[site.options]\nbanner = "<We> move"\n'
    workspace_in(tmp_path, site)
    made = await theme("new", "./themes/ours", "--extends", extends)
    assert made.code == ExitCode.DONE
    assert (await run_alone("build")).code == ExitCode.DONE
    page = Path("site/index.html").read_text()
    assert '<p class="lead">&lt;We&gt; move</p>' in page
    assert "/ours." in page


async def test_new_theme_touches_no_other_file(theme: Run, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    dry = await theme("new", ours, "--dry-run")
    assert (dry.code, "would write" in dry.out) == (ExitCode.DONE, True)
    assert not ours.exists()
    ours.mkdir()
    (ours / "theme.toml").write_text("mine")
    (await theme("new", ours)).ended(ExitCode.FAILED, "already exists")
    spaced = await theme("new", tmp_path / 'my "own"')
    assert f'theme = "{tmp_path}/my \\"own\\"" in [site]' in spaced.err
    assert f"--theme '{tmp_path}/my \"own\"';" in spaced.err
    assert [path.name for path in ours.iterdir()] == ["theme.toml"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("show plian", ExitCode.USAGE, "did you mean 'plain'?"),
        ("new /proc/ours", ExitCode.FAILED, "cannot write /proc/ours"),
        ("new o --extends ../evil", ExitCode.USAGE, "available themes: default, plain"),
    ],
)
async def test_what_cannot_be_is_told(
    theme: Run, words: str, code: ExitCode, told: str
) -> None:
    ran = await theme(*words.split())
    assert (ran.code, told in ran.err) == (code, True)
