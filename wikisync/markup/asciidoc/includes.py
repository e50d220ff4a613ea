"""What ``include::target[...]`` of a page brings in.  Pure.

A target is a page or text attachment of the same wiki, found by the
context; never a file, never a URL.  The limits are counted here, on the side of
the worker that a page cannot reach.
"""

import posixpath
import re

from msgspec import Struct

from wikisync.markup.context import Include

DEPTH_MAX = 3
"""Included pages inside included pages."""
COUNT_MAX = 32
"""Includes of one page, nested ones with them."""
CHARACTERS_MAX = 1 << 20
"""Of all that one page includes; more is as missing."""

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?![\w.:-]*\$)")
"""Of a URL; ``module:partial$name`` is a file of Antora."""
TAG_LINE = re.compile(r"\b(tag|end)::(\S+?)\[\](?=\s|$)")


class IncludeRequest(Struct, frozen=True):
    """One include directive, as the engine read it."""

    target: str
    includer: str
    """Path of the included page that holds the directive, empty for the page."""
    depth: int
    lines: str | None
    tags: str | None


class Included(Struct, frozen=True):
    """The answer; ``text`` is None where the directive cannot be resolved."""

    path: str
    text: str | None


class Inclusion:
    """The includes of one page while it is rendered: finds and counts them."""

    def __init__(self, include: Include) -> None:
        self._include = include
        self._count = 0
        self._characters = 0

    def resolve(self, request: IncludeRequest) -> Included:
        """The text of a directive, cut to the lines or tags it asks for."""
        path = join_target(request.includer, request.target)
        self._count += 1
        if path is None or request.depth >= DEPTH_MAX or self._count > COUNT_MAX:
            return Included(request.target, None)
        text = self._include(path)
        if text is not None:
            if request.lines:
                text = select_lines(text, request.lines)
            elif request.tags:
                text = select_tags(text, request.tags)
            self._characters += len(text)
        return Included(path, None if self._characters > CHARACTERS_MAX else text)


def join_target(includer: str, target: str) -> str | None:
    """A target seen from the page; None for a URL or nothing."""
    if not target or SCHEME.match(target):
        return None
    folder = posixpath.dirname(includer)
    return posixpath.normpath(posixpath.join(folder, target))


def select_lines(text: str, ranges: str) -> str:
    """Lines by number: ``1..3;7;10..-1`` (separated by commas or semicolons)."""
    kept: set[int] = set()
    all_lines = text.splitlines()
    for part in re.split(r"[,;]", ranges):
        first, dots, last = part.strip().partition("..")
        start = _number(first)
        end = start if not dots else _number(last)
        if end is None or end < 0:
            end = len(all_lines)
        if start is not None:
            kept.update(range(max(start, 1), min(end, len(all_lines)) + 1))
    return "\n".join(all_lines[number - 1] for number in sorted(kept))


def _number(text: str) -> int | None:
    digits = text.strip()
    # More digits than any page has lines would only cost time.
    return int(digits) if re.fullmatch(r"-?[0-9]{1,9}", digits) else None


def select_tags(text: str, tags: str) -> str:
    """Regions between ``tag::name[]`` and ``end::name[]`` lines.

    A name with ``!`` leaves its region out, ``*`` stands for every region not
    named and ``**`` for every line; lines that hold a tag are never kept.
    Source: AsciiDoc language documentation, "Include Content by Tagged Regions".
    """
    wanted: dict[str, bool] = {}
    for name in re.split(r"[,;]", tags):
        if name.strip().lstrip("!"):
            wanted[name.strip().removeprefix("!")] = not name.strip().startswith("!")
    if not wanted:
        return text
    outside, unnamed = _defaults(wanted)
    kept: list[str] = []
    open_tags: list[tuple[str, bool]] = []
    for line in text.splitlines():
        mark = TAG_LINE.search(line)
        if mark is None:
            if open_tags[-1][1] if open_tags else outside:
                kept.append(line)
        elif mark[1] == "tag":
            inherited = open_tags[-1][1] if open_tags else outside
            default = inherited if unnamed is None else unnamed
            open_tags.append((mark[2], wanted.get(mark[2], default)))
        elif any(name == mark[2] for name, _ in open_tags):
            while open_tags and open_tags.pop()[0] != mark[2]:
                pass
    return "\n".join(kept)


def _defaults(wanted: dict[str, bool]) -> tuple[bool, bool | None]:
    """Whether lines outside of tags, and regions not named, are kept."""
    names = list(wanted)
    every_line = wanted.pop("**", None)
    unnamed = wanted.pop("*", None)
    if every_line is not None:
        if unnamed is None and not every_line and not next(iter(wanted.values()), True):
            unnamed = True
        return every_line, unnamed
    if unnamed is not None:
        return names[0] == "*" and not unnamed, unnamed
    return True not in wanted.values(), None
