"""Names of emoji that nobody listed."""

from __future__ import annotations

import pytest

from wikisync.markup.filters.emoji_rules import emoji_of


@pytest.mark.parametrize(
    ("name", "character"),
    [
        ("tada", "🎉"),
        ("flag_is", "🇮🇸"),
        ("clock3", "🕒"),
        ("clock1230", "🕧"),
        ("thumbsup_tone3", "👍🏽"),
        ("department_store", "🏬"),
        ("freezing_face", "🥶"),
        ("umbrella_on_ground", "⛱️"),
    ],
)
def test_name_has_its_character(name: str, character: str) -> None:
    assert emoji_of(name) == character


@pytest.mark.parametrize(
    "name",
    ["nothing", "flag_xx", "clock13", "nothing_tone1", "flag_de_tone1", "a", "plus"],
)
def test_name_of_no_picture_has_none(name: str) -> None:
    assert emoji_of(name) is None
