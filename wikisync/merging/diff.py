"""What changed between two sequences, as ranges; the ground that ``merge`` stands on.

Pure.  Equal head and tail are trimmed, elements that occur once on both sides are
anchors (the patience rule: the longest run of them in the same order), and what
lies between anchors goes to Myers' greedy search.  A search that would take too
long gives up and calls the whole range changed: coarser, never wrong.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from msgspec import Struct

WORDS_MAX = 4_000
"""In two texts together, beyond which words are not compared."""
EDITS_MAX = 200
"""Edits between two anchors beyond which the range counts as changed whole."""
SHARE_MIN = 0.3
"""Of the shorter text that both have, below which they are read one after the other."""
_Ranges = tuple[int, int, int, int]  # start and end in the old one, then the new one


class Hunk(Struct, frozen=True):
    """``old[old_start:old_end]`` became ``new[new_start:new_end]``.

    Either may be empty, never both.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Hunk]:
    """Every change in order; between two of them something is always equal."""
    found: list[Hunk] = []
    work = [(0, len(old), 0, len(new))]
    while work:
        a, a_end, b, b_end = work.pop()
        # equal ends first: most edits are small, and what is between is what costs
        while a < a_end and b < b_end and old[a] == new[b]:
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        if a == a_end or b == b_end or set(old[a:a_end]).isdisjoint(new[b:b_end]):
            if a < a_end or b < b_end:
                found.append(Hunk(a, a_end, b, b_end))
        elif anchors := _anchors(old, new, (a, a_end, b, b_end)):
            edges = [(a - 1, b - 1), *anchors, (a_end, b_end)]
            gaps = [
                (i + 1, k, j + 1, m)
                for (i, j), (k, m) in pairwise(edges)
                if k > i + 1 or m > j + 1
            ]
            work.extend(reversed(gaps))
        else:
            found += _search(old, new, (a, a_end, b, b_end))
    return found


def word_changes(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The words of two texts in order: of both (``""``), the old, or the new one.

    The old ones (``-``) come before the new ones (``+``) that took their place.
    """
    if not (old and new):
        yield from filter(itemgetter(1), (("-", old), ("+", new)))
        return
    a, b = WORDS.findall(old), WORDS.findall(new)
    whole = [Hunk(0, len(a), 0, len(b))]
    hunks = changes(a, b) if len(a) + len(b) <= WORDS_MAX else whole
    gone = sum(_size(a[one.old_start : one.old_end]) for one in hunks)
    if _size(a) - gone < SHARE_MIN * min(_size(a), _size(b)):
        hunks = whole
    at = start = 0
    for index, hunk in enumerate(hunks):
        between = [b[hunk.new_end : one.new_start] for one in hunks[index + 1 :][:1]]
        if between and not "".join(between[0]).strip():
            continue  # only a space between two changes: they are read as one
        first = hunks[start]
        parts = (
            ("", b[at : first.new_start]),
            ("-", a[first.old_start : hunk.old_end]),
            ("+", b[first.new_start : hunk.new_end]),
        )
        yield from ((sign, "".join(words)) for sign, words in parts if words)
        at, start = hunk.new_end, index + 1
    if at < len(b):
        yield "", "".join(b[at:])


# no space parts the words of Chinese and Japanese: each character is one
_APART = "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORDS = re.compile(rf"[{_APART}]|[^\W{_APART}]+|\n|[^\S\n]+|[^\w\s]")


def _size(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _anchors(
    old: Sequence[Hashable], new: Sequence[Hashable], within: _Ranges
) -> list[tuple[int, int]]:
    """Positions of elements that are unique on both sides, in rising order."""
    here, there = _unique(old, *within[:2]), _unique(new, *within[2:])
    return _rising([(i, there[item]) for item, i in here.items() if item in there])


def _unique(items: Sequence[Hashable], start: int, end: int) -> dict[Hashable, int]:
    some = items[start:end]
    counts = Counter(some)
    return {item: at for at, item in enumerate(some, start) if counts[item] == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, sorted by the first number, that rises in both."""
    if pairs == sorted(pairs, key=itemgetter(1)):
        return pairs
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for index, (_, position) in enumerate(pairs):
        in_order = not tails or position > tails[-1]
        pile = len(tails) if in_order else bisect_left(tails, position)
        before.append(tail_at[pile - 1] if pile else -1)
        if pile == len(tails):
            tails.append(position)
            tail_at.append(index)
        else:
            tails[pile] = position
            tail_at[pile] = index
    run: list[tuple[int, int]] = []
    index = tail_at[-1] if tail_at else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _search(
    old: Sequence[Hashable], new: Sequence[Hashable], within: _Ranges
) -> list[Hunk]:
    """The shortest script between two ranges, or one change where it is long.

    Diagonal ``k`` holds the furthest point reached with ``x - y == k``; one row is
    kept per number of edits, to walk back along.
    """
    a, a_end, b, b_end = within
    width, height = a_end - a, b_end - b
    rows: list[dict[int, int]] = []
    row = {1: 0}
    for edits in range(min(width + height, EDITS_MAX) + 1):
        rows.append(row)
        row = dict(row)
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and row[k - 1] < row[k + 1])
            x = row[k + 1] if down else row[k - 1] + 1
            y = x - k
            while x < width and y < height and old[a + x] == new[b + y]:
                x += 1
                y += 1
            row[k] = x
            if x >= width and y >= height:
                return _script(rows, width, height, a, b)
    return [Hunk(a, a_end, b, b_end)]


def _script(
    rows: list[dict[int, int]], width: int, height: int, a: int, b: int
) -> list[Hunk]:
    """Walk a search back from its end and join single edits to changes."""
    found: list[Hunk] = []
    x, y = width, height
    for edits in range(len(rows) - 1, 0, -1):
        row, k = rows[edits], x - y
        down = k == -edits or (k != edits and row[k - 1] < row[k + 1])
        from_x = row[k + 1] if down else row[k - 1]
        from_y = from_x - (k + 1 if down else k - 1)
        to_x, to_y = (from_x, from_y + 1) if down else (from_x + 1, from_y)
        last = found[-1] if found else None
        if last and (last.old_start, last.new_start) == (a + to_x, b + to_y):
            found[-1] = Hunk(a + from_x, last.old_end, b + from_y, last.new_end)
        else:
            found.append(Hunk(a + from_x, a + to_x, b + from_y, b + to_y))
        x, y = from_x, from_y
    return found[::-1]
