"""Which documents have a word, as files, and how a change reaches few of them.  Pure.

Words lie in the leaves of a tree that halves them by the next bit of their UTF-8, as
long as they are too many for one file, a *shard*.  So the shards follow from nothing
but the words and their documents, whatever stood there before.  The key of a shard is
the least word that could be in it, in hexadecimal; a word is in the shard with the
last key that is not behind it.

Where a shard stays as it is, only its first word and its size are known here: these
tell whether it shall be split, or join its neighbours.
"""

import hashlib
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate, compress
from typing import TypeAlias

from msgspec import Struct

from wikisync.site.search_words import SCORES

SHARD_BYTES_MAX = 4 * 1024
"""A query loads one or two for each of its words."""
KEY_BYTES_MAX = 60
"""Words that are the same so far stay together: a key is in the name of a file."""
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
_SLOT_MASK = array("I", [~_RANK_MASK & 0xFFFF_FFFF]).tobytes()
_NO_SLOT = bytes(len(_SLOT_MASK))
STEPS_CACHED = 65_536


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
    words: int
    """How many it has."""
    size: int
    """Bytes of what the browser reads of it."""
    digest: bytes
    """Of all its text."""
    is_cut: bool
    """Whether the browser reads a part of it."""


class ShardLost(Exception):
    """A shard does not hold what it was left with."""


class _Block(Struct):
    """Words of one shard, or one word alone, on their way to a shard."""

    first: str
    words: int
    size: int
    text: str | None
    """Entries, parted by spaces; None while nobody has read them."""
    shown: str = ""
    """The entries as the browser reads them, once they are read."""
    key: str = ""
    """Of the shard that they were."""


def changed_shards(
    before: Mapping[str, TermShard],
    changes: dict[str, Scores],
    read: Callable[[str], str | None],
    put: Callable[[str, str, str], None],
    known: dict[str, Scores] | None = None,
) -> dict[str, TermShard]:
    """Shards after a change; those that are not as they were are put, by their keys.

    Each has two texts: all of it, and what the browser reads.  Those of a large site
    fill the memory: ``changes`` are taken out, and no text is kept.  What a misspelt
    word may mean is noted in ``known``.

    Raises:
        ShardLost: One that is needed has not the text that it was left with.
    """
    keys = sorted(before)
    by_shard: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(changes):
        place = bisect_right(keys, word.encode().hex())
        by_shard[keys[place - 1] if place else ""].append(word)
    blocks = _edited("", by_shard.pop("", ()), changes, known)
    for key, one in before.items():
        if key in by_shard:
            text = _text_of(key, before, read)
            blocks += _edited(text, by_shard[key], changes, known)
        else:
            blocks.append(_Block(one.first, one.words, one.size, None, key=key))
    blocks.sort(key=lambda block: block.first)
    rows = [(one.first.encode(), one.words, one.size, one.key) for one in blocks]
    shards: dict[str, TermShard] = {}
    blocks.reverse()
    for key, part in leaves(rows, SHARD_BYTES_MAX, sorted(map(_place, by_shard))):
        first, *others = group = [blocks.pop() for _ in range(part.stop - part.start)]
        if not others and first.text is None and first.key == key:
            shards[key] = before[key]
            continue
        group = [_read(block, before, read) for block in group]
        text = " ".join([block.text or "" for block in group])
        shown = " ".join([block.shown for block in group])
        put(key, text, shown)
        count, is_cut = sum(block.words for block in group), shown != text
        shards[key] = TermShard(first.first, count, _size(shown), _digest(text), is_cut)
    return shards


