"""Marks and links in a line of RDoc text, in forward scans of constant lookahead.

The order is the reference's: what is escaped is hidden, then words are marked,
then tags, code before the rest because nothing is marked inside of it; then
links are read from what is left.  A mark that has been read is replaced by
``NUL`` and kept in its position, so that offsets hold from step to step.
"""

import bisect
import re
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from wikisync.markup.context import ID_PREFIX
from wikisync.markup.tokens import escape_marks as escape

NUL = "\0"
HIDDEN = dict(zip("<*_+", "\1\2\3\4", strict=True))
"""Characters that no step shall read to those that stand for them."""
SHOWN = str.maketrans(
    {NUL: None, **{code: character for character, code in HIDDEN.items()}}
)
CONTROLS = str.maketrans(dict.fromkeys(range(9)))
LITERAL_WORD = re.compile(r"__([A-Za-z]+)__")
ESCAPE = re.compile(r"(\\?)\\([<*_+])")

WORD_CHARACTERS_MAX = 100
PASSES_MAX = 6
"""Marks directly inside marks, as in ``**_x_**``."""
STRONG, EM, CODE = 1, 2, 4
TAG_NAMES = {STRONG: "strong", EM: "em", CODE: "code"}
RUN = re.compile(rb"([\0-\7])\1*")
TAG = re.compile(r"<(/?)(b|em|i|tt|code)>", re.IGNORECASE)
TAG_MARKS = {"b": STRONG, "em": EM, "i": EM, "tt": CODE, "code": CODE}


def _word_pattern(delimiter: str) -> re.Pattern[str]:
    mark = re.escape(delimiter)
    # An underscore is a character of words: there the repeats are part of one.
    repeats = "" if delimiter == "_" else rf"{mark}{{0,8}}"
    word = rf"[A-Za-z0-9_:./\[\]\x03-]{{1,{WORD_CHARACTERS_MAX}}}?"
    return re.compile(
        rf"(?<![A-Za-z0-9]){mark}(?!{mark}{{16}})({repeats}[#\\]?{word}\S?){mark}"
        rf"(?!{mark})(?![A-Za-z0-9\x03])"
    )


WORD_MARKS = {
    "*": (STRONG, _word_pattern("*")),
    "_": (EM, _word_pattern("_")),
    "+": (CODE, _word_pattern("+")),
}


class _Line(Struct):
    """A text and the marks of each of its characters."""

    raw: str
    """Before any mark was read: labels of links are read on their own."""
    text: str
    marks: bytearray


def inline_html(text: str, *, is_in_link: bool = False) -> str:
    """HTML of one paragraph, heading or label."""
    hidden = hide(text.translate(CONTROLS))
    line = _Line(hidden, hidden, bytearray(len(hidden)))
    mark_words(line, "+")
    mark_tags(line, is_code=True)
    mark_words(line, "*")
    mark_words(line, "_")
    mark_tags(line, is_code=False)
    # marks properly nested, links and typography in between
    writer = _Writer()
    links = LinkScanner(line.text, line.marks)
    at = 0
    while (link := links.find(at)) is not None:
        # a backslash in front of a link goes
        before = line.text[at : link.start]
        backslashes = len(before) - len(before.rstrip("\\"))
        writer.write(line, at, link.start - backslashes % 2)
        html = link_html(link, line, writer, is_in_link=is_in_link)
        writer.write_html(html, line.marks[link.start])
        at = link.end
    writer.write(line, at, len(line.text))
    return writer.close()


def hide(text: str) -> str:
    """Escaped marks and ``__literal__`` words behind characters no step reads."""
    if "__" in text:
        text = LITERAL_WORD.sub(lambda found: f"\3\3{found[1]}\3\3", text)
    if "\\" not in text:
        return text
    return ESCAPE.sub(lambda found: found[2] if found[1] else HIDDEN[found[2]], text)


def mark_words(line: _Line, delimiter: str) -> None:
    """Mark single words between delimiters."""
    if delimiter not in line.text:
        return
    mark, pattern = WORD_MARKS[delimiter]

    def replace(found: re.Match[str]) -> str:
        start, end = found.span(1)
        for position in range(start, end):
            line.marks[position] |= mark
        return f"{NUL}{found[1]}{NUL}"

    for _ in range(PASSES_MAX):
        before = line.text
        line.text = pattern.sub(replace, before)
        if line.text == before:
            return


