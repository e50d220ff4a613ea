"""The search index: pure, from documents to the bytes of its files.

Every file is a classic script that calls ``wikisync_search(name, value)``, so
that it loads from ``file://``, where a page may not read JSON.  The reader's
browser (``static/search.js`` of the theme) loads only what a query needs:

``index.js``
    number of documents, keys of the term shards, the wikis.
``t-<key>.js``
    terms that begin with the key, and where they occur; at most 24 KB, split
    by one more letter as soon as it would be larger.
``d-<n>.js``, ``x-<n>.js``
    title, address and headings of 32 slots; texts of 8 slots, for snippets.
``w-<key>.js``
    which documents are in one wiki, in a site of several.

A document's number is a slot that follows from its address, not its place in a
sorted list: one more page does not renumber the others, and the same documents
always give the same bytes.  All slots change when their number doubles.

``fold`` and ``words_of`` are written once more in ``search.js``; a browser test
compares them.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from wikisync.site.titles import TITLE_CHARS_MAX, shortened

SHARD_BYTES_MAX = 24 * 1024
WORD_CHARS_MAX = 32
"""Longer words (hashes, base64) are found by their beginning."""
TITLE_WEIGHT = 8
HEADING_WEIGHT = 3
SECTION_CHARS_MAX = 20_000
"""Of one section's text that is kept for snippets; all of it is searched."""
DOCUMENTS_PER_SHARD = 32
TEXTS_PER_SHARD = 8

_SLOTS_MIN = 16
_COMBINING = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]"
)
"""Accents, and the optional vowel marks of Hebrew and Arabic."""
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, and Hangul with its glued endings."""
_WORDS = re.compile(rf"[{_PAIRED}]+|(?:(?![{_PAIRED}])[\w\u0900-\u0963\u0966-\u0dff])+")
_PAIR = re.compile(f"[{_PAIRED}]{{2}}")
_ASCII_TABLE = "".join(
    chr(code).lower() if chr(code).isalnum() or chr(code) == "_" else " "
    for code in range(128)
)
"""Each character of ASCII in lower case, what is no part of a word as a space."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SCORES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COUNT_MAX = 255
_LENGTH_STEPS = 13
_WORDS_PER_STEP = 100


class SearchSection(Struct, frozen=True):
    """A heading of a page and the plain text under it."""

    id: str
    """The heading's id; empty for what stands before the first heading."""
    heading: str
    text: str


class SearchDocument(Struct, frozen=True):
    """One page as the search sees it."""

    url: str
    """Output path from the top of the site, unique among the documents."""
    title: str
    sections: tuple[SearchSection, ...]
    wiki: str = ""
    """Title of its wiki; the same for all in a site of one wiki."""


def build_shards(documents: Iterable[SearchDocument]) -> Mapping[str, bytes]:
    """File name, below the site's search folder, to content; sorted by name."""
    slots = assign_slots(tuple(documents))
    shards: dict[str, object] = {}
    shards |= _term_shards(_postings(slots))
    keys = [name.removeprefix("t-") for name in shards]
    wikis = _wiki_shards(slots)
    shards |= {name: ids for name, (_, ids) in wikis.items()}
    shards |= _document_shards(slots)
    shards |= _text_shards(slots)
    shards["index"] = {
        "count": len(slots),
        "keys": " ".join(keys),
        "wikis": [[title, name] for name, (title, _) in wikis.items()],
    }
    return {f"{name}.js": _script(name, shards[name]) for name in sorted(shards)}


def assign_slots(documents: Sequence[SearchDocument]) -> dict[int, SearchDocument]:
    """Documents by their number, in rising order.

    A number is the hash of the address modulo a power of two of at least twice
    the count, or the next free one.  So it depends on nothing but the set of
    addresses, and a new page moves only the few that collide with it.
    """
    hashed = sorted((_hash(document.url), document.url) for document in documents)
    by_url = {document.url: document for document in documents}
    size = max(_SLOTS_MIN, 1 << (2 * len(hashed) - 1).bit_length())
    taken: dict[int, SearchDocument] = {}
    for number, url in hashed:
        slot = number % size
        while slot in taken:
            slot = (slot + 1) % size
        taken[slot] = by_url[url]
    return dict(sorted(taken.items()))


