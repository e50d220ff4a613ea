"""``wikisync build``: a folder becomes a site, with no service."""

import json
from pathlib import Path

import pytest

from tests.support.agreed import write_config
from tests.support.workspaces import Cloned
from wikisync.cli.main import main
from wikisync.errors import ExitCode

CONFIG = """\
[service]
url = "https://gitlab.example.com"
[[wiki]]
project = "docs/handbook"
folder = "handbook"
[site]
output = "public"
"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "books"
    (folder / "handbook").mkdir(parents=True)
    (folder / "handbook" / "home.md").write_text("# Welcome home\n")
    (folder / "wikisync.toml").write_text(CONFIG)
    return folder


def set_site(workspace: Path, lines: str) -> None:
    write_config(workspace, CONFIG + lines)


def test_a_workspace_is_built_where_it_says(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(workspace)]) == ExitCode.DONE
    assert "Welcome home" in (workspace / "public" / "index.html").read_text()
    shown = capsys.readouterr().out
    assert shown.startswith("1 page: ")
    assert shown.endswith(f"{workspace / 'public' / 'index.html'}\n")


def test_folder_of_a_program_is_a_note_of_each_build_unless_it_is_ignored(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace / "handbook"
    (folder / "node_modules").mkdir()
    words = ["build", "--strict", str(workspace)]
    for _ in range(2):  # the second one has nothing to do
        assert main(words) == ExitCode.DONE
        captured = capsys.readouterr()
        assert "node_modules: a package manager makes this folder" in captured.err
        assert "/node_modules/ leaves it out silently" in captured.err
        assert "0 problems" in captured.out
    assert main([*words, "--json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert [one["subject"] for one in found["notes"]] == ["node_modules"]
    (folder / ".wikisyncignore").write_text("node_modules/\n")
    assert main(words) == ExitCode.DONE
    assert "node_modules" not in capsys.readouterr().err


def test_any_folder_is_built_where_one_says(workspace: Path, tmp_path: Path) -> None:
    folder, output = workspace / "handbook", tmp_path / "out"
    assert main(["build", str(folder), "-o", str(output)]) == ExitCode.DONE
    assert (output / "index.html").exists()


def test_theme_is_tried_on_any_folder(workspace: Path, tmp_path: Path) -> None:
    folder, output, theme = workspace / "handbook", tmp_path / "out", tmp_path / "ours"
    assert main(["theme", "new", str(theme)]) == ExitCode.DONE
    ours = tmp_path / "templates"
    (ours / "i18n").mkdir(parents=True)
    (ours / "i18n/en.toml").write_text('all_pages = "Everything"\n')
    words = ["build", str(folder), "-o", str(output)]
    words += ["--theme", str(theme), "--theme-option", "banner=Closed on Monday"]
    assert main([*words, "--templates", str(ours)]) == ExitCode.DONE
    page = (output / "index.html").read_text()
    assert "Closed on Monday" in page
    assert "Everything" in page


def test_theme_of_the_command_line_is_in_front_of_the_configuration(
    workspace: Path, tmp_path: Path
) -> None:
    theme = tmp_path / "ours"
    assert main(["theme", "new", str(theme)]) == ExitCode.DONE
    set_site(workspace, '[site.options]\nfooter_html = "ours alone"\n')
    words = ["build", str(workspace)]
    assert main([*words, "--theme-option", "footer_html=typed"]) == ExitCode.DONE
    assert "typed" in (workspace / "public/index.html").read_text()
    assert main([*words, "--theme", str(theme)]) == ExitCode.DONE
    assert "ours alone" not in (workspace / "public/index.html").read_text()


def test_a_folder_that_says_nowhere_needs_an_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(tmp_path)]) == ExitCode.USAGE
    assert "give a folder with -o, or set [site] output" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["site", "tmp/site", "cache/site"])
def test_a_site_is_not_put_where_wikisync_tidies(
    workspace: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    place = workspace / ".wikisync" / output
    assert main(["build", str(workspace), "-o", str(place)]) == ExitCode.USAGE
    assert "choose another folder with -o" in capsys.readouterr().err
    assert not (place / "index.html").exists()


def test_a_site_is_hidden_from_search_engines_unless_it_is_public(
    workspace: Path,
) -> None:
    main(["build", str(workspace)])
    robots = workspace / "public" / "robots.txt"
    assert "Disallow: /\n" in robots.read_text()
    set_site(workspace, "public = true\n")
    main(["build", str(workspace)])
    assert "Disallow: /\n" not in robots.read_text()


def test_broken_links_are_told_and_strict_fails(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "handbook" / "home.md").write_text("# Hi\n\n[gone](gone)\n")
    assert main(["build", str(workspace)]) == ExitCode.DONE
    assert "broken link: docs/handbook: home:3: gone" in capsys.readouterr().err
    assert main(["build", str(workspace), "--strict"]) == ExitCode.FAILED


def test_a_program_is_told_everything(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(workspace), "--publish", "--json"]) == ExitCode.DONE
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == 1
    assert told["switched"] is True
    assert told["problems"] == []


def test_publishing_switches_and_runs_what_follows(workspace: Path) -> None:
    set_site(workspace, """after = ["sh", "-c", "echo $WIKISYNC_SITE >> sent"]\n""")
    assert main(["build", str(workspace), "--publish"]) == ExitCode.DONE
    assert main(["build", str(workspace), "--publish"]) == ExitCode.DONE
    sent = (workspace / "sent").read_text()
    assert sent == f"{workspace / 'public'}\n"
    (workspace / "handbook" / "home.md").write_text("# Changed\n")
    assert main(["build", str(workspace), "--publish"]) == ExitCode.DONE
    assert (workspace / "sent").read_text() == 2 * sent
    assert len(list((workspace / ".public.versions").glob("0*"))) == 1


def test_a_command_that_fails_is_told_and_the_site_stands(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_site(workspace, 'after = "false"\n')
    assert main(["build", str(workspace), "--publish"]) == ExitCode.HELD
    assert "ended with exit code 1" in capsys.readouterr().err
    assert (workspace / "public" / "index.html").exists()


def test_the_command_that_follows_gets_no_token(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_site(workspace, """after = ["sh", "-c", "env > known"]\n""")
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-EXAMPLE")
    monkeypatch.setenv("STORAGE_KEY", "its own")
    assert main(["build", str(workspace), "--publish"]) == ExitCode.DONE
    known = (workspace / "known").read_text()
    assert "glpat-EXAMPLE" not in known
    assert "STORAGE_KEY=its own" in known


# -- what the site holds already -----------------------------------------------------


OTHER = """\
[[wiki]]
project = "docs/other"
folder = "other"
"""


@pytest.fixture
def two_wikis(workspace: Path) -> Path:
    (workspace / "other").mkdir()
    (workspace / "other" / "home.md").write_text("# Other\n")
    (workspace / "wikisync.toml").write_text(CONFIG + OTHER)
    assert main(["build", str(workspace)]) == ExitCode.DONE
    return workspace


@pytest.mark.parametrize("how", [[], ["--publish"]])
def test_wiki_that_the_workspace_no_longer_names_leaves_the_site_only_when_asked(
    two_wikis: Path, how: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = two_wikis / "public" / "docs/other/-/wikis/index.html"
    (two_wikis / "wikisync.toml").write_text(CONFIG)
    assert main(["build", str(two_wikis), *how]) == ExitCode.USAGE
    assert other.exists()
    said = capsys.readouterr().err
    assert "would remove the wiki of project docs/other (1 page) from the site" in said
    assert "--replace" in said
    assert main(["build", str(two_wikis), *how, "--replace"]) == ExitCode.DONE
    assert not other.exists()


@pytest.mark.usefixtures("workspace")
def test_site_of_another_folder_is_replaced_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "home.md").write_text(f"# {folder.name}\n")
    one, two = (["build", str(folder), "-o", str(tmp_path / "o")] for folder in folders)
    assert main(one) == ExitCode.DONE
    assert main(two) == ExitCode.USAGE
    assert "project local/one (1 page)" in capsys.readouterr().err
    assert "one" in (tmp_path / "o" / "index.html").read_text()
    assert main([*two, "--replace"]) == ExitCode.DONE


def test_folder_that_became_empty_does_not_empty_its_part_of_the_site(
    two_wikis: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when its disk is away."""
    (two_wikis / "other" / "home.md").unlink()
    assert main(["build", str(two_wikis)]) == ExitCode.USAGE
    assert "project docs/other (1 page)" in capsys.readouterr().err
    assert (two_wikis / "public" / "docs/other/-/wikis/index.html").exists()


