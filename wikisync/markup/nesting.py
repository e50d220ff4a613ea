"""Make raw HTML harmless for the sanitiser's parser: no deep nests, no odd modes.

Pure and linear.  That parser takes time that is square in the nesting depth (100,000
nested ``<div>`` cost more than 15 s) and in the attributes of a tag (100,000 cost
10 s), and elements that switch its mode (``svg``, ``select``, ``xmp``) are what
mutation attacks are made of.  So those get names that switch nothing, and start tags
beyond a depth and attributes beyond a number are dropped; their text stays.  It also
ignores the slash of ``<a name="x"/>``, which the service's parser takes for an end.

``Nest`` opens and closes elements by the rules of HTML's tree construction
(https://html.spec.whatwg.org/multipage/parsing.html), so that a page that only
forgets end tags, or has them in another order, is not cut.
"""

import re
from collections.abc import Container
from typing import NamedTuple

from msgspec import Struct

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

TAG_CHARS_SHOWN = 60
"""As much of a tag is told that has no end."""
NOT_ENDED = "is not ended, so it is text"
TOO_DEEP = f"is dropped: {DEPTH_MAX} elements are open around it"
TOO_MANY_OPEN = f"closes another one: {FORMATTING_DEPTH_MAX} like it are open around it"
TOO_MANY_ATTRIBUTES = f"has more than {ATTRIBUTES_MAX} attributes; the others go"

VOID = frozenset(
    [
        *("area", "base", "basefont", "bgsound", "br", "embed", "frame", "hr"),
        *("image", "img", "input", "keygen", "link", "meta", "param", "source"),
        *("track", "wbr"),
    ]
)
FORMATTING = frozenset(
    [
        *("a", "b", "big", "code", "em", "font", "i", "s", "small", "strike"),
        *("strong", "tt", "u"),
    ]
)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCK = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "details", "dialog"),
        *("dir", "div", "dl", "fieldset", "figcaption", "figure", "footer", "header"),
        *("hgroup", "main", "menu", "nav", "ol", "pre", "section", "summary", "ul"),
    ]
)
"""Elements whose end tag closes all that is open inside."""
CELLS = frozenset({"td", "th", "caption"})
SECTIONS = frozenset({"tbody", "thead", "tfoot"})
TABLE_PARTS = CELLS | SECTIONS | {"tr", "col", "colgroup"}
TABLE = frozenset({"table"})
SCOPE = CELLS | TABLE
"""Elements that no end tag of an element around them closes."""
LISTS = frozenset({"ol", "ul"})
TERMS = frozenset({"dt", "dd"})
IMPLIED = TERMS | {"p", "li", "option"}
"""Elements that the parser closes by itself, most often."""
ENDS_P = BLOCK | HEADINGS | TERMS | {"p", "li", "table", "listing", "hr"}
SPECIAL = (BLOCK | HEADINGS | TERMS | SCOPE | TABLE_PARTS | {"p", "li", "listing"}) - {
    "dialog"
}
"""Elements that end tags of the ordinary ones stop at."""
BEHIND_ITEM = SPECIAL - {"address", "div", "p"}
"""Elements that keep the item around them open when another one begins."""
ODD = frozenset(
    [
        *("applet", "body", "button", "form", "head", "html", "marquee", "nobr"),
        *("object", "frameset", "search"),
    ]
)
"""Elements with rules of their own; the allow list has none of them."""
ADOPTIONS_MAX = 8
"""Of the parser: blocks in a formatting element that its end tag goes through."""

SPACE = r"[\t\n\f\r ]"
SWALLOWS = re.compile(
    r"""=[\t\n\f\r ]*+(?:"[^">]*+>[^"<]*+<[^"]*+"|'[^'>]*+>[^'<]*+<[^']*+')"""
    r"[^\t\n\f\r />]"
)
"""A quoted value with a text between tags in it and a letter right behind: the quote
was meant to begin another value, and that of the first one is missing."""
UNENDED_MAX = 20
"""Each costs a search through the rest of the page; what is behind is text."""

