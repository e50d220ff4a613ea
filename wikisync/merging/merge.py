"""Three-way merge of one page's text: by lines as git does, then by sentences.

Pure.  Nothing is ever guessed: where both sides changed the same lines, or lines side
by side, the paragraph is divided into sentences and a table row into cells
(``units``), and a sentence that both sides changed holds the page.  Code is never
divided.  Front matter is merged by its keys (``metadata``).  Whatever comes out clean
is counted once more by rules that know nothing of how it was made (``_is_sound``); a
result that fails them counts as a clash, so a fault in here holds a page and loses
nothing.

The parts of a page that clash go to ``conflict``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from msgspec import Struct

from wikisync.core.model import BYTE_ORDER_MARK, Format
from wikisync.merging.conflict import Clash, MergedText, Piece, has_marker
from wikisync.merging.diff import Hunk, changes
from wikisync.merging.metadata import front_matter_of, merge_metadata
from wikisync.merging.units import Kind, Unit, cell_text, cells, kinds, units

PARAGRAPH_CHARS_MAX = 200_000
"""A paragraph of which one side is longer is not divided."""


KEPT_SHARE = 0.1
"""A side that kept less of the base is not merged with edits of the other one, ..."""
KEPT_WELL = 0.5
"""Nobody asks whether a text kept more than this share."""
CUT_CHARS_MIN = 200
"""... nor is a text of this length with edits that leave less than this share of it."""
_WORD = re.compile(r"\w+")

T = TypeVar("T")


def merge(
    base: str, local: str, remote: str, *, page_format: Format = Format.MARKDOWN
) -> MergedText:
    """Merge two edits of one text.

    The folder's line ends and byte order mark win over the wiki's.  A side that holds
    a marker line is an unfinished conflict and clashes as a whole.  So does a side that
    kept next to nothing of the base, which the other one edited: it may be another
    page by now.
    """
    if has_marker(local) or has_marker(remote):
        return MergedText((Clash(base, local, remote),))
    if local in {base, remote}:
        return MergedText((remote,))
    if remote == base:
        return MergedText((local,))
    old, mine, theirs = (
        text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")
        for text in (base, local, remote)
    )
    merged = _merge_parts(old, mine, theirs, page_format)
    before = Parts(old, page_format)
    if merged.text is not None and (
        _is_cut(merged.text, old, mine, theirs)
        or any(
            kept_share(before, Parts(side, page_format), counts_edited=True)
            < KEPT_SHARE
            for side in (mine, theirs)
        )
    ):
        merged = MergedText((Clash(old, mine, theirs),))
    if local.count("\r\n") * 2 > local.count("\n"):
        merged = MergedText(tuple(map(_crlf, merged.pieces)))
    if merged.text is not None and local.startswith(BYTE_ORDER_MARK):
        merged = MergedText((BYTE_ORDER_MARK, *merged.pieces))
    return merged


class Parts:
    """A text by its lines and sentences, taken apart once to be compared with many."""

    def __init__(self, text: str, page_format: Format) -> None:
        self.text = text
        self.lines = _split(text)
        self._format = page_format

    @cached_property
    def sentences(self) -> list[str]:
        """The keys of its units: those of a large page take seconds."""
        return _keys(units(self.lines, kinds(self.lines, self._format)))


def kept_share(base: Parts, text: Parts, *, counts_edited: bool = False) -> float:
    """How much of the base another text has, by lines or sentences, from 0 to 1.

    They may have moved; with ``counts_edited`` those that were edited in place count,
    too.
    """
    if not _chars(base.lines):
        return 1.0
    kept = _kept(base.lines, text.lines, counts_edited=counts_edited)
    if kept >= KEPT_WELL:
        return kept
    return max(kept, _kept(base.sentences, text.sentences, counts_edited=counts_edited))


def _kept(old: list[str], new: list[str], *, counts_edited: bool) -> float:
    left = set(new)
    kept = [text for text in old if text in left]
    for hunk in changes(old, new) if counts_edited else ():
        places = zip(
            old[hunk.old_start : hunk.old_end],
            new[hunk.new_start : hunk.new_end],
            strict=False,
        )
        kept += [
            was for was, now in places if was not in left and _are_edited([was], [now])
        ]
    return _chars(kept) / _chars(old)


def _is_cut(merged: str, *texts: str) -> bool:
    """Whether edits together leave next to nothing of a text."""
    most = max(map(len, texts))
    return most >= CUT_CHARS_MIN and len(merged) < KEPT_SHARE * most


def _merge_parts(base: str, local: str, remote: str, page_format: Format) -> MergedText:
    """Front matter by its keys, the text below it by lines and sentences."""
    texts = (base, local, remote)
    blocks = [front_matter_of(text) for text in texts]
    if len(set(blocks)) == 1 or not all(block[-1:] in {"", "\n"} for block in blocks):
        # a page that ends with its front matter may have no line end there
        return _Merging(*texts, page_format).run()
    old, mine, theirs = (
        text[len(block) :] for text, block in zip(texts, blocks, strict=True)
    )
    below = _Merging(old, mine, theirs, page_format).run()
    settled = merge_metadata(*blocks)
    first: Piece = Clash(*blocks) if settled is None else settled
    pieces: tuple[Piece, ...] = (first, *below.pieces)
    if settled is not None and below.text is not None:
        pieces = (settled + below.text,)
    return MergedText(pieces)


class _Region(Struct, frozen=True):
    """A range of the base that one side or both changed, and where it is now."""

    base: slice
    local: slice
    remote: slice
    is_local: bool
    """The local side changed it."""
    is_remote: bool


class _Merging:
    """One merge under way; every line ends with a line feed alone."""

    def __init__(self, base: str, local: str, remote: str, page_format: Format) -> None:
        self._texts = base, local, remote
        self._lines = _split(base), _split(local), _split(remote)
        self._format = page_format
        self._kinds: list[list[Kind]] | None = None
        self._pieces: list[Piece] = []
        self._settled: list[str] = []
        self._divided: list[tuple[list[str], list[str], list[str], list[str]]] = []
        """Lines of the three texts and of the merged one that belong together."""

    def run(self) -> MergedText:
        base, local, remote = self._lines
        done: int = 0
        regions = list(_regions(*_numbered(*self._lines), is_strict=True))
        starts = [region.base.start for region in regions]
        for region, limit in zip(regions, [*starts[1:], len(base)], strict=False):
            mine, theirs = local[region.local], remote[region.remote]
            if region.is_local and region.is_remote and mine != theirs:
                done = self._merge_clash(region, done, limit)
                continue
            self._settled += base[done : region.base.start]
            self._settled += mine if region.is_local else theirs
            done = region.base.stop
        self._settled += base[done:]
        return self._result()

    def _result(self) -> MergedText:
        if self._pieces:
            self._close()
            return MergedText(tuple(self._pieces))
        if not self._is_sound():
            return MergedText((Clash(*self._texts),))
        text = "".join(self._settled)
        # the one side's way that differs from the base's, or that of them all
        base, local, remote = (one.endswith("\n") for one in self._texts)
        if not (remote if local == base else local):
            text = text.removesuffix("\n")
        return MergedText((text,))

    def _merge_clash(self, region: _Region, done: int, limit: int) -> int:
        """Merge what both sides changed; gives how much of the base is merged then."""
        base, local, remote = self._lines
        lines = base[region.base], local[region.local], remote[region.remote]
        if self._may_divide(region) and not _is_added_beside_deleted(*lines):
            whole = self._paragraph(region, done, limit)
            around = base[whole.base], local[whole.local], remote[whole.remote]
            merged = self._merge_units(whole, around)
            sides = None if merged is None else (*around, merged)
            # two sentences without an end may be one by now
            if sides and _is_sound(*(_counted(one, self._format) for one in sides)):
                self._divided.append(sides)
                self._settled += base[done : whole.base.start] + sides[-1]
                return int(whole.base.stop)
        self._settled += base[done : region.base.start]
        self._add_clash(*lines)
        return int(region.base.stop)

    def _add_clash(self, base: list[str], local: list[str], remote: list[str]) -> None:
        """Show what clashes between the lines that both sides begin and end with."""
        head, local, remote, tail = _trimmed(local, remote)
        self._settled += head
        if base or (local and remote):
            self._close()
            clash = Clash("".join(base), "".join(local), "".join(remote))
            self._pieces.append(clash)
        else:
            self._settled += remote + local
        self._settled += tail

    def _close(self) -> None:
        if self._settled:
            self._pieces.append("".join(self._settled))
            self._settled = []

    # -- sentences and cells -----------------------------------------------------

    def _all_kinds(self) -> list[list[Kind]]:
        if self._kinds is None:
            self._kinds = [kinds(lines, self._format) for lines in self._lines]
        return self._kinds

    def _may_divide(self, region: _Region) -> bool:
        """Whether no line of it is code, or both only inserted, and not into code."""
        found, at = self._all_kinds()[0], region.base.start
        if region.base == slice(at, at):
            return (
                Kind.BLANK in found[at - 1 : at + 1]
                or Kind.VERBATIM not in found[max(at - 1, 0) : at + 1]
            )
        parts = (region.base, region.local, region.remote)
        return not any(
            Kind.VERBATIM in found[part]
            for found, part in zip(self._all_kinds(), parts, strict=True)
        )

    def _paragraph(self, region: _Region, done: int, limit: int) -> _Region:
        """The region with the rest of the paragraphs that it begins and ends in.

        Between ``done`` and ``limit`` lines beside it are the same on all sides.
        """
        starts = (region.base.start, region.local.start, region.remote.start)
        stops = (region.base.stop, region.local.stop, region.remote.stop)
        found = self._all_kinds()
        above = below = 0
        while region.base.start - above > done and any(
            _is_prose(one, start - above)
            for one, start in zip(found, starts, strict=True)
        ):
            above += 1
        while region.base.stop + below < limit and any(
            _is_prose(one, stop + below) for one, stop in zip(found, stops, strict=True)
        ):
            below += 1
        base, local, remote = (
            slice(start - above, stop + below)
            for start, stop in zip(starts, stops, strict=True)
        )
        return _Region(base, local, remote, is_local=True, is_remote=True)

    def _merge_units(
        self, whole: _Region, lines: tuple[list[str], list[str], list[str]]
    ) -> list[str] | None:
        """The lines that come of merging units, or None where one clashes."""
        if max(sum(map(len, side)) for side in lines) > PARAGRAPH_CHARS_MAX:
            return None
        parts = (whole.base, whole.local, whole.remote)
        base, local, remote = (
            units(side, found[part])
            for side, found, part in zip(lines, self._all_kinds(), parts, strict=True)
        )
        keys = [_keys(side) for side in (base, local, remote)]
        if _is_added_beside_deleted(*keys):
            return None
        merged: list[str] = []
        done = shift_local = shift_remote = 0
        for region in _regions(*_numbered(*keys), is_strict=False):
            shift_local = region.local.start - region.base.start
            shift_remote = region.remote.start - region.base.start
            for at in range(done, region.base.start):
                mine, theirs = local[at + shift_local], remote[at + shift_remote]
                merged.append(_rewrapped(base[at], mine, theirs))
            settled = self._merge_region(
                base[region.base], local[region.local], remote[region.remote], region
            )
            if settled is None:
                return None
            merged.append(settled)
            done = region.base.stop
            shift_local = region.local.stop - done
            shift_remote = region.remote.stop - done
        for at in range(done, len(base)):
            mine, theirs = local[at + shift_local], remote[at + shift_remote]
            merged.append(_rewrapped(base[at], mine, theirs))
        return _split("".join(merged))

    def _merge_region(
        self, base: list[Unit], local: list[Unit], remote: list[Unit], region: _Region
    ) -> str | None:
        if not region.is_remote or _keys(local) == _keys(remote):
            return _text(local, base, remote)
        if not region.is_local:
            return _text(remote, base, local)
        if len(base) == len(local) == len(remote) == 1:
            return _merge_rows(base[0], local[0], remote[0])
        are_lines = all(
            side and side[0].starts_line and side[-1].tail.endswith("\n")
            for side in (local, remote)
        )
        if base or not are_lines:
            return None
        if any(unit.is_verbatim for unit in (*local, *remote)):
            # without its fences the code of one side would be the other's
            return _text([*remote, *local])
        head, mine, theirs, tail = _trimmed(local, remote)
        return _text([*head, *theirs, *mine, *tail])

    # -- the last check ----------------------------------------------------------

    def _is_sound(self) -> bool:
        counts = [Counter(side) for side in (*self._lines, self._settled)]
        for sides in self._divided:
            for count, side in zip(counts, sides, strict=True):
                count.subtract(side)
        return _is_sound(*counts)


def _regions(
    base: Sequence[int], local: Sequence[int], remote: Sequence[int], *, is_strict: bool
) -> Iterator[_Region]:
    """Changes of both sides in order, joined where they touch the same elements.

    Changes side by side stay apart, unless ``is_strict``; two insertions at one
    place always belong together.
    """
    mine, theirs = changes(base, local), changes(base, remote)
    i = j = 0
    shift_mine = shift_theirs = 0
    while i < len(mine) or j < len(theirs):
        # an insertion at the start of a range comes before it: (5, 5) < (5, 7)
        start, end = min(
            (side[at].old_start, side[at].old_end)
            for side, at in ((mine, i), (theirs, j))
            if at < len(side)
        )
        first_i, first_j = i, j
        # until nothing touches: a change of one side may join two of the other
        grew = True
        while grew:
            grew = False
            if i < len(mine) and _touches(mine[i], start, end, is_strict):
                end = max(end, mine[i].old_end)
                i += 1
                grew = True
            if j < len(theirs) and _touches(theirs[j], start, end, is_strict):
                end = max(end, theirs[j].old_end)
                j += 1
                grew = True
        before_mine, before_theirs = shift_mine, shift_theirs
        shift_mine += sum(map(_growth, mine[first_i:i]))
        shift_theirs += sum(map(_growth, theirs[first_j:j]))
        yield _Region(
            slice(start, end),
            slice(start + before_mine, end + shift_mine),
            slice(start + before_theirs, end + shift_theirs),
            is_local=i > first_i,
            is_remote=j > first_j,
        )


def _touches(change: Hunk, start: int, end: int, is_strict: bool) -> bool:
    if is_strict:
        return change.old_start <= end
    if (change.old_start, change.old_end) == (start, end):
        return True
    return change.old_start < end


def _growth(change: Hunk) -> int:
    return (change.new_end - change.new_start) - (change.old_end - change.old_start)


def _is_added_beside_deleted(
    base: list[str], local: list[str], remote: list[str]
) -> bool:
    """Whether a side added something right beside what the other one deleted.

    It was written for a text that is not there any more.
    """
    regions = _regions(*_numbered(base, local, remote), is_strict=False)
    for pair in pairwise(regions):
        if pair[0].base.stop != pair[1].base.start or (
            pair[0].is_local is pair[1].is_local
        ):
            continue
        sides = [
            (base[one.base], local[one.local] if one.is_local else remote[one.remote])
            for one in pair
        ]
        for (old, new), (before, after) in (sides, sides[::-1]):
            if len(new) > len(old) and not _are_edited(before, after):
                return True
    return False


def _are_edited(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether half of the words of each line or sentence are there still."""
    words = Counter(word for text in new for word in _words(text))
    for text in old:
        before = Counter(_words(text))
        found = before & words
        if 2 * found.total() < before.total():
            return False
        words -= found
    return True


