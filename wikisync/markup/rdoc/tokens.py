"""Lines of an RDoc page to tokens with their columns.  Pure.

A column is an offset in the line, counted in characters.  Only the space
indents; a tab is text.  After the marker of a list item the same line goes on
being read, so ``* 1. x`` is two markers and a text.
"""

import re
from enum import Enum, auto

from msgspec import Struct

MARKERS_MAX = 60
"""List markers on one line; what follows is text."""

HEADING = re.compile(r"(=+)(\s*)")
RULE = re.compile(r"-{3,} *$")
BULLET = re.compile(r"[*-] +(?=\S)")
ORDERED = re.compile(r"(?:([0-9]+)|([a-z])|[A-Z])\. +(?=\S)")
LABEL_END = re.compile(r"\](?: +|$)")
NOTE_END = re.compile(r"::(?: +|$)")
QUOTE = re.compile(r">>> *\S*$")


class Kind(Enum):
    """What a token is; each list marker is a type of list of its own."""

    HEADING = auto()
    RULE = auto()
    BULLET = auto()
    NUMBER = auto()
    LOWER = auto()
    UPPER = auto()
    LABEL = auto()
    NOTE = auto()
    QUOTE = auto()
    TEXT = auto()
    BREAK = auto()
    NEWLINE = auto()


LISTS = frozenset(
    {Kind.BULLET, Kind.NUMBER, Kind.LOWER, Kind.UPPER, Kind.LABEL, Kind.NOTE}
)


class Token(Struct):
    """A piece of a line; not frozen, since that doubles the cost of making one."""

    kind: Kind
    column: int
    line: int
    text: str = ""
    """Of a label, a heading or a text; else empty."""
    level: int = 0


def read_tokens(lines: list[str]) -> list[Token]:
    """All tokens of a page, each line closed by a NEWLINE."""
    tokens: list[Token] = []
    number = 0
    while number < len(lines):
        number = read_line(lines, number, tokens)
    return tokens


def read_line(lines: list[str], number: int, tokens: list[Token]) -> int:
    """Append the tokens of one line; gives the number of the next line to read."""
    line = lines[number]
    column = len(line) - len(line.lstrip(" "))
    for _ in range(MARKERS_MAX):
        found = read_marker(line, column, number)
        if found is None:
            break
        token, column = found
        tokens.append(token)
        column += len(line) - column - len(line[column:].lstrip(" "))
    first = line[column : column + 1]
    if first == "=" and (heading := HEADING.match(line, column)):
        return read_heading(lines, number, heading, tokens)
    if first == "-" and RULE.match(line, column):
        tokens.append(Token(Kind.RULE, column, number))
    elif first == ">" and QUOTE.match(line, column):
        tokens.append(Token(Kind.QUOTE, column, number))
    elif column < len(line):
        text = line[column:]
        is_broken = text.endswith("  ")
        tokens.append(Token(Kind.TEXT, column, number, text.removesuffix("  ")))
        if is_broken:
            tokens.append(Token(Kind.BREAK, len(line) - 2, number))
    tokens.append(Token(Kind.NEWLINE, len(line), number))
    return number + 1


def read_heading(
    lines: list[str], number: int, heading: re.Match[str], tokens: list[Token]
) -> int:
    """A heading; blanks alone behind its marks take the next line as its text.

    An empty line in between leaves the heading empty.
    """
    line, start = lines[number], heading.end()
    if heading[2] and start == len(line):
        following = number + 1
        while following < len(lines) and lines[following].isspace():
            following += 1
        if following < len(lines) and lines[following]:
            number = following
            line, start = lines[number].lstrip(), 0
    level = len(heading[1])
    column = heading.start()
    tokens.append(Token(Kind.HEADING, column, number, line[start:].rstrip(), level))
    tokens.append(Token(Kind.NEWLINE, len(line), number))
    return number + 1


def read_marker(line: str, column: int, number: int) -> tuple[Token, int] | None:
    """A list marker at a column, and where the line goes on behind it."""
    first = line[column : column + 1]
    # Headings and rules come first in the grammar.
    if first == "=" or (first == "-" and RULE.match(line, column)):
        return None
    if first in "*-" and (found := BULLET.match(line, column)):
        return Token(Kind.BULLET, column, number), found.end()
    if first.isalnum() and (found := ORDERED.match(line, column)):
        kind = Kind.NUMBER if found[1] else Kind.LOWER if found[2] else Kind.UPPER
        return Token(kind, column, number), found.end()
    if first == "[":
        end = LABEL_END.search(line, column + 1)
        if end is not None:
            text = line[column + 1 : end.start()]
            return Token(Kind.LABEL, column, number, text), end.end()
    if "::" in line and (end := NOTE_END.search(line, column + 1)):
        return Token(Kind.NOTE, column, number, line[column : end.start()]), end.end()
    return None