MODE_SWITCHES = re.compile(
    # most other elements differ in their first three letters; a list of names is slow
    r"<(/?)(?=[sSmMnNtTpPxXiIfFlL][vVeEaAoOiIlLmMfFrRcCtT][gGtTsSmMlLaApPeEfFrRxXyY])"
    r"((?i:script|style|svg|math|noscript|template|select|plaintext|xmp|noembed"
    rf"|noframes|iframe|frameset|textarea|title|listing))(?={SPACE}|[/>])"
)
MARKUP = re.compile(
    rf"""
    <(?:
      (?P<end>/?)(?P<name>[A-Za-z][^\t\n\f\r\ />]*+)
      (?>(?:  # without a value many at once: each time round takes memory
        [\t\n\f\r\ /]*+[^\t\n\f\r\ />](?>(?:[^=>]*[^\t\n\f\r\ />=])?)
        (?:{SPACE}*+={SPACE}*+
          (?:"[^"]*+"|'[^']*+'|[^\t\n\f\r\ "'>][^\t\n\f\r\ >]*+|(?=>))
        | (?!{SPACE}*+=)
        )
      )*)[\t\n\f\r\ /]*?(?P<closed>/?)>
    | (?P<comment>!--)
    | [!?/][^>]*+>
    | (?P<broken>[A-Za-z!?/])
    )
    """,
    re.VERBOSE,
)
ATTRIBUTE = re.compile(
    rf"""
    [\t\n\f\r\ /]*+
    [^\t\n\f\r\ />][^\t\n\f\r\ />=]*+
    (?:{SPACE}*+={SPACE}*+
      (?:"[^"]*+"|'[^']*+'|[^\t\n\f\r\ "'>][^\t\n\f\r\ >]*+)?
    )?
    """,
    re.VERBOSE,
)
LONG_TAG = re.compile(rf"<[A-Za-z/][^>]{{{TAG_CHARS_MIN}}}[^>]*+")
ATTRIBUTE_START = re.compile(r"[\s/\"']")
"""No attribute begins without one of these before it."""
TAG_END_IN_VALUE = re.compile(rf"={SPACE}*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""One of the two is in every page that has such a tag, and in few others: ``>``
belongs to a tag in a quoted value alone.  One expression for both is slower than
two that begin with one character each."""
LEAF = re.compile(
    rf"<([a-z][a-z0-9]*+)(?>(?:{SPACE}++[a-z][a-z-]*+(?:=\"[^\"<>]*+\")?)*){SPACE}*+>"
    r"[^<]*+</\1>"
)
PLAIN_TAG = re.compile(
    rf"<(?:(/?)([a-z][a-z0-9]*+)(?>(?:{SPACE}++[A-Za-z-]++"
    r"(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[A-Za-z0-9%#.:_-]++))?)*) *+/?>"
    r"|!--[^<>-]*+(?>(?:-(?!->)[^<>-]*+)*)-->)"
)
"""Both are spelt so plainly that every parser reads the same in them."""
COMMENT_END = re.compile(r"--!?>")
PLAIN_VOID = re.compile(
    r"<(?i:br|hr|img|input|wbr)(?![^ \n/])(?>(?:[^<>\"']++|\"[^<>\"]*+\"|'[^<>']*+')*)"
)
"""A void element without the slash at its end."""
RAW_TEXT_END = {
    name: re.compile(rf"</{name}(?={SPACE}|[/>])", re.IGNORECASE)
    for name in ("script", "style")
}


class Dropped(NamedTuple):
    """A tag that is not kept as it is written."""

    reason: str
    """What becomes of it, as the end of a sentence that begins with it."""
    tag: str


def tame(html: str, dropped: list[Dropped] | None = None) -> str:
    """HTML of a page that the sanitiser reads in time linear in its length.

    ``dropped`` gets the tags that are not kept as they are written.
    """
    is_odd = html.rfind("<") > html.rfind(">")

    def renamed(tag: re.Match[str]) -> str:
        nonlocal is_odd
        if tag[2].lower() not in RAW_TEXT_END:
            return f"<{tag[1]}x-{tag[2]}"
        is_odd = True
        return tag[0]

    html = MODE_SWITCHES.sub(renamed, html)
    if is_odd or may_be_costly(html) or has_self_closed(html):
        return cap_tags(html, [] if dropped is None else dropped)
    return html


def may_be_costly(html: str) -> bool:
    """Whether some tag may lie too deep, or have too many attributes."""
    if TAG_END_IN_VALUE.search(html) or any(
        len(ATTRIBUTE_START.findall(tag)) > ATTRIBUTES_MAX
        for tag in LONG_TAG.findall(html)
    ):
        return True
    if html.count("<") <= TAGS_UNCOUNTED_MAX:
        return False
    # an element that holds only text is closed where it is opened
    rest = LEAF.sub("", html)
    return rest.count("<") > TAGS_UNCOUNTED_MAX and not is_well_formed(rest)


def is_well_formed(html: str) -> bool:
    """Whether each tag is plain, and each element ends where it should."""
    tags = PLAIN_TAG.findall(html)
    if len(tags) != html.count("<") or not ODD.isdisjoint(name for _, name in tags):
        return False
    opened: list[str] = []
    for end, name in tags:
        if end:
            if not opened or opened.pop() != name:
                return False
        elif name and name not in VOID:
            opened.append(name)
            # no need to tell formatting from the rest
            if len(opened) > FORMATTING_DEPTH_MAX:
                return False
    return not opened


def has_self_closed(html: str) -> bool:
    """Whether a slash may close an element that is not void."""
    behind, end = 0, html.find("/>")
    while end >= 0:
        start = html.rfind("<", behind, end)
        if start < 0 or not PLAIN_VOID.fullmatch(html, start, end):
            return True
        behind, end = end, html.find("/>", end + 2)
    return False


def cap_tags(html: str, dropped: list[Dropped]) -> str:
    """Close what a slash closes; drop tags and attributes beyond the limits."""
    kept: list[str] = []
    nest = Nest()
    start = position = unended = 0
    endless: set[str] = set()
    while (match := MARKUP.search(html, position)) is not None:
        end, written, closed, comment, broken = match.groups()
        tag, tag_start = match[0], match.start()
        position = match.end()
        if comment:
            position = comment_end(html, position)
            continue
        if broken or (tag.rfind("<") and SWALLOWS.search(tag)):
            # the parser would take the text behind for attributes
            shown = html[tag_start : tag_start + TAG_CHARS_SHOWN].partition("\n")[0]
            dropped.append(Dropped(NOT_ENDED, shown))
            kept += (html[start:tag_start], "&lt;")
            start = position = tag_start + 1
            unended += 1
            if unended > UNENDED_MAX:
                kept.append(html[start:].replace("<", "&lt;"))
                start = len(html)
                break
            continue
        if written is None:
            continue
        name = written.lower()
        raw_end = None
        if not end and not closed and name in RAW_TEXT_END and name not in endless:
            raw_end = RAW_TEXT_END[name].search(html, position)
            if raw_end is None:
                # all the rest of the page would be a part of it
                endless.add(name)
        is_renamed = name in ODD or name in endless
        name = f"x-{name}" if is_renamed else name
        frame = nest.formatting[-1]
        if not end and name in FORMATTING and len(frame) >= FORMATTING_DEPTH_MAX:
            outer = frame[-1].name
            nest.close(outer)
            dropped.append(Dropped(TOO_MANY_OPEN, tag))
            kept += (html[start:tag_start], f"</{outer}>")
            start = tag_start
        if end:
            nest.close(name)
        elif not nest.open(name):
            dropped.append(Dropped(TOO_DEEP, tag))
            kept.append(html[start:tag_start])
            start = position
            continue
        if is_renamed:
            kept += (html[start : match.start("name")], "x-")
            start = match.start("name")
        if (rest := attributes_end(html, match)) is not None:
            dropped.append(Dropped(TOO_MANY_ATTRIBUTES, tag))
            kept += (html[start:rest], ">")
            start = position
        if closed and not end and name not in VOID:
            nest.close(name)
            kept += (html[start:position], f"</{name}>")
            start = position
        elif raw_end is not None:
            position = raw_end.start()
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


class Pending(Struct):
    """A formatting element without an end tag yet."""

    name: str
    depth: int
    """How many elements were open when it was, or are by now if that is less."""


class Nest:
    """The elements that the parser may have open after each tag: never fewer.

    Formatting counts until it is ended: the parser opens it anew in each text.
    """

    __slots__ = ("formatting", "stack")

    def __init__(self) -> None:
        self.stack: list[str] = []
        """All but formatting."""
        self.formatting: list[list[Pending]] = [[]]
        """For each cell around."""

    def open(self, name: str) -> bool:
        """Open an element; False where its start tag must go."""
        if name in TABLE_PARTS:
            self._open_part(name)
            return True
        self._end_implied(name)
        if name in VOID or name in RAW_TEXT_END:
            return True
        if name in FORMATTING:
            frame = self.formatting[-1]
            if name == "a":
                # of links one is open at a time, in each cell
                frame[:] = [one for one in frame if one.name != "a"]
            elif len(frame) >= FORMATTING_DEPTH_MAX or (
                len(self.stack) + sum(map(len, self.formatting)) > 2 * DEPTH_MAX
            ):
                return False
            frame.append(Pending(name, len(self.stack)))
            return True
        if len(self.stack) > DEPTH_MAX * (1 + (name in IMPLIED)):
            return False
        self.stack.append(name)
        return True

    def _end_implied(self, name: str) -> None:
        """Close what a start tag closes."""
        if name == "li" or name in TERMS:
            alike = TERMS if name in TERMS else {name}
            self._pop(self._find(alike, BEHIND_ITEM))
        if name in ENDS_P:
            self._pop(self._find({"p"}, SCOPE))
        top = self.stack[-1] if self.stack else ""
        if top == name == "option" or (name in HEADINGS and top in HEADINGS):
            self._pop(len(self.stack) - 1)
        elif name == "table":
            self._pop(self._find(TABLE, CELLS))

    def _open_part(self, name: str) -> None:
        """Open a part of a table; without a table around the parser ignores it."""
        if self._find(TABLE, ()) < 0:
            return
        parents = {"tr": SECTIONS, "td": {"tr"}, "th": {"tr"}}.get(name, TABLE)
        parent = self._find(parents, TABLE)
        if parent < 0:
            self._open_part("tbody" if name == "tr" else "tr")
            parent = self._find(parents, TABLE)
        self._pop(parent + 1)
        if name in ("col", "colgroup"):
            return
        self.stack.append(name)
        if name in CELLS:
            self.formatting.append([])

    def close(self, name: str) -> None:
        """Close what an end tag closes."""
        if name in FORMATTING:
            self._end_formatting(name)
        elif name in TABLE_PARTS or name in TABLE:
            self._pop(self._find({name}, TABLE))
        elif name in BLOCK or name in TERMS or name in ("p", "listing"):
            self._pop(self._find({name}, SCOPE))
        elif name == "li":
            self._pop(self._find({name}, SCOPE | LISTS))
        elif name in HEADINGS:
            self._pop(self._find(HEADINGS, SCOPE))
        else:
            self._pop(self._find({name}, SPECIAL))

    def _end_formatting(self, name: str) -> None:
        """End the last one of that name, if the parser surely does.

        Around more blocks than it takes apart, or in a table, it goes on.
        """
        frame = self.formatting[-1]
        last = next((one for one in reversed(frame) if one.name == name), None)
        if last is None:
            return
        inside = self.stack[last.depth :]
        if SCOPE.isdisjoint(inside) and (
            sum(one in SPECIAL for one in inside) < ADOPTIONS_MAX
        ):
            frame.remove(last)

    def _find(self, names: Container[str], stops: Container[str]) -> int:
        """Position of the innermost element of these names, not outside of a stop."""
        for index in range(len(self.stack) - 1, -1, -1):
            name = self.stack[index]
            if name in names:
                return index
            if name in stops:
                break
        return -1

    def _pop(self, start: int) -> None:
        """Close the elements from a position on; none where it is negative."""
        if start < 0:
            return
        for name in self.stack[start:]:
            if name in CELLS:
                self.formatting.pop()
        del self.stack[start:]
        for one in self.formatting[-1]:
            one.depth = min(one.depth, start)