def mark_tags(line: _Line, *, is_code: bool) -> None:
    """Mark what stands between tags."""
    if "</" not in line.text:
        return
    tags = [
        found
        for found in TAG.finditer(line.text)
        if (TAG_MARKS[found[2].lower()] == CODE) is is_code
    ]
    taken: list[re.Match[str]] = []
    edges: dict[int, list[tuple[int, int]]] = {STRONG: [], EM: [], CODE: []}
    for start, end in _tag_pairs(tags):
        taken += (start, end)
        if start.end() < end.start():
            mark = TAG_MARKS[start[2].lower()]
            edges[mark].append((start.end(), end.start()))
    for mark, intervals in edges.items():
        for first, last in _merged(intervals):
            for position in range(first, last):
                line.marks[position] |= mark
    pieces: list[str] = []
    at = 0
    for found in sorted(taken, key=lambda found: found.start()):
        pieces += (line.text[at : found.start()], NUL * len(found[0]))
        at = found.end()
    line.text = "".join((*pieces, line.text[at:]))


def _tag_pairs(
    tags: list[re.Match[str]],
) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Starts and ends that belong together.

    The reference goes over a text again and again: a start takes the next end of its
    name, the rest waits.  After a few times what is left is paired in order.
    """
    for _ in range(PASSES_MAX):
        waiting: list[re.Match[str]] = []
        ends = _next_ends(tags)
        index = 0
        while index < len(tags):
            end = ends[index]
            if tags[index][1] or end is None:
                waiting.append(tags[index])
                index += 1
                continue
            yield tags[index], tags[end]
            waiting += tags[index + 1 : end]
            index = end + 1
        if len(waiting) == len(tags):
            return
        tags = waiting
    starts: dict[str, deque[re.Match[str]]] = {}
    for tag in tags:
        opened = starts.setdefault(tag[2].lower(), deque())
        if not tag[1]:
            opened.append(tag)
        elif opened:
            yield opened.popleft(), tag


def _next_ends(tags: list[re.Match[str]]) -> list[int | None]:
    """For each tag the index of the next end of its name."""
    ends: list[int | None] = [None] * len(tags)
    latest: dict[str, int] = {}
    for index in range(len(tags) - 1, -1, -1):
        name = tags[index][2].lower()
        ends[index] = latest.get(name)
        if tags[index][1]:
            latest[name] = index
    return ends


def _merged(intervals: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Intervals that overlap as one, so that marking stays linear."""
    last: tuple[int, int] | None = None
    for start, end in sorted(intervals):
        if last is not None and start <= last[1]:
            last = (last[0], max(end, last[1]))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