def _chars(texts: Sequence[str]) -> int:
    return sum(len(text.strip()) for text in texts)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_prose(found: list[Kind], at: int) -> bool:
    return at < len(found) and found[at] is Kind.PROSE


def _keys(side: Sequence[Unit]) -> list[str]:
    return [unit.key for unit in side]


def _text(
    side: Sequence[Unit], base: Sequence[Unit] = (), other: Sequence[Unit] = ()
) -> str:
    """The units as they stand; one in another's place gets the newest white space."""
    if len(side) == len(base) == len(other):
        tails = [
            one.tail if one.tail != old.tail else new.tail
            for one, old, new in zip(side, base, other, strict=True)
        ]
    else:
        tails = [unit.tail for unit in side]
    return "".join(unit.text + tail for unit, tail in zip(side, tails, strict=True))


def _rewrapped(base: Unit, local: Unit, remote: Unit) -> str:
    """A sentence that nobody changed, as it was wrapped last."""
    text = remote.text if local.text == base.text else local.text
    tail = remote.tail if local.tail == base.tail else local.tail
    return text + tail


def _merge_rows(base: Unit, local: Unit, remote: Unit) -> str | None:
    """A table row of which the sides changed cells that are not neighbours."""
    rows = [cells(unit.text) for unit in (base, local, remote)]
    is_row = all(unit.text.lstrip().startswith("|") for unit in (base, local, remote))
    if not is_row or len({len(row) for row in rows}) != 1:
        return None
    merged: list[str] = []
    before = (False, False)
    for old, mine, theirs in zip(*rows, strict=True):
        was, here, there = map(cell_text, (old, mine, theirs))
        changed, is_agreed = (here != was, there != was), here == there
        if all(changed) and not is_agreed:
            return None
        if not is_agreed and any(
            now and then for now, then in zip(changed, before[::-1], strict=True)
        ):
            return None
        merged.append(mine if changed[0] or not changed[1] else theirs)
        before = (False, False) if is_agreed else changed
    return "".join(merged) + local.tail


