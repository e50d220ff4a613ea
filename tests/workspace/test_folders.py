"""What a folder on the command line shows as a site."""

import os
from pathlib import Path

import pytest

from wikisync.core.model import WikiOwner
from wikisync.errors import ConfigError, UsageError
from wikisync.site.build import build_site
from wikisync.workspace.folders import (
    DEFAULT_CHOICE,
    ShownFolder,
    cache_folder,
    find_shown,
)

SOMEBODY = 4242
CONFIG = """\
[service]
url = "https://gitlab.example.com"

[[wiki]]
project = "docs/handbook"
folder = "handbook"

[[wiki]]
group = "docs"
folder = "group"

[site]
theme = "./themes/ours"
templates = "theme"
language = "de"
options = { accent = "teal" }

[markup]
emoji = false
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "books"
    for name in ("handbook/deep", "group", "notes", "theme"):
        (folder / name).mkdir(parents=True)
    (folder / "wikisync.toml").write_text(CONFIG)
    return folder


def test_a_workspace_shows_all_its_wikis(workspace: Path) -> None:
    sources, options = find_shown(workspace).site()
    assert [source.folder for source in sources] == [
        workspace / "handbook",
        workspace / "group",
    ]
    assert [source.web_url for source in sources] == [
        "https://gitlab.example.com/docs/handbook",
        "https://gitlab.example.com/groups/docs",
    ]
    assert (options.title, options.lang) == ("books", "de")
    assert options.theme == str(workspace / "themes" / "ours")
    assert options.templates == workspace / "theme"
    assert options.theme_options == {"accent": "teal"}
    assert not options.markup.emoji


def test_a_folder_called_theme_is_the_projects_own(workspace: Path) -> None:
    settings = workspace / "wikisync.toml"
    settings.write_text(CONFIG.replace('templates = "theme"\n', ""))
    assert find_shown(workspace).site()[1].templates == workspace / "theme"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('folder = "group"', 'folder = "theme"'),
        ('folder = "group"', 'folder = "theme/pages"'),
        ('theme = "./themes/ours"', 'theme = "./theme"'),
    ],
    ids=["wiki", "wiki-inside", "whole-theme"],
)
def test_a_folder_called_theme_may_be_another_thing(
    workspace: Path, before: str, after: str
) -> None:
    text = CONFIG.replace('templates = "theme"\n', "").replace(before, after)
    (workspace / "wikisync.toml").write_text(text)
    assert find_shown(workspace).site()[1].templates is None


def test_templates_that_are_named_and_not_there_are_refused(workspace: Path) -> None:
    (workspace / "theme").rmdir()
    with pytest.raises(ConfigError, match=r"site\.templates: there is no folder"):
        find_shown(workspace).site()


@pytest.mark.parametrize("inside", ["handbook", "handbook/deep"])
def test_one_wiki_of_a_workspace_is_shown_alone(workspace: Path, inside: str) -> None:
    shown = find_shown(workspace / inside)
    sources, options = shown.site()
    assert [source.owner for source in sources] == [
        WikiOwner("project", "docs/handbook")
    ]
    assert options.title == "handbook"
    assert shown.settings == workspace / "wikisync.toml"


def test_another_folder_of_a_workspace_is_shown_by_itself(workspace: Path) -> None:
    (source,), options = find_shown(workspace / "notes").site()
    assert source.folder == workspace / "notes"
    assert options.title == "notes"


def test_any_folder_is_a_wiki(tmp_path: Path) -> None:
    folder = tmp_path / "My notes & more"
    folder.mkdir()
    (source,), options = find_shown(folder).site()
    assert source.folder == folder
    assert source.owner == WikiOwner("project", "local/My-notes-more")
    assert source.web_url == ""
    assert options.title == "My notes & more"


def test_the_configuration_is_read_anew_each_time(workspace: Path) -> None:
    shown = find_shown(workspace)
    shown.site()
    (workspace / "wikisync.toml").write_text(CONFIG.replace("de", "titel", 1) + "x =")
    with pytest.raises(ConfigError):
        shown.site()


def test_a_workspace_without_wikis_says_how_to_add_one(tmp_path: Path) -> None:
    (tmp_path / "wikisync.toml").write_text('[service]\nurl = "https://x.example"\n')
    with pytest.raises(ConfigError, match="names no wiki"):
        find_shown(tmp_path).site()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        find_shown(tmp_path / "none")


def test_a_workspace_keeps_its_cache_itself(workspace: Path, tmp_path: Path) -> None:
    kept = cache_folder(find_shown(workspace), "preview", {})
    assert kept == workspace / ".wikisync" / "cache" / "preview"
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    other = cache_folder(find_shown(tmp_path), "preview", environment)
    assert other.is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize("closed", [".", ".wikisync"])
def test_a_workspace_that_is_read_only_is_not_written_to(
    workspace: Path, tmp_path: Path, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    workspace.chmod(0o777)
    Path(closed).mkdir(exist_ok=True)
    Path(closed).chmod(0o555)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:  # who may write everywhere
                os.setresuid(SOMEBODY, SOMEBODY, SOMEBODY)
            shown = ShownFolder(Path("handbook"), Path(), DEFAULT_CHOICE)
            cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
            kept = cache_folder(shown, "preview", cache)
            code = int(not kept.is_relative_to(tmp_path / "cache"))
        finally:
            os._exit(code)
    _child, status = os.waitpid(child, 0)
    workspace.chmod(0o755)
    assert os.waitstatus_to_exitcode(status) == 0


def test_folder_whose_name_is_not_text_becomes_a_site(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/w\xff"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system stores only names that are text")
    (folder / "home.md").write_text("# Home\n")
    sources, options = find_shown(folder).site()
    assert options.title == r"w\xff"
    build_site(sources, tmp_path / "site", options, cache=tmp_path / "cache")
    assert r"w\xff" in (tmp_path / "site" / "index.html").read_text()
