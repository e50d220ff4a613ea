"""Make raw HTML harmless for the sanitiser's parser: no deep nests, no odd modes.

Pure and linear.  The HTML parser behind the sanitiser takes time that is square
in the nesting depth (100,000 nested ``<div>`` cost more than 15 s) and in the
attributes of a tag (100,000 cost 10 s), and elements that switch its mode (``svg``,
``select``, ``xmp``) are what mutation attacks are made of.  So before sanitising,
those get names that switch nothing, start tags beyond a depth are dropped, and so
are attributes beyond a number; their text stays.

The depth counted here is never smaller than the parser's: an end tag counts only
if it closes exactly the innermost element, everything else stays open.
"""

from __future__ import annotations

import re

TAGS_UNCOUNTED_MAX = 1_000
"""A page with fewer tags than that cannot be deep enough to cost anything."""
DEPTH_MAX = 200
"""Open elements; a list in a list takes two."""
FORMATTING_DEPTH_MAX = 24
"""Open ``<b>`` and the like, which the parser opens anew in every paragraph."""

ATTRIBUTES_MAX = 200
"""Of one tag; the rest is dropped."""
TAG_CHARS_MIN = 2 * ATTRIBUTES_MAX
"""A shorter tag cannot have more attributes than that."""

VOID = frozenset(
    [
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr"),
        *("image", "img", "input", "keygen", "link", "meta", "param", "source"),
        *("track", "wbr"),
    ]
)
IMPLIED = frozenset(
    [
        *("p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot"),
        *("option", "optgroup", "rp", "rt", "rb", "rtc", "colgroup", "caption"),
    ]
)
"""Elements that the parser closes by itself; they never nest without another."""
FORMATTING = frozenset(
    [
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike"),
        *("strong", "tt", "u"),
    ]
)
BLOCK = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "details", "dialog"),
        *("dir", "div", "dl", "fieldset", "figcaption", "figure", "footer", "header"),
        *("main", "menu", "nav", "ol", "section", "summary", "table", "ul"),
    ]
)
"""Elements whose end tag also closes the implied ones left open inside."""

