"""The words of Python against those of the browser, and how words are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import visiting
from tests.support.searched import SPELLINGS
from tests.support.searching import document, hits_in, write_search_site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ODD_TEXTS = (
    "Café naïve ÅNGSTRÖM",
    "cafe\u0301s decomposed",
    "Ｆｕｌｌｗｉｄｔｈ ①②",
    "日本語の本を読む",
    "水",
    "한국어 사전",
    "ภาษาไทย",
    "हिन्दी में लिखो",
    "שָׁלוֹם עולם",
    "السَّلَام عليكم",
    "Ελληνικός ΟΔΟΣ",
    "Straße İstanbul ſharp",
    "snake_case_9 C++ x86-64",
    "𠮷野家 𝒳",
    "ﬁne ½ ™",
    "a" * 40,
    "Дом ёлка",
)


async def test_browser_has_the_same_words_as_the_index(
    chromium: Browser, tmp_path: Path
) -> None:
    """Each text is found by itself, so both sides fold and split it alike."""
    documents = [document(f"{n}.html", text) for n, text in enumerate(ODD_TEXTS)]
    plain_or_short = {"cafe": 0, "日本": 3, "本語": 3, "読": 3, "елка": 16}
    plain_or_short |= dict.fromkeys(("سلام", "الس", "السل"), 9)
    queries = [*enumerate(ODD_TEXTS), *((n, it) for it, n in plain_or_short.items())]
    async with visiting(chromium, write_search_site(tmp_path, documents)) as visit:
        for number, query in queries:
            assert f"{number}.html" in await hits_in(visit, query), query


async def test_each_spelling_of_a_word_finds_the_other(
    chromium: Browser, tmp_path: Path
) -> None:
    words = [
        pair
        for both in SPELLINGS
        for pair in zip(*(text.split() for text in both), strict=True)
    ]
    written, typed = zip(*words, strict=True)
    texts = [*written, *typed]
    documents = [document(f"{n}.html", f"x {text}") for n, text in enumerate(texts)]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        for number, query in enumerate([*typed, *written]):
            assert f"{number}.html" in await hits_in(visit, query), query
            marks = await visit.page.locator("#siteHits p mark").all_inner_texts()
            assert texts[number] in marks


@pytest.mark.parametrize("query", ["token", "Reset", "tok", "RESET_token_9", "x token"])
async def test_a_part_of_a_name_finds_it(
    chromium: Browser, tmp_path: Path, query: str
) -> None:
    """People ask for what they remember of ``reset_token``."""
    documents = [document("a.html", "x RESET_token_9 y"), document("b.html", "x z")]
    async with visiting(chromium, write_search_site(tmp_path, documents)) as visit:
        assert await hits_in(visit, query) == ["a.html"]
        marks = await visit.page.locator("#siteHits p mark").all_inner_texts()
    assert "RESET_token_9" in marks


@pytest.mark.parametrize("is_typed", [False, True])
async def test_an_umlaut_that_is_typed_with_an_e_is_found(
    chromium: Browser, tmp_path: Path, is_typed: bool
) -> None:
    """As any other slip, so that words with those letters keep them."""
    words = [("Größe", "groesse"), ("Mäuse", "maeuse"), ("Übung", "uebung")]
    there = [pair[is_typed] for pair in words]
    documents = [document(f"{n}.html", f"x {text}") for n, text in enumerate(there)]
    base = write_search_site(tmp_path, [*documents, document("9.html", "bluetooth")])
    async with visiting(chromium, base) as visit:
        for number, pair in enumerate(words):
            assert await hits_in(visit, pair[not is_typed]) == [f"{number}.html"]
        assert await hits_in(visit, "blue") == ["9.html"]
