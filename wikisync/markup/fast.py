"""comrak, the parser that the service itself uses, to the shape of our own engine.

Installed by the extra ``fast``; the service sets these options.  The parser gives
no signs of boxes (``- [~]`` is the same as ``- [x]``) but as positions in its source,
and they are read from there.
"""

from __future__ import annotations

import functools
import html as html_entities
import re
from collections.abc import Callable, Sequence

from wikisync.markup.context import MARKED_ESCAPES, SIGN
from wikisync.markup.tokens import escape

COLUMNS_UNCOUNTED_MAX = 64
"""A table with fewer columns cannot grow much by its missing cells."""
CELLS_MAX = 200_000
"""The parser fills every short row; a page of 11 KB can ask for two million cells."""
SQUARE_MAX = 500
"""More of what costs square time than any page that a person writes has."""
TICKED = 'checked="" disabled="" />'
BOX = '<input type="checkbox"'
ITEM = '<li class="task-list-item"'
ITEM_BOX = f'>{BOX} class="task-list-item-checkbox" {TICKED}'
CELL_BOX = f' class="task-list-item-checkbox" {TICKED}'
BEHIND_POSITION = (ITEM_BOX, CELL_BOX)
ITEM_START = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]*")
NEXT_LINE_START = re.compile(r"[ \t>]*")
SIGN_IN_BOX = re.compile(r"\[(&(?:[A-Za-z][A-Za-z0-9]*|#[0-9A-Fa-fXx]+);|.)\]")
OTHER_BOX = re.compile(r"\[(?:[^ \nxX\]]|&[A-Za-z0-9#]++;)\]")
"""What may be a box with another sign than ``x``."""
ITEM_BYTES_MAX = 256
"""A marker, a sign and the spaces between them are shorter."""
ESCAPED = "<span data-escaped-char>"
UNMARKED = re.compile(
    f"{ESCAPED}(?!(?:[{re.escape(''.join(MARKED_ESCAPES))}]|&amp;)<)"
    r"(&[a-z]{2,4};|[!-/:-@\[-`{-~])</span>"
)
POSITION = ' data-sourcepos="'
MAIL = re.compile(r"[A-Za-z0-9.+_-]@[A-Za-z0-9_-]++\.")
FENCED_ALERT = re.compile(r">>>[ \t]+\[!")
DELIMITER_ROW = re.compile(r"^[ \t>]*+[|:-][|:\- \t]*+$", re.MULTILINE)


def parse(source: str) -> str:
    """HTML of a markdown text, not yet safe; ``ImportError`` without the extra."""
    if OTHER_BOX.search(source):
        html = with_signs(renderer(with_positions=True)(source), Boxes(source))
    else:
        html = renderer()(source)
    # the parser marks every escaped character
    return UNMARKED.sub(r"\1", html) if "\\" in source and ESCAPED in html else html


def with_signs(html: str, boxes: Boxes) -> str:
    """What the parser gives, with the signs in boxes instead of its positions."""
    pieces = html.split(POSITION)
    before = pieces[0]
    out = [before]
    for piece in pieces[1:]:
        position, _, behind = piece.partition('"')
        if behind.startswith(BEHIND_POSITION):
            if before.endswith(ITEM):
                out.append(f">{BOX}{boxes.sign_of_item(position)}")
                behind = behind.removeprefix(f">{BOX}")
            elif before.endswith(BOX):
                out.append(attribute(SIGN_IN_BOX.match(boxes.text_at(position)[1])))
        out.append(behind)
        before = behind
    return "".join(out)


class Boxes:
    """The boxes of a text, by the parser's positions in it: line and byte, from 1."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines: Sequence[str] = ()
        self._bytes = (0, b"")

    def sign_of_item(self, position: str) -> str:
        """Attribute with the sign of the item that begins there, or nothing."""
        number, text = self.text_at(position)
        start = ITEM_START.match(text)
        if start is None:
            return ""
        rest = text[start.end() :]
        if not rest and number < len(self._lines):
            # a box may stand on the line below its item's marker
            rest = NEXT_LINE_START.sub("", self._lines[number], count=1)
        return attribute(SIGN_IN_BOX.match(rest))

    def text_at(self, position: str) -> tuple[int, str]:
        """Line and what stands there; line 0 for what is no position."""
        line, _, column = position.partition("-")[0].partition(":")
        if not (line.isdecimal() and column.isdecimal()):
            return 0, ""
        number, start = int(line[:9]), int(column[:9]) - 1
        self._lines = self._lines or self._source.split("\n")
        if not 0 < number <= len(self._lines):
            return 0, ""
        # all cells of one line would encode it again and again
        if self._bytes[0] != number:
            self._bytes = (number, self._lines[number - 1].encode("utf-8", "replace"))
        piece = self._bytes[1][start : start + ITEM_BYTES_MAX]
        return number, piece.decode("utf-8", "replace")


def attribute(box: re.Match[str] | None) -> str:
    """The sign in a box as an attribute; nothing for those that only tick it."""
    sign = html_entities.unescape(box[1]) if box else "x"
    return "" if sign in "xX" else f' {SIGN}="{escape(sign)}"'


@functools.cache
def is_installed() -> bool:
    """Whether the extra is there; asked once."""
    try:
        renderer()
    except ImportError:
        return False
    return True


def is_costly(source: str) -> bool:
    """Whether a page is of a kind that this parser takes far too long for.

    Its time is square in description items, in formulas, addresses and fenced alerts
    without an end, and in mail addresses; our own engine's is not.
    """
    # one character is counted in a third of the time of two, and missed in a tenth
    return (
        source.count(":") > SQUARE_MAX < source.count("\n:") + source.count("\n :")
        or ("$" in source and source.count("$`") - source.count("`$") > SQUARE_MAX)
        or ("<" in source and source.count("<") - source.count(">") > SQUARE_MAX)
        or ("!" in source and len(FENCED_ALERT.findall(source)) > SQUARE_MAX)
        or source.count("@") > SQUARE_MAX < len(MAIL.findall(source))
        or is_too_wide(source)
    )


def is_too_wide(source: str) -> bool:
    """Whether a table of the page could grow beyond all reason in this parser."""
    if "|" not in source or source.count("|") <= COLUMNS_UNCOUNTED_MAX:
        return False
    widest = max(
        (row[0].count("|") for row in DELIMITER_ROW.finditer(source)), default=0
    )
    if widest <= COLUMNS_UNCOUNTED_MAX:
        return False
    return widest * source.count("\n") > CELLS_MAX


@functools.cache
def renderer(*, with_positions: bool = False) -> Callable[[str], str]:
    """The parser with the service's options; raises ``ImportError``."""
    import comrak

    extensions = comrak.ExtensionOptions()
    for name in (
        *("alerts", "autolink", "cjk_friendly_emphasis", "description_lists"),
        *("footnotes", "math_code", "math_dollars", "multiline_block_quotes"),
        *("strikethrough", "table", "tasklist", "wikilinks_title_before_pipe"),
    ):
        setattr(extensions, name, True)
    reading = comrak.ParseOptions()
    for name in ("relaxed_autolinks", "relaxed_tasklist_matching", "tasklist_in_table"):
        setattr(reading, name, True)
    writing = comrak.RenderOptions()
    for name in (
        *("escaped_char_spans", "full_info_string", "github_pre_lang"),
        *("tasklist_classes", "unsafe_"),
    ):
        setattr(writing, name, True)
    writing.sourcepos = with_positions

    def render(source: str) -> str:
        html: str = comrak.render_markdown(source, extensions, reading, writing)
        return html

    return render
