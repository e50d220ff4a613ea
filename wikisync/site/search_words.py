"""What the search has of a document: its words and, to be shown, its texts.  Pure.

Each word comes with how much it counts there.  The texts are cut and packed for a
browser: they are half of the bytes of a search index, and only those of the hits on
the screen are ever read.  So each document's are compressed by themselves, where it is
parsed.

``fold`` and ``count_words`` are written once more in ``find.js``; a browser test
compares them.
"""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from wikisync.core.decoding import json_decoder
from wikisync.markup.record import Section
from wikisync.site.titles import shortened

WORD_CHARS_MAX = 32
"""Longer words (hashes, base64) are found by their beginning."""
TITLE_RANK = 16
"""What a title of one word adds to the rank of this word."""
HEADING_WEIGHT = 3
SHORT_CHARS_MAX = 3
SCORES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# compiled where a text needs them: an import would take 10 ms for it
_COMBINING = (
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670]"
)
"""Accents, and the optional vowel marks of Hebrew and Arabic."""
_ARTICLE = "(?<![\u0620-\u06ff])[وفبك]?ال(?=[\u0620-\u064a]{3})"
"""That of Arabic, with a particle before it; both are written as one with the word."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i"}
)
"""Letters that are no letter with an accent, as they are typed without them."""
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, and Hangul with its glued endings."""
_WORDS = rf"[{_PAIRED}]+|(?:(?![{_PAIRED}])[\w\u0900-\u0963\u0966-\u0dff])+"
_PAIR = f"[{_PAIRED}]{{2}}"
_ASCII_TABLE = "".join(
    chr(code).lower() if chr(code).isalnum() or chr(code) == "_" else " "
    for code in range(128)
)
"""Each character of ASCII in lower case, what is no part of a word as a space."""
_NO_WORD = re.compile(r"\W")
_PART = re.compile("[^_]{2,}")
_COUNT_MAX = 255
_LENGTH_STEPS = 13
_WORDS_PER_STEP = 100
SECTION_CHARS_MAX = 20_000
"""Of one section's text that is kept for snippets; all of it is searched."""
LEAD_CHARS_MAX = 120
TEXT_BYTES_MAX = 64 * 1024 * 1024
"""Of one document that is unpacked: the files of an index may have been edited."""
_LEVEL = 4
"""Higher ones take twice as long for a twentieth less."""
_WINDOW_BITS = -13
"""Raw deflate; a text is seldom longer than this window of 8 KiB."""

_TEXTS = json_decoder(list[str])


def fold(text: str) -> str:
    """One spelling of what means the same: NFKC, no accent or Arabic article, lower."""
    if text.isascii():
        return text.lower()
    apart = re.sub(_COMBINING, "", unicodedata.normalize("NFKD", text))
    if "ال" in apart:
        apart = re.sub(_ARTICLE, "", apart)
    return unicodedata.normalize("NFC", apart).lower().translate(_LETTERS)


def count_words(text: str, *, has_parts: bool = False) -> Counter[str]:
    """How often each word occurs; pairs of characters where no space parts words."""
    if text.isascii():
        # a table is four times as fast as a pattern
        counts = Counter(text.translate(_ASCII_TABLE).split())
    else:
        counts = Counter(re.findall(_WORDS, fold(text)))
        pair = re.compile(_PAIR)
        for run in [word for word in counts if len(word) > 1 and pair.match(word)]:
            times = counts.pop(run)
            for i in range(len(run) - 1):
                counts[run[i : i + 2]] += times
    # a name such as ``foo_bar`` is found by each of its parts, too
    for word in [word for word in counts if has_parts and "_" in word]:
        for part in _PART.findall(word):
            counts[part] += counts[word]
    for word in [word for word in counts if len(word) > WORD_CHARS_MAX]:
        counts[word[:WORD_CHARS_MAX]] += counts.pop(word)
    return counts


