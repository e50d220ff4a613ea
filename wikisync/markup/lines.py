"""On which line of its page a link stands.  Pure and linear.

The markdown engines know the line of each link and picture that their own syntax
makes, and write it as ``data-line`` on the element (``LineMap`` turns a line of
what they read into one of the page).  Every other link - raw HTML, links with
spaces, the other formats - is searched for in the source as it is written there;
it gets a line only where no other position could be meant.  No line is better than
a wrong one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import msgspec

from wikisync.markup.record import LinkRef

ATTRIBUTE = "data-line"
SEARCHED_CHARS_MAX = 20_000_000
"""All searches of a page together; a page with very many links gets fewer lines."""
FOUND_MAX = 200
"""An address that stands in more positions is searched for no further."""
BEFORE = frozenset("([{<\"'=|: \t\n")
BEHIND = frozenset(")]}>\"'|#,[ \t\n")


class LineMap:
    """From a line of the text that a parser reads to a line of the page."""

    def __init__(self, first_line: int) -> None:
        """Make one.

        Args:
            first_line: line of the page where the text begins, from 1.
        """
        self._first = first_line
        self._starts = [1]
        """Lines of the text where a stretch begins, rising."""
        self._lines: list[tuple[int, bool]] = [(first_line, True)]
        """For each stretch the page's line where it begins, and whether the lines
        of the page go on with it: in an included text they do not."""

    def add_included(self, line: int, count: int) -> None:
        """Note that a line of the text before inclusion became several.

        Args:
            line: the directive's line, from 1, in the text as the page has it;
                directives come in their order.
            count: lines of what stands there now.
        """
        start = line + self._starts[-1] - self._lines[-1][0] + self._first - 1
        page_line = line + self._first - 1
        self._starts += [start, start + count]
        self._lines += [(page_line, False), (page_line + 1, True)]

    def line_of(self, line: int) -> int:
        """The page's line, from 1, for a line of the text, from 1."""
        position = bisect_right(self._starts, line) - 1
        page_line, goes_on = self._lines[position]
        return page_line + (line - self._starts[position] if goes_on else 0)


def located(refs: Sequence[LinkRef], source: str) -> tuple[LinkRef, ...]:
    """The links of a page with the lines that its source shows."""
    if all(ref.line for ref in refs):
        return tuple(refs)
    by_href: defaultdict[str, list[int]] = defaultdict(list)
    for number, ref in enumerate(refs):
        by_href[written_address(ref)].append(number)
    out = list(refs)
    budget = SEARCHED_CHARS_MAX
    ends: list[int] = []
    for href, numbers in by_href.items():
        if all(refs[number].line for number in numbers):
            continue
        budget -= len(source) if href else 0
        if budget < 0:
            break
        ends = ends or line_ends(source)
        lines = [
            bisect_right(ends, position) + 1 for position in positions_of(href, source)
        ]
        if len(set(lines)) == 1:
            lines = lines[:1] * len(numbers)
        if len(lines) != len(numbers):
            continue
        for number, line in zip(numbers, lines, strict=True):
            if not refs[number].line:
                out[number] = msgspec.structs.replace(refs[number], line=line)
    return tuple(out)


def written_address(ref: LinkRef) -> str:
    """What the source of a page says of where a link leads; empty for most references.

    Of references only those to pages can lead nowhere.
    """
    if ref.kind != "reference":
        return ref.href
    kind, _, name = ref.href.split(":", 2)
    return name if kind == "wiki_page" else ""


def line_ends(source: str) -> list[int]:
    """Positions of the line ends of a text."""
    ends: list[int] = []
    position = -1
    for line in source.split("\n"):
        position += len(line) + 1
        ends.append(position)
    return ends


def positions_of(href: str, source: str) -> list[int]:
    """Where an address stands between the signs that markup sets around one."""
    if not href:
        return []
    for form in dict.fromkeys(spellings(href)):
        positions = list(between_signs(form, source))
        if positions:
            return positions
    return []


def spellings(href: str) -> Iterable[str]:
    """How a source may write an address that a parser has given."""
    yield href
    if "%" in href:
        yield unquote(href)
    if "&" in href:
        yield href.replace("&", "&amp;")


def between_signs(form: str, source: str) -> Iterable[int]:
    """Positions of a spelling, up to a limit, that are no part of a longer word."""
    found = 0
    position = source.find(form)
    while position >= 0 and found < FOUND_MAX:
        found += 1
        end = position + len(form)
        if (position == 0 or source[position - 1] in BEFORE) and (
            end == len(source) or source[end] in BEHIND
        ):
            yield position
        position = source.find(form, end)
