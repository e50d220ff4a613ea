"""Where themes lie and in which order they stand."""

from pathlib import Path

import pytest

from tests.support.theming import write_theme
from wikisync.errors import SiteError
from wikisync.site.theme_layers import (
    parse_manifest,
    resolve_options,
    theme_chain,
    theme_names,
)


def test_themes_that_come_with_wikisync_are_found() -> None:
    assert theme_names() == ("default", "plain")
    assert [layer.name for layer in theme_chain("plain")] == ["plain", "default"]
    assert [layer.name for layer in theme_chain("default")] == ["default"]


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


# What a theme says of itself ----------------------------------------------------------

HEAD = 'name = "mine"\nversion = "1.0"\napi = 1\n'
LISTS = (
    HEAD + '[options.files]\ntype = "strings"\ndefault = []\n'
    '[options.tone]\ntype = "color"\ndefault = ""\n'
)
OPTION = HEAD + '[options.size]\ntype = "integer"\ndefault = 3\n'


def test_manifest_declares_options_with_type_and_bounds() -> None:
    manifest = parse_manifest(OPTION + 'minimum = 1\nmaximum = 9\nhelp = "h"', "t")
    option = manifest.options["size"]
    assert (option.kind, option.default, option.minimum, option.maximum) == (
        *("integer", 3),
        *(1, 9),
    )
    assert resolve_options(manifest.options, {}, "mine") == {"size": 3}
    assert resolve_options(manifest.options, {"size": 5}, "mine") == {"size": 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "mine/theme.toml is not TOML"),
        (
            'version = "1"\napi = 1',
            "mine/theme.toml: Object missing required field `name`",
        ),
        (HEAD.replace("api = 1", "api = 2"), "api is 2, this version knows 1"),
        (HEAD.replace("api = 1", ""), "api is None"),
        (HEAD + 'extend = "default"', "unknown field `extend`"),
        (HEAD + "extends = 1", "`str | null`, got `int` - at `$.extends`"),
        (HEAD + "options = 1", "options: Expected `object`, got `int`"),
        (HEAD + "[options]\nsize = 1", "options.size: Expected `object`, got `int`"),
        (
            OPTION.replace("integer", "number"),
            "options.size: Invalid enum value 'number' - at `$.type`",
        ),
        (OPTION.replace("= 3", "= '3'"), "options.size.default is not of type"),
        (
            OPTION + "choices = 1",
            "options.size: Expected `array`, got `int` - at `$.choices`",
        ),
        (OPTION + "choices = [1, 2]", "theme option 'size' is 3, it must be one of"),
        (OPTION + "minimum = 5", "theme option 'size' is 3, it must be at least 5"),
        (
            OPTION + "maximum = 'x'",
            "options.size: Expected `int | null`, got `str` - at `$.maximum`",
        ),
        (OPTION + "hlep = 'x'", "options.size: Object contains unknown field `hlep`"),
    ],
)
def test_wrong_manifest_names_the_key(text: str, message: str) -> None:
    with pytest.raises(SiteError) as caught:
        parse_manifest(text, "mine/theme.toml")
    assert message in caught.value.message
    assert "mine/theme.toml" in caught.value.message or "size" in caught.value.message


def test_list_and_colour_options_are_checked() -> None:
    declared = parse_manifest(LISTS, "t").options
    given = {"files": ["a", "b"], "tone": "#fff"}
    assert resolve_options(declared, given, "t") == {
        "files": ("a", "b"),
        "tone": "#fff",
    }


@pytest.mark.parametrize(
    "wrong",
    [{"files": ["a", 1]}, {"files": "a"}, {"tone": "#ff"}, {"tone": "red}a{b:c"}],
)
def test_list_or_colour_of_another_kind_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SiteError, match="it must be"):
        resolve_options(parse_manifest(LISTS, "t").options, wrong, "t")
