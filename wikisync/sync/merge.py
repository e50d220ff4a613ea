"""Three-way merge of one page's text: by lines, then by words where lines clash.

Pure.  Nothing is ever guessed: a place clashes when both sides changed the same
line of the base, or the same word of it, and one clash holds the page.  Code and
table rows are never merged by words.  Whatever comes out clean is counted once
more by rules that know nothing of how it was made (``_is_sound``); a result that
fails them counts as a clash, so a fault in here holds a page and loses nothing.

Rules: ``sync.md`` 3.3.  The parts of a page that clash go to ``conflict``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from wikisync.model import Format
from wikisync.sync.conflict import Clash, Piece, has_marker
from wikisync.sync.diff import Change, changes

WORDS_MAX = 20_000
"""Tokens on one side of a clashing block beyond which words are not tried."""

_TOKEN = re.compile(
    r"\w+(?:[-./:@%~+#?&=\\]++\w+)*|\n|[^\S\n]+|[^\w\s]",
)
"""What is written without a space is one word: of two edits of a file's name, an
address, a date or a number no half may meet the other's."""


class Merge3(Struct, frozen=True):
    """The outcome of a merge."""

    pieces: tuple[Piece, ...]
    kept_both: int = 0
    """Places where both sides inserted and both texts stay, the wiki's first."""

    @property
    def text(self) -> str | None:
        """The merged page, or None where something clashes."""
        settled = [piece for piece in self.pieces if isinstance(piece, str)]
        return "".join(settled) if len(settled) == len(self.pieces) else None


def merge(
    base: str,
    local: str,
    remote: str,
    *,
    page_format: Format = Format.MARKDOWN,
    keeps_both: bool = True,
) -> Merge3:
    """Bring two edits of one text together.

    The folder's line ends win over the wiki's.  A side that holds a marker line is
    an unfinished conflict and clashes as a whole.

    Args:
        base: The text both sides last agreed on.
        local: The text here.
        remote: The text on the wiki.
        page_format: Says where code begins and ends.
        keeps_both: Keep both texts inserted at one place; False makes it a clash.
    """
    if has_marker(local) or has_marker(remote):
        return Merge3((Clash(base, local, remote),))
    if local in {base, remote}:
        return Merge3((remote,))
    if remote == base:
        return Merge3((local,))
    old, mine, theirs = (text.replace("\r\n", "\n") for text in (base, local, remote))
    merged = _Merging(old, mine, theirs, page_format, keeps_both).run()
    if local.count("\r\n") * 2 > local.count("\n"):
        merged = Merge3(tuple(map(_crlf, merged.pieces)), merged.kept_both)
    return merged


class _Region(Struct, frozen=True):
    """A range of the base that one side or both changed, and where it is now."""

    base: slice
    local: slice
    remote: slice
    is_local: bool
    """The local side changed it."""
    is_remote: bool


class _Lines(Struct):
    """Lines of the three texts that belong together, end-of-line included."""

    base: list[str] = field(default_factory=list)
    local: list[str] = field(default_factory=list)
    remote: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)


class _Merging:
    """One merge under way; every line ends with a line feed alone."""

    def __init__(
        self, base: str, local: str, remote: str, page_format: Format, keeps_both: bool
    ) -> None:
        self._texts = base, local, remote
        self._base, self._local, self._remote = map(_split, self._texts)
        self._format = page_format
        self._keeps_both = keeps_both
        self._code: tuple[list[bool], list[bool], list[bool]] | None = None
        self._pieces: list[Piece] = []
        self._settled: list[str] = []
        self._by_words: list[_Lines] = []
        self._kept_both = 0

    def run(self) -> Merge3:
        done = 0
        numbers = _numbered(self._base, self._local, self._remote)
        for region in _regions(*numbers, is_strict=False):
            self._settled += self._base[done : region.base.start]
            self._merge_region(region)
            done = region.base.stop
        self._settled += self._base[done:]
        return self._result()

    def _result(self) -> Merge3:
        if self._pieces:
            self._close()
            return Merge3(tuple(self._pieces), self._kept_both)
        text = "".join(self._settled)
        if has_marker(text) or not self._is_sound():
            return Merge3((Clash(*self._texts),))
        if not _ends_with_newline(*self._texts):
            text = text.removesuffix("\n")
        return Merge3((text,), self._kept_both)

    def _merge_region(self, region: _Region) -> None:
        local = self._local[region.local]
        remote = self._remote[region.remote]
        if not region.is_remote or local == remote:
            self._settled += local
        elif not region.is_local:
            self._settled += remote
        else:
            self._merge_clash(region, local, remote)

    def _merge_clash(
        self, region: _Region, local: list[str], remote: list[str]
    ) -> None:
        base = self._base[region.base]
        words = self._merged_words(region, base, local, remote)
        if words is not None:
            self._by_words.append(_Lines(base, local, remote, words))
            self._settled += words
            return
        head, local, remote, tail = _trimmed(local, remote)
        self._settled += head
        are_two = bool(local and remote)
        if not base and (self._keeps_both or not are_two):
            self._kept_both += are_two
            self._settled += remote + local
        else:
            self._close()
            clash = Clash("".join(base), "".join(local), "".join(remote))
            self._pieces.append(clash)
        self._settled += tail

    def _close(self) -> None:
        if self._settled:
            self._pieces.append("".join(self._settled))
            self._settled = []

    # -- words -------------------------------------------------------------------

    def _merged_words(
        self, region: _Region, base: list[str], local: list[str], remote: list[str]
    ) -> list[str] | None:
        if not base or self._is_code(region) or not _may_mix(base, local, remote):
            return None
        tokens = [_TOKEN.findall("".join(lines)) for lines in (base, local, remote)]
        if max(map(len, tokens)) > WORDS_MAX:
            return None
        merged = _merge_tokens(*tokens)
        return None if merged is None else _split("".join(merged))

    def _is_code(self, region: _Region) -> bool:
        if self._code is None:
            lines = (self._base, self._local, self._remote)
            base, local, remote = (code_lines(one, self._format) for one in lines)
            self._code = base, local, remote
        where = (region.base, region.local, region.remote)
        return any(
            any(flags[part]) for flags, part in zip(self._code, where, strict=True)
        )

    # -- the last look -----------------------------------------------------------

    def _is_sound(self) -> bool:
        whole = _Lines(self._base, self._local, self._remote, self._settled)
        counts = _counted(whole)
        for block in self._by_words:
            for count, part in zip(counts, _counted(block), strict=True):
                count.subtract(part)
        return _is_sound(*counts) and all(
            _is_sound(*_counted_words(block)) for block in self._by_words
        )


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
        start, end = _next_range(mine, i, theirs, j)
        first_i, first_j = i, j
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


