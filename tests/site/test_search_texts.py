"""The texts behind the snippets of a search, packed for the browser."""

import base64
import zlib

import pytest

from tests.support.searched import searched
from wikisync.markup.record import Section
from wikisync.site import search_words
from wikisync.site.search import build_shards, read_documents, value_of


def raw_deflate(plain: bytes) -> str:
    """As a browser unpacks it, whatever window the sender had."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(plain) + packer.flush()).decode()


def test_sections_come_back() -> None:
    sections = [Section("", "", "a b c"), Section("x", "Ä", "日本 \U00020000")]
    kept = search_words.DocumentText.of(sections)
    assert kept.headings == (("", ""), ("x", "Ä"))
    assert [part.text for part in kept.sections] == ["a b c", "日本 \U00020000"]


def test_long_section_is_cut() -> None:
    texts = search_words.unpacked_texts(
        search_words.packed_texts(["ab" * search_words.SECTION_CHARS_MAX, "end"])
    )
    assert texts == ["ab" * (search_words.SECTION_CHARS_MAX // 2), "end"]


def test_half_a_character_is_a_question_mark() -> None:
    assert search_words.unpacked_texts(search_words.packed_texts(["a\ud800"])) == ["a?"]


def test_texts_are_a_third_of_what_they_were() -> None:
    text = " ".join(f"word{number * number % 97}" for number in range(2000))
    assert len(search_words.packed_texts([text])) < len(text) / 3


@pytest.mark.parametrize(
    "packed", ["", "é", "AAAA", raw_deflate(b"{}"), raw_deflate(b'["a"')]
)
def test_damaged_texts_are_no_texts(packed: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        search_words.unpacked_texts(packed)


def test_text_that_grows_beyond_all_reason_is_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = search_words.packed_texts(["a" * 1000])
    monkeypatch.setattr(search_words, "TEXT_BYTES_MAX", 1000)
    with pytest.raises(ValueError, match="damaged"):
        search_words.unpacked_texts(packed)


def test_document_whose_texts_are_damaged_is_left_out() -> None:
    entry = ["Title", "a%20b.html", "Wiki", [["", ""]], "text", 1]
    right, short = search_words.packed_texts(["text"]), search_words.packed_texts([])
    texts = [[right], [short], ["text"], []]
    edited: list[object] = [7, [[1, 2, 3, 4], [], *[entry] * 4, *texts], [[1], [], []]]
    (document,) = read_documents(edited)
    assert (document.url, document.text.sections[0].text) == ("a b.html", "text")


def test_document_with_more_headings_than_stand_beside_its_title_is_read() -> None:
    sections = [Section(f"s{n}", f"Part {n}", f"text {n}") for n in range(20)]
    shards = build_shards([searched("long.html", "Long", *sections)])
    values = [value_of(one) for name, one in shards.items() if name[:2] == "p-"]
    (document,) = read_documents(values)
    assert list(document.text.sections) == sections