def leaves(
    blocks: Sequence[tuple[bytes, int, int, str]],
    size_max: int,
    changed: Sequence[bytes] = (),
) -> Iterator[tuple[str, slice]]:
    """Keys of the leaves of a tree of sorted blocks, and which of the blocks they have.

    Of each block there are its first word, how many it has, its bytes, and its key if
    it was a leaf: it stays one where no leaf around it is ``changed``.
    """
    sums = [0, *accumulate(size + 1 for _, _, size, _ in blocks)]
    pending = [(b"", b"\xff", 0, 0, len(blocks))]
    while pending:
        key, stop, depth, start, end = pending.pop()
        if start == end:
            continue
        is_small = sums[end] - sums[start] - 1 <= size_max
        is_word = end - start == 1 and blocks[start][1] == 1
        if is_small or is_word or depth == 8 * KEY_BYTES_MAX:
            yield key.hex() or "0", slice(start, end)
            continue
        is_same = bisect_left(changed, key) == bisect_left(changed, stop)
        if blocks[start][3] and is_same:
            yield from ((blocks[at][3], slice(at, at + 1)) for at in range(start, end))
            continue
        upper = bytearray(key.ljust(depth // 8 + 1, b"\0"))
        upper[-1] |= 0x80 >> depth % 8
        other = bytes(upper)
        middle = bisect_left(blocks, (other,), start, end)
        pending.append((other, stop, depth + 1, middle, end))
        pending.append((key, other, depth + 1, start, middle))


def leaves_of_keys(keys: Iterable[str], size_max: int) -> dict[str, list[str]]:
    """Keys, grouped as words are, by the key of their group."""
    named = sorted(keys)
    groups = leaves([(_place(key), 1, len(key), "") for key in named], size_max)
    return {key: named[part] for key, part in groups}


def _place(key: str) -> bytes:
    """The least word that could be in a shard."""
    return b"" if key == "0" else bytes.fromhex(key)


def _read(
    block: _Block, before: Mapping[str, TermShard], read: Callable[[str], str | None]
) -> _Block:
    """A block with its text."""
    if block.text is not None:
        return block
    text = _text_of(block.key, before, read)
    shown = " ".join(map(shown_entry, text.split(" ")))
    return _Block(block.first, block.words, block.size, text, shown)


def _text_of(
    key: str, before: Mapping[str, TermShard], read: Callable[[str], str | None]
) -> str:
    """What a shard holds, if it is what it was left with."""
    text = read(key)
    if text is None or _digest(text) != before[key].digest:
        raise ShardLost(key)
    return text


def _edited(
    text: str,
    words: Sequence[str],
    changes: dict[str, Scores],
    known: dict[str, Scores] | None,
) -> list[_Block]:
    """The words of a shard with other scores of some, in no order."""
    entries = dict(entry.split(":") for entry in text.split())
    blocks = []
    for word in words:
        before, scores = entries.pop(word, ""), changes.pop(word)
        now = _rescored(before, scores) if before else _postings(scores)
        if known is not None and LENGTH_MIN <= len(word) <= LENGTH_MAX:
            rank = _common(now) if word.isalpha() else ""
            if rank != (_common(before) if word.isalpha() else ""):
                known[word] = known[f"_{word[::-1]}"] = new_scores([score_of(0, rank)])
        if now:
            blocks.append(_entry(word, now, None if before else scores))
    return blocks + [_entry(*entry, None) for entry in entries.items()]


def _entry(word: str, postings: str, scores: Iterable[int] | None) -> _Block:
    part = f"{word}:{postings}"
    shown = shown_entry(part, scores)
    return _Block(word, 1, _size(shown), part, shown)


def _common(postings: str) -> str:
    """In how many documents a word is that may be meant; none if in one text alone."""
    count = len(postings.translate(_NO_NUMBERS))
    is_meant = count > 1 or RANKS.get(postings[-1:], 0) > RANK_MIN
    return SCORES[min(count.bit_length(), 25)] if is_meant else ""


def shown_entry(entry: str, scores: Iterable[int] | None = None) -> str:
    """A word as the browser reads it: in too many documents with the best ones.

    The number of all of them is at the front.  Its scores can be given.
    """
    word, _, postings = entry.partition(":")
    # each takes two letters at least
    is_short = len(postings) <= 2 * POSTINGS_MAX
    letters = "" if is_short else postings.translate(_NO_NUMBERS)
    if len(letters) <= POSTINGS_MAX:
        return entry
    left, least = POSTINGS_MAX, ""
    # to count letters takes a tenth of sorting them
    for least in reversed(SCORES):
        if (count := letters.count(least)) >= left:
            break
        left -= count
    # no step of a loop for each posting: a common word has one of each page
    rest = letters.split(least, left)[-1]
    wanted = letters[: len(letters) - len(rest)] + rest.replace(least, " ")
    best = wanted.encode().translate(_not_below(least))
    if scores is None:
        slots = accumulate(map(_number, postings.translate(_NO_SCORES).split()))
        shown: Iterable[int] = map(
            score_of, compress(slots, best), compress(letters, best)
        )
    else:
        shown = compress(scores, best)
    return f"{word}:{len(letters)}!{_postings(new_scores(shown))}"


@cache
def _not_below(least: str) -> bytes:
    """A table that makes 1 of a letter and of better ones, 0 of all else."""
    return bytes(code >= ord(least) for code in range(256))


# Postings: base-36 steps between numbers, each with a score.  ``3aF1B`` is:
# document 118 (3a in base 36) with score F, then 119 with B.


def _rescored(postings: str, changes: Scores) -> str:
    """Postings with other scores of some documents."""
    steps = postings.translate(_NO_SCORES).split()
    slots = list(accumulate(map(_number, steps)))
    out: list[str] = []
    # the number that was written last, how many postings are done, and where they end
    last = done = end = 0

    def copy(stop: int) -> None:
        """All from those that are done up to another; only the first step changes."""
        nonlocal last, done, end
        if done < stop:
            out.append(_text(slots[done] - last))
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
            out.append(_text(slot - last) + letter)
            last = slot
    if done < len(slots):
        out.append(_text(slots[done] - last))
        out.append(postings[end + len(steps[done]) :])
    return "".join(out)


def _postings(scores: Scores) -> str:
    """The postings of a word that had none.

    There are millions: one subtraction of long numbers stands for all of a word, and
    each costs a look-up.
    """
    order, packed = sys.byteorder, scores.tobytes()
    whole = int.from_bytes(packed, order)
    slots = whole & int.from_bytes(_SLOT_MASK * len(scores), order)
    earlier = _NO_SLOT + slots.to_bytes(len(packed), order)[: -len(_NO_SLOT)]
    steps = whole - int.from_bytes(earlier, order)
    found = array("I", steps.to_bytes(len(packed), order))
    return "".join(map(_STEPS.__getitem__, found))


class _Steps(dict[int, str]):
    """Steps between documents with a letter, each made once."""

    def __missing__(self, step: int) -> str:
        if len(self) >= STEPS_CACHED:
            self.clear()
        made = f"{_text(step >> _RANK_BITS)}{_LETTERS[step & _RANK_MASK]}"
        self[step] = made
        return made


_STEPS = _Steps()


def packed_slots(slots: Iterable[int]) -> str:
    """Rising numbers as steps in base 36, the last digit of each as a capital.

    Its value is at most 25, so the others count 26.
    """
    out: list[str] = []
    last = 0
    for slot in slots:
        tens, ones = divmod(slot - last, 26)
        out.append((_text(tens) if tens else "") + SCORES[ones])
        last = slot
    return "".join(out)


@lru_cache(maxsize=65_536)
def _text(number: int) -> str:
    """A number as the browser reads it; few are not among those of the last words."""
    tens, ones = divmod(number, 36)
    return (_text(tens) if tens else "") + _DIGITS[ones]


_number = cache(partial(int, base=36))
"""The way back."""


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
