"""RDoc pages to HTML, as the service shows them: the tree is written as it is read.

Rules: RDoc's own markup reference and the output of rdoc 6.6 to 6.17.  Where the
service's page would only show a fault of that output we differ: headings carry
no arrows, badges (``{<img src=..>}[url]``) are image links, marks nest properly,
no link stands inside a link, and relative links mean pages of the wiki.

One rule makes the tree: a block is read at a column.  What stands left of it
ends the block, what stands right of it is verbatim.
"""

import re
from enum import Enum, auto

from msgspec import Struct

from wikisync.markup.context import ParseContext
from wikisync.markup.rdoc.inline import inline_html
from wikisync.markup.tokens import escape_marks as escape

# -- tokens ----------------------------------------------------------------------
#
# A column counts characters.  Only the space indents; a tab is text.  After the marker
# of a list item the same line goes on, so ``* 1. x`` is two markers and a text.


MARKERS_MAX = 60
"""List markers on one line; what follows is text."""

HEADING = re.compile(r"(=+)(\s*)")
RULE = re.compile(r"-{3,} *$")
BULLET = re.compile(r"[*-] +(?=\S)")
ORDERED = re.compile(r"(?:([0-9]+)|([a-z])|[A-Z])\. +(?=\S)")
LABEL_END = re.compile(r"\](?: +|$)")
NOTE_END = re.compile(r"::(?: +|$)")
QUOTE = re.compile(r">>> *\w*$", re.ASCII)


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


LIST_TAGS = {
    Kind.BULLET: ("<ul>", "</ul>"),
    Kind.NUMBER: ("<ol>", "</ol>"),
    Kind.LOWER: ('<ol type="a">', "</ol>"),
    Kind.UPPER: ('<ol type="A">', "</ol>"),
    Kind.LABEL: ("<dl>", "</dl>"),
    Kind.NOTE: ("<dl>", "</dl>"),
}


class Token(Struct):
    """A piece of a line; not frozen, since that doubles the cost of making one."""

    kind: Kind
    column: int
    line: int
    text: str = ""
    """Of a label, a heading or a text; else empty."""
    level: int = 0


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
    """A heading; blanks alone behind its marks take the next line as its text."""
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


# -- the page ---------------------------------------------------------------------

DEPTH_MAX = 80
"""Lists and quotes inside each other; deeper ones are shown as text."""
LEVELS_MAX = 6
"""Of headings; more marks are as many."""


def to_html(source: str, _context: ParseContext) -> str:
    """HTML of an RDoc page, not yet safe; linear in the length of ``source``."""
    reader = _Reader(source.split("\n"))
    while reader.peek() is not None:
        reader.read_blocks(0, 0)
        # A quote that is cut off by the depth leaves what stands left of it.
        if (token := reader.peek()) is not None:
            reader.at += 1
            if token.text:
                reader.html.append(f"<p>{inline_html(token.text)}</p>")
    return "\n".join(reader.html) + "\n" if reader.html else ""