def _trimmed(
    local: list[T], remote: list[T]
) -> tuple[list[T], list[T], list[T], list[T]]:
    """What both start with, what differs on each side, what both end with."""
    shortest = min(len(local), len(remote))
    head = 0
    while head < shortest and local[head] == remote[head]:
        head += 1
    tail = 0
    while tail < shortest - head and local[-1 - tail] == remote[-1 - tail]:
        tail += 1
    ends = len(local) - tail, len(remote) - tail
    return (
        local[:head],
        local[head : ends[0]],
        remote[head : ends[1]],
        local[ends[0] :],
    )


# -- soundness ---------------------------------------------------------------------


def _counted(lines: list[str], page_format: Format) -> Counter[str]:
    """How often each sentence, cell and line is there."""
    counts: Counter[str] = Counter()
    for unit in units(lines, kinds(lines, page_format)):
        if unit.text.lstrip().startswith("|"):
            counts.update(map(cell_text, cells(unit.text)))
        else:
            counts[unit.key] += 1
    return counts


def _is_sound(
    base: Counter[str], local: Counter[str], remote: Counter[str], merged: Counter[str]
) -> bool:
    """Whether what a side added is there, and what one side removed is not.

    By number of occurrences, so it knows nothing of places: what both sides did
    alike may count once or twice.
    """
    differing = (base.items() ^ side.items() for side in (local, remote, merged))
    for line in {line for pairs in differing for line, _ in pairs}:
        old, now = base[line], merged[line]
        mine, theirs = local[line] - old, remote[line] - old
        added, removed = (
            sorted((max(mine, 0), max(theirs, 0))),
            sorted((max(-mine, 0), max(-theirs, 0))),
        )
        least = old + added[1] - sum(removed)
        most = old + sum(added) - removed[1]
        if not least <= now <= most:
            return False
    return True


# -- lines -------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    """Lines with their ends; the last one gets an end too."""
    lines = text.split("\n")
    last = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, f"{last}\n"] if last else ended


def _numbered(
    base: list[str], local: list[str], remote: list[str]
) -> tuple[list[int], list[int], list[int]]:
    """Equal lines as equal small numbers, which compare faster."""
    numbers: dict[str, int] = {}
    first, second, third = (
        [numbers.setdefault(line, len(numbers)) for line in lines]
        for lines in (base, local, remote)
    )
    return first, second, third


def _crlf(piece: Piece) -> Piece:
    if isinstance(piece, str):
        return piece.replace("\n", "\r\n")
    base, local, remote = (
        text.replace("\n", "\r\n") for text in (piece.base, piece.local, piece.remote)
    )
    return Clash(base, local, remote)