class _Writer:
    """Writes runs of characters with equal marks."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._open: list[int] = []
        self.typography = Typography()

    def write(self, line: _Line, start: int, end: int) -> None:
        """Characters from start to end."""
        while start < end:
            run = RUN.match(line.marks, start, end)
            assert run is not None
            marks = line.marks[start]
            text = line.text[start : run.end()].translate(SHOWN)
            start = run.end()
            if not text:
                continue
            self._turn_to(marks)
            if marks & CODE:
                self._pieces.append(escape(text.replace("\\\\", "\\")))
            else:
                self._pieces.append(self.typography.html_of(text))

    def write_html(self, html: str, marks: int) -> None:
        """A link or a break, inside of the marks of its first character."""
        self._turn_to(marks)
        self._pieces.append(html)

    def label_html(self, label: str) -> str:
        """HTML of a label, which is set on its own."""
        html = inline_html(label, is_in_link=True)
        self.typography.pass_over(html)
        return html

    def content_html(self, label: str | None, text: str) -> str:
        """What a link shows: its label, or else a text of its own."""
        return self.typography.html_of(text) if label is None else label

    def close(self) -> str:
        """Everything, with all marks closed."""
        self._turn_to(0)
        return "".join(self._pieces)

    def _turn_to(self, marks: int) -> None:
        while any(not marks & mark for mark in self._open):
            self._pieces.append(f"</{TAG_NAMES[self._open.pop()]}>")
        for mark in (STRONG, CODE, EM):
            if marks & mark and mark not in self._open:
                self._open.append(mark)
                self._pieces.append(f"<{TAG_NAMES[mark]}>")


# -- quotes, dashes and signs ----------------------------------------------------


SPECIAL = re.compile(
    r"\\(?P<escaped>\S)|(?P<dots>\.{3,4})|\((?P<sign>[cCrR])\)|-{2,3}|\"|``|'+|`"
)
SIGNS = {"c": "©", "r": "®"}
TAGS_AT_END = re.compile(r"(?:<[^<>]*>)+$")
WORD = re.compile(r"[A-Za-z0-9_]")


class Typography:
    """The state of the quotation marks in one paragraph."""

    def __init__(self) -> None:
        self._is_in_double = False
        self._is_in_single = False
        self._is_after_word = False

    def html_of(self, text: str) -> str:
        """One piece of text as HTML."""
        pieces: list[str] = []
        at = 0
        for found in SPECIAL.finditer(text):
            if found.start() > at:
                pieces.append(text[at : found.start()])
                self._is_after_word = WORD.match(pieces[-1][-1]) is not None
            pieces.append(self._replace(found))
            at = found.end()
        if at < len(text):
            pieces.append(text[at:])
            self._is_after_word = WORD.match(pieces[-1][-1]) is not None
        return escape("".join(pieces))

    def pass_over(self, html: str) -> None:
        """Take note of a text that is set; what stands behind code says nothing."""
        shown = TAGS_AT_END.sub("", html)
        if shown and "</code>" not in html[len(shown) :]:
            self._is_after_word = WORD.match(shown[-1]) is not None

    def _replace(self, found: re.Match[str]) -> str:
        mark = found[0]
        if mark[0] == "'":
            return self._single_quotes(len(mark))
        if mark == "`":
            return self._backtick()
        self._is_after_word = False
        if found["escaped"]:
            return found["escaped"]
        if found["dots"]:
            return "." * (len(mark) - 3) + "…"
        if found["sign"]:
            return SIGNS[found["sign"].lower()]
        if mark == '"':
            self._is_in_double = not self._is_in_double
            return "“" if self._is_in_double else "”"
        return {"---": "—", "--": "–", "``": "“"}[mark]

    def _single_quotes(self, count: int) -> str:
        pieces = ["”"] * (count // 2)
        if pieces:
            self._is_after_word = False
        if count % 2:
            is_closing = self._is_in_single or self._is_after_word
            self._is_in_single = not is_closing
            self._is_after_word = False
            pieces.append("’" if is_closing else "‘")
        return "".join(pieces)

    def _backtick(self) -> str:
        if self._is_in_single or self._is_after_word:
            self._is_after_word = False
            return "`"
        self._is_in_single = True
        return "‘"


# -- links -----------------------------------------------------------------------
#
# Brackets and spaces are found in lists made once, so that a line of ten thousand
# brackets costs one pass.

LABEL_CHARACTERS_MAX = 200
START = re.compile(
    r"(?P<br><br>)"
    r"|(?P<bare>link:|https?:|mailto:|ftp:|irc:|www\.)"
    r"|(?P<rdoc>rdoc-[a-z]+:)"
    r"|(?P<brace>\{)"
    rf"|(?P<word>\b(?=[^\s{{}}\[]{{1,{LABEL_CHARACTERS_MAX}}}\[\S))"
)
"""Where a link may start; a word that is a label is bounded to stay linear."""
LINK_MARKS = ("[", ":", "<br>", "www.")
BARE_END = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;%=]+")
NOT_WORD_END = re.compile(r"[^A-Za-z0-9_]+$")
RDOC_END = re.compile(r"[^\s\]\0]+")
ALT_COLON = re.compile(r":(?!/|\d+/)")
"""Behind a picture's address, in which it stands before slashes and ports."""
SHOWN_SCHEME = re.compile(r"^(?:link:/*|https?:/*|mailto:|ftp:/*|irc:/*)")
LOCAL = re.compile(r"^link:(?:/+(?=/|[^/]*$))?")
IMAGE = re.compile(r"\.(?:gif|png|jpe?g|bmp)$", re.IGNORECASE)
BADGE = re.compile(
    r"""<img\s+[^<>]*?src\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
)
ALT = re.compile(r"""\balt\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""", re.IGNORECASE)
PAGE = re.compile(r"\.(?:rdoc|md|markdown|txt|rb)(?:#|$)", re.IGNORECASE)
"""A reference that names a file means a page; others are names in Ruby code."""
FOOT_LABEL = re.compile(r"^(?:label|footmark|foottext)-")
FOOT_MARK = re.compile(r"^[*^](?=\d+$)")


class Link(Struct, frozen=True):
    """One link and where it stands in its text."""

    start: int
    end: int
    url: str
    """Empty for the break of a line."""
    label: tuple[int, int] | None = None
    """Where its label starts and ends, if it has one."""


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
            return Link(start, found.end(), "")
        if found["brace"]:
            return self._read_braces(start)
        link = None
        if found["bare"]:
            link = self._read_bare(start, found.end())
        elif found["rdoc"] and (rest := RDOC_END.match(self._text, found.end())):
            link = Link(start, rest.end(), self._text[start : rest.end()])
        word = self._read_word(start)
        if link is None or found["rdoc"]:
            return word or link
        if word is not None and word.end > link.end:
            return Link(start, word.end, self._text[start : word.end])
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
        return Link(start, end, self._text[start:end])

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
        return Link(start, end, url, (start + 1, closed))

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
            self._dead_until = self._next("\0", opened) + 1 or run_end
            return None
        # A word may hold pairs of brackets itself, as names of methods do.
        opened = self._text.rindex("[", start, end)
        url = self._text[opened + 1 : end - 1]
        if not url:
            self._dead_until = end
            return None
        return Link(start, end, url, (start, opened))

    def _target_end(self, opened: int) -> int | None:
        """The end of ``[url]``; the url is one character at least, no space or mark."""
        closed = self._next("]", opened + 2)
        is_marked = 0 <= self._next("\0", opened) < closed
        if closed < 0 or closed >= self._run_end(opened) or is_marked:
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


def link_html(link: Link, line: _Line, writer: _Writer, *, is_in_link: bool) -> str:
    """HTML of a link; inside of another link only its text."""
    if not link.url:
        return "<br>"
    url = link.url.translate(SHOWN)
    label = None
    if link.label is not None:
        label = _label_html(line.raw[slice(*link.label)], writer)
    if url.startswith("rdoc-"):
        return _rdoc_html(url, label, writer, is_in_link=is_in_link)
    return _url_html(url, label, writer, is_in_link=is_in_link)


def _label_html(label: str, writer: _Writer) -> str:
    shown = label.translate(SHOWN)
    if shown.startswith("rdoc-image:"):
        return _image_html(shown.removeprefix("rdoc-image:"))
    if badge := BADGE.fullmatch(shown.strip()):
        alt = ALT.search(badge[0])
        return _img(badge[1] or badge[2] or "", alt[1] or alt[2] if alt else None)
    return writer.label_html(FOOT_MARK.sub("", shown))


def _url_html(url: str, label: str | None, writer: _Writer, *, is_in_link: bool) -> str:
    href = LOCAL.sub("", url)
    if href.startswith("www."):
        href = f"http://{href}"
    is_web = url.startswith(("link:", "http:", "https:"))
    if is_web and IMAGE.search(href):
        return _img(href, None)
    content = writer.content_html(label, SHOWN_SCHEME.sub("", url))
    return content if is_in_link else f'<a href="{escape(href)}">{content}</a>'


def _rdoc_html(
    url: str, label: str | None, writer: _Writer, *, is_in_link: bool
) -> str:
    name, _, target = url.partition(":")
    if name == "rdoc-image":
        return _image_html(target)
    if name != "rdoc-label":
        content = writer.content_html(label, target)
        if is_in_link or label is None:
            return content
        href = target if PAGE.search(target) else url
        return f'<a href="{escape(href)}">{content}</a>'
    content = writer.content_html(label, FOOT_LABEL.sub("", target))
    target, _, identity = target.partition(":")
    if is_in_link:
        return content
    own = f'id="{ID_PREFIX}{escape(identity)}" ' if identity else ""
    html = f'<a {own}href="#{escape(target)}">{content}</a>'
    return f"<sup>{html}</sup>" if identity.startswith("foot") else html


def _image_html(target: str) -> str:
    """An image by ``url`` or ``url:alt``."""
    source, *alt = ALT_COLON.split(target, maxsplit=1)
    return _img(source, alt[0] or None if alt else None)


def _img(source: str, alt: str | None) -> str:
    described = "" if alt is None else f' alt="{escape(alt)}"'
    return f'<img src="{escape(source)}"{described}>'
