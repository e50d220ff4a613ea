"""What a line of an Org page starts; the level of the grammar below blocks.  Pure."""

import re

from msgspec import Struct

BLANK = re.compile(r"^\s*$")
BEGIN = re.compile(r"^\s*#\+begin_(\S+)(?:\s+(.*?))?\s*$", re.IGNORECASE)
LOOSE = re.compile(r"^\s*#\+(?:begin:|end:|end_\S)", re.IGNORECASE)
"""The frame of a dynamic block, or the end of a block that has no beginning."""
KEYWORD = re.compile(
    r"^\s*#\+([A-Za-z_]+)(?:(?<=caption|results)\[[^\]]*\])?:\s*(.*?)\s*$",
    re.IGNORECASE,
)
COMMENT = re.compile(r"^\s*#(?:\s|$)")
DRAWER = re.compile(r"^\s*:([\w@#%-]+):\s*$")
PLANNING = re.compile(r"^\s*(?:CLOSED|DEADLINE|SCHEDULED|CLOCK):\s")
TABLE = re.compile(r"^\s*\|")
FIXED = re.compile(r"^\s*:(?: (.*)|)$")
RULE = re.compile(r"^\s*-{5,}\s*$")
ITEM = re.compile(r"^(\s*)([-+]|\s\*|[0-9]+[.)]|[A-Za-z][.)])(?:[ \t]+|$)(.*)$")
LATEX = re.compile(
    r"^\s*\\begin\{((?:align|alignat|cases|displaymath|eqnarray|equation|flalign"
    r"|gather|math|[bBpvV]?matrix|multline|split|subequations)\*?)\}"
)
"""An environment of formulas; the others lay out a text, which stays as it is."""
HEADLINE = re.compile(r"^(\*+)[ \t]+(.*)$")
LITERAL_BLOCKS = frozenset({"src", "example", "export", "comment", "html"})
TAB_STOP = 8


class Item(Struct, frozen=True):
    """The first line of a list item."""

    indent: int
    """Column of the bullet."""
    kind: str
    """The list's tag: ``ul``, ``ol`` or ``dl``."""
    text: str
    term: str = ""


def indent_of(line: str) -> int:
    """Column of the first character that is no white space."""
    if "\t" in line:
        line = line.expandtabs(TAB_STOP)
    return len(line) - len(line.lstrip())


def read_item(line: str) -> Item | None:
    """The list item that a line starts."""
    found = ITEM.match(line)
    if found is None:
        return None
    bullet, text = found[2].strip(), found[3]
    indent = indent_of(line)
    if bullet[0].isalnum():
        return Item(indent, "ol", text) if bullet[0].isdigit() else None
    term, marker, description = f" {text} ".rpartition(" :: ")
    if marker:
        return Item(indent, "dl", description.strip(), term.strip() or "???")
    return Item(indent, "ul", text)


def starts_element(line: str) -> bool:
    """Whether a line cannot go on with a paragraph."""
    first = line.lstrip()[:1]
    if not first:
        return True
    if first == "#":
        return bool(
            BEGIN.match(line)
            or KEYWORD.match(line)
            or COMMENT.match(line)
            or LOOSE.match(line)
        )
    if first == ":":
        return bool(FIXED.match(line) or DRAWER.match(line))
    if first == "|":
        return True
    if first in "-+*0123456789":
        return bool(RULE.match(line) or read_item(line))
    if first in "CDS":
        return bool(PLANNING.match(line))
    return first == "\\" and bool(LATEX.match(line))