def scored_words(title: str, headings: str, text: str, slug: str) -> dict[str, str]:
    """Each word of a document with a letter: how much it counts, A the least."""
    counts = count_words(text, has_parts=True)
    folder, _, name = slug.rpartition("/")
    for word, count in count_words(f"{headings}\n{folder}", has_parts=True).items():
        counts[word] += count * HEADING_WEIGHT
    # the name is another title, unless it says the same
    titled, named = count_words(title), count_words(name.replace("_", " "))
    for word in count_words(title, has_parts=True) | named:
        counts[word] += 1
    try:
        numbers = bytes(counts.values())
    except ValueError:
        numbers = bytes([min(count, _COUNT_MAX) for count in counts.values()])
    step = min(sum(numbers) // _WORDS_PER_STEP, _LENGTH_STEPS - 1)
    letters = numbers.translate(_SCORE_TABLE[step]).decode()
    scores = dict(zip(counts, letters, strict=True))
    ranks = {word: _share(named) // 2 for word in named}
    for word, rank in (ranks | dict.fromkeys(titled, _share(titled))).items():
        scores[word] = SCORES[min(SCORES.index(scores[word]) + rank, 25)]
    return scores


def _share(words: Iterable[str]) -> int:
    """What each of the words of a title adds to a rank; short ones do not count."""
    count = sum(len(word) > SHORT_CHARS_MAX or not word.isascii() for word in words)
    return round(TITLE_RANK / math.sqrt(max(count, 1)))


def document_words(
    title: str, sections: Iterable[Section], tags: Iterable[str] = (), slug: str = ""
) -> dict[str, str]:
    """The scored words of a document of some parts, and its tags."""
    parts = tuple(sections)
    headings = "\n".join([part.heading for part in parts])
    texts = "\n".join([part.text for part in parts])
    words = scored_words(title, headings, texts, slug)
    # no other word begins as what stands for a tag
    named = (_NO_WORD.sub("_", fold(" ".join(tag.split()))) for tag in tags)
    return words | {f"={name[:WORD_CHARS_MAX]}": SCORES[-1] for name in named}


def packed_words(words: Mapping[str, str]) -> bytes:
    """Words with their letters in few bytes."""
    return f"{''.join(words.values())}\n{' '.join(words)}".encode()


def unpacked_words(packed: bytes) -> tuple[list[str], str]:
    """The words that were packed, and the letter of each."""
    letters, _, words = packed.decode().partition("\n")
    return words.split(), letters


def _score_table() -> list[bytes]:
    """Letter by length of the page (in steps of words) and count of the word.

    The shape is that of BM25 with a fixed middle length: a mean over all pages
    would change every posting with every page.
    """
    table = []
    for step in range(_LENGTH_STEPS):
        norm = 0.75 + 0.25 * step * _WORDS_PER_STEP / 400
        scores = (count / (count + 5) / norm for count in range(_COUNT_MAX + 1))
        letters = [SCORES[min(25, round(score * 10))] for score in scores]
        table.append("".join(letters).encode())
    return table


_SCORE_TABLE = _score_table()


class DocumentText(Struct, frozen=True, array_like=True):
    """The sections of a document."""

    headings: tuple[tuple[str, str], ...]
    """Id and text of each section's heading."""
    texts: str
    """Their texts, packed."""
    lead: str = ""
    """How the first of them begins: what the page is about."""

    @classmethod
    def of(cls, sections: Iterable[Section]) -> DocumentText:
        """The sections as they are kept."""
        parts = tuple(sections)
        texts = [part.text for part in parts]
        first = next((text for text in texts if text.strip()), "")
        lead = " ".join(first[: 2 * LEAD_CHARS_MAX].split())
        headings = tuple([(part.id, part.heading) for part in parts])
        return cls(headings, packed_texts(texts), shortened(lead, LEAD_CHARS_MAX))

    @property
    def sections(self) -> tuple[Section, ...]:
        """What was kept of the sections; raises ``ValueError`` if it is damaged."""
        pairs = zip(self.headings, unpacked_texts(self.texts), strict=True)
        return tuple(Section(*heading, text) for heading, text in pairs)


def packed_texts(texts: Iterable[str]) -> str:
    """Texts as the browser unpacks them: base64 of raw deflate of JSON."""
    plain = json_bytes([text[:SECTION_CHARS_MAX].rstrip() for text in texts])
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS)
    return base64.b64encode(packer.compress(plain) + packer.flush()).decode()


def unpacked_texts(packed: str) -> list[str]:
    """The texts that were packed; raises ``ValueError`` if they are damaged."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = base64.b64decode(packed)
        return _TEXTS.decode(unpacker.decompress(data, TEXT_BYTES_MAX))
    except (ValueError, zlib.error, msgspec.DecodeError) as exc:
        raise ValueError("the texts are damaged") from exc


def json_bytes(value: object) -> bytes:
    """Any value as JSON, half a character in it as a question mark."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace")
