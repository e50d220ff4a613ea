"""On which line of its page a link stands.  Pure and linear.

A link is searched for in the source as it is written there: of several with one
address the n-th stands at the n-th place of the address.  Where there are too many
places, those in code do not count, then those in the texts of links.  A link has a line
only where there are as many places as links: no line is better than a wrong one.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import unquote

from wikisync.markup.record import LinkRef

SEARCHED_CHARS_MAX = 20_000_000
"""All searches of a page together; a page with very many links gets fewer lines."""
FOUND_MAX = 200
"""An address that stands in more positions is searched for no further."""
BEFORE = frozenset("([{<\"'=|: \t\n")
BEHIND = frozenset(")]}>\"'|#,[ \t\n")
CODE = re.compile(
    r"(?<!`)(`{1,9})(?!`).*?(?<!`)\1(?!`)|(?<!~)(~{3,9})(?!~).*?(?<!~)\2(?!~)",
    re.DOTALL,
)
"""In the formats that have such signs; in others it is seldom between two places."""
SIGNS = ("](", "](<", "]: ", "[[", "}[", ":", "<", '="', "='")
"""Before an address, and not before the text of a link that is its address."""


def lines_of(
    refs: Sequence[LinkRef], numbers: Collection[int], source: str
) -> Mapping[int, int]:
    """The lines of some links of a page, from 1, as far as its source shows them.

    Args:
        refs: All links of the page.
        numbers: Those whose lines are wanted.
        source: The page's text.
    """
    wanted = {written_address(refs[number]) for number in numbers}
    by_href: defaultdict[str, list[int]] = defaultdict(list)
    for number, ref in enumerate(refs):
        if (href := written_address(ref)) in wanted:
            by_href[href].append(number)
    found: dict[int, int] = {}
    budget = SEARCHED_CHARS_MAX
    ends = line_ends(source) if wanted else []
    # where code begins and, by turns, ends
    code = [at for one in CODE.finditer(source) for at in one.span()] if wanted else []
    for href, equal in by_href.items():
        budget -= len(source) if href else 0
        if budget < 0:
            break
        positions = positions_of(href, source)
        for narrowed in (
            positions,
            shown := [at for at in positions if bisect_right(code, at) % 2 == 0],
            [at for at in shown if source.endswith(SIGNS, max(at - 3, 0), at)],
        ):
            lines = [bisect_right(ends, position) + 1 for position in narrowed]
            if len(set(lines)) == 1:
                lines = lines[:1] * len(equal)
            if len(lines) == len(equal):
                found |= zip(equal, lines, strict=True)
                break
    return found


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
