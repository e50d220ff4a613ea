"""Emoji: the service's names, and where a name is none."""

import re

import pytest

from tests.support.markup import render
from wikisync.markup.filters.text import emoji_names


@pytest.mark.parametrize(
    ("name", "character"),
    [
        *(("tada", "🎉"), ("frowning", "😦"), ("first_quarter_moon", "🌓")),
        *(("sweat", "😓"), ("cowboy", "🤠"), ("1234", "🔢"), ("smiley_cat", "😺")),
        *(("flag_is", "🇮🇸"), ("clock1230", "🕧"), ("thumbsup_tone3", "👍🏽")),
        *(("+1", "👍"), ("thumbs_up", "👍"), ("pinata", "🪅"), ("yo_yo", "🪀")),
        *(("man_light_skin_tone_beard", "🧔🏻\u200d♂️"), ("phoenix", "🐦\u200d🔥")),
    ],
)
def test_name_has_its_character(name: str, character: str) -> None:
    assert emoji_names()[name] == character
    assert f">{character}</span> b" in render(f"a :{name}: b").html


def test_list_is_the_services() -> None:
    """Unicode 15.1 under its own names and the older ones; two emoji share theirs."""
    names = emoji_names()
    assert len(names) == 5494
    assert len(set(names.values())) == 3780
    assert all(re.fullmatch("[a-z0-9_+-]{1,80}", name) for name in names)


@pytest.mark.parametrize(
    "text",
    [
        *("10:100:20", ":+1::-1:", ":nothing:", ":flag_xx:", "a:tada:", ":tada:é"),
        *("`:tada:`", "::tada:", ":tada::", ":TADA:", ":car:"),
    ],
)
def test_name_that_is_unknown_or_has_no_border_is_text(text: str) -> None:
    assert "emoji" not in render(text).html


@pytest.mark.parametrize("text", ["(:tada:)", "*x*:tada:", ":tada: :tada:", "_:tada:_"])
def test_name_between_other_signs_is_an_emoji(text: str) -> None:
    assert 'class="emoji" title="tada">🎉<' in render(text).html