class _Reader:
    """A position in the tokens, and the HTML written so far."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.tokens: list[Token] = []
        """Of the whole page, each line closed by a NEWLINE."""
        number = 0
        while number < len(lines):
            number = read_line(lines, number, self.tokens)
        self.at = 0
        self.html: list[str] = []

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def skip_newline(self) -> None:
        token = self.peek()
        if token is not None and token.kind is Kind.NEWLINE:
            self.at += 1

    def read_blocks(self, indent: int, depth: int) -> None:
        """Blocks at a column, up to a token left of it."""
        while (token := self.peek()) is not None:
            if token.kind is Kind.NEWLINE:
                self.at += 1
            elif token.kind is Kind.BREAK:
                self.at += 1
                self.skip_newline()
            elif token.column < indent:
                return
            elif token.column > indent:
                self.read_verbatim(indent)
            elif token.kind is Kind.TEXT or depth >= DEPTH_MAX:
                self.read_paragraph(indent, depth)
            elif token.kind in LIST_TAGS:
                self.read_list(indent, depth)
            elif token.kind is Kind.QUOTE:
                self.read_quote(depth)
            elif token.kind is Kind.RULE:
                self.at += 1
                self.html.append("<hr>")
            else:
                self.at += 1
                level = min(token.level, LEVELS_MAX)
                self.html.append(f"<h{level}>{inline_html(token.text)}</h{level}>")

    def read_paragraph(self, indent: int, depth: int) -> None:
        """Texts at one column on lines that follow each other."""
        texts: list[str] = []
        while (token := self.peek()) is not None and token.column == indent:
            if token.kind is Kind.NEWLINE or (
                token.kind is not Kind.TEXT and depth < DEPTH_MAX
            ):
                break
            if token.kind is Kind.TEXT:
                texts.append(token.text)
                self.at += 1
            else:
                texts.append(self.lines[token.line][token.column :])
                self.skip_line(token.line)
            following = self.peek()
            if following is None or following.kind is Kind.BREAK:
                break
            self.skip_newline()
        self.html.append(f"<p>{inline_html(join_lines(texts))}</p>")

    def skip_line(self, number: int) -> None:
        """Go to the NEWLINE of a line."""
        while (token := self.peek()) is not None and (
            token.line == number and token.kind is not Kind.NEWLINE
        ):
            self.at += 1

    def read_verbatim(self, indent: int) -> None:
        """Lines that are blank or stand right of a column, just as they are."""
        kept: list[str] = []
        margin: int | None = None
        while (token := self.peek()) is not None:
            if token.kind is Kind.NEWLINE:
                kept.append("")
            elif token.column <= indent:
                break
            else:
                line = self.lines[token.line]
                if token.kind is Kind.HEADING and line[token.column :][:1] != "=":
                    # Its text stands on the line behind its marks.
                    line = f"{' ' * token.column}{'=' * token.level}  {token.text}"
                kept.append(line)
                margin = token.column if margin is None else min(margin, token.column)
                self.skip_line(token.line)
            self.skip_newline()
        text = "\n".join(_single_blanks([line[margin:] for line in kept]))
        self.html.append(f"<pre>{escape(text.rstrip())}\n</pre>")

    def read_quote(self, depth: int) -> None:
        """A quote; its column is that of whatever follows its line."""
        self.at += 1
        self.skip_newline()
        self.html.append("<blockquote>")
        following = self.peek()
        if following is not None:
            self.read_blocks(following.column, depth + 1)
        self.html.append("</blockquote>")

    def read_list(self, margin: int, depth: int) -> None:
        """Items of one type that start at the margin or right of it."""
        first = self.tokens[self.at]
        opened, closed = LIST_TAGS[first.kind]
        self.html.append(opened)
        while (token := self.peek()) is not None:
            if token.kind is not first.kind or token.column < margin:
                break
            self.at += 1
            if token.kind in {Kind.LABEL, Kind.NOTE}:
                self.html.append(f"<dt>{inline_html(token.text)}</dt>")
                self.read_description(token.kind, margin, depth)
            else:
                self.read_item("<li>", "</li>", depth)
        self.html.append(closed)

    def read_description(self, kind: Kind, margin: int, depth: int) -> None:
        """What a label says; labels that follow each other share it."""
        following = self.peek()
        is_alone = following is not None and following.kind is Kind.NEWLINE
        while following is not None and following.kind is Kind.NEWLINE:
            self.at += 1
            following = self.peek()
        is_empty = following is None or following.column < margin
        if is_alone and following is not None and following.column == margin:
            if following.kind is kind:
                return
            is_empty = following.kind in LIST_TAGS
        if is_empty:
            self.html.append("<dd></dd>")
        else:
            self.read_item("<dd>", "</dd>", depth)

    def read_item(self, opened: str, closed: str, depth: int) -> None:
        """Blocks at the column of the first token behind a marker."""
        self.html.append(opened)
        token = self.peek()
        if token is not None:
            self.read_blocks(token.column, depth + 1)
        self.html.append(closed)


def join_lines(texts: list[str]) -> str:
    """Lines of a paragraph in one: with a space, but in scripts that write none."""
    pieces: list[str] = []
    for text in texts:
        pieces.append(text.rstrip(" "))
        last = text[-1:]
        has_case = last.isupper() or last.islower()
        if last.isascii() or last.isdecimal() or has_case or last in "‿⁀⁔︳︴﹍﹎﹏＿":
            pieces.append(" ")
    return "".join(pieces).strip(" ")


def _single_blanks(lines: list[str]) -> list[str]:
    """Lines with each run of blank ones made one."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return kept
