"""Sanitised HTML as a flat list of tokens, which the filters rewrite.  Pure.

The input is what ``sanitize`` gives: every tag closed and nested, every value in
double quotes.  Even indices hold text, odd indices tags, so nothing is ever moved:
a filter rewrites ``html[i]``, empties it, or puts a ``LinkRef`` there; what else the
filters learn about the page is in its ``Draft``.  Reading and joining are linear; a
tree was measured at three times the cost.
"""

import html as entities
import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct, field

from wikisync.core.model import Page, Problem
from wikisync.markup.context import Include, include_nothing
from wikisync.markup.record import LinkRef, MarkupOptions, Section, TocEntry

TAG = re.compile(r"""(<(/?[a-z][a-z0-9-]*+)(?>(?:[^"'>]++|"[^"]*+"|'[^']*+')*)>)""")
SPECIAL = re.compile("[&<>\"']")
NAME = re.compile(r"</?([a-z][a-z0-9-]*)")
ATTRIBUTE = re.compile(r'([a-z][a-z0-9:_-]*)(?:="([^"]*)")?')
VOID = frozenset({"area", "br", "col", "hr", "img", "input", "source", "wbr"})
EMPTY = frozenset({"", "\n"})

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "br", "caption", "dd"),
        *("details", "div", "dl", "dt", "figcaption", "figure", "footer", "h1", "h2"),
        *("h3", "h4", "h5", "h6", "h7", "h8", "header", "hr", "li", "main", "nav"),
        *("ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot"),
        *("th", "thead", "tr", "ul"),
    ]
)
"""Elements between which two words are two words."""


