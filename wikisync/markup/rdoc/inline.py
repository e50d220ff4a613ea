"""Marks and links in a line of RDoc text, in forward scans of constant lookahead.

The order is the reference's: what is escaped is hidden, then words are marked,
then tags, code before the rest because nothing is marked inside of it; then
links are read from what is left.  A mark that has been read is replaced by
``NUL`` and kept in its position, so that offsets hold from step to step.
"""

import re
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from wikisync.markup.rdoc.links import HIDDEN, NUL, SHOWN, LinkScanner, link_html
from wikisync.markup.tokens import escape_marks as escape

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
        html = link_html(
            link,
            line.raw[link.label_start : link.label_end],
            is_in_link=is_in_link,
            render=writer.label_html,
            set_text=writer.typography.html_of,
        )
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
