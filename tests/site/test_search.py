"""The search index: what is in it, how large, and how it changes."""

import base64
import random
import re
import string
import zlib
from itertools import accumulate

import pytest

from tests.support.searched import SPELLINGS, searched
from wikisync.markup.record import Section
from wikisync.site import search_words
from wikisync.site.search import (
    SearchDocument,
    assign_slots,
    build_shards,
    read_documents,
    value_of,
)
from wikisync.site.search_terms import POSTINGS_MAX, SHARD_BYTES_MAX
from wikisync.site.search_words import WORD_CHARS_MAX, count_words, fold


def words_of(text: str) -> list[str]:
    return list(count_words(text).elements())


def document(url: str, text: str, title: str = "", wiki: str = "") -> SearchDocument:
    return searched(url, title, Section("", "", text), wiki=wiki)


def postings(documents: list[SearchDocument]) -> dict[str, dict[str, str]]:
    """Term to the addresses of its documents with their scores."""
    shards = build_shards(documents)
    slots = assign_slots(document.url for document in documents)
    found: dict[str, dict[str, str]] = {}
    for name, shard in shards.items():
        if not name.startswith("t-"):
            continue
        for entry in str(value_of(shard)).split():
            term, _, text = entry.partition(":")
            found[term] = {slots[n]: score for n, score in decoded(text)}
    return found


def decoded(text: str) -> list[tuple[int, str]]:
    """Postings as numbers and scores, the way the page reads them."""
    out: list[tuple[int, str]] = []
    number, step = 0, ""
    for char in text:
        if char not in string.ascii_uppercase:
            step += char
            continue
        number += int(step, 36)
        out.append((number, char))
        step = ""
    return out