def _next_range(
    mine: list[Change], i: int, theirs: list[Change], j: int
) -> tuple[int, int]:
    # an insertion at the start of a range comes before it: (5, 5) < (5, 7)
    return min(
        (side[at].old_start, side[at].old_end)
        for side, at in ((mine, i), (theirs, j))
        if at < len(side)
    )


def _touches(change: Change, start: int, end: int, is_strict: bool) -> bool:
    if is_strict:
        return change.old_start <= end
    if (change.old_start, change.old_end) == (start, end):
        return True
    return change.old_start < end


def _growth(change: Change) -> int:
    return (change.new_end - change.new_start) - (change.old_end - change.old_start)


def _merge_tokens(
    base: list[str], local: list[str], remote: list[str]
) -> list[str] | None:
    """All tokens merged, or None at the first clash."""
    merged: list[str] = []
    done = 0
    for region in _regions(*_numbered(base, local, remote), is_strict=True):
        mine, theirs = local[region.local], remote[region.remote]
        if region.is_local and region.is_remote and mine != theirs:
            return None
        merged += base[done : region.base.start]
        merged += mine if region.is_local else theirs
        done = region.base.stop
    return merged + base[done:]


def _may_mix(*sides: list[str]) -> bool:
    """Whether words of these lines may be merged: never across table rows.

    One row may have different cells changed by each side, as long as the block is
    that row alone and no side adds or removes a cell.
    """
    bars = [sum(line.count("|") for line in lines) for lines in sides]
    if not any(bars):
        return True
    return all(len(lines) == 1 for lines in sides) and len(set(bars)) == 1


def _trimmed(
    local: list[str], remote: list[str]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Lines that both start with, what differs on each side, lines both end with."""
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


def _counted(lines: _Lines) -> tuple[Counter[str], ...]:
    return tuple(
        Counter(part) for part in (lines.base, lines.local, lines.remote, lines.merged)
    )


def _counted_words(lines: _Lines) -> tuple[Counter[str], ...]:
    return tuple(
        Counter(_TOKEN.findall("".join(part)))
        for part in (lines.base, lines.local, lines.remote, lines.merged)
    )


def _is_sound(
    base: Counter[str],
    local: Counter[str],
    remote: Counter[str],
    merged: Counter[str],
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


# -- code --------------------------------------------------------------------------

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_ASCIIDOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|[|,:!]={3,}|```.*)\s*")
_ORG_BEGIN = re.compile(r"\s*#\+begin_(\w+)", re.IGNORECASE)
_ORG_END = re.compile(r"\s*#\+end_(\w+)", re.IGNORECASE)


def code_lines(lines: Sequence[str], page_format: Format) -> list[bool]:
    """For each line whether it is code, a fence, or front matter.

    Only good enough to be careful: a line too many makes a clash of a place that
    words could have settled.
    """
    flags: list[bool] = []
    closing = ""
    for number, line in enumerate(lines):
        if closing:
            flags.append(True)
            closing = "" if _closes(line, closing, page_format) else closing
            continue
        closing = _opening(line, page_format, is_first=number == 0)
        is_verbatim = page_format is Format.RDOC and line[:1] in {" ", "\t"}
        flags.append(bool(closing) or is_verbatim)
    return flags


def _opening(line: str, page_format: Format, *, is_first: bool) -> str:
    """What the line that ends this block looks like, or nothing."""
    if is_first and line.rstrip() in {"---", "+++", ";;;"}:
        return line.rstrip()
    if page_format is Format.ORG and (begun := _ORG_BEGIN.match(line)):
        return begun[1].lower()
    if page_format is Format.ASCIIDOC and _ASCIIDOC_FENCE.fullmatch(line):
        return "```" if line.startswith("```") else line.rstrip()
    if page_format is Format.MARKDOWN and (fence := _FENCE.match(line)):
        return fence["fence"]
    return ""


def _closes(line: str, closing: str, page_format: Format) -> bool:
    if page_format is Format.ORG and (ended := _ORG_END.match(line)):
        return ended[1].lower() == closing
    if closing[0] in "`~":
        text = line.strip()
        return text.startswith(closing) and not text.strip(closing[0])
    return line.rstrip() == closing


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


def _ends_with_newline(base: str, local: str, remote: str) -> bool:
    """The one side's way that differs from the base's, or that of them all."""
    mine, theirs = local.endswith("\n"), remote.endswith("\n")
    return theirs if mine == base.endswith("\n") else mine


def _crlf(piece: Piece) -> Piece:
    if isinstance(piece, str):
        return piece.replace("\n", "\r\n")
    base, local, remote = (
        text.replace("\n", "\r\n") for text in (piece.base, piece.local, piece.remote)
    )
    return Clash(base, local, remote)