@pytest.mark.parametrize(
    ("key", "options"), [("page_templates = true\n", []), ("", ["--page-templates"])]
)
def test_templates_for_new_pages_are_published_where_the_site_says_so(
    workspace: Path, key: str, options: list[str]
) -> None:
    template = next(workspace.glob("*/home.md")).parent / "templates/meeting.md"
    template.parent.mkdir()
    template.write_text("x")
    set_site(workspace, key)
    assert main(["build", str(workspace), *options]) == ExitCode.DONE
    assert list((workspace / "public").rglob("meeting.html"))
    set_site(workspace, "")
    assert main(["build", str(workspace)]) == ExitCode.DONE
    assert not list((workspace / "public").rglob("meeting.html"))


@pytest.mark.parametrize(
    ("key", "options"), [("report = false\n", []), ("", ["--no-report"])]
)
def test_report_is_left_out_where_the_site_says_so(
    workspace: Path, key: str, options: list[str]
) -> None:
    set_site(workspace, key)
    assert main(["build", str(workspace), *options]) == ExitCode.DONE
    assert not (workspace / "public/-/report.html").exists()
    set_site(workspace, "")
    assert main(["build", str(workspace)]) == ExitCode.DONE
    assert (workspace / "public/-/report.html").exists()


async def test_site_of_a_workspace_says_when_a_sync_saw_a_change(
    cloned: Cloned,
) -> None:
    """What was there at the clone is older than anybody here knows."""
    await cloned.run_main("build", cloned.root)
    assert "<time" not in (cloned.root / "site/index.html").read_text()
    await cloned.edit({"guide": "other\n", "new": "new\n"})
    await cloned.run("sync")
    await cloned.run_main("build", cloned.root)
    page = (cloned.root / "site/guide.html").read_text()
    assert "Change seen on" in page
    assert "Last changed" not in page
    assert "<time" not in (cloned.root / "site/index.html").read_text()
    changes = (cloned.root / "site/-/changes.html").read_text()
    assert changes.count("<time") == 2
