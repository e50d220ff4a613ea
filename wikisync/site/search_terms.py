"""Which documents have a word, as files, and how a change reaches few of them.  Pure.

Words with one beginning lie in one file, its *shard*, as long as it stays small; else
those with one letter more in common have a shard each, but few ones stay together
under the shorter beginning.  So the shards follow from nothing but the words and their
documents, whatever stood there before.  A word is in the shard with the longest key
that it begins with.

Where a shard stays as it is, only its first word and its size are known here: these
tell whether it shall be split, or join its neighbours.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import TypeAlias

from msgspec import Struct

from wikisync.site.search_words import SCORES

SHARD_BYTES_MAX = 4 * 1024
"""A query loads one or two for each of its words."""
OWN_BYTES_MIN = 512
"""Less than that gets no shard of its own."""
POSTINGS_MAX = 500
"""Of a word: of the documents where it counts most."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NO_SCORES = str.maketrans(SCORES, " " * len(SCORES))
_NO_NUMBERS = str.maketrans("", "", _DIGITS)

Scores: TypeAlias = "array[int]"
"""Of one word: documents' numbers and letters (``score_of``), in rising order."""

_LETTERS = ("", *SCORES)
RANKS = {letter: rank for rank, letter in enumerate(_LETTERS)}
"""What a letter adds to the score of a document without one."""
_RANK_BITS = 5
_RANK_MASK = (1 << _RANK_BITS) - 1


def new_scores(scores: Iterable[int] = ()) -> Scores:
    """Those of a word that is in no document yet, or in some."""
    return array("I", scores)


def score_of(slot: int, letter: str) -> int:
    """A document's number with a letter; none where the word is not in it any more."""
    return slot << _RANK_BITS | RANKS[letter]


LENGTH_MIN, LENGTH_MAX = 3, 20
"""Of words that may be meant by misspelt ones."""
RANK_MIN = 6
"""A word in one document is known if its title or a heading has it."""


class TermShard(Struct, frozen=True, array_like=True, gc=False):
    """What is known of a shard unread."""

    first: str
    """Its first word."""
    size: int
    """Bytes of its text."""
    digest: bytes
    """Of its text."""
    is_cut: bool
    """Whether the browser reads a part of it."""


class ShardLost(Exception):
    """A shard does not hold what it was left with."""


class _Block(Struct):
    """Words of one shard, or one word alone, on their way to a shard."""

    first: str
    size: int
    text: str | None
    """Entries, parted by spaces; None while nobody has read them."""
    key: str = ""
    """Of the shard that they were."""


def changed_shards(
    before: Mapping[str, TermShard],
    changes: Mapping[str, Scores],
    read: Callable[[str], str | None],
    known: dict[str, Scores] | None = None,
) -> tuple[dict[str, TermShard], dict[str, str]]:
    """Shards after a change, and the texts of those that are not as they were.

    What a misspelt word may mean is noted in ``known``.

    Raises:
        ShardLost: One that is needed has not the text that it was left with.
    """
    families: defaultdict[str, list[_Block]] = defaultdict(list)
    for key, shard in before.items():
        block = _Block(shard.first, shard.size, None, key)
        families[family_of(shard.first)].append(block)
    by_shard: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(changes):
        by_shard[_shard_of(word, before)].append(word)
    for block in _edited("", by_shard.pop("", ()), changes, known):
        families[family_of(block.first)].append(block)
    changed = {family_of(word) for word in changes}
    inner = {a for a, b in pairwise(sorted(before)) if b.startswith(a)}

    shards: dict[str, TermShard] = {}
    texts: dict[str, str] = {}
    for family, blocks in families.items():
        if family not in changed:
            shards |= {block.key: before[block.key] for block in blocks}
            continue
        now: list[_Block] = []
        for block in blocks:
            if block.key in by_shard:
                text = _text_of(block, before, read)
                edited = _edited(text, by_shard[block.key], changes, known)
                is_part = block.key in inner or "--" in block.key
                now += edited if is_part else _joined(edited)
            else:
                now.append(block)
        for key, group in _split(family, now):
            if len(group) == 1 and group[0].text is None and group[0].key == key:
                shards[key] = before[key]
                continue
            text = _in_order([_text_of(block, before, read) for block in group])
            texts[key] = text
            is_cut = any(map(_is_cut, text.split(" ")))
            shards[key] = TermShard(group[0].first, _size(text), _digest(text), is_cut)
    return shards, texts