def fold(text: str) -> str:
    """One spelling for all that look or mean the same: NFKC, no accents, lower."""
    if text.isascii():
        return text.lower()
    apart = _COMBINING.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", apart).lower()


def words_of(text: str) -> list[str]:
    """The words to be found; pairs of characters where no space parts words."""
    return list(count_words(text).elements())


def count_words(text: str) -> Counter[str]:
    """How often each word occurs."""
    counts = _count_ascii(text) if text.isascii() else _count_folded(fold(text))
    for word in [word for word in counts if len(word) > WORD_CHARS_MAX]:
        counts[word[:WORD_CHARS_MAX]] += counts.pop(word)
    return counts


def _count_ascii(text: str) -> Counter[str]:
    """The same as for any text, by a table: four times as fast as by a pattern."""
    return Counter(text.translate(_ASCII_TABLE).split())


def _count_folded(folded: str) -> Counter[str]:
    counts = Counter(_WORDS.findall(folded))
    for run in [word for word in counts if len(word) > 1 and _PAIR.match(word)]:
        times = counts.pop(run)
        for i in range(len(run) - 1):
            counts[run[i : i + 2]] += times
    return counts


def _postings(slots: Mapping[int, SearchDocument]) -> dict[str, str]:
    """Term to where it occurs: base-36 steps between numbers, each with a score.

    ``3aF1B`` is: document 118 (3a in base 36) with score F, then 119 with B.
    """
    steps = _base36_table(max(slots, default=0) + 1)
    scores = _score_table()
    # Term to the last number and the texts so far: one dictionary, not two,
    # because this loop is half of the time.
    found: dict[str, list[Any]] = {}
    for slot, document in slots.items():
        counts = _weighted_words(document)
        score_of = scores[min(counts.total() // _WORDS_PER_STEP, _LENGTH_STEPS - 1)]
        for word, count in counts.items():
            entry = found.get(word)
            if entry is None:
                found[word] = [slot, steps[slot] + score_of[count]]
            else:
                entry.append(steps[slot - entry[0]] + score_of[count])
                entry[0] = slot
    return {word: "".join(entry[1:]) for word, entry in sorted(found.items())}


def _weighted_words(document: SearchDocument) -> Counter[str]:
    """How often each word occurs, at most 255, where headings count more."""
    sections = document.sections
    counts = count_words("\n".join([section.text for section in sections]))
    headings = count_words("\n".join([section.heading for section in sections]))
    for word, count in headings.items():
        counts[word] += count * HEADING_WEIGHT
    for word, count in count_words(document.title).items():
        counts[word] += count * TITLE_WEIGHT
    for word in [word for word, count in counts.items() if count > _COUNT_MAX]:
        counts[word] = _COUNT_MAX
    return counts


def _score_table() -> list[list[str]]:
    """Letter by length of the page (in steps of words) and count of the word.

    The shape is that of BM25 with a fixed middle length: a mean over all pages
    would change every posting with every page.
    """
    table = []
    for step in range(_LENGTH_STEPS):
        norm = 0.75 + 0.25 * step * _WORDS_PER_STEP / 400
        scores = (count / (count + 5) / norm for count in range(_COUNT_MAX + 1))
        table.append([_SCORES[min(25, round(score * 18))] for score in scores])
    return table


def _base36_table(size: int) -> list[str]:
    table = list(_DIGITS[:size])
    while len(table) < size:
        number = len(table)
        table.append(table[number // 36] + _DIGITS[number % 36])
    return table


def _term_shards(postings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Shards of terms, by the shortest beginning that keeps each small."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for term in postings:
        groups[_first_key(term)].append(term)
    pending = [(key, 0, terms) for key, terms in groups.items()]
    while pending:
        key, depth, terms = pending.pop()
        text = " ".join(f"{term}:{postings[term]}" for term in terms)
        if len(text.encode()) <= SHARD_BYTES_MAX or len(terms) == 1:
            yield f"t-{key}", text
            continue
        pending += _split(terms, depth + 1)


def _split(terms: Sequence[str], depth: int) -> list[tuple[str, int, list[str]]]:
    """Terms grouped by their first ``depth`` letters; one that ends there, alone."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for term in terms:
        end = "-" if len(term) < depth else ""
        groups["".join(map(_key_part, term[:depth])) + end].append(term)
    return [(key, depth, group) for key, group in groups.items()]


def _first_key(term: str) -> str:
    """A letter; for other scripts a block of 64 characters.

    Else each of thousands of characters would have a file of its own.
    """
    if term[0].isascii():
        return term[0]
    return f"--{ord(term[0]) >> 6:x}"


def _key_part(char: str) -> str:
    return char if char.isascii() else f"-{ord(char):x}"


def _wiki_shards(
    slots: Mapping[int, SearchDocument],
) -> dict[str, tuple[str, str]]:
    """Shard name to a wiki's title and its documents; none for one wiki."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for slot, document in slots.items():
        members[document.wiki].append(slot)
    if len(members) < 2:
        return {}
    return {f"w-{_hash(title):x}": (title, " ".join(map(_base36, members[title])))
            for title in sorted(members)}  # fmt: skip


def _document_shards(
    slots: Mapping[int, SearchDocument],
) -> Iterator[tuple[str, object]]:
    many = len({document.wiki for document in slots.values()}) > 1
    for number, group in _grouped(slots, DOCUMENTS_PER_SHARD):
        yield (
            f"d-{number}",
            {
                slot: [
                    document.title,
                    quote(document.url, errors="replace"),
                    document.wiki if many else "",
                    [
                        [section.id, shortened(section.heading, TITLE_CHARS_MAX)]
                        for section in document.sections
                    ],
                ]
                for slot, document in group.items()
            },
        )


def _text_shards(slots: Mapping[int, SearchDocument]) -> Iterator[tuple[str, object]]:
    for number, group in _grouped(slots, TEXTS_PER_SHARD):
        yield (
            f"x-{number}",
            {
                slot: [
                    " ".join(section.text[:SECTION_CHARS_MAX].split())
                    for section in document.sections
                ]
                for slot, document in group.items()
            },
        )


def read_documents(shards: Mapping[str, object]) -> Iterator[SearchDocument]:
    """The documents of an index, from the values of its ``d-`` and ``x-`` files.

    Of long sections only the beginning is there.  What does not have the shape that
    ``build_shards`` gives is left out: the files may have been edited.
    """
    texts: dict[str, object] = {}
    for name, value in shards.items():
        if name.startswith("x-") and isinstance(value, dict):
            texts |= value
    for name, value in shards.items():
        if name.startswith("d-") and isinstance(value, dict):
            for slot, entry in value.items():
                try:
                    title, url, wiki, headings = entry
                    parts = texts.get(slot)
                    yield SearchDocument(
                        unquote(url),
                        title,
                        tuple(
                            SearchSection(id_, heading, text)
                            for (id_, heading), text in zip(
                                headings,
                                parts if isinstance(parts, list) else (),
                                strict=True,
                            )
                        ),
                        wiki,
                    )
                except (TypeError, ValueError):
                    continue


def _grouped(
    slots: Mapping[int, SearchDocument], size: int
) -> Iterator[tuple[int, dict[int, SearchDocument]]]:
    groups: defaultdict[int, dict[int, SearchDocument]] = defaultdict(dict)
    for slot, document in slots.items():
        groups[slot // size][slot] = document
    yield from groups.items()


def _script(name: str, value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f'wikisync_search("{name}",{text})\n'.encode(errors="replace")


def _base36(number: int) -> str:
    digits = _DIGITS[number % 36]
    while number := number // 36:
        digits = _DIGITS[number % 36] + digits
    return digits


def _hash(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6])
