"""Names of files in texts: found as a search for each name would find them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.sync.wiki.name_search import NameSearch, as_meant, count_name

NAMES = st.sets(st.text("a1 .-_é(", min_size=1, max_size=5), max_size=8)
"""Few characters, so that names are parts of each other."""
TEXTS = st.text("a1 .-_é(/", max_size=40)


def stands(name: str, text: str) -> bool:
    """What a name is searched for with, one at a time."""
    alone = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
    return re.search(alone, text) is not None


@given(NAMES, TEXTS)
def test_names_are_found_as_if_each_were_searched_for(
    names: set[str], text: str
) -> None:
    found = NameSearch(names).mentioned(text)
    # a name that overlaps itself is counted once, as a link is
    assert set(found) == {name for name in names if count_name(name, text)}
    assert set(found) <= {name for name in names if stands(name, text)}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("red.png", "![a](red.png)"),
        ("red.png", "![a](pictures/red.png)"),
        ("red.png", "![a](pictures%2Fred.png)"),
        ("a b.png", "![a](a%20b.png)"),
        ("a_b.png", r"![a](a\_b.png)"),
        ("a&b.png", "![a](a&amp;b.png)"),
        ("red.png", "[[file:red.png]]"),
        ("red.png", "image::red.png[]"),
        ("red.png", "{red}[red.png]"),
        ("Makefile", "[how](Makefile)"),
        ("---", "[odd](---)"),
        ("図.png", "![](図.png)図"),
        ("a(1).png", "![](<a(1).png>)"),
    ],
)
def test_name_is_found_as_it_is_written_in_links(name: str, source: str) -> None:
    assert NameSearch([name, "other.png"]).mentioned(source) == [name]


@pytest.mark.parametrize(
    "source", ["![a](pics/10.png)", "![a](0.pngs)", "![a](0.jpg)", "0 png", ""]
)
def test_part_of_a_longer_name_is_not_the_name(source: str) -> None:
    assert not NameSearch(["0.png"]).mentioned(source)


def test_each_place_is_counted() -> None:
    assert count_name("0.png", "a/0.png 0.png 10.png (0.png)") == 3
    assert as_meant(r"a\_b%20c&amp;d") == "a_b c&d"