def unpacked(text: str) -> list[int]:
    """Numbers of documents in a wiki, the way the page reads them."""
    steps = re.findall("([^A-Z]*)([A-Z])", text)
    return list(
        accumulate(int(tens or "0", 36) * 26 + ord(ones) - 65 for tens, ones in steps)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two words, three_4!", ["two", "words", "three_4"]),
        ("Ｆｕｌｌ Café naïve", ["full", "cafe", "naive"]),
        ("cafe\u0301 ÅNGSTRÖM", ["cafe", "angstrom"]),
        ("الكتاب والكتاب بالكتاب كتاب", ["كتاب"] * 4),
        ("الله مال", ["الله", "مال"]),
        ("日本語の本", ["日本", "本語", "語の", "の本"]),
        ("水 x水y", ["水", "x", "水", "y"]),
        ("한국어", ["한국", "국어"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("שָׁלוֹם", ["שלום"]),
        ("ﬁne ½", ["fine", "1", "2"]),
        ("x" * 99, ["x" * WORD_CHARS_MAX]),
        ("!?", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert sorted(words_of(text)) == sorted(words)


def test_ascii_is_counted_as_any_other_text_is() -> None:
    """The fast way and the general way are two; a letter elsewhere chooses."""
    ascii_text = "".join(chr(code) for code in range(128)) + " Word_9 it's"
    assert sorted([*words_of(ascii_text), "e"]) == sorted(words_of(ascii_text + " é"))


@pytest.mark.parametrize(("written", "typed"), SPELLINGS)
def test_spellings_of_a_word_are_one(written: str, typed: str) -> None:
    assert count_words(written) == count_words(typed)
    assert fold(written) == fold(typed)


def test_fold_leaves_nothing_that_folds_again() -> None:
    text = "".join(chr(code) for code in range(0x20, 0x3000))
    assert fold(fold(text)) == fold(text)


def test_word_in_title_or_heading_weighs_more() -> None:
    in_title = document("a.html", "other words here", title="Snapshot")
    in_text = document("b.html", "snapshot words here")
    in_heading = searched("c.html", "", Section("x", "Snapshot", "words here"))
    scores = postings([in_title, in_text, in_heading])["snapshot"]
    assert scores["a.html"] > scores["c.html"] > scores["b.html"]


@pytest.mark.parametrize("place", ["title", "headings", "text"])
def test_part_behind_the_length_of_a_word_is_one(place: str) -> None:
    long = f"{'x' * WORD_CHARS_MAX}_PUBLISHING_TOKEN"
    given = {"title": "", "headings": "", "text": "", "slug": "a"} | {place: long}
    words = search_words.scored_words(**given)
    assert sorted(words) == ["a", "publishing", "token", "x" * WORD_CHARS_MAX]


def test_word_in_a_short_page_weighs_more() -> None:
    short = document("a.html", "snapshot snapshot")
    long = document("b.html", "snapshot snapshot " + "other " * 900)
    scores = postings([short, long])["snapshot"]
    assert scores["a.html"] > scores["b.html"]


def test_shards_hold_every_word_once_and_stay_small() -> None:
    dice = random.Random(1)
    words = ["w" + "".join(dice.choices("abcde", k=7)) for _ in range(5000)]
    documents = [
        document(f"{n}.html", " ".join(words[n * 50 : n * 50 + 100])) for n in range(99)
    ]
    shards = build_shards(documents)
    terms = {name: value_of(shards[name]) for name in shards if name[:4] == "t-77"}
    listed = [
        entry.split(":")[0] for text in terms.values() for entry in str(text).split()
    ]
    assert sorted(listed) == sorted(set(words[: 98 * 50 + 100]))
    assert max(len(shards[name]) for name in terms) <= SHARD_BYTES_MAX + 100
    # few words share the file of a shorter beginning
    assert 1 < len(terms) < len(listed) / 20


def test_word_in_too_many_pages_is_shown_with_the_best_of_them() -> None:
    documents = [document(f"{n}.html", "same") for n in range(POSTINGS_MAX)]
    best = document("z.html", "sam samet same", title="Same")
    shards = build_shards([*documents, best])
    texts = [str(value_of(shards[name])) for name in shards if name[:2] == "t-"]
    shown = " ".join(texts).split()
    slots = assign_slots(one.url for one in [*documents, best])
    (same,) = [text.partition("!") for text in shown if text.startswith("same:")]
    assert same[0] == f"same:{POSTINGS_MAX + 1}"
    assert len(decoded(same[2])) == POSTINGS_MAX
    assert "z.html" in {slots[number] for number, _ in decoded(same[2])}


def test_thousands_of_letters_that_follow_share_few_files() -> None:
    words = " ".join("\u4e00" + chr(0x4E01 + n) for n in range(4000))
    shards = build_shards([document("a.html", words), document("b.html", words)])
    sizes = [len(shard) for name, shard in shards.items() if name.startswith("t-")]
    assert len(sizes) < 100
    assert max(sizes) < 2 * SHARD_BYTES_MAX


def test_index_lists_every_shard() -> None:
    shards = build_shards([document("a.html", "one 日本 two", title="Three")])
    index = value_of(shards["index.js"])
    assert isinstance(index, dict)
    for kind in "tr":
        lists = [shards[f"k-{kind}{key}.js"] for key in index[kind].split()]
        keys = [key for text in lists for key in str(value_of(text)).split()]
        names = [f"{kind}-{key}.js" for key in keys]
        assert names == [one for one in shards if one.startswith(f"{kind}-")]
    assert value_of(shards["r-0.js"]) == "_eerht:0B three:0B"
    assert index["count"] == 1


def test_file_names_are_safe_everywhere() -> None:
    text = "con nul aux 日本語 ελληνικά русский _x 9"
    for name in build_shards([document("a.html", text)]):
        assert set(name) <= set(string.ascii_lowercase + string.digits + "-_.")
        assert name.split(".")[0] not in {"con", "nul", "aux"}


def test_the_same_documents_give_the_same_bytes_in_any_order() -> None:
    documents = [document(f"{n}.html", f"text {n} same") for n in range(40)]
    assert build_shards(documents) == build_shards(documents[::-1])


def test_changed_page_changes_few_shards() -> None:
    dice = random.Random(2)
    words = ["".join(dice.choices(string.ascii_lowercase, k=6)) for _ in range(4000)]
    texts = [" ".join(dice.choices(words, k=150)) for _ in range(300)]
    before = build_shards([document(f"{n}.html", t) for n, t in enumerate(texts)])
    texts[7] += " zebra zebu"
    after = build_shards([document(f"{n}.html", t) for n, t in enumerate(texts)])
    changed = {name for name in after if after[name] != before.get(name)}
    assert {name[0] for name in changed} == {"t", "p"}
    assert len(changed) <= 3


def test_new_page_keeps_the_numbers_of_the_others() -> None:
    urls = [f"{n}.html" for n in range(300)]
    before = {url: n for n, url in assign_slots(urls).items()}
    after = {url: n for n, url in assign_slots([*urls, "new.html"]).items()}
    moved = [url for url, number in before.items() if after[url] != number]
    assert len(moved) <= 3


def test_site_of_several_wikis_tells_which_page_is_in_which() -> None:
    one = document("a.html", "x", wiki="One")
    two = document("b.html", "x", wiki="Two")
    shards = build_shards([one, two])
    index = value_of(shards["index.js"])
    assert isinstance(index, dict)
    slots = assign_slots([one.url, two.url])
    members = {
        title: [slots[n] for n in unpacked(str(value_of(shards[f"{name}.js"])))]
        for title, name in index["wikis"]
    }
    assert members == {"One": ["a.html"], "Two": ["b.html"]}


def test_site_of_one_wiki_names_it_nowhere() -> None:
    shards = build_shards([document("a.html", "x", wiki="Only")])
    assert not any(b"Only" in shard for shard in shards.values())


def test_address_is_ready_to_be_a_link() -> None:
    shards = build_shards([document('C++ & "q"/日本.html', "x")])
    assert b"C%2B%2B%20%26%20%22q%22/%E6%97%A5%E6%9C%AC.html" in b"".join(
        shards.values()
    )


def test_half_a_character_in_a_text_does_no_harm() -> None:
    shards = build_shards([document("a.html", "x \ud800 y", title="\udfff")])
    assert all(shard.decode("utf-8") for shard in shards.values())


def test_empty_site_has_an_index() -> None:
    assert list(build_shards([])) == ["index.js"]


# Texts behind the snippets ------------------------------------------------------------


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
