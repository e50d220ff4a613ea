"""Links in a line of RDoc text: where the next one stands, and its HTML.

Brackets and spaces are found in lists made once, so that a line of ten
thousand brackets costs one pass.
"""

import bisect
import re
from collections.abc import Callable
from enum import Enum, auto

from msgspec import Struct

from wikisync.markup.tokens import escape_marks as escape

ID_PREFIX = "user-content-"
"""The sanitiser's list lets ids through that begin so; the filters take it off."""

WORD_CHARACTERS_MAX = 200
START = re.compile(
    r"(?P<br><br>)"
    r"|(?P<bare>link:|https?:|mailto:|ftp:|irc:|www\.)"
    r"|(?P<rdoc>rdoc-[a-z]+:)"
    r"|(?P<brace>\{)"
    rf"|(?P<word>\b(?=[^\s{{}}\[]{{1,{WORD_CHARACTERS_MAX}}}\[\S))"
)
"""Where a link may start; a word that is a label is bounded to stay linear."""
LINK_MARKS = ("[", ":", "<br>", "www.")
BARE_END = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;%=]+")
NOT_WORD_END = re.compile(r"[^A-Za-z0-9_]+$")
RDOC_END = re.compile(r"[^\s\]\0]+")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
SHOWN_SCHEME = re.compile(r"^(?:link:|https?:/*|mailto:|ftp:/*|irc:/*)")
IMAGE = re.compile(r"\.(?:gif|png|jpe?g|bmp)$", re.IGNORECASE)
BADGE = re.compile(
    r"""<img\s+[^<>]*?src\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
)
ALT = re.compile(r"""\balt\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""", re.IGNORECASE)
PAGE = re.compile(r"\.(?:rdoc|md|markdown|txt|rb)(?:#|$)", re.IGNORECASE)
"""A reference that names a file means a page; others are names in Ruby code."""
FOOT_LABEL = re.compile(r"^(?:label|footmark|foottext)-")
FOOT_MARK = re.compile(r"^[*^](?=\d+$)")
NUL = "\0"
HIDDEN = dict(zip("<*_+", "\1\2\3\4", strict=True))
"""Characters that no step of ``inline`` shall read to those that stand for them."""
SHOWN = str.maketrans(
    {NUL: None, **{code: character for character, code in HIDDEN.items()}}
)


class Shape(Enum):
    """How a link is written."""

    BREAK = auto()
    BARE = auto()
    RDOC = auto()
    LABELLED = auto()


class Link(Struct, frozen=True):
    """One link and where it stands in its text."""

    shape: Shape
    start: int
    end: int
    url: str
    label_start: int = 0
    label_end: int = 0


class LinkScanner:
    """Finds the links of one text from left to right."""

    def __init__(self, text: str, marks: bytearray) -> None:
        self._text = text
        self._marks = marks
        self._has_links = any(mark in text for mark in LINK_MARKS)
        self._positions: dict[str, list[int]] = {}
        self._dead_until = 0
        """Before this offset no word can be a label: its run has no target."""

    def find(self, start: int) -> Link | None:
        """The first link at or behind an offset."""
        for found in START.finditer(self._text, start) if self._has_links else ():
            if self._marks[found.start()]:
                continue
            link = self._read(found)
            if link is not None:
                return link
        return None

    def _read(self, found: re.Match[str]) -> Link | None:
        start = found.start()
        if found["br"]:
            return Link(Shape.BREAK, start, found.end(), "")
        if found["brace"]:
            return self._read_braces(start)
        link = None
        if found["bare"]:
            link = self._read_bare(start, found.end())
        elif found["rdoc"] and (rest := RDOC_END.match(self._text, found.end())):
            link = Link(Shape.RDOC, start, rest.end(), self._text[start : rest.end()])
        word = self._read_word(start)
        if link is None or (word is not None and link.shape is Shape.RDOC):
            return word or link
        if word is not None and word.end > link.end:
            return Link(Shape.BARE, start, word.end, self._text[start : word.end])
        return link

    def _read_bare(self, start: int, behind: int) -> Link | None:
        rest = BARE_END.match(self._text, behind)
        if rest is None:
            return None
        target = NOT_WORD_END.sub("", rest[0])
        # One character is the target's own, one more its last letter.
        if len(target) < 2:
            return None
        end = behind + len(target)
        return Link(Shape.BARE, start, end, self._text[start:end])

    def _read_braces(self, start: int) -> Link | None:
        closed = self._next("}", start + 1)
        if closed < 0 or self._text[closed + 1 : closed + 2] != "[":
            return None
        if 0 <= self._next("{", start + 1) < closed:
            return None
        end = self._target_end(closed + 1)
        if end is None:
            return None
        url = self._text[closed + 2 : end - 1]
        return Link(Shape.LABELLED, start, end, url, start + 1, closed)

    def _read_word(self, start: int) -> Link | None:
        if start < self._dead_until:
            return None
        opened = self._next("[", start + 1)
        run_end = self._run_end(start)
        if opened < 0 or opened >= run_end:
            self._dead_until = run_end
            return None
        for edge in "{}\0":
            if 0 <= (at := self._next(edge, start)) < opened:
                # Only a word behind the brace or mark can be this target's label.
                dead = self._text[opened - 1] == "\0" and self._target_end(opened)
                self._dead_until = max(self._dead_until, dead or at)
                return None
        end = self._target_end(opened)
        if end is None:
            self._dead_until = run_end
            return None
        # A word may hold pairs of brackets itself, as names of methods do.
        opened = self._text.rindex("[", start, end)
        url = self._text[opened + 1 : end - 1]
        if not url:
            self._dead_until = end
            return None
        return Link(Shape.LABELLED, start, end, url, start, opened)

    def _target_end(self, opened: int) -> int | None:
        """The end of ``[url]``; the url is one character at least, no space."""
        closed = self._next("]", opened + 2)
        if closed < 0 or closed >= self._run_end(opened):
            return None
        return closed + 1

    def _run_end(self, start: int) -> int:
        """Where the run of characters without space ends."""
        end = self._next(" ", start)
        return len(self._text) if end < 0 else end

    def _next(self, character: str, start: int) -> int:
        """Like ``str.find``, by a list of positions that is made once."""
        positions = self._positions.get(character)
        if positions is None:
            pattern = re.escape(character)
            positions = [found.start() for found in re.finditer(pattern, self._text)]
            self._positions[character] = positions
        index = bisect.bisect_left(positions, start)
        return positions[index] if index < len(positions) else -1


def link_html(
    link: Link,
    label: str,
    *,
    is_in_link: bool,
    render: Callable[[str], str],
    set_text: Callable[[str], str],
) -> str:
    """HTML of a link; inside of another link only its text."""
    url = link.url.translate(SHOWN)
    match link.shape:
        case Shape.BREAK:
            return "<br>"
        case Shape.RDOC:
            return _rdoc_html(url, set_text, is_labelled=False, is_in_link=is_in_link)
        case Shape.BARE:
            return _url_html(url, set_text, is_in_link=is_in_link)
        case Shape.LABELLED:
            html = _label_html(label, render)
            if url.startswith("rdoc-"):
                return _rdoc_html(
                    url, lambda _: html, is_labelled=True, is_in_link=is_in_link
                )
            return _url_html(url, lambda _: html, is_in_link=is_in_link)


def _label_html(label: str, render: Callable[[str], str]) -> str:
    shown = label.translate(SHOWN)
    if shown.startswith("rdoc-image:"):
        return _image_html(shown.removeprefix("rdoc-image:"))
    if badge := BADGE.fullmatch(shown.strip()):
        alt = ALT.search(badge[0])
        return _img(badge[1] or badge[2] or "", alt[1] or alt[2] if alt else None)
    return render(FOOT_MARK.sub("", shown))


Shown = Callable[[str], str]
"""What a link shows, given the text of its own that it would show without a label."""


def _url_html(url: str, shown: Shown, *, is_in_link: bool) -> str:
    href = url.removeprefix("link:")
    if href.startswith("www."):
        href = f"http://{href}"
    is_web = url.startswith(("link:", "http:", "https:"))
    if is_web and IMAGE.search(href):
        return _img(href, None)
    content = shown(SHOWN_SCHEME.sub("", url))
    return content if is_in_link else f'<a href="{escape(href)}">{content}</a>'


def _rdoc_html(url: str, shown: Shown, *, is_labelled: bool, is_in_link: bool) -> str:
    name, _, target = url.partition(":")
    if name == "rdoc-image":
        return _image_html(target)
    if name != "rdoc-label":
        content = shown(target)
        if is_in_link or not is_labelled:
            return content
        href = target if PAGE.search(target) else url
        return f'<a href="{escape(href)}">{content}</a>'
    target, _, identity = target.partition(":")
    content = shown(FOOT_LABEL.sub("", target))
    if is_in_link:
        return content
    own = f'id="{ID_PREFIX}{escape(identity)}" ' if identity else ""
    html = f'<a {own}href="#{escape(target)}">{content}</a>'
    return f"<sup>{html}</sup>" if identity.startswith("foot") else html


def _image_html(target: str) -> str:
    """An image by ``url`` or ``url:alt``."""
    scheme = SCHEME.match(target)
    search_from = scheme.end() if scheme and target[scheme.end() :][:1] == "/" else 0
    position = target.find(":", search_from)
    if position < 0:
        return _img(target, None)
    return _img(target[:position], target[position + 1 :])


def _img(source: str, alt: str | None) -> str:
    described = "" if alt is None else f' alt="{escape(alt)}"'
    return f'<img src="{escape(source)}"{described}>'