def _in_order(texts: Sequence[str]) -> str:
    """The words of some texts; those between two of one may lie in another."""
    if len(texts) == 1:
        return texts[0]
    entries = " ".join(texts).split(" ")
    return " ".join(sorted(entries, key=lambda entry: entry.partition(":")[0]))


def _text_of(
    block: _Block, before: Mapping[str, TermShard], read: Callable[[str], str | None]
) -> str:
    if block.text is not None:
        return block.text
    text = read(block.key)
    if text is None or _digest(text) != before[block.key].digest:
        raise ShardLost(block.key)
    return text


def _edited(
    text: str,
    words: Sequence[str],
    changes: Mapping[str, Scores],
    known: dict[str, Scores] | None,
) -> list[_Block]:
    """The words of a shard with other scores of some."""
    entries = dict(entry.split(":") for entry in text.split())
    for word in words:
        before = entries.get(word, "")
        entries[word] = now = _rescored(before, changes[word])
        if known is not None and LENGTH_MIN <= len(word) <= LENGTH_MAX:
            rank = _common(now) if word.isalpha() else ""
            if rank != (_common(before) if word.isalpha() else ""):
                for end in (word, f"_{word[::-1]}"):
                    known[end] = new_scores([score_of(0, rank)])
    return [
        _Block(word, _size(part := f"{word}:{postings}"), part)
        for word, postings in sorted(entries.items())
        if postings
    ]


def _joined(words: list[_Block]) -> list[_Block]:
    """The words of a shard with none below it as one, if they may stay together."""
    whole = " ".join([block.text or "" for block in words])
    if len(words) > 1 and (size := _size(whole)) <= SHARD_BYTES_MAX:
        return [_Block(words[0].first, size, whole)]
    return words


def _split(family: str, blocks: Sequence[_Block]) -> Iterator[tuple[str, list[_Block]]]:
    """Blocks by the key of their shard: the shortest beginning that keeps it small."""
    depth = 0 if family.startswith("-") else len(family)
    pending = [(family, depth, sorted(blocks, key=attrgetter("first")))]
    while pending:
        key, depth, group = pending.pop()
        # a block alone is small, or one word
        if _sum(group) <= SHARD_BYTES_MAX or len(group) == 1:
            if group:
                yield key, group
            continue
        depth += 1
        rests: defaultdict[str, list[_Block]] = defaultdict(list)
        groups: defaultdict[str, list[_Block]] = defaultdict(list)
        for block in group:
            rest = _rest_key(key, block.first[depth - 1 : depth])
            # one that nobody read has what had too few for a shard, and has it still
            is_rest = block.text is None and block.key == rest
            place = rests[rest] if is_rest else groups[_key_at(block.first, depth)]
            place.append(block)
        for part, below in groups.items():
            if _sum(below) < OWN_BYTES_MIN:
                rests[_rest_key(key, below[0].first[depth - 1 : depth])] += below
            else:
                pending.append((part, depth, below))
        for rest, few in rests.items():
            yield rest, sorted(few, key=attrgetter("first"))


def _rest_key(key: str, letter: str) -> str:
    """Of the words below a key that are too few for a shard of their own.

    Thousands of letters may follow: these share sixteen shards.
    """
    return key if letter.isascii() else f"{key}--{ord(letter) % 16:x}"


def _common(postings: str) -> str:
    """In how many documents a word is that may be meant; none if in one text alone."""
    count = len(postings.translate(_NO_SCORES).split())
    is_meant = count > 1 or RANKS.get(postings[-1:], 0) > RANK_MIN
    return SCORES[min(count.bit_length(), 25)] if is_meant else ""


def _sum(blocks: Sequence[_Block]) -> int:
    return sum([block.size for block in blocks]) + len(blocks) - 1


def shown_entries(text: str) -> str:
    """A shard as the browser reads it: of a word in too many documents the best ones.

    The number of all of them is at the front.
    """
    return " ".join(map(_shown_entry, text.split(" ")))


def _is_cut(entry: str) -> bool:
    """Whether a word is in too many documents."""
    # each takes two letters at least
    if len(entry) <= 2 * POSTINGS_MAX:
        return False
    postings = entry.partition(":")[2]
    return len(postings.translate(_NO_NUMBERS)) > POSTINGS_MAX