class Document:
    """The tokens of one page.

    ``html`` has text at even indices and tags at odd ones, where ``names`` has ``p`` or
    ``/p``.  ``close`` leads from a start tag to its end tag (a void element's to
    itself), ``parents`` to the tag around; ``starts`` lists start tags by name.
    ``split_texts`` are the pieces of texts in which links lie; ``addresses`` those that
    links and pictures may not have.  No tag of one that ``is_own`` has an id or a name.
    """

    __slots__ = (
        *("_outside", "addresses", "close", "html", "is_ascii", "is_own", "links"),
        *("names", "parents", "split_texts", "starts"),
    )

    def __init__(self, source: str) -> None:
        self.is_ascii, self.is_own = source.isascii(), False
        pieces = TAG.split(source)
        size = len(pieces) // 3 * 2 + 1
        self.html = [""] * size
        self.names = [""] * size
        self.html[::2] = pieces[::3]
        self.html[1::2] = pieces[1::3]
        self.names[1::2] = pieces[2::3]
        self.close: dict[int, int] = {}
        self.parents: dict[int, int] = {}
        self.starts: dict[str, list[int]] = defaultdict(list)
        self.links: dict[int, LinkRef] = {}
        self.addresses: dict[int, str] = {}
        self.split_texts: dict[int, list[str | LinkRef]] = {}
        self._outside: dict[frozenset[str], list[int]] = {}
        self._match_tags()

    def _match_tags(self) -> None:
        names, close, starts = self.names, self.close, self.starts
        parents = self.parents
        opened: list[int] = []
        inner, top = "", -1
        for index in range(1, len(names), 2):
            name = names[index]
            if name == inner:
                close[top] = index
                opened.pop()
                top = opened[-1] if opened else -1
                inner = "/" + names[top] if opened else ""
                continue
            if name[0] == "/":
                continue
            starts[name].append(index)
            if top >= 0:
                parents[index] = top
            if name in VOID:
                close[index] = index
            else:
                opened.append(index)
                inner, top = "/" + name, index
        for index in opened:
            close[index] = len(names) - 1

    def attributes(self, index: int) -> dict[str, str]:
        """Attributes of the start tag there, entities decoded."""
        tag = self.html[index]
        match = NAME.match(tag)
        assert match is not None
        return {
            name: entities.unescape(value)
            for name, value in ATTRIBUTE.findall(tag, match.end())
        }

    def inner(self, index: int) -> str:
        """HTML between the start tag there and its end tag."""
        return "".join(self.html[index + 1 : self.close[index]])

    def text(self, index: int) -> str:
        """Plain text of the element there, alternative texts of pictures included."""
        return self.text_between(index, self.close[index])

    def text_between(self, start: int, end: int) -> str:
        """Plain text between two indices; spaces as they are."""
        first_text, first_tag = start + start % 2, start + 1 - start % 2
        if "img" not in self.names[first_tag : end + 1 : 2]:
            return entities.unescape("".join(self.html[first_text : end + 1 : 2]))
        pieces = self.html[start : end + 1]
        for index in range(first_tag, end + 1, 2):
            is_picture = self.names[index] == "img"
            alt = self.attributes(index).get("alt", "") if is_picture else ""
            pieces[index - start] = entities.escape(alt)
        return entities.unescape("".join(pieces))

    def all_text(self) -> str:
        """Every text in one piece, as HTML: where to search first for what few have."""
        return "".join(self.html[::2])

    def replace(self, index: int, html: str) -> None:
        """Put HTML instead of the whole element there."""
        self.html[index] = html
        end = self.close[index]
        for inside in range(index + 1, end + 1):
            self.html[inside] = ""
            self.links.pop(inside, None)

    def is_within(self, index: int, names: frozenset[str]) -> bool:
        """Whether the tag there lies inside an element of one of these names."""
        parent = self.parents.get(index)
        while parent is not None:
            if self.names[parent] in names:
                return True
            parent = self.parents.get(parent)
        return False

    def texts_outside(self, names: frozenset[str]) -> Sequence[int]:
        """Indices of text that lies in no element of these names, but line ends.

        Some may have become empty since they were found.
        """
        if (known := self._outside.get(names)) is not None:
            return known
        html, close = self.html, self.close
        starts = sorted(index for name in names for index in self.starts.get(name, ()))
        indices: list[int] = []
        begin = 0
        for start in starts:
            if start > begin:
                indices += range(begin, start, 2)
                begin = close[start] + 1
        indices += range(begin, len(html), 2)
        self._outside[names] = [index for index in indices if html[index] not in EMPTY]
        return self._outside[names]

    def pieces(self) -> tuple[tuple[str, ...], tuple[LinkRef, ...]]:
        """The page as HTML around its links: one string more than links."""
        parts: list[str] = []
        refs: list[LinkRef] = []
        start = 0
        before = ""
        for index in sorted([*self.links, *self.split_texts]):
            before += "".join(self.html[start:index])
            start = index + 1
            link = self.links.get(index)
            for piece in self.split_texts.get(index, ()) if link is None else (link,):
                if isinstance(piece, str):
                    before += piece
                    continue
                parts.append(before)
                refs.append(piece)
                before = ""
        parts.append(before + "".join(self.html[start:]))
        return tuple(parts), tuple(refs)


class NotDrawn(Struct, frozen=True):
    """Why a formula or diagram stays source."""

    reason: str


class Draft(Struct):
    """The tokens of one page and what the filters have learned about it."""

    page: Page
    options: MarkupOptions
    document: Document
    toc: list[TocEntry] = field(default_factory=list)
    heading_indices: list[int] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    sections: list[Section] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    include: Include = include_nothing
    """Gives the drawing of a diagram too (``markup.diagrams``)."""
    struck: list[tuple[int, int]] = field(default_factory=list)
    """Indices of the tags around texts that are to be struck when they are finished."""

    def report(self, code: str, message: str, hint: str = "") -> None:
        """Add a problem of this page."""
        self.problems.append(Problem(code, self.page.slug, message, hint))


def escape(text: str) -> str:
    """Text as HTML, for element content and quoted values alike."""
    return entities.escape(text, quote=True) if SPECIAL.search(text) else text


def escape_marks(text: str) -> str:
    """Text for an element or an attribute in double quotes; apostrophes stay."""
    return entities.escape(text, quote=False).replace('"', "&quot;")


def format_attributes(attributes: dict[str, str]) -> str:
    """Attributes as HTML, each with a leading space; empty values as bare names."""
    return "".join(
        f' {name}="{escape(value)}"' if value or name in {"alt", "href"} else f" {name}"
        for name, value in attributes.items()
    )