SPACE = r"[\t\n\f\r ]"
MODE_SWITCHES = re.compile(
    # most other elements differ in their first three letters; a list of names is slow
    r"<(/?)(?=[sSmMnNtTpPxXiIfFlL][vVeEaAoOiIlLmMfFrR][gGtTsSmMlLaApPeEfFrRxX])"
    r"((?i:svg|math|noscript|template|select|plaintext|xmp|noembed|noframes|iframe"
    rf"|frameset|textarea|title|listing))(?={SPACE}|[/>])"
)
MARKUP = re.compile(
    rf"""
    <(?:
      (?P<end>/?)(?P<name>[A-Za-z][^\t\n\f\r\ />]*+)
      (?:
        {SPACE}++ | /
        | [^\t\n\f\r\ />][^\t\n\f\r\ />=]*+
          (?:{SPACE}*+={SPACE}*+
            (?:"[^"]*+"|'[^']*+'|[^\t\n\f\r\ "'>][^\t\n\f\r\ >]*+)?
          )?
      )*+>
    | (?P<comment>!--)
    | [!?/][^>]*+>
    | (?P<broken>[A-Za-z!?/])
    )
    """,
    re.VERBOSE,
)
ATTRIBUTE = re.compile(
    rf"""
    (?:{SPACE}|/)*+
    [^\t\n\f\r\ />][^\t\n\f\r\ />=]*+
    (?:{SPACE}*+={SPACE}*+
      (?:"[^"]*+"|'[^']*+'|[^\t\n\f\r\ "'>][^\t\n\f\r\ >]*+)?
    )?
    """,
    re.VERBOSE,
)
LONG_TAG = re.compile(rf"<[A-Za-z/][^>]{{{TAG_CHARS_MIN}}}")
TAG_END_IN_VALUE = re.compile(rf"={SPACE}*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""One of the two is in every page that has such a tag, and in few others: ``>``
belongs to a tag in a quoted value alone.  One expression for both is slower than
two that begin with one character each."""
UNENDED_TAG = re.compile(r"</?[A-Za-z]")
LEAF = re.compile(
    rf"<([a-z][a-z0-9]*+)(?:{SPACE}++[a-z][a-z-]*+(?:=\"[^\"<>]*+\")?)*+{SPACE}*+>"
    r"[^<]*+</\1>"
)
"""Spelt so plainly that every parser reads the same in it."""
COMMENT_END = re.compile(r"--!?>")
RAW_TEXT_END = {
    name: re.compile(rf"</{name}(?={SPACE}|[/>])", re.IGNORECASE)
    for name in ("script", "style")
}


def tame(html: str) -> str:
    """HTML of a page that the sanitiser reads in time linear in its length."""
    html = MODE_SWITCHES.sub(r"<\1x-\2", html)
    return cap_tags(html) if may_be_costly(html) else html


def may_be_costly(html: str) -> bool:
    """Whether some tag may lie too deep, or have too many attributes."""
    if LONG_TAG.search(html) or TAG_END_IN_VALUE.search(html):
        return True
    if html.count("<") <= TAGS_UNCOUNTED_MAX:
        return False
    # an element that holds only text is closed where it is opened
    return LEAF.sub("", html).count("<") > TAGS_UNCOUNTED_MAX


def cap_tags(html: str) -> str:
    """Drop start tags that lie deeper than the limits, and attributes beyond theirs."""
    kept: list[str] = []
    start = 0
    nest = Nest()
    position = 0
    while (match := MARKUP.search(html, position)) is not None:
        end, name, comment, broken = match.groups()
        position = match.end()
        if comment:
            position = comment_end(html, position)
        elif broken:
            # a tag without an end swallows the rest of the page for the parser too
            if UNENDED_TAG.match(html, match.start()):
                kept.append(html[start : match.start()])
                start = len(html)
            break
        elif name is None:
            continue
        elif end:
            nest.close(name.lower())
            if (rest := attributes_end(html, match)) is not None:
                kept += (html[start:rest], ">")
                start = position
        elif not nest.open(name.lower()):
            kept.append(html[start : match.start()])
            start = position
        else:
            if (rest := attributes_end(html, match)) is not None:
                kept += (html[start:rest], ">")
                start = position
            if (raw_end := RAW_TEXT_END.get(name.lower())) is not None:
                found = raw_end.search(html, position)
                position = found.start() if found else len(html)
    kept.append(html[start:])
    return "".join(kept)


def attributes_end(html: str, tag: re.Match[str]) -> int | None:
    """Where the attributes that a tag keeps end; None where it keeps all."""
    if tag.end() - tag.start() <= TAG_CHARS_MIN:
        return None
    position = tag.end("name")
    for _ in range(ATTRIBUTES_MAX):
        found = ATTRIBUTE.match(html, position, tag.end())
        if found is None:
            return None
        position = found.end()
    return position


def comment_end(html: str, position: int) -> int:
    """Where a comment that starts before ``position`` ends, by the parser's rules."""
    if html.startswith(">", position):
        return position + 1
    if html.startswith("->", position):
        return position + 2
    found = COMMENT_END.search(html, position)
    return found.end() if found else len(html)


class Nest:
    """Open elements as one stack; implied ones hang on the element around them."""

    __slots__ = ("formatting", "frames")

    def __init__(self) -> None:
        self.frames: list[tuple[str, set[str]]] = [("", set())]
        self.formatting = 0

    def open(self, name: str) -> bool:
        """Count a start tag; False where it must go."""
        if name in VOID or name in RAW_TEXT_END:
            return True
        if name in IMPLIED:
            self.frames[-1][1].add(name)
            return True
        is_formatting = name in FORMATTING
        if len(self.frames) > DEPTH_MAX or (
            is_formatting and self.formatting >= FORMATTING_DEPTH_MAX
        ):
            return False
        self.formatting += is_formatting
        self.frames.append((name, set()))
        return True

    def close(self, name: str) -> None:
        """Count an end tag where it closes the innermost element."""
        top, implied = self.frames[-1]
        if name in implied:
            implied.discard(name)
        elif name == top and (not implied or name in BLOCK):
            self.frames.pop()
            self.formatting -= name in FORMATTING