def _shown_entry(entry: str) -> str:
    if not _is_cut(entry):
        return entry
    word, _, postings = entry.partition(":")
    steps = postings.translate(_NO_SCORES).split()
    letters = postings.translate(_NO_NUMBERS)
    left, least = POSTINGS_MAX, ""
    # to count letters takes a tenth of sorting them
    for least in reversed(SCORES):
        if (count := letters.count(least)) >= left:
            break
        left -= count
    best = new_scores()
    slots = accumulate(map(_NUMBERS.__getitem__, steps))
    for slot, letter in zip(slots, letters, strict=True):
        if letter > least or (letter == least and left):
            left -= letter == least
            best.append(score_of(slot, letter))
    return f"{word}:{len(steps)}!{_postings(best)}"


def _shard_of(word: str, shards: Mapping[str, TermShard]) -> str:
    """The key of the shard where a word has to be; empty where there is none."""
    if not shards:
        return ""
    way = ["" if word[0].isascii() else family_of(word)]
    for key, letter in zip(accumulate(map(_key_part, word)), word, strict=True):
        way += [_rest_key(way[-1], letter), key]
    keys = (way[-1] + "-", *reversed(way))
    return next((key for key in keys if key in shards), "")


def family_of(word: str) -> str:
    """A letter, or ``_`` and a letter; for other scripts a block of 64 characters.

    Else each of thousands of characters would have a file of its own.
    """
    if word[0].isascii():
        return word[:2] if word[0] == "_" and word[:2].isascii() else word[0]
    return f"--{ord(word[0]) >> 6:x}"


def _key_at(word: str, depth: int) -> str:
    """The first ``depth`` letters of a word; one that ends before is alone."""
    letters = word[:depth]
    key = letters if letters.isascii() else "".join(map(_key_part, letters))
    return key + "-" if len(word) < depth else key


def _key_part(char: str) -> str:
    return char if char.isascii() else f"-{ord(char):x}"


# Postings: base-36 steps between numbers, each with a score.  ``3aF1B`` is:
# document 118 (3a in base 36) with score F, then 119 with B.


def _rescored(postings: str, changes: Scores) -> str:
    """Postings with other scores of some documents."""
    if not postings:
        return _postings(changes)
    steps = postings.translate(_NO_SCORES).split()
    slots = list(accumulate(map(_NUMBERS.__getitem__, steps)))
    out: list[str] = []
    # the number that was written last, how many postings are done, and where they end
    last = done = end = 0

    def copy(stop: int) -> None:
        """All from those that are done up to another; only the first step changes."""
        nonlocal last, done, end
        if done < stop:
            out.append(_TEXTS[slots[done] - last])
            start = end + len(steps[done])
            end += sum(map(len, steps[done:stop])) + stop - done
            out.append(postings[start:end])
            last, done = slots[stop - 1], stop

    for score in changes:
        slot, letter = score >> _RANK_BITS, _LETTERS[score & _RANK_MASK]
        copy(bisect_left(slots, slot, done))
        if slots[done : done + 1] == [slot]:
            end += len(steps[done]) + 1
            done += 1
        if letter:
            out.append(_TEXTS[slot - last] + letter)
            last = slot
    if done < len(slots):
        out.append(_TEXTS[slots[done] - last])
        out.append(postings[end + len(steps[done]) :])
    return "".join(out)


def _postings(scores: Scores) -> str:
    out: list[str] = []
    last = 0
    for score in scores:
        slot = score >> _RANK_BITS
        if letter := _LETTERS[score & _RANK_MASK]:
            out.append(_TEXTS[slot - last] + letter)
            last = slot
    return "".join(out)


def packed_slots(slots: Iterable[int]) -> str:
    """Rising numbers as steps in base 36, the last digit of each as a capital.

    Its value is at most 25, so the others count 26.
    """
    out: list[str] = []
    last = 0
    for slot in slots:
        tens, ones = divmod(slot - last, 26)
        out.append((_TEXTS[tens] if tens else "") + SCORES[ones])
        last = slot
    return "".join(out)


class _Texts(dict[int, str]):
    """Numbers as the browser reads them, each made once: as many as documents."""

    def __missing__(self, number: int) -> str:
        tens, ones = divmod(number, 36)
        text = self[number] = (self[tens] if tens else "") + _DIGITS[ones]
        return text


class _Numbers(dict[str, int]):
    """The way back."""

    def __missing__(self, text: str) -> int:
        number = self[text] = int(text, 36)
        return number


_TEXTS = _Texts()
_NUMBERS = _Numbers()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
