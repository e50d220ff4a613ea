"""A conflict as a text that a person edits: labelled blocks around what clashes.

Pure.  A conflict file is the merged page with, at each clash, the text on the wiki and
the text here between marker lines.  Saved without marker lines it is the page
(``docs/sync.md`` "Conflicts").  A marker line has no meaning in any of the four
formats, and a text that holds one is never sent to a wiki: ``has_marker`` is that
check.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

MARKER = "%%%% wikisync"
"""What every marker line holds and no other line may."""
NOTE = f"{MARKER}: save this file without marker lines, and it becomes the page %%%%"

_LABEL = re.compile(
    rf"{MARKER} conflict (?P<number>\d+) of (?P<count>\d+):"
    r" (?P<part>on the wiki|here|end)(?P<by>, .*)? %%%%\s*"
)

_GIT_LINE = re.compile(
    r"^(?:(?P<start><{7} .*)|(?P<middle>={7}[ \t\r]*)|(?P<end>>{7} .*))$", re.MULTILINE
)

Choice = Literal["mine", "wiki", "both"]
"""Whose text stands where they clash; ``both`` is the wiki's, then mine."""


class Clash(Struct, frozen=True):
    """A part of a page that both sides changed in ways that do not go together."""

    base: str
    local: str
    remote: str


Piece: TypeAlias = str | Clash
"""A text that is settled, or a clash."""


class MergedText(Struct, frozen=True):
    """A page in pieces: as ``merge`` made it, or as a conflict file says it."""

    pieces: tuple[Piece, ...]
    """Settled texts and clashes; read from a file, a clash has no base."""
    problem: str = ""
    """Why the marker lines of a file make no sense any more, or empty."""

    @property
    def text(self) -> str | None:
        """The page, or None while a clash or a stray marker line is left."""
        if self.problem or any(isinstance(piece, Clash) for piece in self.pieces):
            return None
        return "".join(piece for piece in self.pieces if isinstance(piece, str))


def has_marker(text: str) -> bool:
    """Whether a text holds a marker line and so must not be sent to a wiki."""
    return MARKER in text


def git_conflicts(text: str) -> Counter[tuple[str, str]]:
    """Conflicts that git wrote into a text: how often each first and last line.

    All three marker lines have to be there, for one alone is a heading, or a quote.
    """
    found: Counter[tuple[str, str]] = Counter()
    if "<<<<<<< " not in text:
        return found
    start, has_middle = "", False
    for line in _GIT_LINE.finditer(text):
        if line["start"]:
            start, has_middle = line["start"].rstrip(), False
        elif line["middle"]:
            has_middle = bool(start)
        elif has_middle:
            found[start, line["end"].rstrip()] += 1
            start, has_middle = "", False
    return found


def write_conflict_file(pieces: Sequence[Piece], *, remote_by: str = "") -> str:
    """The conflict file's file."""
    count = sum(isinstance(piece, Clash) for piece in pieces)
    by = f", {' '.join(remote_by.replace('%', '').split())}" if remote_by else ""
    parts = [f"{NOTE}\n"]
    number = 0
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(_whole_lines(piece))
            continue
        number += 1
        label = f"{MARKER} conflict {number} of {count}:"
        parts += [
            f"{label} on the wiki{by} %%%%\n",
            _whole_lines(piece.remote),
            f"{label} here %%%%\n",
            _whole_lines(piece.local),
            f"{label} end %%%%\n",
        ]
    return "".join(parts)


def read_conflict_file(text: str) -> MergedText:
    """Read a conflict file back, after whatever a person did to it.

    The note in the first line may stay.  Blocks may be gone; a block that is left
    must be whole, and its two texts may be edited.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        problem = reader.take(line)
        if problem:
            return MergedText(reader.pieces(), f"line {number}: {problem}")
    if reader.part != "end":
        return MergedText(reader.pieces(), "the last conflict has no end line")
    return MergedText(reader.pieces())


def resolved(pieces: Sequence[Piece], choice: Choice) -> str:
    """The page with every clash settled the same way."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        elif choice == "both":
            texts.append(_whole_lines(piece.remote) + piece.local)
        else:
            texts.append(piece.local if choice == "mine" else piece.remote)
    return "".join(texts)


class _Reader:
    """The state between two lines of a conflict file."""

    def __init__(self) -> None:
        self.part = "end"
        self._done: list[Piece] = []
        self._lines: dict[str, list[str]] = {"end": [], "on the wiki": [], "here": []}

    def take(self, line: str) -> str:
        """Take a line; returns what is wrong with it, or nothing."""
        if not has_marker(line):
            self._lines[self.part].append(line)
            return ""
        if line.strip() == NOTE:
            return ""
        label = _LABEL.fullmatch(line.strip())
        if label is None:
            return "a marker line that was changed"
        expected = {"end": "on the wiki", "on the wiki": "here", "here": "end"}
        part = label["part"]
        if part != expected[self.part]:
            return f'the line "{part}" stands where "{expected[self.part]}" belongs'
        if part == "on the wiki":
            self._settle()
        elif part == "end":
            remote, local = (self._text(name) for name in ("on the wiki", "here"))
            self._done.append(Clash("", local, remote))
        self.part = part
        return ""

    def _settle(self) -> None:
        if settled := self._text("end"):
            self._done.append(settled)

    def _text(self, part: str) -> str:
        lines, self._lines[part] = self._lines[part], []
        return "".join(lines)

    def pieces(self) -> tuple[Piece, ...]:
        if self.part == "end":
            self._settle()
        return tuple(self._done)


def _whole_lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
