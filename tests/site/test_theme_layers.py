"""Where themes lie and in which order they stand."""

from pathlib import Path

import pytest

from tests.support.theming import write_theme
from wikisync.errors import SiteError
from wikisync.site.theme_layers import theme_chain, theme_names


def test_themes_that_come_with_wikisync_are_found() -> None:
    assert theme_names() == ("default", "plain")
    assert [layer.name for layer in theme_chain("plain")] == ["plain", "default"]
    assert [layer.name for layer in theme_chain("default")] == ["default"]


def test_theme_without_parent_stands_on_the_default(tmp_path: Path) -> None:
    folder = write_theme(tmp_path / "mine", {})
    assert [layer.name for layer in theme_chain(str(folder))] == ["mine", "default"]


def test_themes_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    write_theme(tmp_path / "one", {}, 'extends = "two"\n')
    write_theme(tmp_path / "two", {}, 'extends = "one"\n')
    with pytest.raises(
        SiteError, match="extend each other in a loop: one -> two -> one"
    ):
        theme_chain(str(tmp_path / "one"))


@pytest.mark.parametrize("name", ["", ".", "..", "Default", "no-such-theme"])
def test_name_that_is_no_theme_is_refused(name: str) -> None:
    with pytest.raises(SiteError, match="no theme"):
        theme_chain(name)


def test_hidden_files_are_not_part_of_a_theme(tmp_path: Path) -> None:
    folder = write_theme(tmp_path / "mine", {"static/.hidden": "x", "static/a": "y"})
    assert set(theme_chain(str(folder))[0].files) == {"static/a"}


def test_manifest_that_is_not_text_is_named(tmp_path: Path) -> None:
    folder = write_theme(tmp_path / "mine", {})
    (folder / "theme.toml").write_bytes(b"\xff")
    with pytest.raises(SiteError, match=r"theme file .*mine/theme\.toml"):
        theme_chain(str(folder))
