"""Other targets for a page's links, in its source and nowhere else.  Pure.

Where a target stands in a source is known by no parser of the four formats.  So
every place where it is written is tried: each gets a name that stands nowhere, the
page is parsed, and a place is a link's if its new name comes out as a link's target.
Code, comments and plain words that look like the target stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions
from wikisync.model import Page

PLACES_MAX = 2_000
"""Places tried in one page; a page with more of them is left as it is."""

_PLAIN = MarkupOptions(math="source", highlight=False, emoji=False, anchors=False)
_PROBE = "wikisync-probe-{:04d}-x"
_NAME = r"[\w%+@~-]"


def link_targets(page: Page) -> tuple[str, ...]:
    """Where the page's links, pictures and media lead, as its source writes it."""
    parsed = parse_page(page, _PLAIN)
    written: dict[str, None] = {}
    for ref in parsed.refs:
        # a parser gives addresses percent-encoded, as a browser wants them; one
        # page may write the same address both ways
        plain = unquote(ref.href)
        spellings = [one for one in (ref.href, plain) if one in page.content]
        written |= dict.fromkeys(spellings or [plain])
    return tuple(written)


def retarget(page: Page, targets: Mapping[str, str]) -> str:
    """The page's source with other targets for some of its links.

    Args:
        page: The page.
        targets: Target as the source writes it, to what is to stand there.
    """
    places = list(_places(page.content, targets))
    if not places or len(places) > PLACES_MAX:
        return page.content
    probes = {
        _PROBE.format(number) + _extension(old): (start, old)
        for number, (start, old) in enumerate(places)
    }
    probed = _replaced(
        page.content,
        {start: (old, probe) for probe, (start, old) in probes.items()},
    )
    found = {
        probe
        for target in link_targets(Page(page.slug, page.format, probed))
        for probe in probes
        if probe in target
    }
    return _replaced(
        page.content,
        {
            probes[probe][0]: (old, targets[old])
            for probe in found
            for old in [probes[probe][1]]
        },
    )


def _places(source: str, targets: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Every place where a target is written, the longest target first."""
    if not targets:
        return
    ordered = sorted(targets, key=len, reverse=True)
    any_of = "|".join(map(re.escape, ordered))
    pattern = re.compile(rf"(?<!{_NAME})(?<!{_NAME}[/.])(?:{any_of})(?!\.?{_NAME}|/)")
    for match in pattern.finditer(source):
        yield match.start(), match.group()


def _replaced(source: str, changes: Mapping[int, tuple[str, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start in sorted(changes):
        old, new = changes[start]
        parts += [source[done:start], new]
        done = start + len(old)
    return "".join([*parts, source[done:]])


def _extension(target: str) -> str:
    """A picture's probe must be a picture's name, or it is no picture any more."""
    name = target.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name else ""
